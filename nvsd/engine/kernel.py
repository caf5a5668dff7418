"""The ANOVA kernel of features, and the total effect of every unit.

    k = p + p²/2 + … + p^q/q!,     p = Σ_u η_u κ_u,    κ_u = Φ_u Φ_uᵀ

This is the sum of elementary symmetric polynomials, but the powers of single units are left in. A
main effect then has κ_u + η_u κ_u²/2, which is richer. And k needs only p, which is one BLAS-3
product. (Taking the powers out only while few units are active misled the comparison of sets.)

Order ALL is the product of Gaussians instead, which has interactions of all orders,

    k = exp(−½ Σ_a η_a (z_a − z'_a)²),

with one feature z_a for each input. It is for functions whose low orders explain almost nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.data.weights import deviation, mean

Array = NDArray[Any]  # in single precision if the features are
ALL = 0  # the order of the product kernel


class Gram(NamedTuple):
    """k between two sets of rows, and its derivative in p: 1 + p + … + p^(q−1)/(q−1)!."""

    K: Array
    slope: Array


def _weighted(Phi: Array, eta: Array) -> Array:
    """Features times √η, flattened to (n, units r)."""
    return np.asarray((Phi * np.sqrt(eta).astype(Phi.dtype)[:, None]).reshape(len(Phi), -1))


def exponent(A: Array, B: Array, eta: Array, order: int) -> Array:
    """p between rows with features A (n, units, r) and B (m, units, r): a sum over the units."""
    W = _weighted(A, eta)
    V = W if A is B else _weighted(B, eta)
    p = W @ V.T
    if order == ALL:
        p -= np.einsum("ij,ij->i", W, W)[:, None] / 2
        p -= np.einsum("ij,ij->i", V, V) / 2
        np.minimum(p, 0, out=p)  # rounding may make a distance negative
    return p


def values(p: Array, order: int) -> Array:
    """k from its exponent."""
    if order == ALL:
        return np.exp(p)
    if order == 1:
        return p
    return p * (1 + p / 2) if order == 2 else p * (1 + p / 2 * (1 + p / 3))


def gram(A: Array, B: Array, eta: Array, order: int) -> Gram:
    """The kernel between rows with features A (n, units, r) and B (m, units, r)."""
    p = exponent(A, B, eta, order)
    if order == ALL:
        K = np.exp(p, out=p)
        return Gram(K, K)
    if order == 1:
        return Gram(p, np.ones((), dtype=p.dtype))
    return Gram(values(p, order), 1 + p if order == 2 else 1 + p * (1 + p / 2))


def effects(
    known: Gram, A: Array, eta: Array, alpha: Array, order: int, weights: Array | None = None
) -> Array:
    """The size of each unit's effect at the samples, (units,).

    It is the standard deviation sd(t_u) of t_u = [η_u κ_u ∘ slope] α. To first order t_u is f minus
    f without u. With the product kernel it is the norm of the derivative times the standard
    deviation of the input, which is 1.
    """
    if order == ALL:
        Z, a = A[:, :, 0], alpha.astype(A.dtype)
        slopes = known.K @ (Z * a[:, None]) - Z * (known.K @ a)[:, None]
        return np.asarray(eta * np.sqrt(mean(np.asarray(slopes**2, dtype=float), weights)))
    n, units, r = A.shape
    if not known.slope.ndim:
        inner = np.einsum("jar,j->ar", A, alpha.astype(A.dtype)) * eta[:, None]
        t = np.einsum("iar,ar->ia", A, inner)
    else:
        right = A * (alpha[:, None] * eta).astype(A.dtype)[:, :, None]
        products = (known.slope @ right.reshape(n, -1)).reshape(n, units, r)
        t = np.einsum("iar,iar->ia", A, products)
    return np.asarray(deviation(t, weights))
