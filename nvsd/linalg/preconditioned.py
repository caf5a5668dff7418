"""(I + κH) x = b where only products with H are known: conjugate gradients, with a preconditioner.

The preconditioner is H of low rank, from its products with random vectors (the Nyström
approximation). What it misses has small eigenvalues, so that a few products solve a system unless κ
is large. Vectors are rows, as in `nvsd.linalg.factors`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from nvsd.linalg.factors import cholesky, product
from nvsd.linalg.in_pieces import eigen, panels, pieces
from nvsd.tolerances import CONJUGATE_GRADIENTS, TINY

Array = NDArray[np.float64]
Numbers = NDArray[Any]  # of single or double precision
Apply = Callable[[Numbers], Numbers]

BLOCK = 64  # random vectors that are multiplied at a time
SHIFT = 1e-6  # of ΩHΩᵀ, relative to its largest diagonal entry: ten times the rounding of its sums
CG_STEPS = 2000  # of conjugate gradients: any residual after that is rounding
REDUCTION = 1e-2  # of a residual in S1: with it ADMM takes as many iterations as with exact S1
# Largest κ‖H‖ in single precision, whose rounding unit is 6e-8: of products, of the preconditioner.
ROUGH_RANGE, LARGEST_RANGE = 1e5, 1e6


class LowRank:
    """FᵀF ≈ H with few rows F in single precision, and with it (I + κFᵀF)⁻¹ for every κ.

    Notes
    -----
    With Y = ΩH for random rows Ω, and ΩHΩᵀ = CCᵀ, F is C⁻¹Y. From FFᵀ = WΛWᵀ follows

        (I + κFᵀF)⁻¹ = I − FᵀW κ(1 + κΛ)⁻¹ WᵀF.
    """

    def __init__(self, apply: Apply, order: int, rank: int) -> None:
        self.F = F = np.empty((rank, order), dtype=np.float32)
        for rows in panels(rank, BLOCK):
            F[rows] = apply(_random(rows, order))
        core = np.empty((rank, rank))
        for rows in panels(rank, BLOCK):
            core[rows] = product(_random(rows, order), F.T)
        core = (core + core.T) / 2.0
        core[np.diag_indices(rank)] += SHIFT * core.diagonal().max()
        factor = cholesky(core).astype(np.float32, order="F")
        for columns in pieces(0, order, 1.0 * rank**2):
            F[:, columns] = blas.strsm(1.0, factor, F[:, columns], lower=1)
        gram = np.empty((rank, rank))
        for rows in panels(rank, BLOCK):
            gram[rows] = product(F[rows], F.T)
        values, W = eigen((gram + gram.T) / 2.0)
        self.values: Array = np.maximum(values, 0.0)
        self.norm = max(float(self.values.max()), TINY)
        self.W = W.astype(np.float32)

    def solve(self, kappa: Array, R: Numbers) -> Numbers:
        """Rows x_j with (I + κ_j FᵀF) x_j = r_j; for a κ whose digits F lacks, a smaller one."""
        kappa = np.minimum(kappa, LARGEST_RANGE / self.norm)
        inner = product(product(R.astype(np.float32), self.F.T), self.W)
        inner *= kappa[:, None] / (1.0 + kappa[:, None] * self.values)
        return np.asarray(R - product(product(inner, self.W.T), self.F))


def _random(rows: slice, order: int) -> NDArray[np.float32]:
    """Rows of Ω. They are the same in every call, and need not be kept."""
    rng = np.random.default_rng(rows.start)
    return rng.standard_normal((rows.stop - rows.start, order), dtype=np.float32)


class PreconditionedSystem:
    """(I + κH)x = b by conjugate gradients.

    Parameters
    ----------
    apply, apply_roughly : callables
        Hu for each row u, in double and in single precision.
    order, rank : int
        The order of H, and the rank of its preconditioner.
    """

    any_kappa = False  # with a κ for each row, ADMM raised that of single rows far too high

    def __init__(self, apply: Apply, apply_roughly: Apply, order: int, rank: int) -> None:
        self._apply, self._apply_roughly = apply, apply_roughly
        self.low_rank = LowRank(apply_roughly, order, rank)
        values = self.low_rank.values
        self.kappa_unit = order / max(float(values.sum()), TINY)
        self.norm = self.low_rank.norm

    @property
    def resolved(self) -> float:
        """The least eigenvalue that the preconditioner knows."""
        values = self.low_rank.values
        return float(values[values > SHIFT * self.norm].min(initial=self.norm))

    def solve(self, kappa: Array, B: Array) -> Array:
        """Rows x_j with (I + κ_j H) x_j = b_j."""
        limit = CONJUGATE_GRADIENTS * _norms(B)
        return conjugate_gradients(self._apply, self.low_rank, kappa, B, limit)[0]

    def solve_roughly(self, kappa: Array, B: Array) -> Array:
        """The same with residuals of a hundredth of b."""
        return self.reduce(kappa, B, True)[0]

    def reduce(self, kappa: Array, B: Array, rough: bool) -> tuple[Array, Array]:
        """Such x, and Hx; in single precision if that is asked for and κ is not too large."""
        size = np.maximum(np.abs(B).max(axis=1, keepdims=True), TINY)  # squares could underflow
        R = B / size
        limit = REDUCTION * _norms(R)
        if rough and kappa.max() * self.norm <= ROUGH_RANGE:
            apply: Apply = self._apply_roughly
            R = R.astype(np.float32)
        else:
            apply = self._apply
        X, HX = conjugate_gradients(apply, self.low_rank, kappa, R, limit)
        return np.asarray(X * size), np.asarray(HX * size)

    def invert(self, B: Array, limit: float, steps: int) -> tuple[Array, Array]:
        """Rows x_j with H x_j = b_j: residuals are this share of b, if the steps suffice."""
        # With a κ of 1/δ for eigenvalues δ that the preconditioner misses, M⁻¹ is that of FᵀF + δI.
        kappa = np.full(len(B), 1.0 / self.resolved)
        k = kappa[:, None]
        given = self.low_rank, kappa, k * B, kappa * limit * _norms(B)
        return conjugate_gradients(self._apply, *given, steps=steps, shift=0.0)

    def with_diagonal(self, diagonal: Array) -> None:
        """None: the preconditioner is one for the identity."""

    def smallest_pivot(self, kappa: float) -> float:
        """Raise an error: nothing is factorised."""
        raise NotImplementedError("conjugate gradients have no pivots")

    def inverse_factor(self, kappa: float) -> None:
        """None: nothing is factorised."""


def conjugate_gradients(
    apply: Apply,
    low_rank: LowRank,
    kappa: Array,
    R: Numbers,
    limit: Array,
    steps: int = CG_STEPS,
    shift: float = 1.0,
) -> tuple[Numbers, Numbers]:
    """Rows x_j with (shift I + κ_j H) x_j = r_j, up to residuals of norm limit_j, and their Hx_j.

    The preconditioner is that of shift = 1.
    """
    X, HX = np.zeros_like(R), np.zeros_like(R)
    running = np.flatnonzero(_norms(R) > limit)
    k, R = kappa[running], R[running]
    V, rho = np.zeros_like(R), np.ones(len(R))
    for _ in range(steps):
        if not len(running):
            break
        S = low_rank.solve(k, R)
        before, rho = rho, np.einsum("kp,kp->k", R, S)
        V = S + _as_column(_ratio(rho, before), V) * V
        HV = apply(V)
        AV = shift * V + _as_column(k, V) * HV
        length = _as_column(_ratio(rho, np.einsum("kp,kp->k", V, AV)), V)
        X[running] += length * V
        HX[running] += length * HV
        R = R - length * AV
        left = _norms(R) > limit[running]
        running, k, R, V, rho = running[left], k[left], R[left], V[left], rho[left]
    return X, HX


def _norms(V: Numbers) -> Array:
    """The norm of each row."""
    return np.asarray(np.sqrt(np.einsum("kp,kp->k", V, V)), dtype=float)


def _as_column(values: Numbers, like: Numbers) -> Numbers:
    """In the precision of the rows that it multiplies."""
    return values.astype(like.dtype)[:, None]


def _ratio(numerator: Numbers, denominator: Numbers) -> Numbers:
    """Divide with 0/0 = 0."""
    some = denominator > 0
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=some)
