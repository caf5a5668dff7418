"""A random sample of rows, drawn in one pass over any source."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows with the smallest random keys: samples of parts add up to a sample of the whole.

    Attributes
    ----------
    most : int
        Largest number of rows kept.
    n : int
        Number of rows seen.
    keys : (m,) array
        Uniform random numbers, ascending.
    X, y : (m, d) and (m,) arrays
        The rows, in random order.
    """

    most: int
    n: int
    keys: Array
    X: Array
    y: Array

    @classmethod
    def of(cls, most: int, seed: int, X: Array, y: Array | None) -> Sample:
        """A sample of a block; its keys depend on the seed and on the block's content."""
        assert y is not None
        digest = hashlib.blake2b(np.ascontiguousarray(X).data, digest_size=8)
        digest.update(np.ascontiguousarray(y).data)
        rng = np.random.default_rng([seed, int.from_bytes(digest.digest(), "little")])
        return cls(most, len(X), rng.random(len(X)), X, y)._smallest()

    def __add__(self, other: Sample) -> Sample:
        keys = np.concatenate([self.keys, other.keys])
        X, y = np.concatenate([self.X, other.X]), np.concatenate([self.y, other.y])
        return Sample(self.most, self.n + other.n, keys, X, y)._smallest()

    def _smallest(self) -> Sample:
        first = np.argsort(self.keys, kind="stable")[: self.most]
        return Sample(self.most, self.n, self.keys[first], self.X[first], self.y[first])
