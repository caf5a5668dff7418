"""What leaves the library: the gap and the numbers of the coefficients that are returned.

The duality gap of a solver is exact for the matrices that a representation has computed. Rounding
errors in these matrices, or on the way from θ to coefficients, may make the returned function
another one. So f is computed again from its coefficients, and with it the gap. Where the errors of
that computation could matter as well (ν small beside those of the kernel, or τ far above τ_max), a
bound on them is added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nvsd.kernels import Kernel, blocks
from nvsd.penalties import BoundPenalty, block_norms
from nvsd.representations.base import Problem
from nvsd.representations.returned import Solution
from nvsd.solvers.points import Points
from nvsd.solvers.recomputed import (
    Sections,
    fenchel_rounding,
    gap_rounding,
    objective_rounding,
    quadratic_gap,
    split_gap,
    split_rounding,
)
from nvsd.solvers.status import Status
from nvsd.tolerances import EPS, GAP_ROUNDING, ROUNDED_GAP, SAFE_NU, SAME_VALUES

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Returned:
    """The points with gaps that hold for what is returned, and what is said of it.

    Attributes
    ----------
    solution : Solution
        Coefficients, and the parts of their objective.
    z : (k, d, rows) array
        Derivatives, in the scale of the points.
    """

    points: Points
    solution: Solution
    z: Array


def verified(
    points: Points,
    problem: Problem,
    penalty: BoundPenalty,
    kernel: Kernel,
    X: Array | None,
    tol: float,
) -> Returned:
    """What is returned, with its own gap.

    Parameters
    ----------
    X : (n, d) array or None
        The samples, if f is returned as a combination of kernels and their derivatives there.
    tol : float
        A point with a gap above tol ‖y‖²/n has not converged, whatever the solver says.
    """
    found = problem.solution(points.C, points.multiplier)
    given = Returned(points, found, problem.derivatives(points.C))
    if X is not None and problem.representation.nu and "alpha" in found.coefficients:
        sections = Sections(kernel, X, found.coefficients["alpha"], found.coefficients["beta"])
        back, second, rounding = _on_samples(given, problem, penalty, sections)
    else:
        back, second, rounding = _by_features(given, problem, penalty)
    # NaN fails, here and below.
    same = second <= points.gap + GAP_ROUNDING * problem.scale
    gap = np.where(same & (rounding <= GAP_ROUNDING * problem.scale), points.gap, second + rounding)
    # Where the solver had converged, only rounding can have raised the gap.
    ended = np.where(points.status == Status.MAX_ITER, Status.MAX_ITER, Status.ROUNDING)
    status = np.where(gap <= tol * problem.scale, points.status, ended)
    return replace(back, points=replace(points, gap=gap, status=status))


def _on_samples(
    given: Returned, problem: Problem, penalty: BoundPenalty, sections: Sections
) -> tuple[Returned, Array, Array]:
    """What is returned, its gap and a bound on the error of that, for α and β at the samples."""
    points, rep, rounding = given.points, problem.representation, np.zeros(len(given.points.tau))
    f, z, norm = sections.evaluate()
    largest = blocks.largest_diagonal(sections.kernel, sections.X)[0] ** 2
    exact = rep.nu < SAFE_NU * EPS * largest
    exact |= problem.quadratic and not rep.dual_coefficients
    if not problem.quadratic:
        z = np.concatenate([f[:, None], z], axis=1)
        second = split_gap(points, problem, penalty, sections, z)
        if exact:
            rounding = split_rounding(points, problem, penalty, sections)
    elif exact:
        second, rounding = quadratic_gap(points, problem, penalty, sections, f, z)
    else:
        second = _moved_gap(given, problem, penalty, z, _apart(given, problem, f))
        rough = gap_rounding(points, problem, penalty, *sections.rough_rounding())
        # Both computations of z have rounding errors of about the size of their difference.
        rows = (rough > GAP_ROUNDING * problem.scale) & np.isfinite(points.gap)
        rounding[rows] = np.abs(second[rows] - points.gap[rows])
    solution = problem.measured(f, norm, given.solution.coefficients)
    back = Returned(replace(points, gap=second), solution, z)
    rounding = np.maximum(rounding, _rounding(back, problem, penalty, sections))
    return _measured(given, replace(back, points=points), problem, penalty), second, rounding


def _rounding(back: Returned, problem: Problem, penalty: BoundPenalty, sections: Sections) -> Array:
    """What errors of f and its derivatives may change gap and objective by, 0 if that is little.

    These errors are sums over many terms, with errors that are taken to be independent.
    """
    rows, known = np.arange(len(back.points.tau)), np.zeros(len(back.points.tau))
    fitted = back.solution.fitted
    assert fitted is not None
    for errors in (Sections.rough_rounding, Sections.rounding):  # the second takes longer
        if len(rows):
            some = sections.at(rows)
            given = back.points.at(rows), problem, penalty
            of_f, of_z = errors(some, True)
            of_gap = gap_rounding(*given, of_f, of_z)
            of_parts = objective_rounding(*given, some, fitted[rows], of_f, of_z)
            found = np.maximum(of_gap, of_parts)
            known[rows] = np.where(found <= ROUNDED_GAP * problem.scale, 0.0, found)
            rows = rows[known[rows] > 0]
    return known


def _by_features(
    given: Returned, problem: Problem, penalty: BoundPenalty
) -> tuple[Returned, Array, Array]:
    """The same for coefficients of features."""
    C, said, nu = given.points.C, given.solution, problem.representation.nu
    z, apart, norm, error, z_error = problem.returned(C, said)
    change = nu * np.abs(norm - said.rkhs_norm)
    second = _moved_gap(given, problem, penalty, z, apart) + change + error
    rounding = np.zeros(len(apart))
    if z_error is not None:
        rounding = fenchel_rounding(given.points, problem, penalty, z_error)
        rounding[rounding <= ROUNDED_GAP * problem.scale] = 0.0
    same = change <= GAP_ROUNDING * problem.scale
    solution = said._replace(rkhs_norm=np.where(same, said.rkhs_norm, norm))
    return Returned(given.points, solution, z), second, rounding


def _apart(given: Returned, problem: Problem, f: Array) -> Array:
    """(½‖·‖²_A)^½ of what rounding has put between θ and the returned f.

    The residuals y − f of θ are shift times α. If f has others, the gradient at f differs by their
    difference in its kernel sections: in the norm of A⁻¹, √(c/2) times its root mean square.
    """
    assert given.solution.fitted is not None
    square = np.mean((f - given.solution.fitted) ** 2, axis=1)
    return np.asarray(np.sqrt(0.5 * problem.representation.loss.curvature * square))


def _moved_gap(
    given: Returned, problem: Problem, penalty: BoundPenalty, z: Array, apart: Array
) -> Array:
    """The gap with derivatives z, at this distance from the solver's θ."""
    points = given.points
    before = problem.fenchel_gap(penalty, points.tau, given.z, points.u)
    after = problem.fenchel_gap(penalty, points.tau, z, points.u)
    known = np.isfinite(points.gap)
    half = np.maximum(np.where(known, points.gap, 0.0) - np.where(known, before, 0.0), 0.0)
    half[~known] = np.inf
    return np.asarray(after + (np.sqrt(half) + apart) ** 2)


def _measured(given: Returned, back: Returned, problem: Problem, penalty: BoundPenalty) -> Returned:
    """What the solver says of f, and where f itself says otherwise, what f says."""
    tau, nu = given.points.tau, problem.representation.nu
    slopes, of_f = (block_norms(problem.inputs(each.z)) for each in (given, back))
    said, f = given.solution, back.solution
    assert said.fitted is not None
    assert f.fitted is not None
    change = np.abs(f.loss - said.loss)
    change = change + tau * np.abs(penalty.value(of_f) - penalty.value(slopes))
    change = change + nu * np.abs(f.rkhs_norm - said.rkhs_norm)
    moved = np.abs(f.fitted - said.fitted).max(axis=1) > SAME_VALUES * np.abs(said.fitted).max()
    bent = np.abs(of_f - slopes).max(axis=1) > SAME_VALUES * np.nanmax(slopes, initial=0.0)
    rows = np.flatnonzero(~(change <= GAP_ROUNDING * problem.scale) | moved | bent)
    if not len(rows):
        return given
    loss, norm, fitted = said.loss.copy(), said.rkhs_norm.copy(), said.fitted.copy()
    loss[rows], norm[rows], fitted[rows] = f.loss[rows], f.rkhs_norm[rows], f.fitted[rows]
    coefficients, z = dict(said.coefficients), given.z.copy()
    z[rows] = back.z[rows]
    if "intercept" in coefficients:
        coefficients["intercept"] = coefficients["intercept"].copy()
        coefficients["intercept"][rows] = f.coefficients["intercept"][rows]
    return Returned(given.points, Solution(loss, norm, fitted, coefficients), z)
