"""The duality gap of a point, from a feasible dual point; it uses neither S1's factors nor κ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nvsd.penalties import BoundPenalty, block_norms
from nvsd.representations.base import Problem

Array = NDArray[np.float64]


def fenchel_gap(penalty: BoundPenalty, tau: Array, z: Array, u: Array) -> Array:
    """τJ(z) + (τJ)*(u) − uᵀz ≥ 0, the second term of the duality gap."""
    J = penalty.value(block_norms(z))
    conjugate = penalty.conjugate(block_norms(u), tau)
    inner = np.einsum("kam,kam->k", u, z)
    return np.asarray(np.maximum(tau * J + conjugate - inner, 0.0))


def certificate(problem: Problem, penalty: BoundPenalty, tau: Array, C: Array, u: Array) -> Array:
    """Gap between the objective at θ and a lower bound on the optimum, from a feasible u.

        gap(θ, u) = ½‖θ − θ(u)‖²_A + [ τJ(Zθ) + (τJ)*(u) − uᵀZθ ]

    Both terms are non-negative.
    """
    gap = fenchel_gap(penalty, tau, problem.derivatives(C), u) + problem.half_distance(C, u)
    return np.asarray(gap)
