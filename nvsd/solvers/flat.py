"""The upper end of a path: the θ with Zθ = 0, which is the solution for τ ≥ τ_max."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nvsd.penalties import BoundPenalty, block_norms
from nvsd.representations.base import Problem

Array = NDArray[np.float64]


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
        θ is optimal for every τ ≥ tau_max; inf if there is none, or if it is not known.
    phi : array
        What S2 gives there: no derivatives, but f at the samples where S2 takes the loss.
    top : float
        Where an automatic grid starts: τ_max, or if that is not known, a τ at which all derivatives
        are small.
    """

    C: Array
    u: Array
    multiplier: Array
    tau_max: float
    phi: Array
    top: float = np.inf


def flat_point(problem: Problem, penalty: BoundPenalty) -> FlatPoint:
    """The flat point with the dual point of least norm.

    τ_max is exact when Z has full row rank; in general it is an upper bound.
    """
    C, z, u = problem.flat()
    tau_max = float(penalty.gauge(block_norms(problem.inputs(u)))[0])
    phi = z.copy()
    if not problem.flat_is_known(z):
        return FlatPoint(C, u, u, np.inf, phi, tau_max)
    problem.inputs(phi)[...] = 0.0
    return FlatPoint(C, u, u, tau_max, phi, tau_max)
