"""The ANOVA kernel of features, and the total effect of every unit.

    k = p + p²/2 + … + p^q/q!,     p = Σ_u η_u κ_u,    κ_u = Φ_u Φ_uᵀ

These are the elementary symmetric polynomials with the squares of single units left in: a main
effect has κ_u + η_u κ_u²/2, which is richer, and p is all that is needed, one BLAS-3 product. (To
take the squares out only while few units are active misled the comparison of sets.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # of single precision where the features are
LARGEST_ORDER = 3


class Gram(NamedTuple):
    """k between two sets of rows, and 1 + p + … + p^(q−1)/(q−1)!, its derivative by p."""

    K: Array
    slope: Array


def _weighted(Phi: Array, eta: Array) -> Array:
    """Features times √η, flattened to (n, units r)."""
    return np.asarray((Phi * np.sqrt(eta).astype(Phi.dtype)[:, None]).reshape(len(Phi), -1))


def gram(A: Array, B: Array, eta: Array, order: int) -> Gram:
    """The kernel between rows with features A (n, units, r) and B (m, units, r)."""
    W = _weighted(A, eta)
    p = W @ (W if A is B else _weighted(B, eta)).T
    if order == 1:
        return Gram(p, np.ones((), dtype=p.dtype))
    if order == 2:
        return Gram(p * (1 + p / 2), 1 + p)
    return Gram(p * (1 + p / 2 * (1 + p / 3)), 1 + p * (1 + p / 2))


def total_effects(known: Gram, A: Array, eta: Array, alpha: Array) -> Array:
    """t_u = [η_u κ_u ∘ slope] α at the samples, (n, units): f minus f without u, to first order."""
    n, units, r = A.shape
    if not known.slope.ndim:
        inner = np.einsum("jar,j->ar", A, alpha.astype(A.dtype)) * eta[:, None]
        return np.asarray(np.einsum("iar,ar->ia", A, inner))
    right = A * (alpha[:, None] * eta).astype(A.dtype)[:, :, None]
    products = (known.slope @ right.reshape(n, -1)).reshape(n, units, r)
    return np.asarray(np.einsum("iar,iar->ia", A, products))
