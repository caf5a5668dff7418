"""Sums over rows, in bounded memory: all that explicit features need from a data set.

Every sum can be computed in parts: ``part + part`` equals one pass over the rows of both. So blocks
of rows may come one after another, or from other machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from nvsd.linalg import mirror

Array = NDArray[np.float64]


CHUNK = 2**20  # numbers in a chunk of features: 8 MB stay in the cache


PANEL = 16  # columns that LAPACK's QR of a triangle on a block takes at once: measured as fastest


class Basis(Protocol):
    """Features φ(x) and, if the derivatives of φ need them, features ψ(x).

    Attributes
    ----------
    r, q : int
        Numbers of φ and ψ.
    """

    r: int
    q: int

    def features(self, X: Array) -> Array:
        """Φ with rows φ(x_i), in Fortran order."""
        ...

    def lower(self, X: Array) -> Array:
        """Ψ with rows ψ(x_i), in Fortran order."""
        ...


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over n rows of the features φ, of ψ, and of y measured from its mean.

    Measuring y from its mean keeps its digits when y is far from zero. Ψ is kept as a triangle by
    QR: ΨᵀΨ would keep only half of the digits of its small directions. With many features the QR is
    a tenth of the work.

    Attributes
    ----------
    n : int
        Rows.
    total : (r,) array
        Σφ.
    gram : (r, r) array
        ΦᵀΦ = Σφφᵀ; (0, 0) if it was not requested.
    root : (q, q) array
        Triangle R with RᵀR = ΨᵀΨ and a non-negative diagonal; (0, 0) without gram.
    correlation : (r,) array
        Σφ(y − y_mean); (0,) without y.
    y_mean, y_square : float
        Mean of y, and Σ(y − y_mean)².
    """

    n: int
    total: Array
    gram: Array
    root: Array
    correlation: Array
    y_mean: float = 0.0
    y_square: float = 0.0

    @classmethod
    def of(cls, basis: Basis, X: Array, y: Array | None = None, *, gram: bool = True) -> Moments:
        """The sums over the rows of X, a chunk at a time."""
        r, q = (basis.r, basis.q) if gram else (0, 0)
        G, R = np.zeros((r, r), order="F"), np.zeros((q, q), order="F")
        total, correlation = np.zeros(basis.r), np.zeros(0 if y is None else basis.r)
        y_mean = 0.0 if y is None else float(y.mean())
        step = max(1, CHUNK // basis.r)
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            Phi = basis.features(X[rows])
            total += Phi.sum(axis=0)
            if y is not None:
                # Not numpy's product, whose threads would compete with those of the next lines.
                correlation = blas.dgemv(
                    1.0, Phi, y[rows] - y_mean, beta=1.0, y=correlation, trans=1, overwrite_y=1
                )
            if r:
                G = blas.dsyrk(1.0, Phi, beta=1.0, c=G, trans=1, overwrite_c=1)
            if q:
                R = _triangle(R, basis.lower(X[rows]))
        y_square = 0.0 if y is None else float(np.sum((y - y_mean) ** 2))
        mirror(G)
        return cls(len(X), total, G, _positive(R), correlation, y_mean, y_square)

    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        # In this form equal means stay unchanged, over any number of blocks.
        y_mean = self.y_mean + (other.n / n) * (other.y_mean - self.y_mean)
        mine, theirs = self.from_origin(y_mean), other.from_origin(y_mean)
        return Moments(
            n,
            self.total + other.total,
            self.gram + other.gram,
            _positive(_triangle(self.root.copy("F"), other.root)) if self.root.size else self.root,
            mine[0] + theirs[0],
            y_mean,
            mine[1] + theirs[1],
        )

    def from_origin(self, origin: float) -> tuple[Array, float]:
        """Σφ(y − origin) and Σ(y − origin)²."""
        shift = self.y_mean - origin
        if not self.correlation.size:
            return self.correlation, 0.0
        return self.correlation + shift * self.total, self.y_square + self.n * shift**2


def _triangle(R: Array, B: Array) -> Array:
    """The triangular factor of [R; B]; R, in Fortran order, is overwritten."""
    upper, _, _, info = lapack.dtpqrt(0, min(PANEL, len(R)), R, B, overwrite_a=1)
    assert info == 0
    return np.asarray(upper)


def _positive(R: Array) -> Array:
    """The same factor with a non-negative diagonal, which makes it unique."""
    return np.triu(R) * np.where(np.diagonal(R) < 0, -1.0, 1.0)[:, None]
