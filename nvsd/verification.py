"""A second opinion on functions that are near the limits of double precision.

The duality gap is exact for the matrices that a representation has computed. Where ν is small
beside the rounding errors of the kernel (polynomials on data far from the origin, above all) these
matrices may differ from those of the problem, and the gap with them. There objective and dual are
evaluated once more, by products with the kernel alone, of the very coefficients that are returned.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nvsd.admm import Points, Status, row_norms
from nvsd.kernels import Kernel
from nvsd.linalg import cholesky, cholesky_solve
from nvsd.penalties import BoundPenalty
from nvsd.representation import Problem

Array = NDArray[np.float64]

# ν over the rounding errors of the kernel's largest value: from here on, gaps were exact to 1e-9
# of ‖y‖²/n wherever the truth was computed with 300 digits.
SAFE = 1e9
EPS = float(np.finfo(float).eps)
ROUNDING = 1e-10  # part of ‖y‖²/n that a measured gap may be off by
SEEN = 1e-9  # and from which on bounds on rounding errors count, which are far from sharp


def verified(
    points: Points,
    problem: Problem,
    penalty: BoundPenalty,
    kernel: Kernel,
    X: Array | None,
    tol: float,
    tau_max: float,
) -> Points:
    """The points with a gap that holds for the coefficients as they are returned.

    Parameters
    ----------
    X : (n, d) array or None
        The samples, where f is returned as a combination of kernels and their derivatives there.
    tol : float
        A gap above tol ‖y‖²/n is no convergence, whatever the solver says.
    tau_max : float
        Beyond it, derivatives that are zero but for rounding are multiplied by ever larger τ.
    """
    gap = points.gap
    if X is not None and _doubtful(kernel, X, problem.representation.nu):
        second, rounding = _second_gap(points, problem, penalty, kernel, X)
        differs = second > gap + ROUNDING * problem.scale
        gap = np.where(differs | (rounding > SEEN * problem.scale), second + rounding, gap)
    elif X is not None:
        gap = gap + _unseen(points, problem, penalty, kernel, X)
    beyond = (points.status == Status.CLOSED_FORM) & (points.tau > tau_max) & (tau_max > 0)
    allowed = ROUNDING * np.divide(points.tau, tau_max, out=np.ones_like(gap), where=beyond)
    limit = np.maximum(tol, allowed) * problem.scale
    status = np.where(gap > limit, Status.MAX_ITER, points.status)
    return replace(points, gap=gap, status=status)


def _doubtful(kernel: Kernel, X: Array, nu: float) -> bool:
    """Whether the rounding errors of the kernel could matter beside ν."""
    return nu < SAFE * float(EPS * kernel.K(_farthest(X))[0, 0])


def _farthest(X: Array) -> Array:
    return X[[int(np.argmax(np.einsum("ia,ia->i", X, X)))]]


def _unseen(
    points: Points, problem: Problem, penalty: BoundPenalty, kernel: Kernel, X: Array
) -> Array:
    """The gap's second term, τJ(z) − uᵀz, of the coefficients minus that of the solver.

    Dα and Lβ are large and cancel where f is nearly flat; what rounding leaves of them, a large τ
    multiplies. It is measured where a rough bound says that it could matter.
    """
    rep, unseen = problem.representation, np.zeros(len(points.tau))
    slopes = np.sqrt(kernel.blocks(_farthest(X))[2].diagonal())
    beta = np.abs(points.u).sum(axis=(1, 2)) / (2.0 * rep.nu * np.sqrt(rep.n))
    steepness = points.tau * penalty.value(slopes[:, None])[0]
    rows = np.flatnonzero(EPS * beta * slopes.max() * steepness > ROUNDING * problem.scale)
    if len(rows):
        found = problem.coefficients(points.C[rows], points.multiplier[rows])
        _, z, _ = _evaluate(kernel, X, found["alpha"], found["beta"])
        tau, u = points.tau[rows], points.u[rows]

        def term(z: Array) -> Array:
            return np.asarray(tau * penalty.value(row_norms(z).T) - np.einsum("kai,kai->k", u, z))

        # Twice: rounding errors of the products are as large as those of the coefficients.
        unseen[rows] = 2.0 * (term(z) - term(problem.derivatives(points.C[rows])))
    return np.where(unseen > SEEN * problem.scale, unseen, 0.0)


def _second_gap(
    points: Points, problem: Problem, penalty: BoundPenalty, kernel: Kernel, X: Array
) -> tuple[Array, Array]:
    """Objective minus dual, each from products with the kernel, and what these may be off by.

    For θ(u), of which only approximate coefficients are known, the dual is at least
    E(θ) + uᵀZθ − (τJ)*(u) − ‖s‖²/n with s = y − f − nνα, which would be 0.
    """
    y, rep = problem.y, problem.representation  # type: ignore[attr-defined]
    n, nu, u = rep.n, rep.nu, points.u
    sizes = _sizes(kernel, X)

    def smooth(alpha: Array, beta: Array, slope: Array) -> tuple[Array, Array, Array, Array]:
        """f, Zθ, E(θ), and the rounding errors of E(θ) + slope·‖Zθ‖."""
        f, z, norm = _evaluate(kernel, X, alpha, beta)
        value = np.mean((y - f) ** 2, axis=1) + nu * norm
        return f, z, value, _rounding(y - f, alpha, beta, sizes, slope, nu)

    found = problem.coefficients(points.C, points.multiplier)
    slope = points.tau[:, None] * penalty.value(np.eye(X.shape[1]))
    _, z, primal, error = smooth(found["alpha"], found["beta"], slope)
    primal = primal + points.tau * penalty.value(row_norms(z).T)
    beta = u / (-2.0 * nu * np.sqrt(n))
    alpha = _stationary(kernel, X, y, beta, n * nu)
    f, z, dual, more = smooth(alpha, beta, row_norms(u))
    residual = np.mean((y - f - n * nu * alpha) ** 2, axis=1)
    dual = dual + np.einsum("kai,kai->k", u, z) - penalty.conjugate(row_norms(u).T, points.tau)
    return primal - dual + residual, error + more


def _evaluate(kernel: Kernel, X: Array, alpha: Array, beta: Array) -> tuple[Array, Array, Array]:
    """f at the samples (k, n), its derivatives over √n (k, d, n) and ‖f‖² (k,)."""
    f, slopes = kernel.apply(X, X, alpha.T, np.moveaxis(beta, 0, -1))
    assert slopes is not None
    f, z = f.T, np.moveaxis(slopes, -1, 0)
    norm = np.einsum("ki,ki->k", alpha, f) + np.einsum("kai,kai->k", beta, z)
    return f, z / np.sqrt(len(X)), norm


def _sizes(kernel: Kernel, X: Array) -> tuple[Array, Array]:
    """Norms of the functions k(x_i, ·) (n,) and ∂_a k(x_i, ·) (d, n)."""
    values, slopes = np.empty(len(X)), np.empty(X.shape[::-1])
    for i in range(len(X)):
        K, _, L = kernel.blocks(X[[i]])
        values[i], slopes[:, i] = K[0, 0], L.diagonal()
    return np.sqrt(values), np.sqrt(slopes)


def _rounding(
    residual: Array, alpha: Array, beta: Array, sizes: tuple[Array, Array], slope: Array, nu: float
) -> Array:
    """By Cauchy and Schwarz every term of f(x_i) is at most ‖k(x_i, ·)‖ times that of the sum."""
    values, slopes = sizes
    total = np.abs(alpha) @ values + np.einsum("kai,ai->k", np.abs(beta), slopes)
    loss = 2.0 * np.mean(np.abs(residual) * values, axis=1) + EPS * total * np.mean(values**2)
    penalty = slope @ np.sqrt(np.mean(slopes**2, axis=1))
    return np.asarray(EPS * total * (loss + penalty + nu * total))


def _stationary(kernel: Kernel, X: Array, y: Array, beta: Array, shift: float) -> Array:
    """α with (K + shift I)α = y − Dᵀβ, refined once."""
    K = kernel.K(X)
    shifted = K.copy()
    shifted[np.diag_indices(len(K))] += shift
    factor = cholesky(shifted)
    target = y - kernel.apply(X, X, None, np.moveaxis(beta, 0, -1), gradient=False)[0].T
    alpha = cholesky_solve(factor, target)
    return alpha + cholesky_solve(factor, target - alpha @ K - shift * alpha)
