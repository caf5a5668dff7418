"""Explicit features of polynomial kernels: (x·x' + c)^p = φ(x)·φ(x') with finitely many monomials.

The derivative of a monomial is a lower monomial, so with Ψ the n×q matrix of the monomials of
degree at most p − 1, the derivatives of f = φ(·)·θ at the samples are ∂_a f = Ψ T_a θ, where
T_a has a single entry in each row.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Array = NDArray[np.float64]


def n_monomials(d: int, degree: int, offset: float) -> int:
    """Number of monomials of the kernel: all up to the degree, or only those of that degree."""
    return math.comb(d + degree, degree) if offset else math.comb(d + degree - 1, degree)


class Monomials:
    """φ(x): the monomials of (x·x' + c)^p in d inputs, with their multinomial weights.

    Attributes
    ----------
    r, q : int
        Numbers of features φ and of derivative monomials ψ.
    T : (d*q, r) sparse array
        Row a*q + j holds the coefficient of ψ_j in ∂_a φ; one entry in each row.
    """

    def __init__(self, d: int, degree: int, offset: float) -> None:
        self.d, self.degree, self.offset = d, degree, float(offset)
        # A monomial is the sorted tuple of its inputs, x1² x3 = (0, 0, 2).
        levels = [
            list(itertools.combinations_with_replacement(range(d), k)) for k in range(degree + 1)
        ]
        # The children of a monomial, its products with its last input and those after it, are
        # neighbours in the next level.
        self._first = [[m[-1] if m else 0 for m in level] for level in levels]
        phi = list(itertools.chain(*levels)) if offset else levels[degree]
        psi = list(itertools.chain(*levels[:degree])) if offset else levels[degree - 1]
        self.r, self.q = len(phi), len(psi)
        self._weights = np.array([self._weight(monomial) for monomial in phi])
        index = {monomial: j for j, monomial in enumerate(phi)}
        raised = [index[tuple(sorted((*m, a)))] for a in range(d) for m in psi]
        power = np.array([m.count(a) + 1 for a in range(d) for m in psi])
        rows = np.arange(d * self.q + 1)
        self.T = csr_array((power * self._weights[raised], raised, rows), (d * self.q, self.r))

    def _weight(self, monomial: tuple[int, ...]) -> float:
        """√(p! / (k! (p − |k|)!) c^(p − |k|)) for the exponents k of the monomial."""
        p, size = self.degree, len(monomial)
        ways = math.factorial(p) // math.factorial(p - size)
        for a in set(monomial):
            ways //= math.factorial(monomial.count(a))
        return math.sqrt(ways * self.offset ** (p - size))

    def features(self, X: Array) -> Array:
        """Φ with rows φ(x_i), shape (n, r)."""
        return self._plain(X, self.degree, self._weights).T

    def lower(self, X: Array) -> Array:
        """Ψ with rows ψ(x_i), shape (n, q)."""
        return self._plain(X, self.degree - 1).T

    def _plain(self, X: Array, degree: int, weights: Array | None = None) -> Array:
        """Monomials up to the degree (of that degree alone when c = 0), one in each row.

        Each monomial is a contiguous row, and all children of one parent are made by one product.
        """
        columns = np.ascontiguousarray(X.T)
        sizes = [len(first) for first in self._first[: degree + 1]]
        out = np.empty((sum(sizes), len(X)))
        out[0] = 1.0
        parent, child = 0, 1
        for first in self._first[:degree]:
            for a in first:
                end = child + self.d - a
                np.multiply(columns[a:], out[parent], out=out[child:end])
                parent, child = parent + 1, end
        if not self.offset:
            out = out[parent:]
        if weights is not None:
            out *= weights[:, None]
        return out
