"""A kernel on squashed inputs: extreme values are pulled in, so predictions stay moderate there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nvsd.kernels.base import Kernel
from nvsd.kernels.blocks import Array, Block

KNEE = 2.5  # standardised inputs stay unchanged up to here: 98.8 % of a normal input
EDGE = 4.0  # squashed inputs never exceed this


def squash(u: Array) -> Array:
    """t(u): u up to KNEE, then a tanh that ends at EDGE; its slope is continuous."""
    excess, room = np.maximum(np.abs(u) - KNEE, 0.0), EDGE - KNEE
    return np.asarray(np.sign(u) * (np.minimum(np.abs(u), KNEE) + room * np.tanh(excess / room)))


def squash_slope(u: Array) -> Array:
    """t'(u)."""
    excess = np.maximum(np.abs(u) - KNEE, 0.0)
    return np.asarray(1.0 - np.tanh(excess / (EDGE - KNEE)) ** 2)


@dataclass(frozen=True)
class Warped(Kernel):
    """k(x, x') = kernel(t(x), t(x')), where t squashes each of the standardised inputs.

    Up to 2.5 standard deviations t(x) = x; beyond, t bends and never exceeds 4.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.kernels import Linear, Warped
    >>> Warped(Linear()).K(np.array([[1.0], [100.0]]))
    array([[ 1.,  4.],
           [ 4., 16.]])
    """

    kernel: Kernel

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"{self.kernel!r} cannot be warped; give a kernel.")

    def _accumulate(self, c: float, X: Array, Y: Array, K: Block, D: Block, L: Block) -> None:
        A = squash(X)
        B = A if Y is X else squash(Y)
        inner_D = None if D is None else np.zeros_like(D)
        inner_L = None if L is None else np.zeros_like(L)
        self.kernel._accumulate(c, A, B, K, inner_D, inner_L)
        if D is not None and inner_D is not None:
            D += squash_slope(X).T[:, :, None] * inner_D
        if L is not None and inner_L is not None:
            inner_L *= squash_slope(X).T[:, :, None, None]
            inner_L *= squash_slope(Y).T
            L += inner_L

    def _evaluate(
        self, X_new: Array, X: Array, alpha: Array, beta: Block, gradient: bool
    ) -> tuple[Array, Array]:
        inner = None if beta is None else squash_slope(X).T[:, :, None] * beta
        f, grad = self.kernel._evaluate(squash(X_new), squash(X), alpha, inner, gradient)
        return f, squash_slope(X_new).T[: len(grad), :, None] * grad

    def factors(self, X: Array, Y: Array) -> tuple[list[Array], int] | None:
        """Those of the kernel, at the squashed inputs."""
        return self.kernel.factors(squash(X), squash(Y))

    def restrict(self, features: ArrayLike) -> Kernel:
        """Return the kernel on a subset of the inputs: indices, or a boolean mask."""
        return Warped(self.kernel.restrict(features))

    def widened(self, factor: float | Array) -> Kernel:
        """Return the kernel with its width multiplied."""
        return Warped(self.kernel.widened(factor))

    def filled(self, width: float) -> Kernel:
        """Return the kernel with this width, if it has none."""
        return Warped(self.kernel.filled(width))
