"""Regularisation paths over τ: what all solvers share.

Both ends of a path are known in closed form: for τ ≥ τ_max all derivatives vanish, and τ = 0 is
kernel ridge. In between, a solver iterates batches of τ in its own order. Each batch starts from
earlier solutions and ends when the duality gap of every τ is at most tol.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nvsd.penalties import BoundPenalty
from nvsd.representations.base import Problem
from nvsd.solvers.base import Solver, State
from nvsd.solvers.certificate import certificate
from nvsd.solvers.flat import FlatPoint
from nvsd.solvers.points import Points, Trace, norms
from nvsd.solvers.status import Status
from nvsd.tolerances import FLAT_POINT

Array = NDArray[np.float64]
Tick = Callable[[int], object]
logger = logging.getLogger("nvsd")

# Iterations on each rung of the ladder below a bound on τ_max, the ratio of its rungs (closer than
# the default grid), the number of rungs, and the largest number of ladders: 0.93^48 is 1/30.
LADDER_ITER, RUNG, RUNGS, LADDERS = 40, 0.93, 8, 6
FLAT_ITER = 300  # largest number of iterations from τ_max on, if the flat point is not certified
CLEARLY_LESS = 0.1  # share of the flat point's gap below which another point replaces it


def _nothing(done: int) -> None:
    pass


def tau_grid(largest: float, smallest: float, n_taus: int) -> Array:
    """n_taus values from the largest down to the smallest, evenly spaced in the logarithm."""
    if largest <= 0:  # f = mean of y is optimal for every τ
        largest, smallest = 1.0, 1e-3
    grid: Array = np.geomspace(largest, smallest, n_taus)
    grid[0] = largest
    return grid


def solve_path(
    solver: Solver, taus: Array, tick: Tick = _nothing, trace: Trace | None = None
) -> Points:
    """Solve for all τ; the result is in descending order of τ."""
    ascending, flat = np.sort(taus), solver.flat
    is_flat = ascending >= flat.tau_max
    is_ridge = (ascending == 0) & ~is_flat
    done = []
    if is_flat.any():
        done.append(_from_tau_max_on(solver, ascending[is_flat], trace))
    if is_ridge.any():
        done.append(_ridge(solver, ascending[is_ridge]))
    tick(int(is_flat.sum() + is_ridge.sum()))
    for batch in solver.batches(ascending[~is_flat & ~is_ridge]):
        points = solve_batch(solver, solver.warm_start(batch), tick, trace)
        done.append(_none_worse_than_flat(solver, points))
        logger.debug("tau %.3g to %.3g: %d steps", batch[0], batch[-1], points.n_iter.max())
    return Points.join(done)


def solve_batch(
    solver: Solver, state: State, tick: Tick = _nothing, trace: Trace | None = None
) -> Points:
    """Iterate all τ of a batch at once; rows leave it as they converge.

    Parameters
    ----------
    tick : callable
        Called with the number of τ that have just finished.
    trace : Trace, optional
        Records the gap and the residuals of every step, which costs a certificate per step.
    """
    done: list[Points] = []
    for iteration in range(1, solver.settings.max_iter + 1):
        solver.step(state)
        finished = solver.look(state, iteration)
        if trace is not None:
            gap = solver.gap(state, np.arange(len(state.tau)))
            trace.add(state.tau, iteration, gap, *solver.residuals(state), state.kappa)
        if iteration == solver.settings.max_iter:
            finished[:] = True
        if finished.any():
            done.append(solver.points(state, finished, iteration))
            solver.learn(state, finished)
            state.drop(finished)
            tick(int(finished.sum()))
            if not len(state.tau):
                break
        solver.extrapolate(state)
        if solver.adapt_every and iteration % solver.adapt_every == 0:
            solver.adapt(state)
    return Points.join(done)


def tighten(solver: Solver) -> FlatPoint:
    """Lower τ_max to where the flat point stops being optimal, if Z lacks full row rank.

    Then Zᵀu does not determine u, and a solver can find dual points with a smaller gauge than the
    one of least norm. A few iterations run on a ladder of τ below the bound, with rungs closer than
    the default grid. τ_max becomes the last τ whose dual point proves the flat point optimal.
    """
    problem, penalty, flat, settings = solver.problem, solver.penalty, solver.flat, solver.settings
    known = not 0 < flat.tau_max < np.inf or problem.representation.full_row_rank()
    unpenalised = flat.u.copy()
    problem.inputs(unpenalised)[...] = 0.0
    if known or problem.half_distance(flat.C, unpenalised)[0] <= solver.limit:
        return flat  # in the last case even τ = 0 improves by less than tol
    short = type(solver)(problem, penalty, flat, replace(settings, max_iter=LADDER_ITER))
    for _ in range(LADDERS):
        ladder: Array = flat.tau_max * RUNG ** np.arange(1.0, RUNGS + 1.0)
        way = (ladder / flat.tau_max)[:, None, None]
        phi = problem.ridge()[1] * (1.0 - way) + flat.phi * way
        u = np.repeat(flat.u, len(ladder), axis=0)
        problem.inputs(u)[...] *= way
        points = solve_batch(short, short.start(ladder, phi, u))
        C = np.repeat(flat.C, len(ladder), axis=0)
        proven = certificate(problem, penalty, points.tau, C, points.u) <= solver.limit
        n_flat = int(np.argmin(np.append(proven, False)))
        if n_flat:
            last = slice(n_flat - 1, n_flat)
            tau_max = float(points.tau[last][0])
            flat = replace(flat, u=points.u[last], tau_max=tau_max, top=tau_max)
        if n_flat < len(ladder):
            break
    return flat


def _from_tau_max_on(solver: Solver, taus: Array, trace: Trace | None) -> Points:
    """The flat point, or the solver's point where rounding spoils the proof of the flat point.

    The support is empty in both cases: any Zθ that the solver leaves is far below the accuracy of
    τ_max.
    """
    problem, flat, settings = solver.problem, solver.flat, solver.settings
    known = Points.join([_closed_form(problem, solver.penalty, taus, flat)])
    # Without a closed form the flat point is only as exact as the iteration that found it.
    direct = problem.representation.factorises and problem.quadratic
    left = norms(problem.inputs(problem.derivatives(flat.C)))
    exact = direct & (left <= FLAT_POINT * norms(problem.inputs(problem.ridge()[1])))
    doubtful = np.flatnonzero((known.gap > solver.limit) & ~exact)
    if not len(doubtful):
        return known
    # Iterations do not help against rounding, so there are few. Where nothing is factorised, later
    # τ start from their result.
    few = replace(settings, max_iter=min(settings.max_iter, FLAT_ITER)) if direct else settings
    factorises = problem.representation.factorises
    short = type(solver)(problem, solver.penalty, flat, few) if factorises else solver
    own = None if trace is None else Trace()
    state = short.beyond(known.tau[doubtful], known.u[doubtful])
    tried = solve_batch(short, state, trace=own)
    left = norms(problem.inputs(problem.derivatives(tried.C)))
    tried = replace(tried, phi=np.zeros_like(tried.phi), primal_residual=left)
    needed = (CLEARLY_LESS if direct else 1.0) * known.gap[doubtful]
    better = (tried.gap <= solver.limit) | (tried.gap < needed)
    if trace is not None and own is not None:
        trace.take(own, tried.tau[better])
    if not direct:
        known.status[doubtful[tried.status == Status.MAX_ITER]] = Status.MAX_ITER
    rest = np.setdiff1d(np.arange(len(taus)), doubtful[better])
    return Points.join([known.at(rest), tried.at(np.flatnonzero(better))])


def _ridge(solver: Solver, taus: Array) -> Points:
    """Kernel ridge, at τ = 0."""
    (C, z), u = solver.problem.ridge(), solver.problem.ridge_multiplier()
    known = _closed_form(solver.problem, solver.penalty, taus, FlatPoint(C, u, u, 0.0, z))
    if solver.problem.quadratic or known.gap[0] <= solver.limit:
        return known
    return solve_batch(solver, solver.start(known.tau, known.phi, known.u))


def _closed_form(
    problem: Problem,
    penalty: BoundPenalty,
    taus: Array,
    known: FlatPoint,
) -> Points:
    """One known solution at several τ."""
    k = len(taus)
    given = known.C, known.u, known.multiplier, known.phi
    C, u, multiplier, phi = (np.repeat(each, k, axis=0) for each in given)
    none = np.zeros(k)
    return Points(
        taus,
        C,
        phi,
        multiplier,
        u,
        certificate(problem, penalty, taus, C, u),
        none,
        np.zeros(k, dtype=np.intp),
        none,
        none,
        np.full(k, Status.CLOSED_FORM),
    )


def _none_worse_than_flat(solver: Solver, points: Points) -> Points:
    """Replace points that ran out of iterations by the flat point, where its gap is smaller."""
    rows = np.flatnonzero(points.status == Status.MAX_ITER)
    if not len(rows):
        return points
    problem, flat = solver.problem, solver.flat
    C = np.repeat(flat.C, len(rows), axis=0)
    gap = certificate(problem, solver.penalty, points.tau[rows], C, points.u[rows])
    better = ~(points.gap[rows] <= gap) & np.isfinite(gap)
    rows, gap = rows[better], gap[better]
    points.status[rows[gap <= solver.limit]] = Status.CONVERGED
    points.C[rows], points.gap[rows] = flat.C, gap
    points.phi[rows], points.multiplier[rows] = flat.phi, flat.multiplier
    points.primal_residual[rows] = norms(problem.inputs(problem.derivatives(flat.C)))
    points.dual_residual[rows] = 0.0
    return points
