"""Landmarks: the points that carry f and its penalty, drawn from the rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from nvsd.data.checks import Index, check_seed, is_number
from nvsd.data.rows import Rows

Array = NDArray[np.float64]
Points = int | Sequence[int] | NDArray[np.integer]

FUNCTIONS = 3000  # default m_v + d m: its square fits in memory, its cube takes seconds
HELD_OUT = 1000  # rows on which the derivative norms are measured again


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Value points (m_v, d), derivative points (m, d), and rows that are neither (h, d)."""

    values: Array
    derivatives: Array
    held_out: Array

    @classmethod
    def draw(
        cls, rows: Rows, values: Points | None, derivatives: Points | None, random_state: int
    ) -> Landmarks:
        """Draw them from the rows; the points are given as counts, or as row indices.

        With two counts the larger set contains the smaller one.
        """
        n = rows.count()
        V, M = _checked("value_points", values, n), _checked("derivative_points", derivatives, n)
        default = min(n, max(10, FUNCTIONS // (len(rows.features) + 1)))
        given = [next(i for i in (*pair, default) if i is not None) for pair in ((V, M), (M, V))]
        named = np.concatenate(
            [i for i in given if isinstance(i, np.ndarray)] or [np.empty(0, int)]
        )
        order = np.random.default_rng(check_seed(random_state)).permutation(n)
        order = np.concatenate([named, order[~np.isin(order, named)]])
        V, M = (order[:i] if isinstance(i, int) else i for i in given)
        others = order[~np.isin(order, np.concatenate([V, M]))][:HELD_OUT]
        taken = rows.take(np.concatenate([V, M, others]))
        return cls(*np.split(taken, [len(V), len(V) + len(M)]))

    @property
    def size(self) -> int:
        """Number of functions that f is made of."""
        return len(self.values) + self.derivatives.size

    @property
    def digest(self) -> str:
        """A text that identifies these landmarks."""
        return hashlib.blake2b(self.values.tobytes() + self.derivatives.tobytes()).hexdigest()


def _checked(name: str, points: Points | None, n: int) -> int | Index | None:
    """A valid count of points, or valid row indices."""
    if points is None:
        return None
    if is_number(points, Integral):
        if not 1 <= int(points) <= n:  # type: ignore[arg-type]
            raise ValueError(f"{name} = {points} is not allowed for {n} rows; give 1 to {n}.")
        return int(points)  # type: ignore[arg-type]
    index = np.asarray(points)
    whole = index.ndim == 1 and index.size > 0 and np.issubdtype(index.dtype, np.integer)
    if not whole or index.min() < 0 or index.max() >= n or len(np.unique(index)) < len(index):
        raise ValueError(
            f"{name} must be a count or unique row indices in [0, {n}); give one of these."
        )
    return index.astype(np.intp)
