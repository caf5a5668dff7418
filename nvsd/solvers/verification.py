"""A second computation of the gap for functions near the limits of double precision.

The duality gap is exact for the matrices that a representation has computed. If ν is small compared
with the rounding errors of the kernel (mostly for polynomials on data far from the origin), these
matrices may differ from those of the problem, and so may the gap. The gap is then computed again
for the returned coefficients, using only products with the kernel, and a bound on the error of
these products is added.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nvsd.kernels import Kernel, blocks
from nvsd.kernels.blocks import CHUNK
from nvsd.linalg import cholesky, cholesky_solve
from nvsd.penalties import BoundPenalty, block_norms
from nvsd.representations.base import Problem
from nvsd.solvers.points import Points
from nvsd.solvers.status import Status
from nvsd.tolerances import EPS, GAP_ROUNDING, SAFE_NU

Array = NDArray[np.float64]


def verified(
    points: Points,
    problem: Problem,
    penalty: BoundPenalty,
    kernel: Kernel,
    X: Array | None,
    tol: float,
    tau_max: float,
) -> Points:
    """The points with a gap that holds for the returned coefficients.

    Parameters
    ----------
    X : (n, d) array or None
        The samples, if f is returned as a combination of kernels and their derivatives there.
    tol : float
        A point with a gap above tol ‖y‖²/n has not converged, whatever the solver says.
    tau_max : float
        Beyond it, rounding errors of zero derivatives are multiplied by ever larger τ.
    """
    gap = points.gap
    if not problem.representation.nu:
        X = None  # the coefficients have least norm, and there is no ν to compare rounding with
    if X is not None and not problem.quadratic:
        second = _split_gap(points, problem, penalty, kernel, X)
        gap = np.where(second > gap + GAP_ROUNDING * problem.scale, second, gap)
    elif X is not None and _doubtful(kernel, X, problem.representation.nu):
        second, rounding = _second_gap(points, problem, penalty, kernel, X)
        differs = second > gap + GAP_ROUNDING * problem.scale
        gap = np.where(differs | (rounding > GAP_ROUNDING * problem.scale), second + rounding, gap)
    elif X is not None:
        gap = gap + _unseen(points, problem, penalty, kernel, X)
    beyond = (points.status == Status.CLOSED_FORM) & (points.tau > tau_max) & (tau_max > 0)
    allowed = GAP_ROUNDING * np.divide(points.tau, tau_max, out=np.ones_like(gap), where=beyond)
    limit = np.maximum(tol, allowed) * problem.scale
    # Where the solver had converged, only rounding can have raised the gap. NaN fails.
    ended = np.where(points.status == Status.MAX_ITER, Status.MAX_ITER, Status.ROUNDING)
    status = np.where(gap <= limit, points.status, ended)
    return replace(points, gap=gap, status=status)


def _doubtful(kernel: Kernel, X: Array, nu: float) -> bool:
    """Whether the rounding errors of the kernel could matter compared with ν."""
    return nu < SAFE_NU * float(EPS * blocks.K(kernel, _farthest(X))[0, 0])


def _farthest(X: Array) -> Array:
    return X[[int(np.argmax(np.einsum("ia,ia->i", X, X)))]]


def _unseen(
    points: Points, problem: Problem, penalty: BoundPenalty, kernel: Kernel, X: Array
) -> Array:
    """The gap's second term, τJ(z) − uᵀz, for the coefficients minus that of the solver.

    Dα and Lβ are large and cancel where f is nearly flat; a large τ multiplies the rounding errors
    that remain. They are measured where a rough bound says that they could matter.
    """
    rep, unseen = problem.representation, np.zeros(len(points.tau))
    slopes = np.sqrt(blocks.L(kernel, _farthest(X)).diagonal())
    beta = np.abs(points.u).sum(axis=(1, 2)) / (2.0 * rep.nu * np.sqrt(rep.n))
    steepness = points.tau * penalty.value(slopes)
    rows = np.flatnonzero(EPS * beta * slopes.max() * steepness > GAP_ROUNDING * problem.scale)
    if len(rows):
        found = problem.solution(points.C[rows], points.multiplier[rows]).coefficients
        _, z, _ = _evaluate(kernel, X, found["alpha"], found["beta"])
        tau, u = points.tau[rows], points.u[rows]

        def term(z: Array) -> Array:
            return np.asarray(tau * penalty.value(block_norms(z)) - np.einsum("kai,kai->k", u, z))

        # Doubled: the products have rounding errors of the same size as the coefficients.
        unseen[rows] = 2.0 * (term(z) - term(problem.derivatives(points.C[rows])))
    return np.where(unseen > GAP_ROUNDING * problem.scale, unseen, 0.0)


def _second_gap(
    points: Points, problem: Problem, penalty: BoundPenalty, kernel: Kernel, X: Array
) -> tuple[Array, Array]:
    """The gap of the coefficients, from products with the kernel, and a bound on its error.

    Let g be the gradient of E(f) + uᵀz at f, a function of the same kind. The gap is

        τJ(z) + (τJ)*(u) − uᵀz  +  ½‖g‖² in the norm of A⁻¹,

    and 2ν‖g‖² in that norm equals ‖g − Σ_i a_i k(x_i, ·)‖² + nν‖a‖² for the best a and is below it
    for any other a. No term is a difference of large, nearly equal numbers.
    """
    y, rep = problem.y, problem.representation
    assert y is not None
    n, nu, u = rep.n, rep.nu, points.u
    c, shift = rep.loss.curvature, rep.loss.shift(n, nu)
    found = problem.solution(points.C, points.multiplier).coefficients
    alpha, beta = found["alpha"], found["beta"]
    f, z, _ = _evaluate(kernel, X, alpha, beta)
    f_error, z_error = _rounding(kernel, X, alpha, beta)
    sizes = block_norms(u)
    fenchel = points.tau * penalty.value(block_norms(z)) - np.einsum("kai,kai->k", u, z)
    fenchel = np.maximum(fenchel + penalty.conjugate(sizes, points.tau), 0.0)
    slope = points.tau[:, None] * penalty.value(np.eye(X.shape[1])) + sizes
    error = np.einsum("ka,ka->k", slope, block_norms(z_error) / np.sqrt(n))
    values, slopes = -c / n * (y - f - shift * alpha), 2.0 * nu * beta + u / np.sqrt(n)
    distance, more = _distance(kernel, X, values, slopes, shift)
    # g's own coefficients are off by c/n times the error of f: in the norm of A⁻¹ at most √(c/2)
    # times its root mean square.
    more_f = np.sqrt(0.5 * c * np.mean(f_error**2, axis=1))
    distance = (np.sqrt(distance / (4.0 * nu)) + more_f) ** 2
    return fenchel + distance, error + more / (4.0 * nu)


def _split_gap(
    points: Points, problem: Problem, penalty: BoundPenalty, kernel: Kernel, X: Array
) -> Array:
    """The gap of the coefficients from products with the kernel, where S2 takes the loss.

    A bound on its error is added if ν is small beside the rounding errors of the kernel. Each
    value of f, and each derivative, changes the first two terms by at most twice its slope there.
    """
    nu, root_n, u = problem.representation.nu, np.sqrt(len(X)), points.u
    found = problem.solution(points.C, points.multiplier).coefficients
    if "alpha" not in found:
        return points.gap
    alpha, beta = found["alpha"], found["beta"]
    f, z, _ = _evaluate(kernel, X, alpha, beta)
    v, slopes = u[:, 0], problem.inputs(u)
    terms = problem.fenchel_gap(penalty, points.tau, np.concatenate([f[:, None], z], axis=1), u)
    alpha_off, beta_off = alpha + v / (2.0 * nu), beta + slopes / (2.0 * nu * root_n)
    _, _, norm = _evaluate(kernel, X, alpha_off, beta_off)
    gap = terms + nu * np.maximum(norm, 0.0)
    if not _doubtful(kernel, X, nu):
        return np.asarray(gap)
    f_error, z_error = _rounding(kernel, X, alpha, beta)
    steepness = points.tau[:, None] * penalty.value(np.eye(X.shape[1])) + block_norms(slopes)
    error = np.einsum("ka,ka->k", steepness, block_norms(z_error) / root_n)
    error = error + 2.0 * np.einsum("ki,ki->k", np.abs(v), f_error)
    f_error, z_error = _rounding(kernel, X, alpha_off, beta_off)
    of_norm = np.einsum("ki,ki->k", np.abs(alpha_off), f_error)
    of_norm = of_norm + np.einsum("kai,kai->k", np.abs(beta_off), z_error)
    return np.asarray(gap + error + nu * of_norm)


def _distance(
    kernel: Kernel, X: Array, alpha: Array, beta: Array, shift: float
) -> tuple[Array, Array]:
    """min over a of ‖g − Σ_i a_i k(x_i, ·)‖² + shift ‖a‖², and a bound on its error."""
    K = blocks.K(kernel, X)
    K[np.diag_indices(len(K))] += shift
    at_samples, _, _ = _evaluate(kernel, X, alpha, beta)
    a = cholesky_solve(cholesky(K), at_samples)
    rest = alpha - a
    _, _, norm = _evaluate(kernel, X, rest, beta)
    f_error, z_error = _rounding(kernel, X, rest, beta)
    error = np.einsum("ki,ki->k", np.abs(rest), f_error)
    error = error + np.einsum("kai,kai->k", np.abs(beta), z_error)
    return np.maximum(norm, 0.0) + shift * np.einsum("ki,ki->k", a, a), error


def _evaluate(kernel: Kernel, X: Array, alpha: Array, beta: Array) -> tuple[Array, Array, Array]:
    """f at the samples (k, n), its derivatives over √n (k, d, n) and ‖f‖² (k,)."""
    f, z = blocks.rows_first(kernel, X, X, alpha, beta)
    norm = np.einsum("ki,ki->k", alpha, f) + np.einsum("kai,kai->k", beta, z)
    return f, z / np.sqrt(len(X)), norm


def _rounding(kernel: Kernel, X: Array, alpha: Array, beta: Array) -> tuple[Array, Array]:
    """Rounding errors of f (k, n) and its derivatives (k, d, n), from sums of all |terms|."""
    n, d = X.shape
    alpha, beta = np.abs(alpha), np.abs(beta).reshape(len(alpha), -1)
    f, z = np.empty_like(alpha), np.empty((len(alpha), d, n))
    step = max(1, CHUNK // (n * (d + 1) ** 2))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        some = X[rows]
        f[:, rows] = alpha @ np.abs(blocks.K(kernel, X, some)) + beta @ np.abs(
            blocks.D(kernel, X, some)
        )
        slopes = (
            np.abs(blocks.D(kernel, some, X)) @ alpha.T + np.abs(blocks.L(kernel, some, X)) @ beta.T
        )
        z[:, :, rows] = np.moveaxis(slopes.reshape(d, len(some), -1), -1, 0)
    return EPS * f, EPS * z
