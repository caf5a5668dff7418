"""Regularisation paths over τ.

The path is solved from the smallest τ, where the solution is near kernel ridge, up to τ_max, where
all derivatives vanish: both ends are known in closed form, and every batch starts from a straight
line between its neighbour and the upper end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nvsd.admm import (
    Points,
    Settings,
    Status,
    certificate,
    norms,
    on_lattice,
    row_norms,
    solve_batch,
)
from nvsd.penalties import BoundPenalty
from nvsd.representation import FLAT_KAPPA, Problem

Array = NDArray[np.float64]
logger = logging.getLogger("nvsd")

# Of the flat point: Zθ relative to that of kernel ridge, ½‖θ − θ(u)‖²_A relative to ‖y‖²/n.
ROUNDING = 1e-12
# κ, in units of the system, and how often: the second, if θ and u do not fit, makes good the digits
# that explicit features lose to the first.
FLAT_ROUNDS = ((FLAT_KAPPA, 3), (1e-3 * FLAT_KAPPA, 4))
START_KAPPA = 2.0  # times ‖u‖/‖φ‖, the ratio at which primal and dual steps have one scale


@dataclass
class FlatPoint:
    """The θ that minimises the rest subject to Zθ = 0, and a dual point that proves it optimal.

    Attributes
    ----------
    C, u : arrays
        Coefficients of θ, and the dual point.
    multiplier : array
        The u of least norm, with which θ = θ(u).
    tau_max : float
        θ is optimal for every τ from here on.
    """

    C: Array
    u: Array
    multiplier: Array
    tau_max: float


def flat_point(problem: Problem, penalty: BoundPenalty) -> FlatPoint:
    """Method of multipliers for the constraint Zθ = 0, with κ so large that three rounds do.

    Its multiplier is the dual point of least norm. τ_max is exact when Z has full row rank; in
    general it is an upper bound.
    """
    u = np.zeros((1, *problem.shape))
    for size, rounds in FLAT_ROUNDS:
        kappa = np.array([size * problem.representation.system.kappa_unit])
        for _ in range(rounds):
            C, z = problem.s1(-u / kappa, kappa)
            u = u + kappa * z
        if problem.half_distance(C, u)[0] <= ROUNDING * problem.scale:
            break
    return FlatPoint(C, u, u, float(penalty.gauge(row_norms(u).T)[0]))


def tau_grid(largest: float, smallest: float, n_taus: int) -> Array:
    """n_taus values from the largest down to the smallest, evenly spaced in the logarithm."""
    if largest <= 0:  # f = mean of y is optimal for every τ
        largest, smallest = 1.0, 1e-3
    grid: Array = np.geomspace(largest, smallest, n_taus)
    grid[0] = largest
    return grid


def tighten(
    problem: Problem, penalty: BoundPenalty, flat: FlatPoint, settings: Settings
) -> FlatPoint:
    """Lower τ_max to where the flat point stops being optimal, when Z lacks full row rank.

    Then Zᵀu does not determine u, and ADMM finds dual points of smaller gauge than the one of
    least norm. A few iterations are spent on a ladder of τ below the bound, with rungs closer than
    the default grid, and τ_max goes down as far as the dual points prove the flat point.
    """
    limit = settings.tol * problem.scale
    known = not 0 < flat.tau_max < np.inf or problem.representation.full_row_rank()
    if known or problem.half_distance(flat.C, np.zeros_like(flat.u))[0] <= limit:
        return flat  # in the last case even τ = 0 gains nothing that tol can tell
    short = replace(settings, max_iter=40)
    for _ in range(6):
        ladder: Array = flat.tau_max * 0.93 ** np.arange(1.0, 9.0)
        way = (ladder / flat.tau_max)[:, None, None]
        phi, u = problem.ridge()[1] * (1.0 - way), flat.u * way
        kappa = _start_kappa(problem, phi, u)
        points = solve_batch(problem, penalty, ladder, phi, u, kappa, short)
        C = np.repeat(flat.C, len(ladder), axis=0)
        proven = certificate(problem, penalty, points.tau, C, points.u) <= limit
        n_flat = int(np.argmin(np.append(proven, False)))
        if n_flat:
            last = slice(n_flat - 1, n_flat)
            flat = replace(flat, u=points.u[last], tau_max=float(points.tau[last][0]))
        if n_flat < len(ladder):
            break
    return flat


def solve_path(
    problem: Problem,
    penalty: BoundPenalty,
    taus: Array,
    flat: FlatPoint,
    settings: Settings,
    tick: Callable[[int], object] = lambda done: None,
) -> Points:
    """Solve for all τ; the result is in descending order of τ."""
    ascending = np.sort(taus)
    is_flat = ascending >= flat.tau_max
    is_ridge = (ascending == 0) & ~is_flat
    done = []
    if is_flat.any():
        done.append(_from_tau_max_on(problem, penalty, ascending[is_flat], flat, settings))
    if is_ridge.any():
        C, z = problem.ridge()
        u = np.zeros_like(z)
        ridge = FlatPoint(C, u, u, 0.0)
        done.append(_closed_form(problem, penalty, ascending[is_ridge], ridge, phi=z))
    tick(int(is_flat.sum() + is_ridge.sum()))
    rest = ascending[~is_flat & ~is_ridge]
    neighbour = None
    for batch in _decades(rest):
        if neighbour is None:
            neighbour = _near_ridge(problem, penalty, batch[0])
        phi, u = _straight_line(neighbour, flat, batch)
        kappa = _start_kappa(problem, phi, u)
        points = solve_batch(problem, penalty, batch, phi, u, kappa, settings, tick)
        done.append(points)
        neighbour = (float(points.tau[0]), points.phi[0], points.u[0])
        logger.debug(
            "tau %.3g to %.3g: %d iterations at most", batch[0], batch[-1], points.n_iter.max()
        )
    return Points.join(done)


def _from_tau_max_on(
    problem: Problem, penalty: BoundPenalty, taus: Array, flat: FlatPoint, settings: Settings
) -> Points:
    """The flat point; where Z is so ill-conditioned that it is no proof, what ADMM makes of it.

    The support is empty either way: what ADMM may leave of Zθ is far below what τ_max can tell.
    """
    known = Points.join([_closed_form(problem, penalty, taus, flat)])
    limit = settings.tol * problem.scale
    exact = norms(problem.derivatives(flat.C)) <= ROUNDING * norms(problem.ridge()[1])
    doubtful = np.flatnonzero((known.gap > limit) & ~exact)
    if not len(doubtful):
        return known
    u = known.u[doubtful]
    nothing = np.zeros_like(u)
    kappa = _start_kappa(problem, nothing, u)
    short = replace(settings, max_iter=min(settings.max_iter, 300))
    tried = solve_batch(problem, penalty, known.tau[doubtful], nothing, u, kappa, short)
    tried = replace(tried, phi=nothing, primal_residual=norms(problem.derivatives(tried.C)))
    better = (tried.gap <= limit) | (tried.gap < 0.1 * known.gap[doubtful])
    rest = np.setdiff1d(np.arange(len(taus)), doubtful[better])
    return Points.join([known.at(rest), tried.at(np.flatnonzero(better))])


def _closed_form(
    problem: Problem,
    penalty: BoundPenalty,
    taus: Array,
    known: FlatPoint,
    phi: Array | None = None,
) -> Points:
    """One known solution at several τ."""
    k = len(taus)
    C, u, multiplier = (np.repeat(a, k, axis=0) for a in (known.C, known.u, known.multiplier))
    none = np.zeros(k)
    return Points(
        taus,
        C,
        np.zeros_like(u) if phi is None else np.repeat(phi, k, axis=0),
        multiplier,
        u,
        certificate(problem, penalty, taus, C, u),
        none,
        np.zeros(k, dtype=np.intp),
        none,
        none,
        np.full(k, Status.CLOSED_FORM),
    )


def _decades(ascending: Array) -> list[Array]:
    """Batches that span at most a factor of about ten: within one, the same κ serves all τ."""
    if not len(ascending):
        return []
    span = np.log10(ascending[-1] / ascending[0])
    return np.array_split(ascending, min(len(ascending), max(1, round(span))))


def _near_ridge(problem: Problem, penalty: BoundPenalty, tau: float) -> tuple[float, Array, Array]:
    """φ of kernel ridge, and τ times a subgradient of J near it."""
    _, z = problem.ridge()
    R = row_norms(z).T
    step = 1e-3 * float(R.max()) / max(1.0, float(penalty.value(np.ones_like(R))[0])) or 1.0
    slope = (1.0 - penalty.shrinkage(R, step)) / step
    return tau, z[0], (tau * slope.T[:, :, None] * z)[0]


def _straight_line(
    neighbour: tuple[float, Array, Array], flat: FlatPoint, taus: Array
) -> tuple[Array, Array]:
    """Start at a point of the line from the neighbour to the flat point, where φ = 0."""
    tau, phi, u = neighbour
    if np.isfinite(flat.tau_max):
        way = ((taus - tau) / (flat.tau_max - tau))[:, None, None]
    else:
        way = np.zeros((len(taus), 1, 1))
    grown = u * (taus / tau)[:, None, None]
    return phi * (1.0 - way), grown * (1.0 - way) + flat.u * way


def _start_kappa(problem: Problem, phi: Array, u: Array) -> Array:
    """κ ∝ ‖u‖/‖φ‖, in units of the system and within reason."""
    system = problem.representation.system
    largest = norms(phi).max() or norms(problem.ridge()[1])[0]
    size = np.maximum(norms(phi), 1e-3 * largest + np.finfo(float).tiny)
    kappa: Array = np.clip(START_KAPPA * norms(u) / size / system.kappa_unit, 1e-8, 1e8)
    if not system.any_kappa:
        kappa = np.full(len(kappa), on_lattice(float(np.exp(np.mean(np.log(kappa))))))
    return kappa * system.kappa_unit
