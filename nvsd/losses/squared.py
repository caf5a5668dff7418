"""The squared loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nvsd.losses.base import QuadraticLoss


@dataclass(frozen=True)
class Squared(QuadraticLoss):
    """ℓ(y, f) = (y − f)².

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.losses import Squared
    >>> Squared().pointwise(np.array([0.0, 0.0]), np.array([1.0, 10.0]))
    array([  1., 100.])
    """

    short_name: ClassVar[str] = "squared"
    measure: ClassVar[str] = "mean squared error"

    @property
    def curvature(self) -> float:
        """2."""
        return 2.0


SQUARED = Squared()  # the default everywhere
