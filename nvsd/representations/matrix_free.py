"""Many inputs: the derivative space without its matrix.

H = (L − D P Dᵀ)/(2νn) is only ever multiplied with vectors, in O(n²d); nothing of size (nd)² is
formed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nvsd.kernels import blocks
from nvsd.linalg import cholesky_solve
from nvsd.representations.base import Problem, Representation
from nvsd.representations.derivative import DerivativeProblem, DerivativeSpace
from nvsd.representations.monomials import n_monomials
from nvsd.representations.request import VECTORS, Cost, Request
from nvsd.tolerances import CONJUGATE_GRADIENTS, TINY

Array = NDArray[np.float64]

POWER_STEPS = 30  # of the power method: gives ‖H‖ to a percent, and steps may be 1 % short
CG_STEPS = 2000  # of conjugate gradients: any residual after that is rounding
PRODUCTS = 2000  # upper bound for a path if H is well conditioned
CALL = 2e7  # flops that fit in the time of numpy's call overhead for one product


class MatrixFreeSpace(DerivativeSpace):
    """H, known only through its products with vectors.

    Attributes
    ----------
    step : float
        1/‖H‖.
    """

    kind = "matrix-free"
    solver = "dual-gradient"
    factorises = False
    splits = False  # ADMM with conjugate gradients in S1 would take hours

    def __init__(self, request: Request) -> None:
        self._set(request, *request.points.shape)
        self._factorise(blocks.K(request.kernel, request.points))
        self._products = request.kernel.products(request.points)
        self.step = 1.0 / self._norm()
        self.system = ConjugateGradients(self.curve, self.step)

    @classmethod
    def cost(cls, request: Request) -> Cost:
        """Products in O(n²d); infinite with few inputs, where H is ill conditioned."""
        n, d = float(request.n or 0), request.d
        p, polynomial = n * d, request.kernel.polynomial
        r = float(n_monomials(d, *polynomial)) if polynomial else math.inf
        # H is singular if there are fewer monomials than derivatives.
        suits = 4 * d >= n and p < r
        flops = PRODUCTS * (6 * n * p + CALL) if suits else math.inf
        return Cost(flops, 8 * (6 * n**2 + VECTORS * p))

    @classmethod
    def make(cls, request: Request) -> Representation:
        """The representation of all samples."""
        return cls(request)

    def problem(self, y: Array) -> Problem:
        """The problem for this y."""
        return MatrixFreeProblem(self, y)

    def curve(self, U: Array) -> Array:
        """Hu for each row u."""
        f, of_u = self._products.values(U.reshape(-1, *self.shape))
        slopes = self._products.gradient(-cholesky_solve(self.P, f), of_u)
        return slopes.reshape(U.shape) / (2.0 * self.nu * self.n)

    def slopes(self, alpha: Array) -> Array:
        """Dα for each row α."""
        return self._products.gradient(alpha).reshape(len(alpha), -1)

    def values(self, beta: Array) -> Array:
        """Dᵀβ for each row β."""
        return self._products.values(beta.reshape(-1, *self.shape))[0]

    def full_row_rank(self) -> bool:
        """True: assumed with many inputs; if it is wrong, τ_max is only an upper bound."""
        return True

    @cached_property
    def curve_norms(self) -> Array:
        """H_aa is at most L_aa/(2νn)."""
        return self._products.slope_norms() / (2.0 * self.nu * self.n)

    @property
    def curve_floors(self) -> Array:
        """No better than the norms."""
        return self.curve_norms

    @cached_property
    def curve_inverse_norms(self) -> Array:
        """Not known: that would take a factorisation."""
        return np.full(self.shape[0], np.inf)

    def _norm(self) -> float:
        """The largest eigenvalue of H, by the power method."""
        u = np.random.default_rng(0).standard_normal((1, self.size()))
        norm = 0.0
        for _ in range(POWER_STEPS):
            u /= np.linalg.norm(u)
            u = self.curve(u)
            norm = float(np.linalg.norm(u))
        return max(norm, TINY)


class MatrixFreeProblem(DerivativeProblem):
    """min_u ½ uᵀHu − hᵀu + (τJ)*(u); C is u."""

    representation: MatrixFreeSpace

    def __init__(self, representation: MatrixFreeSpace, y: Array) -> None:
        super().__init__(representation, y)
        # Each problem has its own: other fits, also in other threads, must not affect it.
        self._system = ConjugateGradients(representation.curve, representation.step)

    @property
    def step(self) -> float:
        """1/‖H‖, the step of a gradient method on the dual problem."""
        return self.representation.step

    def s1(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """z = v + (I + κH)⁻¹(h − v), and u = κ(z − v)."""
        return self._s1(V, kappa, self._system.solve)

    def s1_roughly(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """The same."""
        return self.s1(V, kappa)


class ConjugateGradients:
    """(I + κH)x = b; starts from the last solution, because the same κ often comes again."""

    any_kappa = True

    def __init__(self, curve: Callable[[Array], Array], unit: float) -> None:
        self._curve, self.kappa_unit = curve, unit
        self._last: Array | None = None

    def solve(self, kappa: Array, B: Array) -> Array:
        """Rows x_j with (I + κ_j H) x_j = b_j."""
        X = np.zeros_like(B) if self._last is None or len(self._last) != len(B) else self._last

        def apply(V: Array) -> Array:
            return V + kappa[:, None] * self._curve(V)

        R = B - apply(X)
        V, square = R.copy(), _norms(R) ** 2
        limit = (CONJUGATE_GRADIENTS * _norms(B)) ** 2
        for _ in range(CG_STEPS):
            if (square <= limit).all():
                break
            AV = apply(V)
            length = _ratio(square, np.einsum("kp,kp->k", V, AV))[:, None]
            X = X + length * V
            R = R - length * AV
            before, square = square, _norms(R) ** 2
            V = R + _ratio(square, before)[:, None] * V
        self._last = X
        return X

    def solve_roughly(self, kappa: Array, B: Array) -> Array:
        """The same: every solution starts from the last one."""
        return self.solve(kappa, B)

    def with_diagonal(self, diagonal: Array) -> None:
        """None: products alone have no diagonal."""

    def smallest_pivot(self, kappa: float) -> float:
        """Raise an error: conjugate gradients factorise nothing."""
        raise NotImplementedError("conjugate gradients have no pivots")

    def inverse_factor(self, kappa: float) -> None:
        """Always None: conjugate gradients factorise nothing."""


def _norms(V: Array) -> Array:
    """The norm of each row."""
    return np.asarray(np.sqrt(np.einsum("kp,kp->k", V, V)))


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Divide with 0/0 = 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
