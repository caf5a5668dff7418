"""Products with the Gram blocks of a kernel at fixed points, in O(n²d) and without forming them.

Of f = Σ_j α_j k(x_j, ·) + Σ_aj β_aj ∂_a k(x_j, ·), the values at the points are Kα + Dᵀβ and the
gradient is Dα + Lβ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nvsd.kernel_base import Kernel, Profile, Scaled, Sum
from nvsd.linalg import product

Array = NDArray[np.float64]


class Products(Protocol):
    """D and L at fixed points; α is (n,), β and the gradient are (d, n)."""

    def values(self, beta: Array) -> tuple[Array, Any]:
        """Dᵀβ, and what `gradient` needs to know of β."""
        ...

    def gradient(self, alpha: Array, of_beta: Any = None) -> Array:
        """Dα + Lβ, or Dα alone."""
        ...


class ProfileProducts:
    """k = h(t), with the geometry and h', h'' kept: three matrix products for both.

    With E_i = (q z_i, p) and B_j = (β_j, z_j·β_j), β and z divided by the width, the derivative of
    t(x_i, x_j) along β_j is E_i·B_j; and h'B serves f and its gradient.
    """

    def __init__(self, kernel: Profile, X: Array, factor: float) -> None:
        self._p, self._q = kernel.p, kernel.q
        w, self._z, _, t = kernel._geometry(X, X)
        self._w = w[:, None]
        _, self._h1, self._h2 = (factor * values for values in kernel.profile(t))
        self._E = np.column_stack([self._q * self._z, np.full(len(X), self._p)])

    def values(self, beta: Array) -> tuple[Array, tuple[Array, Array]]:
        """Dᵀβ, and B with h'B."""
        B = np.empty_like(self._E)
        np.divide(beta.T, self._w.T, out=B[:, :-1])
        np.einsum("ja,ja->j", self._z, B[:, :-1], out=B[:, -1])
        HB = product(self._h1, B)
        return np.einsum("ia,ia->i", self._E, HB), (B, HB)

    def gradient(self, alpha: Array, of_beta: tuple[Array, Array] | None = None) -> Array:
        """Dα + Lβ, or Dα alone."""
        W = self._h1 * alpha
        if of_beta is not None:
            W += self._h2 * product(self._E, of_beta[0].T)
        slopes = self._q * product(W, self._z)
        if self._p:
            slopes += self._p * W.sum(axis=1, keepdims=True) * self._z
        if of_beta is not None:
            slopes += self._q * of_beta[1][:, :-1]
        return slopes.T / self._w


class AppliedProducts:
    """What `Kernel.apply` gives, for a kernel that is no profile."""

    def __init__(self, kernel: Kernel, X: Array, factor: float) -> None:
        self._kernel, self._X, self._factor = kernel, X, factor

    def values(self, beta: Array) -> tuple[Array, Array]:
        """Dᵀβ, and β."""
        f, _ = self._kernel.apply(self._X, self._X, None, beta, gradient=False)
        return self._factor * f, beta

    def gradient(self, alpha: Array, of_beta: Array | None = None) -> Array:
        """Dα + Lβ, or Dα alone."""
        _, slopes = self._kernel.apply(self._X, self._X, alpha, of_beta)
        assert slopes is not None
        return self._factor * slopes


class SumProducts:
    """A sum of kernels."""

    def __init__(self, parts: list[Products]) -> None:
        self._parts = parts

    def values(self, beta: Array) -> tuple[Array, list[Any]]:
        """Dᵀβ, and what each part needs to know of β."""
        f, known = zip(*(part.values(beta) for part in self._parts), strict=True)
        return np.sum(f, axis=0), list(known)

    def gradient(self, alpha: Array, of_beta: list[Any] | None = None) -> Array:
        """Dα + Lβ, or Dα alone."""
        known = [None] * len(self._parts) if of_beta is None else of_beta
        pairs = zip(self._parts, known, strict=True)
        return np.asarray(np.sum([part.gradient(alpha, of) for part, of in pairs], axis=0))


def products(kernel: Kernel, X: Array) -> Products:
    """The products of this kernel at these points."""
    parts: list[Products] = []
    for factor, part in _terms(kernel, 1.0):
        if isinstance(part, Profile):
            parts.append(ProfileProducts(part, X, factor))
        else:
            parts.append(AppliedProducts(part, X, factor))
    return parts[0] if len(parts) == 1 else SumProducts(parts)


def _terms(kernel: Kernel, factor: float) -> Iterator[tuple[float, Kernel]]:
    """The kernel as a sum of multiples."""
    if isinstance(kernel, Scaled):
        yield from _terms(kernel.kernel, factor * kernel.factor)
    elif isinstance(kernel, Sum):
        for part in kernel.kernels:
            yield from _terms(part, factor)
    else:
        yield factor, kernel
