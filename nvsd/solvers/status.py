"""How the work on a τ ended, what that means, and what to do about it."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Status(IntEnum):
    """How a τ ended; warnings, reports and pages take their words from here."""

    CONVERGED = 0
    CLOSED_FORM = 1
    MAX_ITER = 2
    ROUNDING = 3

    @property
    def meaning(self) -> str:
        """What it says about the point."""
        return {
            Status.CONVERGED: "the duality gap is at most tol times the mean square of y",
            Status.CLOSED_FORM: "the solution is known exactly, no iteration was needed",
            Status.MAX_ITER: "the iterations ran out with a duality gap above tol",
            Status.ROUNDING: "rounding errors keep the duality gap above tol",
        }[self]

    @property
    def remedy(self) -> str:
        """What to do about it; empty if nothing needs to be done."""
        return {
            Status.CONVERGED: "",
            Status.CLOSED_FORM: "",
            Status.MAX_ITER: "raise max_iter, tol or nu, or standardize X",
            Status.ROUNDING: "raise nu or tol, or standardize X; more iterations do not help",
        }[self]

    @property
    def certified(self) -> bool:
        """Whether the gap is at most tol."""
        return self in (Status.CONVERGED, Status.CLOSED_FORM)


CERTIFIED = tuple(status for status in Status if status.certified)


def is_certified(status: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether each point has a gap of at most tol."""
    return np.isin(status, CERTIFIED)
