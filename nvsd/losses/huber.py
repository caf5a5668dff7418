"""Huber's loss: squares near zero, straight further out, so that outliers count little."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nvsd.data.checks import check_positive
from nvsd.data.weights import deviation, median
from nvsd.losses.base import Loss

Array = NDArray[np.float64]

EFFICIENT = 1.345  # Huber's constant: 95 % of the efficiency of squares if the noise is normal
NORMAL_MAD = 1.4826  # standard deviation of a normal variable over its median absolute deviation


@dataclass(frozen=True)
class Huber(Loss):
    """ℓ(y, f) = r² if |r| ≤ δ, and 2δ|r| − δ² beyond, with r = y − f.

    Parameters
    ----------
    delta : float, optional
        δ > 0, in the units of y. By default 1.345 robust standard deviations of y: what lies
        further off its median is an outlier even for a constant f. Give the scale of the noise
        where it is known and much smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.losses import Huber
    >>> Huber(delta=1.0).pointwise(np.array([0.0, 0.0]), np.array([1.0, 10.0]))
    array([ 1., 19.])
    """

    delta: float | None = None
    short_name: ClassVar[str] = "huber"
    measure: ClassVar[str] = "mean Huber loss"
    unit: ClassVar[str] = "y^2"

    def __post_init__(self) -> None:
        if self.delta is not None:
            object.__setattr__(self, "delta", check_positive("delta", self.delta))

    @property
    def _delta(self) -> float:
        if self.delta is None:
            raise ValueError("delta is not known yet; use bound(y), or give delta.")
        return self.delta

    def bound(self, y: Array, weights: Array | None = None) -> Huber:
        """With δ from y, if none was given."""
        if self.delta is not None:
            return self
        off = np.abs(y - median(y, weights))
        # More than half of y may be one value.
        spread = NORMAL_MAD * median(off, weights) or float(deviation(y, weights)) or 1.0
        return replace(self, delta=EFFICIENT * spread)

    def pointwise(self, y: Array, F: Array) -> Array:
        """r² inside, 2δ|r| − δ² outside."""
        inside = np.minimum(np.abs(F - y), self._delta)
        return np.asarray(inside * (2.0 * np.abs(F - y) - inside))

    def gradient(self, y: Array, F: Array) -> Array:
        """2r inside, ±2δ outside."""
        return np.asarray(2.0 * np.clip(F - y, -self._delta, self._delta))

    def second_derivative(self, y: Array, F: Array) -> Array:
        """2 inside, 0 outside."""
        return np.where(np.abs(F - y) < self._delta, 2.0, 0.0)

    def conjugate(self, y: Array, V: Array) -> Array:
        """vy + v²/4 for |v| ≤ 2δ."""
        inside = np.abs(V) <= 2.0 * self._delta
        return np.where(inside, V * y + 0.25 * V * V, np.inf)

    def feasible(self, y: Array, V: Array) -> Array:
        """With |v| ≤ 2δ."""
        return np.clip(V, -2.0 * self._delta, 2.0 * self._delta)

    def prox(self, y: Array, W: Array, step: Array | float, start: Array | None = None) -> Array:
        """r = (w − y)/(1 + 2 step) inside, and 2 step δ nearer to y than w outside."""
        inside = (W - y) / (1.0 + 2.0 * step)
        return np.asarray(W - 2.0 * step * np.clip(inside, -self._delta, self._delta))

    def parabola(self, y: Array, F: Array, width: float = 0.0) -> tuple[Array, Array]:
        """Squares with the weight 1 inside, δ/|r| outside."""
        weight = self._delta / np.maximum(np.abs(F - y), self._delta)
        return self.gradient(y, F), 2.0 * weight

    def typical_curvature(self, y: Array | None) -> float:
        """That of the squares."""
        return 2.0
