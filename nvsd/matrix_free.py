"""Many inputs: the derivative space without its matrix.

H = (L − D P Dᵀ)/(2νn) is only ever multiplied with vectors, in O(n²d); nothing of size (nd)² is
formed. The path is that of the dual problem,

    minimise ½ uᵀHu − hᵀu + (τJ)*(u),

by proximal gradient steps with Anderson's acceleration, from τ_max down. As every u is feasible and
z(u) = h − Hu is known, the gap of θ(u) costs nothing more.

With many inputs H is well conditioned and a path of 50 τ takes some hundreds of products. ADMM with
conjugate gradients in S1 took ten to eighty times as many.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nvsd._checks import refuse_rounding
from nvsd.admm import (
    Points,
    Settings,
    Status,
    feasible,
    fenchel_gap,
    norms,
    row_norms,
)
from nvsd.anderson import Anderson
from nvsd.continuation import FlatPoint
from nvsd.kernels import Kernel
from nvsd.linalg import cholesky, cholesky_solve
from nvsd.penalties import BoundPenalty
from nvsd.products import products
from nvsd.representation import DerivativeProblem, DerivativeSpace, Problem

Array = NDArray[np.float64]
logger = logging.getLogger("nvsd")

MEMORY = 10  # steps that the acceleration looks back
POWER_STEPS = 30
CG_TOL = 1e-12
CG_STEPS = 2000


class MatrixFreeSpace(DerivativeSpace):
    """H by its products.

    Attributes
    ----------
    step : float
        1/‖H‖.
    """

    kind = "matrix-free"

    def __init__(self, X: Array, kernel: Kernel, nu: float) -> None:
        n, d = X.shape
        self.n, self.nu, self.shape = n, nu, (d, n)
        K = kernel.K(X)
        refuse_rounding(nu, float(K.diagonal().max()))
        K[np.diag_indices(n)] += n * nu
        self.P = cholesky(K)
        self._products = products(kernel, X)
        self.step = 1.0 / self._norm()
        self.system = ConjugateGradients(self.curve, self.step)

    def problem(self, y: Array) -> Problem:
        """The problem for this y."""
        return MatrixFreeProblem(self, y)

    def curve(self, U: Array) -> Array:
        """Hu for each row u."""
        out = np.empty_like(U)
        for row, u in zip(out, U, strict=True):
            f, of_u = self._products.values(u.reshape(self.shape))
            alpha = -cholesky_solve(self.P, f[None])[0]
            row[:] = self._products.gradient(alpha, of_u).ravel()
        return out / (2.0 * self.nu * self.n)

    def slopes(self, alpha: Array) -> Array:
        """Dα for each row α."""
        return np.array([self._products.gradient(row).ravel() for row in alpha])

    def values(self, beta: Array) -> Array:
        """Dᵀβ for each row β."""
        return np.array([self._products.values(row.reshape(self.shape))[0] for row in beta])

    def full_row_rank(self) -> bool:
        """Taken for granted, with so many inputs; if it is not so, τ_max is an upper bound."""
        return True

    def _norm(self) -> float:
        """The largest eigenvalue of H, by the power method."""
        u = np.random.default_rng(0).standard_normal((1, self.size()))
        norm = 0.0
        for _ in range(POWER_STEPS):
            u /= np.linalg.norm(u)
            u = self.curve(u)
            norm = float(np.linalg.norm(u))
        return max(norm, np.finfo(float).tiny)


class MatrixFreeProblem(DerivativeProblem):
    """min_u ½ uᵀHu − hᵀu + (τJ)*(u); C is u."""

    representation: MatrixFreeSpace

    def __init__(self, representation: MatrixFreeSpace, y: Array) -> None:
        super().__init__(representation, y)
        # Of this problem alone: what other fits did, in other threads too, must not matter.
        self._system = ConjugateGradients(representation.curve, representation.step)

    def s1(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """z = v + (I + κH)⁻¹(h − v), and u = κ(z − v)."""
        v = V.reshape(len(V), -1)
        x = self._system.solve(kappa, self.h - v)
        return kappa[:, None] * x, (v + x).reshape(V.shape)


class ConjugateGradients:
    """(I + κH)x = b; it starts from the solution before, as one κ tends to be asked for again."""

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
        V, square = R.copy(), norms(R) ** 2
        limit = (CG_TOL * norms(B)) ** 2
        for _ in range(CG_STEPS):
            if (square <= limit).all():
                break
            AV = apply(V)
            length = _ratio(square, np.einsum("kp,kp->k", V, AV))[:, None]
            X = X + length * V
            R = R - length * AV
            before, square = square, norms(R) ** 2
            V = R + _ratio(square, before)[:, None] * V
        self._last = X
        return X

    def smallest_pivot(self, kappa: float) -> float:
        """Not known."""
        return 1.0


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Divide with 0/0 = 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def solve_dual(
    problem: MatrixFreeProblem,
    penalty: BoundPenalty,
    taus: Array,
    flat: FlatPoint,
    settings: Settings,
    tick: Callable[[int], object] = lambda done: None,
) -> Points:
    """Solve for all τ; the result is in descending order of τ."""
    limit = settings.tol * problem.scale
    line = _Line(problem, flat)
    done = []
    for tau in np.sort(taus)[::-1]:
        points = None
        if tau >= flat.tau_max:
            points = _closed_form(problem, penalty, tau, flat.u, np.zeros_like(flat.u))
        elif tau == 0:
            points = _closed_form(problem, penalty, tau, np.zeros_like(flat.u), problem.ridge()[1])
        if points is None or points.gap[0] > limit:
            solved, z = _solve(problem, penalty, tau, *line.at(tau), settings)
            line.add(tau, solved.u, z)
            known = [] if points is None else [points]
            if solved.status[0] == Status.MAX_ITER:  # it may be far off, and this is known
                known.append(_flat_instead(problem, penalty, solved, flat))
            points = min([solved, *known], key=lambda each: np.nan_to_num(each.gap[0], nan=np.inf))
        done.append(points)
        tick(1)
    return Points.join(done)


def _solve(
    problem: MatrixFreeProblem,
    penalty: BoundPenalty,
    tau: float,
    u: Array,
    z: Array,
    settings: Settings,
) -> tuple[Points, Array]:
    """The solution at one τ, started from u with z = z(u); and its own z.

    With w = z + u/κ, φ = prox_{τJ/κ}(w) and κ = 1/‖H‖, the dual step is u⁺ = κ(w − φ), by Moreau's
    identity; it is feasible for any w.
    """
    kappa, taus = problem.representation.step, np.array([tau])

    def prox(w: Array) -> Array:
        return penalty.shrinkage(row_norms(w).T, taus / kappa).T[:, :, None] * w

    w_next = z + u / kappa
    history = Anderson(w_next.shape, MEMORY)
    w = w_next
    for iteration in range(1, settings.max_iter + 1):
        phi = prox(w)
        u = feasible(penalty, taus, kappa * (w - phi))
        z = problem.derivatives(u.reshape(1, -1))
        w_next = z + u / kappa
        gap = fenchel_gap(penalty, taus, z, u)
        converged = bool(gap[0] <= settings.tol * problem.scale)
        if converged or iteration == settings.max_iter:
            break
        w = history.extrapolate(w, w_next)
    phi_next = prox(w_next)
    points = Points(
        taus,
        u.reshape(1, -1),
        phi_next,
        u,
        u,
        gap,
        np.array([kappa]),
        np.array([iteration]),
        norms(z - phi_next),
        kappa * norms(phi_next - phi),
        np.array([Status.CONVERGED if converged else Status.MAX_ITER]),
    )
    return points, z


def _closed_form(
    problem: MatrixFreeProblem, penalty: BoundPenalty, tau: float, u: Array, phi: Array
) -> Points:
    """A solution that is known."""
    taus, none = np.array([tau]), np.zeros(1)
    gap = fenchel_gap(penalty, taus, problem.derivatives(u.reshape(1, -1)), u)
    status = np.array([Status.CLOSED_FORM])
    C, count = u.reshape(1, -1), np.zeros(1, dtype=np.intp)
    return Points(taus, C, phi, u, u, gap, none, count, none, none, status)


def _flat_instead(
    problem: MatrixFreeProblem, penalty: BoundPenalty, points: Points, flat: FlatPoint
) -> Points:
    """The flat point in place of a solution, judged by the dual point of that."""
    z = problem.derivatives(flat.C)
    gap = fenchel_gap(penalty, points.tau, z, points.u) + problem.half_distance(flat.C, points.u)
    return replace(
        points,
        C=flat.C,
        phi=np.zeros_like(points.phi),
        multiplier=flat.multiplier,
        gap=gap,
        primal_residual=norms(z),
        dual_residual=np.zeros(1),
    )


class _Line:
    """The line through the last two solutions u/τ, on which the next one starts."""

    def __init__(self, problem: MatrixFreeProblem, flat: FlatPoint) -> None:
        self._h = problem.ridge()[1]
        self._last = [(flat.tau_max, flat.u, problem.derivatives(flat.u.reshape(1, -1)))]

    def add(self, tau: float, u: Array, z: Array) -> None:
        """Take in a solution."""
        self._last = [*self._last[-1:], (tau, u, z)]

    def at(self, tau: float) -> tuple[Array, Array]:
        """Return u, and z = h − Hu, which is affine in u and costs no product."""
        weights = [tau / self._last[0][0]]
        if len(self._last) == 2:
            weights = [-weights[0], 2.0 * tau / self._last[1][0]]
        u = np.zeros_like(self._h)
        z = (1.0 - sum(weights)) * self._h
        for weight, (_, u_known, z_known) in zip(weights, self._last, strict=True):
            u = u + weight * u_known
            z = z + weight * z_known
        return u, z
