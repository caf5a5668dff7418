"""The duality gap of a point, from a feasible dual point; it uses neither S1's factors nor κ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nvsd.penalties import BoundPenalty
from nvsd.representations.base import Problem

Array = NDArray[np.float64]


def certificate(problem: Problem, penalty: BoundPenalty, tau: Array, C: Array, u: Array) -> Array:
    """Gap between the objective at θ and a lower bound on the optimum, from a feasible u.

        gap(θ, u) = ½‖θ − θ(u)‖²_A + [ τJ(Zθ) + (τJ)*(u) − uᵀZθ ]

    No term is negative. Where S2 takes the loss too, it adds one of its own: `nvsd.solvers.split`.
    """
    return certificate_terms(problem, penalty, tau, C, u)[0]


def certificate_terms(
    problem: Problem, penalty: BoundPenalty, tau: Array, C: Array, u: Array
) -> tuple[Array, Array]:
    """The gap, and the first of its terms."""
    z, half = problem.compared(C, u)
    return problem.fenchel_gap(penalty, tau, z, u) + half, half
