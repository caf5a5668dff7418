"""The logistic loss of two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

from nvsd.losses.base import Loss
from nvsd.losses.roots import increasing_root

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Logistic(Loss):
    """ℓ(y, f) = log(1 + exp(−y f)) with y = 1 for the second class and −1 for the first.

    f is the logarithm of the odds of the second class, in the order of sorted labels: its
    probability is 1 / (1 + exp(−f)). For more than two classes, one path is computed for each class
    against all others.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.losses import Logistic
    >>> Logistic().pointwise(np.array([1.0, 1.0]), np.array([0.0, 5.0])).round(3)
    array([0.693, 0.007])
    """

    short_name: ClassVar[str] = "logistic"
    measure: ClassVar[str] = "log-loss"
    of_classes: ClassVar[bool] = True

    def pointwise(self, y: Array, F: Array) -> Array:
        """log(1 + exp(−yf)), without overflow."""
        return np.asarray(np.logaddexp(0.0, -y * F))

    def gradient(self, y: Array, F: Array) -> Array:
        """−y / (1 + exp(yf))."""
        return np.asarray(-y * expit(-y * F))

    def second_derivative(self, y: Array, F: Array) -> Array:
        """p(1 − p), with the probability p."""
        return np.asarray(expit(F) * expit(-F))

    def conjugate(self, y: Array, V: Array) -> Array:
        """m log m + (1 − m) log(1 − m) with m = −yv in [0, 1]."""
        m = -y * V
        inside = (m >= 0) & (m <= 1)
        m = np.clip(m, 0.0, 1.0)
        return np.where(inside, xlogy(m, m) + xlogy(1 - m, 1 - m), np.inf)

    def feasible(self, y: Array, V: Array) -> Array:
        """With −yv in [0, 1]."""
        return np.asarray(-y * np.clip(-y * V, 0.0, 1.0))

    def prox(self, y: Array, W: Array, step: Array | float, start: Array | None = None) -> Array:
        """yt is the root m of m − yw − step/(1 + e^m), between yw and yw + step."""
        a = y * W

        def equation(M: Array) -> tuple[Array, Array]:
            pull = step * expit(-M)
            return M - a - pull, 1.0 + pull * expit(M)

        M = increasing_root(equation, a, a + step, None if start is None else y * start)
        return np.asarray(y * M)

    def level(self, y: Array, W: Array, weights: Array | None = None) -> Array:
        """The c at which the probability is the share of the second class."""
        share = float(np.average(y > 0, weights=weights))
        if not 0 < share < 1:
            raise ValueError("y holds one class only; give samples of two classes.")
        return np.asarray(np.log(share / (1 - share)) - W)

    def typical_curvature(self, y: Array | None) -> float:
        """The largest second derivative, at the boundary."""
        return 0.25

    def splitting_curvature(self, y: Array | None) -> float:
        """Well below the largest: most samples are far from the boundary.

        On E1 and E3 as classes, n = 50, the largest takes up to twice the iterations.
        """
        return 0.05
