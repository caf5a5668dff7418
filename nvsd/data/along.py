"""Values along one column of a table, for pictures of its effect."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.data.columns import BOOLEAN, Column

Array = NDArray[np.float64]

CENTRAL = (0.01, 0.99)  # quantiles between which the effect of a number is drawn
MISSING = "missing"


class Along(NamedTuple):
    """Values that a column may take.

    Attributes
    ----------
    values : (m,) array
        Numbers in even steps, or the places of levels; the last is NaN if values may be missing.
    texts : tuple of str
        One for each value, if they are not numbers.
    """

    values: Array
    texts: tuple[str, ...] = ()

    @property
    def missing(self) -> bool:
        """Whether the last value stands for missing ones."""
        return bool(np.isnan(self.values[-1]))

    @property
    def numbers(self) -> Array:
        """The values that are not missing."""
        return self.values[: len(self.values) - self.missing]


def along(column: Column, seen: Array, size: int) -> Along:
    """The levels of a category, or even steps over the central 98 % of the numbers seen."""
    levels = ("False", "True") if column.kind == BOOLEAN else column.levels
    values = np.arange(len(levels), dtype=float) if levels else steps(seen[~np.isnan(seen)], size)
    if not column.indicator:
        return Along(values, levels)
    return Along(np.append(values, np.nan), (*levels, MISSING) if levels else ())


def steps(values: Array, size: int) -> Array:
    """Even steps over the central 98 % of the values."""
    low, high = np.quantile(values, CENTRAL) if len(values) else (0.0, 0.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, max(2, int(size)))


def decoded(column: Column, inputs: Array) -> Array:
    """The values of a column, (n,), from its inputs, (n, inputs): what `Column.encoded` made.

    Inputs of a column that no fit has used are 0; they are then the first level.
    """
    if not column.coded:
        values = inputs[:, 0].copy()
    else:
        codes = np.arange(len(column.levels), dtype=float)
        known = column.encoded(codes)[:, : len(column.coded)]
        distances = np.abs(inputs[:, None, : known.shape[1]] - known).sum(axis=-1)
        values = codes[distances.argmin(axis=1)]
    if column.indicator:
        values[inputs[:, -1] > 0.5] = np.nan
    return values
