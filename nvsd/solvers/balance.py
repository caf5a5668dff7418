"""κ for each input, where the weights of a penalty are far apart.

ADMM needs fewest iterations where κ_a is about ‖u_a‖/‖z_a‖, so that primal and dual steps have the
same size. On the boundary of its ball ‖u_a‖ is τ times the weight w_a of the input, and kernel
ridge tells how large ‖z_a‖ may be:

    κ_a = κ m_a,     m_a ∝ w_a/‖z_a‖.

Equal weights keep one κ for all inputs: factors of S1 then serve every y, penalty and weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nvsd.penalties import BoundPenalty, block_norms
from nvsd.representations.base import Problem
from nvsd.tolerances import TINY

Array = NDArray[np.float64]

# Tuned on E1 and E3 with n = 30 to 110. With weights that differ by a factor of 100 a path takes a
# quarter to three quarters of the iterations; with equal ones .85 to 1.7 times as many.
UNEVEN = 4.0  # factor between the weights, from which on inputs have κ of their own
RANGE = 1e3  # largest factor between m_a and their mean


def balance(problem: Problem, penalty: BoundPenalty) -> Array | None:
    """The m_a (d,), of geometric mean 1; None if the weights are nearly equal."""
    w = penalty.total_weights
    least = float(np.min(w, initial=np.inf, where=w > 0))
    if not np.isfinite(least) or w.max() <= UNEVEN * least:
        return None
    R = block_norms(problem.inputs(problem.ridge()[1]))[0]
    found = np.log(np.maximum(w, least) / np.maximum(R, R.max() / RANGE + TINY))
    parts = penalty.parts
    found = (np.bincount(parts, found) / np.bincount(parts))[parts]
    return np.asarray(np.exp(np.clip(found - found.mean(), -np.log(RANGE), np.log(RANGE))))
