"""What a duality gap says of the derivative norms of the exact minimiser f*, not of the objective.

The objective is strongly convex in θ, in the norm of A, and the dual one in u, in that of
H = Z A⁻¹ Zᵀ; the gap of a pair (θ, u) therefore bounds its distance to the solution (θ*, u*):

    ½‖θ − θ*‖²_A + ½‖u − u*‖²_H ≤ gap(θ, u).

Three statements on the derivatives z = Zθ follow, block by block. With g ≥ gap and h_a = ‖H_aa‖₂

    | ‖z_a‖ − ‖z*_a‖ | ≤ (2g h_a / (1 + 2τc h_a))^½        c: the elastic net's squares, else 0
    ‖z*_a‖ ≤ g / s_a                                       s_a: how far u_a is inside its ball
    ‖u*_a‖ ≤ ‖u_a‖ + (2g ‖(H⁻¹)_aa‖₂)^½                    if H is positive definite

The second holds since τJ(z*) + (τJ)*(u) − uᵀz* ≤ gap and no block of that sum is negative. If the
third puts u*_a inside its ball, then z*_a = 0: f* is flat in x_a at the samples. Where H is
singular u* is not unique, and nothing is called off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.penalties import BoundPenalty, block_norms
from nvsd.representations.base import Problem
from nvsd.solvers.points import Points
from nvsd.tolerances import GAP_ROUNDING, TINY

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Intervals(NamedTuple):
    """Where the derivative norms of the exact minimiser are, and which are zero; all (k, d)."""

    lower: Array
    upper: Array
    off: Mask


def norm_intervals(
    problem: Problem, penalty: BoundPenalty, points: Points, norms: Array
) -> Intervals:
    """Intervals around the norms ‖z_a‖ (k, d) of the points.

    The gaps are those of the points, with what rounding may have taken off them.
    """
    R, tau = block_norms(problem.inputs(points.u)), points.tau[:, None]
    gap = _safe_gap(problem, penalty, points, R)[:, None]
    h = problem.curves.curve_norms
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.sqrt(2.0 * gap * h / (1.0 + 2.0 * tau * penalty.ridge * h))
        above = gap / penalty.slack(R, tau[:, 0])
    width, above = (np.where(np.isfinite(each), each, np.inf) for each in (width, above))
    # Rounding must not put the norms themselves outside.
    upper = np.maximum(np.minimum(norms + width, above), norms)
    return Intervals(np.maximum(norms - width, 0.0), upper, _off(problem, penalty, tau, R, gap))


def _safe_gap(problem: Problem, penalty: BoundPenalty, points: Points, R: Array) -> Array:
    """The gap and a bound on its rounding errors, which grow with τ from τ_max on."""
    gauge = penalty.gauge(R)
    beyond = np.divide(points.tau, gauge, out=np.ones_like(gauge), where=gauge > 0)
    return np.asarray(points.gap + GAP_ROUNDING * problem.scale * np.maximum(beyond, 1.0))


def _off(problem: Problem, penalty: BoundPenalty, tau: Array, R: Array, gap: Array) -> Mask:
    """Which u*_a are surely inside their balls."""
    # Where even the inverse of H_aa is too large for a proof, H need not be inverted.
    least = 1.0 / np.maximum(problem.curves.curve_floors, TINY)
    if not penalty.inside(R + np.sqrt(2.0 * gap * least), tau[:, 0]).any():
        return np.zeros(R.shape, dtype=bool)
    inverse = problem.curves.curve_inverse_norms
    if not np.isfinite(inverse).all():
        return np.zeros(R.shape, dtype=bool)
    return penalty.inside(R + np.sqrt(2.0 * gap * inverse), tau[:, 0])
