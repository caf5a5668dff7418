"""Products with the Gram blocks of a kernel at fixed points, in O(n²d) and without forming them.

For f = Σ_j α_j k(x_j, ·) + Σ_aj β_aj ∂_a k(x_j, ·), the values at the points are Kα + Dᵀβ and the
gradient is Dα + Lβ.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from nvsd.kernels import blocks
from nvsd.kernels.blocks import CHUNK, Accumulates, Array


class Products(Protocol):
    """D and L at fixed points, for k functions at once: α is (k, n), β and gradients (k, d, n)."""

    def values(self, beta: Array) -> tuple[Array, Any]:
        """Dᵀβ, and what `gradient` needs to know about β."""
        ...

    def gradient(self, alpha: Array, of_beta: Any = None) -> Array:
        """Dα + Lβ, or Dα alone."""
        ...

    def slope_norms(self) -> Array:
        """Upper bounds of ‖L_aa‖₂ for the blocks of the d inputs, (d,)."""
        ...

    def single(self) -> Products:
        """The same in single precision, if that is faster."""
        ...


def norm_bound(M: Array) -> float:
    """At least ‖M‖₂, M positive semi-definite: the trace, or the largest sum of a row's |M_ij|."""
    return float(min(np.trace(M), np.abs(M).sum(axis=1).max()))


class AppliedProducts:
    """Products by evaluating f, for a kernel that has no faster way."""

    def __init__(self, kernel: Accumulates, X: Array, factor: float) -> None:
        self._kernel, self._X, self._factor = kernel, X, factor

    def values(self, beta: Array) -> tuple[Array, Array]:
        """Dᵀβ, and β."""
        along = np.moveaxis(beta, 0, 2)
        f, _ = blocks.evaluate(self._kernel, self._X, self._X, None, along, gradient=False)
        return self._factor * f.T, along

    def gradient(self, alpha: Array, of_beta: Array | None = None) -> Array:
        """Dα + Lβ, or Dα alone."""
        _, slopes = blocks.evaluate(self._kernel, self._X, self._X, alpha.T, of_beta)
        return self._factor * np.moveaxis(slopes, 2, 0)

    def slope_norms(self) -> Array:
        """The traces, from blocks of a few points each."""
        n, d = self._X.shape
        traces, step = np.zeros(d), max(1, int(np.sqrt(CHUNK) / d))
        for start in range(0, n, step):
            L = blocks.L(self._kernel, self._X[start : start + step])
            traces += L.diagonal().reshape(d, -1).sum(axis=1)
        return self._factor * traces

    def single(self) -> Products:
        """These: the kernel computes in double precision."""
        return self


class SumProducts:
    """Products for a sum of kernels."""

    def __init__(self, parts: list[Products]) -> None:
        self._parts = parts

    def values(self, beta: Array) -> tuple[Array, list[Any]]:
        """Dᵀβ, and what each part needs to know about β."""
        f, known = zip(*(part.values(beta) for part in self._parts), strict=True)
        return np.sum(f, axis=0), list(known)

    def gradient(self, alpha: Array, of_beta: list[Any] | None = None) -> Array:
        """Dα + Lβ, or Dα alone."""
        known = [None] * len(self._parts) if of_beta is None else of_beta
        pairs = zip(self._parts, known, strict=True)
        return np.asarray(np.sum([part.gradient(alpha, of) for part, of in pairs], axis=0))

    def slope_norms(self) -> Array:
        """The sums of the parts' bounds."""
        return np.asarray(np.sum([part.slope_norms() for part in self._parts], axis=0))

    def single(self) -> Products:
        """Every part in single precision."""
        return SumProducts([part.single() for part in self._parts])
