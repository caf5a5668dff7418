"""The quantile loss, also called pinball or check loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nvsd.data.checks import is_number
from nvsd.losses.base import Loss
from nvsd.tolerances import TINY

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Quantile(Loss):
    """ℓ(y, f) = q(y − f) if f ≤ y, and (1 − q)(f − y) beyond.

    Its minimiser estimates the q-quantile of y given x. With q = .5 it is half the absolute
    deviation: the median.

    Parameters
    ----------
    q : float
        In (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.losses import Quantile
    >>> Quantile(0.9).pointwise(np.array([0.0, 0.0]), np.array([-1.0, 1.0])).round(1)
    array([0.9, 0.1])
    """

    q: float = 0.5
    short_name: ClassVar[str] = "quantile"
    measure: ClassVar[str] = "mean quantile loss"
    unit: ClassVar[str] = "y"

    def __post_init__(self) -> None:
        if not is_number(self.q) or not 0 < self.q < 1:
            raise ValueError(f"q = {self.q!r} is not allowed; give a number between 0 and 1.")
        object.__setattr__(self, "q", float(self.q))

    def pointwise(self, y: Array, F: Array) -> Array:
        """The larger of q(y − f) and (1 − q)(f − y)."""
        return np.maximum(self.q * (y - F), (1.0 - self.q) * (F - y))

    def gradient(self, y: Array, F: Array) -> Array:
        """−q below y, 1 − q above, 0 at y."""
        return np.where(y > F, -self.q, np.where(y < F, 1.0 - self.q, 0.0))

    def conjugate(self, y: Array, V: Array) -> Array:
        """vy for v in [−q, 1 − q]."""
        return np.where((-self.q <= V) & (1.0 - self.q >= V), V * y, np.inf)

    def feasible(self, y: Array, V: Array) -> Array:
        """With v in [−q, 1 − q]."""
        return np.clip(V, -self.q, 1.0 - self.q)

    def prox(self, y: Array, W: Array, step: Array | float, start: Array | None = None) -> Array:
        """Towards y by step q or step (1 − q), but not beyond it."""
        return np.asarray(W - np.clip(W - y, -step * self.q, step * (1.0 - self.q)))

    def prox_slope(self, y: Array, T: Array, step: Array | float) -> Array:
        """0 at y, where the prox stays; 1 elsewhere."""
        return np.where(y == T, 0.0, 1.0)

    def best_constant(self, y: Array, W: Array, weights: Array | None = None) -> Array:
        """The q-quantile of y − w."""
        R = y - W
        order = np.argsort(R, axis=1, kind="stable")
        share = np.ones(len(y)) if weights is None else weights
        total = np.cumsum(share[order], axis=1)
        first = (total < self.q * total[:, -1:]).sum(axis=1, keepdims=True)
        place = np.minimum(first, len(y) - 1)
        return np.take_along_axis(np.take_along_axis(R, order, axis=1), place, axis=1)

    def parabola(self, y: Array, F: Array, width: float = 0.0) -> tuple[Array, Array]:
        """Squares with the weight 1/|r|, at most 1/width, and a slope ½ − q beside them."""
        curvature = 0.5 / np.maximum(np.abs(F - y), max(width, TINY))
        return curvature * (F - y) + 0.5 - self.q, curvature

    def rounded_curvature(self, y: Array, F: Array, width: float) -> Array:
        """½/width at the kink, 0 elsewhere; a rounded fit is at it if closer than two widths."""
        return np.where(np.abs(F - y) <= 2 * width, 0.5 / max(width, TINY), 0.0)

    def typical_curvature(self, y: Array | None) -> float:
        """Slope over spread: the loss of a deviation of the usual size is that of a parabola."""
        if y is None:
            return 1.0
        spread = float(np.median(np.abs(y - np.median(y)))) or float(y.std()) or 1.0
        return 1.0 / spread
