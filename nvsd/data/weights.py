"""Weights of rows, and what is averaged with them; None stands for equal weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.data.checks import Index, check_target
from nvsd.data.rows import ArrayRows, Rows

Array = NDArray[np.float64]

ROUNDING = 1e-12  # of the sum of all weights: shares of it that differ by less are equal


class RowWeights(NamedTuple):
    """The rows that count, and their weights.

    Attributes
    ----------
    kept : index array or None
        The rows of positive weight; None if all have one.
    values : array or None
        The weights of these rows, with mean 1; None if they are equal.
    n : int
        Number of all rows.
    """

    kept: Index | None = None
    values: Array | None = None
    n: int = 0

    def take(self, y: Any) -> Any:
        """The y of the rows that count."""
        if self.kept is None or y is None:
            return y
        if np.shape(y)[:1] != (self.n,):
            raise ValueError(
                f"y has shape {np.shape(y)} for {self.n} rows of X; give one number per row."
            )
        values = y if hasattr(y, "__array__") else np.array(list(y), dtype=object)
        return np.asarray(values)[self.kept]


ALL_ROWS = RowWeights()


def row_weights(given: Any, n: int) -> RowWeights:
    """Weights of n rows, checked; a row of weight 0 is left out."""
    if given is None:
        return ALL_ROWS
    weights = check_target(given, n, "sample_weight")
    if (weights < 0).any():
        raise ValueError(f"sample_weight holds {weights.min():g}; give weights >= 0.")
    kept = np.flatnonzero(weights)
    if len(kept) < 2:
        every = "every row" if not len(kept) else "all rows but one"
        raise ValueError(f"sample_weight is zero in {every}; give positive weights to 2 or more.")
    some = None if len(kept) == n else kept
    return RowWeights(some, unequal(weights[kept]), n)


def rows_that_count(rows: Rows, given: Any) -> tuple[Rows, RowWeights]:
    """The rows without those of weight 0, and the weights."""
    if given is not None and not isinstance(rows, ArrayRows):
        raise ValueError("sample_weight needs all samples in memory; give X as an array.")
    counted = row_weights(given, rows.n or 0)
    if counted.kept is None:
        return rows, counted
    y = counted.take(rows.target()) if rows.has_target else None
    X = np.ascontiguousarray(rows.points()[counted.kept])
    features, progress = rows.features, rows.progress
    kept = ArrayRows(X, y, progress, features=features, checked=True)
    kept.mean, kept.scale, kept.columns = rows.mean, rows.scale, rows.columns
    return kept, counted


def unequal(weights: Array | None) -> Array | None:
    """The weights with mean 1; None if they are equal."""
    return None if weights is None or np.ptp(weights) == 0 else of_mean_one(weights)


def of_mean_one(weights: Array) -> Array:
    """The weights, divided by their mean; no weights stay none."""
    return np.asarray(weights / weights.mean()) if len(weights) else weights


def weights_at(weights: Array | None, rows: Any) -> Array | None:
    """The weights of some rows, with mean 1."""
    return None if weights is None else of_mean_one(weights[rows])


def joined(parts: Sequence[Array | None]) -> Array | None:
    """The weights of several sets of rows, one after another."""
    given = [part for part in parts if part is not None]
    return np.concatenate(given) if given else None


def mean(values: Any, weights: Array | None) -> Any:
    """The mean over the first axis."""
    values = np.asarray(values)
    return values.mean(axis=0) if weights is None else np.average(values, axis=0, weights=weights)


def deviation(values: Any, weights: Array | None) -> Any:
    """The standard deviation over the first axis."""
    return np.sqrt(variance(values, weights))


def variance(values: Any, weights: Array | None) -> Any:
    """The variance over the first axis."""
    values = np.asarray(values)
    if weights is None:
        return values.var(axis=0, dtype=float)
    return mean(np.square(values - mean(values, weights)), weights)


def standard_error(values: Array, weights: Array | None) -> Array:
    """The standard error of the mean over the first axis: √(Σ w²(v − mean)²) / Σw."""
    if weights is None:
        return np.asarray(values.std(axis=0) / np.sqrt(len(values)))
    squares = np.square(values - mean(values, weights))
    return np.asarray(np.sqrt(np.tensordot(np.square(weights), squares, 1)) / weights.sum())


def unbiased_error(values: Array, weights: Array | None) -> Array:
    """The same without the bias of few rows; 0 for a single row."""
    n = float(len(values)) if weights is None else effective_rows(weights)
    if n <= 1:
        return np.zeros(values.shape[1:])
    if weights is None:
        return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(n))
    return np.asarray(standard_error(values, weights) * np.sqrt(n / (n - 1)))


def effective_rows(weights: Array) -> float:
    """The number of rows of equal weight whose mean is known as well: (Σw)² / Σw²."""
    return float(weights.sum() ** 2 / np.square(weights).sum())


def median(values: Array, weights: Array | None) -> float:
    """The median: half of the weight is below, and half above."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) / weights.sum()
    ends = (below < 0.5 - ROUNDING).sum(), (below <= 0.5 + ROUNDING).sum()
    return float(np.mean(values[order][np.minimum(ends, len(order) - 1)]))
