"""The minimum subject to Zθ = 0, by the method of multipliers."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nvsd.linalg import ShiftedSystem
from nvsd.tolerances import FLAT_POINT

Array = NDArray[np.float64]

FLAT_KAPPA = 1e9  # times the system's unit: so large that S1 nearly enforces Zθ = v
# Pairs of κ, in units of the system, and a number of rounds. The second pair is used if θ and u do
# not match: explicit features lose digits to the large κ of the first.
FLAT_ROUNDS = ((FLAT_KAPPA, 3), (1e-3 * FLAT_KAPPA, 4))


class HasS1(Protocol):
    """What is needed of `nvsd.representations.base.Problem`."""

    scale: float

    @property
    def shape(self) -> tuple[int, int]: ...  # noqa: D102
    @property
    def system(self) -> ShiftedSystem: ...  # noqa: D102
    def kappas(self, kappa: Array) -> Array: ...  # noqa: D102
    def s1(self, V: Array, kappa: Array) -> tuple[Array, Array]: ...  # noqa: D102
    def half_distance(self, C: Array, U: Array) -> Array: ...  # noqa: D102


def flat_end(problem: HasS1) -> tuple[Array, Array, Array]:
    """C, Zθ and the multiplier u of least norm; κ is so large that three rounds suffice."""
    u = np.zeros((1, *problem.shape))
    for size, rounds in FLAT_ROUNDS:
        kappa = np.array([size * problem.system.kappa_unit])
        each = problem.kappas(kappa)
        for _ in range(rounds):
            C, z = problem.s1(-u / each, kappa)
            u = u + each * z
        if problem.half_distance(C, u)[0] <= FLAT_POINT * problem.scale:
            break
    return C, z, u
