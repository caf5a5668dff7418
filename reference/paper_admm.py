"""The paper's algorithm, taken literally: a second opinion, and the speed to beat."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.linalg import norm
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from nvsd.kernels import Kernel
from nvsd.penalties import Penalty
from reference.objective import Array, Objective, Solution, check_not_negative, objective

# After this many iterations κ stays fixed: it can cycle forever, and the proof of convergence
# requires that it settles.
SETTLED = 1000

# Minimises ½xᵀ(E + κB)x − cᵀx: (starting x, c, κ, iteration number) -> x.
StepS1 = Callable[[Array, Array, float, int], Array]


def paper_admm(
    X: ArrayLike,
    y: ArrayLike,
    *,
    kernel: Kernel,
    penalty: Penalty,
    tau: float,
    nu: float,
    tol: float = 1e-6,
    max_iter: int = 1000,
    exact_s1: bool = False,
    kappa: float = 1.0,
    center: bool = True,
) -> Solution:
    """Minimise (1/n)‖y − Fω‖² + τ·J(φ) + ν·ωᵀGω subject to Zω = φ by the paper's ADMM.

    Parameters
    ----------
    X, y, kernel, penalty, tau, nu, center
        As for `reference.solve`.
    tol : float
        Absolute and relative tolerance of the stopping rule on the residuals.
    max_iter : int
    exact_s1 : bool
        Solve step S1 directly, in the coordinates θ = Rᵀω because G may be singular. Otherwise use
        the paper's growing number of steepest descent steps on ω (k of them in iteration k), which
        is far from converged if ν is small.
    kappa : float
        The first step size; it then follows the residuals.

    References
    ----------
    S. Boyd et al., Distributed optimization and statistical learning via the alternating direction
    method of multipliers, 2010: sections 3.3.1 (stopping) and 3.4.1 (step size).
    """
    check_not_negative(tau, "tau")
    if not (kappa > 0 and max_iter >= 1):
        raise ValueError(f"kappa is {kappa} and max_iter is {max_iter}; both must be positive")
    o = objective(X, y, kernel, penalty, nu, center)
    M, Q = (o.root, np.eye(o.root.shape[1])) if exact_s1 else (o.G, o.G)
    F, Z = M[: o.n], M[o.n :]
    E, b = 2 / o.n * F.T @ F + 2 * nu * Q, 2 / o.n * F.T @ o.y
    s1 = (_direct if exact_s1 else _steepest_descent)(E, Z.T @ Z)
    x, phi, lam, status = np.zeros(len(b)), np.zeros(len(Z)), np.zeros(len(Z)), "max_iter"
    for iteration in range(1, max_iter + 1):
        x = s1(x, b + kappa * Z.T @ (phi - lam), kappa, iteration)
        z = Z @ x
        phi = _s2(o, z + lam, tau, kappa)
        lam = lam + z - phi
        force = kappa * Z.T @ lam
        # For an exact S1 the dual residual is Boyd's κ‖Zᵀ(φ⁺ − φ)‖; it stays valid for an inexact
        # one.
        primal, dual = norm(z - phi), norm(E @ x - b + force)
        primal_tol = tol * (np.sqrt(len(z)) + max(norm(z), norm(phi)))
        dual_tol = tol * (np.sqrt(len(x)) + norm(force))
        if primal <= primal_tol and dual <= dual_tol:
            status = "optimal"
            break
        if iteration <= SETTLED:
            factor = 2.0 if primal > 10 * dual else 0.5 if dual > 10 * primal else 1.0
            kappa, lam = kappa * factor, lam / factor
    else:
        warnings.warn(
            f"no convergence in {max_iter} iterations; raise max_iter or tol", stacklevel=2
        )
    omega = o.root @ (x / np.sum(o.root**2, axis=0)) if exact_s1 else x
    u = kappa * lam - 2 * tau * o.terms.ridge / o.n * phi  # the part that belongs to the norms in J
    return o.solution(
        omega, u.reshape(o.d, o.n), tau, status=status, solver="paper_admm", n_iter=iteration
    )


def _direct(E: Array, B: Array) -> StepS1:
    """S1 by a Cholesky factorisation for each κ."""
    factor = cache(lambda kappa: cho_factor(E + kappa * B))
    return lambda x, c, kappa, iteration: cho_solve(factor(kappa), c)


def _steepest_descent(E: Array, B: Array) -> StepS1:
    """S1 by steepest descent with exact line search: k steps in iteration k."""
    hessian = cache(lambda kappa: E + kappa * B)

    def step(x: Array, c: Array, kappa: float, iteration: int) -> Array:
        H = hessian(kappa)
        for _ in range(iteration):
            g = H @ x - c
            curvature = g @ H @ g
            if curvature <= 0:
                break
            x = x - (g @ g / curvature) * g
        return x

    return step


def _s2(o: Objective, v: Array, tau: float, kappa: float) -> Array:
    """S2, Proposition 4."""
    shrunk = o.threshold(v.reshape(o.d, o.n), tau / kappa).ravel()
    return shrunk / (1 + 2 * tau * o.terms.ridge / (kappa * o.n))
