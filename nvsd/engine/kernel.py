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

from collections.abc import Callable
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
    known: Gram,
    A: Array,
    eta: Array,
    alpha: Array,
    order: int,
    weights: Array | None = None,
    kin: Array | None = None,
) -> Array:
    """The size of each unit's effect at the samples, (units,).

    It is the standard deviation sd(t_u) of t_u = [η_u κ_u ∘ slope] α. To first order t_u is f minus
    f without u. With the product kernel it is the norm of the derivative times the standard
    deviation of the input, which is 1. `kin` names near copies: see `sizes`.
    """
    if order == ALL:
        Z, a = A[:, :, 0], alpha.astype(A.dtype)
        slopes = eta * (known.K @ (Z * a[:, None]) - Z * (known.K @ a)[:, None])
        return sizes(along(slopes, Z, kin), root_mean_square, weights, kin)
    n, units, r = A.shape
    if not known.slope.ndim:
        inner = np.einsum("jar,j->ar", A, alpha.astype(A.dtype)) * eta[:, None]
        t = np.einsum("iar,ar->ia", A, inner)
    else:
        right = A * (alpha[:, None] * eta).astype(A.dtype)[:, :, None]
        products = (known.slope @ right.reshape(n, -1)).reshape(n, units, r)
        t = np.einsum("iar,iar->ia", A, products)
    return sizes(t, deviation, weights, kin)


def root_mean_square(values: Array, weights: Array | None) -> Any:
    """The root of the mean square over the first axis."""
    return np.sqrt(mean(np.asarray(values**2, dtype=float), weights))


def sizes(
    parts: Array,
    size: Callable[[Array, Array | None], Any],
    weights: Array | None = None,
    kin: Array | None = None,
) -> Array:
    """The size of each column, but near copies have at most that of their sum.

    Two near copies can have large effects that cancel, because λ hardly limits what their small
    difference contributes. Without this rule they would lead a ranking of inputs without any
    effect, and rounds of reweighting would favour them more and more.

    Parameters
    ----------
    parts : (n, units) array
        The effects at the samples.
    size : callable
        The size of each column of an array with weights of its rows.
    kin : (units,) int array, optional
        The number of the set of near copies that each unit is in, or −1.
    """
    found = np.asarray(size(parts, weights))
    for number in () if kin is None else np.unique(kin[kin >= 0]):
        members = kin == number
        together = size(parts[:, members].sum(axis=1, keepdims=True), weights)
        found[members] = np.minimum(found[members], together)
    return found


def along(slopes: Array, Z: Array, kin: Array | None) -> Array:
    """Derivatives with the sign that moves near copies in the direction of the first of them."""
    if kin is None:
        return slopes
    first = np.array([int(np.argmax(kin == number)) if number >= 0 else -1 for number in kin])
    same = np.einsum("ia,ia->a", Z, Z[:, first]) >= 0
    return np.where((first < 0) | same, slopes, -slopes)
