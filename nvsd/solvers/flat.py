"""The upper end of a path: the θ with Zθ = 0, which is the solution for τ ≥ τ_max."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nvsd.penalties import BoundPenalty, block_norms
from nvsd.representations.base import FLAT_KAPPA, Problem
from nvsd.tolerances import FLAT_POINT

Array = NDArray[np.float64]

# Pairs of κ, in units of the system, and a number of rounds. The second pair is used if θ and u do
# not match: explicit features lose digits to the large κ of the first.
FLAT_ROUNDS = ((FLAT_KAPPA, 3), (1e-3 * FLAT_KAPPA, 4))


@dataclass
class FlatPoint:
    """The θ that minimises the other terms subject to Zθ = 0, and a dual point that proves it.

    Attributes
    ----------
    C, u : arrays
        Coefficients of θ, and the dual point.
    multiplier : array
        The u of least norm, with which θ = θ(u).
    tau_max : float
        θ is optimal for every τ ≥ tau_max.
    """

    C: Array
    u: Array
    multiplier: Array
    tau_max: float


def flat_point(problem: Problem, penalty: BoundPenalty) -> FlatPoint:
    """Method of multipliers for the constraint Zθ = 0, with κ so large that three rounds suffice.

    Its multiplier is the dual point of least norm. τ_max is exact when Z has full row rank; in
    general it is an upper bound.
    """
    u = np.zeros((1, *problem.shape))
    for size, rounds in FLAT_ROUNDS:
        kappa = np.array([size * problem.representation.system.kappa_unit])
        for _ in range(rounds):
            C, z = problem.s1(-u / kappa, kappa)
            u = u + kappa * z
        if problem.half_distance(C, u)[0] <= FLAT_POINT * problem.scale:
            break
    return FlatPoint(C, u, u, float(penalty.gauge(block_norms(u))[0]))
