"""Any kernel by its nd derivatives at the samples: exact, no features needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from nvsd.data.checks import refuse_rounding
from nvsd.kernels import Kernel, blocks
from nvsd.linalg import (
    KEPT_BYTES,
    ShiftedSystem,
    cholesky,
    cholesky_solve,
    half_solve,
    pieces,
    product,
    shifted_system,
    symmetric_product,
)
from nvsd.representations.base import Problem, Representation
from nvsd.representations.curvature import (
    block_ranges,
    inverse_block_norms,
    row_sum_norm,
    shifted_inverse_block_norms,
)
from nvsd.representations.derivative_splitting import DerivativeSplitting
from nvsd.representations.flat_end import FLAT_KAPPA
from nvsd.representations.request import VECTORS, Cost, Request, refuse_blocks
from nvsd.representations.returned import Solution
from nvsd.representations.splitting import Splitting
from nvsd.tolerances import EPS, JITTERS, ROUNDED_SUMS

Array = NDArray[np.float64]
Solve = Callable[[Array, Array], Array]

REGULAR = 100.0  # pivot of I + κH, with κ = 1e9 units: far above the 1 of a singular H


class DerivativeSpace(Representation):
    """H = (L − D P Dᵀ)/(2νn) with P = (K + shift I)⁻¹: exact for any kernel, of order nd."""

    kind = "derivative"
    on_samples = True
    splits = True
    dual_coefficients = True
    _K: Array | None = None  # kept if S2 takes the loss

    def __init__(self, request: Request) -> None:
        n, d = request.points.shape
        self._set(request, n, d)
        K, self.D, L = blocks.KDL(request.kernel, request.points)
        scale = 1.0 / (2.0 * self.nu * n)
        self._error = scale * self._rounding(K) * row_sum_norm(L)
        self._K = None if request.curvature is None else K.copy()
        self._factorise(K)
        E = half_solve(self.P, self.D)
        # Overwrites L, because another array of that size would cost more than the product.
        for rows in pieces(0, len(L), 2.0 * E.size):
            given = {"beta": scale, "c": L[rows].T, "overwrite_c": 1}
            blas.dgemm(-scale, E.T, E[rows].T, trans_a=1, **given)
        self.H = L
        self.system = shifted_system(self.H, method=request.s1)

    def _set(self, request: Request, n: int, d: int) -> None:
        self.n, self.nu, self.loss, self.shape = n, request.nu, request.parabola, (d, n)
        self.shift = self.loss.shift(n, request.nu)

    def _rounding(self, K: Array) -> float:
        """Of H, relative to L/(2νn).

        The factor of K + shift I is that of a matrix which differs by the rounding errors of K;
        beside the shift they change P by the same part, and DPDᵀ is at most L.
        """
        return ROUNDED_SUMS * EPS * (self.n + row_sum_norm(K) / self.shift)

    def _factorise(self, K: Array) -> None:
        """P, from K, which is overwritten."""
        refuse_rounding(self.nu, float(K.diagonal().max()))
        K[np.diag_indices(self.n)] += self.shift
        self.P = cholesky(K)

    @classmethod
    def refusal(cls, request: Request) -> str | None:
        """It needs all samples, and ν > 0."""
        return refuse_blocks(cls, request) or super().refusal(request)

    @classmethod
    def cost(cls, request: Request) -> Cost:
        """H, its packed triangle, and about six factors of the triangle's size."""
        n = float(request.n or 0)
        p = n * request.d
        factors = min(3 * p**2, max(p**2, KEPT_BYTES / 8))
        memory = 8 * (1.5 * p**2 + factors + 3 * n * p + VECTORS * p)
        return Cost(n * p**2 + 2 * p**3, memory)

    @classmethod
    def make(cls, request: Request) -> Representation:
        """The representation of all samples."""
        return cls(request)

    @staticmethod
    def evaluate_stored(
        stored: Mapping[str, Array], kernel: Kernel, X_new: Array, gradient: bool
    ) -> tuple[Array, Array]:
        """From α and β at the samples."""
        coefficients = stored["alpha"], stored["beta"]
        return blocks.rows_first(kernel, X_new, stored["points"], *coefficients, gradient=gradient)

    def problem(self, y: Array) -> Problem:
        """The problem for this y."""
        return DerivativeProblem(self, y)

    def splitting(self) -> Splitting:
        """With the coefficients on the samples."""
        assert self._K is not None
        return DerivativeSplitting(self, self._K)

    def curve(self, U: Array) -> Array:
        """Hu for each row u."""
        return symmetric_product(U, self.H)

    def slopes(self, alpha: Array) -> Array:
        """Dα for each row α."""
        return product(alpha, self.D.T)

    def values(self, beta: Array) -> Array:
        """Dᵀβ for each row β."""
        return product(beta, self.D)

    def size(self) -> int:
        """Order nd of I + κH."""
        return self.shape[0] * self.n

    def full_row_rank(self) -> bool:
        """Whether H = Z A⁻¹ Zᵀ is regular: its smallest pivot is far above that of the identity."""
        return self.system.smallest_pivot(FLAT_KAPPA * self.system.kappa_unit) > REGULAR

    @cached_property
    def _curve_ranges(self) -> tuple[Array, Array]:
        return block_ranges(self.H, self.shape[0])

    @property
    def curve_norms(self) -> Array:
        """From the blocks of H."""
        return np.asarray(self._curve_ranges[1] + self._error)

    @property
    def curve_floors(self) -> Array:
        """From the blocks of H."""
        return np.asarray(np.maximum(self._curve_ranges[0], 0.0) + self._error)

    @cached_property
    def curve_inverse_norms(self) -> Array:
        """From the factor that proved the flat end, or a factor of H itself."""
        kappa, d = FLAT_KAPPA * self.system.kappa_unit, self.shape[0]
        C = self.system.inverse_factor(kappa)
        if C is not None:
            # CᵀC is the inverse of I + κH, up to rounding errors and a repair of the factor.
            repair = JITTERS[-1] * float(self.H.diagonal().max())
            shift = 1.0 / kappa + 2.0 * self._error + repair
            found = shifted_inverse_block_norms(C, d, kappa, shift)
            if found is not None:
                return found
            del C  # the memory is needed
        return inverse_block_norms(self.H, d, self._error)


class DerivativeProblem(Problem):
    """min_z ½ (z − h)ᵀ H⁺ (z − h) + τ J(z); C is the multiplier u with z = h − Hu."""

    representation: DerivativeSpace
    y: Array
    _own: tuple[ShiftedSystem, Array] | None = None  # if balanced: the system, and its diagonal

    def __init__(self, representation: DerivativeSpace, y: Array) -> None:
        self.representation, self.y = representation, y
        self.scale = float(representation.loss.value(y, np.zeros_like(y)))
        Py = cholesky_solve(representation.P, y[None])
        self.h: Array = representation.slopes(Py)[0] / np.sqrt(len(y))

    @property
    def system(self) -> ShiftedSystem:
        """That of the representation, if no input has a κ of its own."""
        return self.representation.system if self._own is None else self._own[0]

    def balanced(self, balance: Array | None) -> DerivativeProblem:
        """With κ_a = κ m_a, S1 has the diagonal 1/m_a in place of the identity."""
        if balance is None:
            return self
        diagonal = np.repeat(1.0 / balance, self.representation.n)
        system = self.representation.system.with_diagonal(diagonal)
        if system is None:
            return self
        other = copy(self)
        other.balance, other._own = balance[:, None], (system, diagonal)
        return other

    def s1(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """z = v + M⁻¹x and u = κx with (M⁻¹ + κH)x = h − v; M is I, or has the m_a."""
        return self._s1(V, kappa, self.system.solve)

    def s1_roughly(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """With a factor in single precision."""
        return self._s1(V, kappa, self.system.solve_roughly)

    def _s1(self, V: Array, kappa: Array, solved: Solve) -> tuple[Array, Array]:
        v = V.reshape(len(V), -1)
        x = solved(kappa, self.h - v)
        z = v + (x if self._own is None else self._own[1] * x)
        return kappa[:, None] * x, z.reshape(V.shape)

    def refined(self, C: Array, Z: Array, kappa: Array) -> Array:
        """The residual h − v − (M⁻¹ + κH)x, where u = κx and z = v + M⁻¹x, is h − Hu − z."""
        residual = (self.derivatives(C) - Z).reshape(C.shape)
        return C + kappa[:, None] * self.system.solve_roughly(kappa, residual)

    def ridge(self) -> tuple[Array, Array]:
        """u = 0 and z = h."""
        return np.zeros((1, self.h.size)), self.h.reshape(1, *self.shape).copy()

    def derivatives(self, C: Array) -> Array:
        """z = h − Hu."""
        return (self.h - self.representation.curve(C)).reshape(-1, *self.shape)

    def half_distance(self, C: Array, U: Array) -> Array:
        """½ (u' − u)ᵀ H (u' − u), where θ = θ(u')."""
        step = C - U.reshape(C.shape)
        square = np.einsum("kp,kp->k", self.representation.curve(step), step)
        return np.asarray(0.5 * np.maximum(square, 0.0))

    def compared(self, C: Array, U: Array) -> tuple[Array, Array]:
        """Both from one product: few rows at a time cost as much as twice as many."""
        u = U.reshape(C.shape)
        HC, Hu = np.split(self.representation.curve(np.concatenate([C, u])), 2)
        half = 0.5 * np.maximum(np.einsum("kp,kp->k", HC - Hu, C - u), 0.0)
        return (self.h - HC).reshape(-1, *self.shape), np.asarray(half)

    def solution(self, C: Array, U: Array) -> Solution:
        """α and β of the paper's Proposition 1: β = −u/(2ν), α = P(y − Dᵀβ), u in the scale of Z.

        By (K + shift I)α = y − Dᵀβ the residuals are shift times α.
        """
        rep = self.representation
        beta = C / (-2.0 * rep.nu * np.sqrt(rep.n))
        alpha = cholesky_solve(rep.P, self.y - rep.values(beta))
        fitted = self.y - rep.shift * alpha
        z = self.derivatives(C).reshape(C.shape) * np.sqrt(rep.n)
        norm = np.einsum("ki,ki->k", alpha, fitted) + np.einsum("kp,kp->k", beta, z)
        return Solution(
            rep.loss.of_residuals(rep.shift * alpha),
            np.maximum(norm, 0.0),
            fitted,
            {"alpha": alpha, "beta": beta.reshape(-1, *self.shape)},
        )
