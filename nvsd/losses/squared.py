"""The squared loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nvsd.losses.base import QuadraticLoss


@dataclass(frozen=True)
class Squared(QuadraticLoss):
    """ℓ(y, f) = (y − f)²."""

    short_name: ClassVar[str] = "squared"
    measure: ClassVar[str] = "mean squared error"

    @property
    def curvature(self) -> float:
        """2."""
        return 2.0


SQUARED = Squared()  # the default everywhere
