"""Mean and spread of the inputs, summed over rows: the library's only standardiser."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nvsd.tolerances import CONSTANT_INPUT

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spread:
    """Mean and spread of each input over n rows.

    Attributes
    ----------
    n : int
    mean, square, largest : (d,) arrays
        Mean, Σ(x − mean)², and the largest |x|.
    """

    n: int
    mean: Array
    square: Array
    largest: Array

    @classmethod
    def of(cls, X: Array, y: Array | None = None) -> Spread:
        """Mean and spread of the rows of X."""
        mean = X.mean(axis=0)
        return cls(len(X), mean, ((X - mean) ** 2).sum(axis=0), np.abs(X).max(axis=0))

    def __add__(self, other: Spread) -> Spread:
        n = self.n + other.n
        apart = other.mean - self.mean
        return Spread(
            n,
            self.mean + apart * (other.n / n),
            self.square + other.square + apart**2 * (self.n * other.n / n),
            np.maximum(self.largest, other.largest),
        )

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Which inputs are not constant, up to rounding."""
        return np.asarray(np.sqrt(self.square / self.n) > CONSTANT_INPUT * self.largest)

    @property
    def scale(self) -> Array:
        """Standard deviations; 1 for a constant input, whose rounding must not be amplified."""
        return np.where(self.varies, np.sqrt(self.square / self.n), 1.0)


def filled(X: Array) -> Array:
    """X with the median of each column in place of missing values, NaN; 0 if all are missing."""
    absent = np.isnan(X)
    if not absent.any():
        return X
    centre, some = np.zeros(X.shape[1]), ~absent.all(axis=0)
    centre[some] = np.nanmedian(X[:, some], axis=0)
    return np.where(absent, centre, X)


def centred(X: Array, centre: Array, scale: Array) -> Array:
    """(X − centre) / scale, and 0 for missing values: they are taken to be at the centre."""
    return np.asarray(np.nan_to_num((X - centre) / scale, copy=False))


def standardized(X: Array) -> Array:
    """X with mean 0 and variance 1 in each column; a constant column is only centred."""
    spread = Spread.of(X)
    return np.asarray((X - spread.mean) / spread.scale)
