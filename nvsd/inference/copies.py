"""Copies of inputs: new values, drawn given the others.

A continuous input keeps its distribution: normal scores are drawn as mean + scale times the
residual of a row chosen at random, and transformed back by the quantiles of the input. An input
with few levels is drawn from the probabilities of its levels. A group is drawn together: its inputs
take the residuals of the same row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from nvsd.inference.conditional import Others, conditional, excess, smoothed

Array = NDArray[Any]
Index = NDArray[np.intp]

LEVELS = 10  # an input with at most this many different values is drawn level by level
TIED = 0.5  # with a smaller share of different values, copies take only values of the input


@dataclass(frozen=True, eq=False)
class Drawn:
    """Copies of some inputs, and how good their model is.

    Attributes
    ----------
    copies : (c, n, inputs) array
    explained : float
        The largest share of an input's variance that the others explain.
    check : float
        Dependence that the model misses, in normal scores above chance.
    """

    copies: Array
    explained: float
    check: float


def normal_scores(x: Array) -> Array:
    """Normal quantiles of the mid-ranks."""
    return np.asarray(ndtri((rankdata(x) - 0.5) / len(x)))


def from_normal_scores(t: Array, x: Array) -> Array:
    """Values with the distribution of x: its quantiles at normal scores t."""
    ordered, n = np.sort(x), len(x)
    u = ndtr(t)
    if len(np.unique(x)) < TIED * n:
        return np.asarray(ordered[np.minimum((u * n).astype(int), n - 1)])
    return np.asarray(np.interp(u, (np.arange(n) + 0.5) / n, ordered))


class Copier:
    """Draws copies of the inputs of a table.

    Parameters
    ----------
    X : (n, d) array
    seed : int
    together : sequence of (inputs, whether they are levels)
        Inputs that depend on each other by construction. The levels of a category are drawn as one
        level. Otherwise the last says where the first is missing.
    """

    def __init__(
        self, X: Array, seed: int = 0, together: Sequence[tuple[Index, bool]] = ()
    ) -> None:
        self.X, self.seed, self.together = X, seed, together
        self.others = Others.of(X, seed)

    def draw(self, inputs: Index, n_copies: int) -> Drawn:
        """Copies of some inputs, together, given all others."""
        others = self.others.without(inputs)
        rng, n = self._random(inputs), len(self.X)
        donors = rng.integers(n, size=(n_copies, n))
        copies = np.empty((n_copies, n, len(inputs)))
        explained, check = 0.0, -np.inf
        for places in self._parts(inputs):
            X = self.X[:, inputs[places]]
            several = len(places) > 1
            levels, x = np.unique(X, axis=0, return_inverse=True) if several else (X, X[:, 0])
            if not np.ptp(x):
                copies[:, :, places] = X
                continue
            draw = _levels if several or len(np.unique(x)) <= LEVELS else _continuous
            found, share, missed = draw(others, x, donors, self._random(inputs[places]), self.seed)
            copies[:, :, places] = levels[found] if several else found[:, :, None]
            explained, check = max(explained, share), max(check, missed)
        self._put_missing(copies, inputs)
        return Drawn(copies, explained, check)

    def _random(self, inputs: Index) -> np.random.Generator:
        """Draws that depend on the ranks of these inputs, not on their places, units or names."""
        ranks = (rankdata(self.X[:, a], "dense").astype("<i8") for a in inputs)
        return np.random.default_rng([self.seed, *sorted(crc32(each.tobytes()) for each in ranks)])

    def _parts(self, inputs: Index) -> list[Index]:
        """Places in `inputs` that are drawn at once: the levels of a category, or one input."""
        parts = []
        left = np.ones(len(inputs), dtype=bool)
        for j, a in enumerate(inputs):
            if left[j]:
                whole = [each for each, levels in self.together if levels and a in each]
                parts.append(np.flatnonzero(np.isin(inputs, whole[0] if whole else a)))
                left[parts[-1]] = False
        return parts

    def _put_missing(self, copies: Array, inputs: Index) -> None:
        """Where a copy says that a value is missing, the value is that of missing ones."""
        for block, levels in self.together:
            if not levels and np.isin(block, inputs).all():
                at, flag = np.searchsorted(inputs, block)
                missing = copies[:, :, flag] == 1
                copies[:, :, at][missing] = self.X[self.X[:, block[1]] == 1, block[0]][0]


def _continuous(
    others: Others, x: Array, donors: Index, rng: np.random.Generator, seed: int
) -> tuple[Array, float, float]:
    """Copies by mean, scale and the residuals of donors."""
    model = conditional(others, normal_scores(x), seed)
    t = model.mean + model.scale * model.residual[donors]
    return from_normal_scores(t, x), model.explained, model.check


def _levels(
    others: Others, x: Array, donors: Index, rng: np.random.Generator, seed: int
) -> tuple[Array, float, float]:
    """Copies from the probabilities of the levels."""
    levels, code = np.unique(x, return_inverse=True)
    others = others.showing(code[others.rows].astype(float))
    C, rows = others.bench.C, others.rows
    is_level = (code[:, None] == np.arange(len(levels))).astype(float)
    p = np.empty_like(is_level)
    for k, column in enumerate(is_level.T):
        visible = len(levels) > 1 and excess(C, column[rows]) > 0
        p[:, k] = smoothed(others, column[rows], seed) if visible else column.mean()
        if len(levels) == 2:
            p[:, 1] = 1 - p[:, 0]
            break
    p = np.clip(p, 0.0, 1.0) + 1e-12
    p /= p.sum(axis=1, keepdims=True)
    u = rng.random(donors.shape)
    drawn = (u[:, :, None] > np.cumsum(p, axis=1)).sum(axis=2)
    left = (is_level - p) / np.sqrt(np.maximum(p * (1 - p), 1e-3))
    check = max(excess(C, column[rows]) for column in left.T[: max(1, len(levels) - 1)])
    explained = 1 - float(np.mean((is_level - p) ** 2)) / float(np.mean(is_level.var(axis=0)))
    return levels[np.minimum(drawn, len(levels) - 1)], explained, check
