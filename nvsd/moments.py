"""Sums over the rows of a data set, in one pass of bounded memory: all that features need of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nvsd.monomials import Monomials

Array = NDArray[np.float64]

CHUNK = 2**20  # numbers in a block of features: 8 MB stay in the cache


@dataclass
class Moments:
    """Σφ, Σφy, Σφφᵀ, Σy and Σy² over rows, with y measured from a fixed origin.

    Attributes
    ----------
    n : int
        Rows seen so far.
    total : (r,) array
        Σφ.
    correlation : (r,) array
        Σφy.
    gram : (r, r) array
        Σφφᵀ; left at zero where it is not asked for.
    y_total, y_square : float
    """

    n: int
    total: Array
    correlation: Array
    gram: Array
    y_total: float = 0.0
    y_square: float = 0.0

    @classmethod
    def empty(cls, r: int, gram: bool = True) -> Moments:
        """No rows yet."""
        return cls(0, np.zeros(r), np.zeros(r), np.zeros((r, r) if gram else (0, 0)))

    @classmethod
    def of(
        cls, monomials: Monomials, X: Array, y: Array | None = None, gram: bool = True
    ) -> Moments:
        """The sums over all rows of X, a block at a time."""
        moments = cls.empty(monomials.r, gram)
        step = max(1, CHUNK // monomials.r)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            block = np.asarray(X[rows], dtype=float)
            moments.add(monomials.features(block), None if y is None else y[rows])
        return moments

    def add(self, Phi: Array, y: Array | None = None) -> None:
        """Take in the rows of a block."""
        self.n += len(Phi)
        self.total += Phi.sum(axis=0)
        if self.gram.size:
            self.gram += Phi.T @ Phi
        if y is not None:
            self.correlation += y @ Phi
            self.y_total += float(y.sum())
            self.y_square += float(y @ y)

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.n + other.n,
            self.total + other.total,
            self.correlation + other.correlation,
            self.gram + other.gram,
            self.y_total + other.y_total,
            self.y_square + other.y_square,
        )
