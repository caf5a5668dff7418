"""What is to be explained, where it is not squares of y: one or several targets, and a loss.

Two classes are one target, −1 and 1. More classes are one target each, the class against the rest:
the odds of all are fitted apart, and the probabilities divided by their sum. The engine ranks
inputs by squared loss on a code of each target, which is fast, and judges sets by the loss. The
code is the slope of the loss at its best constant: what a first step of the fit would follow. For
classes it is 0 and 1 less the share; for Huber's loss it is y, bent where it is far off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from nvsd.data.weights import weights_at
from nvsd.losses import Loss
from nvsd.losses.huber import NORMAL_MAD
from nvsd.tolerances import TINY

Array = NDArray[Any]
Index = NDArray[np.intp]

HALF_ROW = (
    0.5  # that every class has beside its rows: a class that a fold lacks is rare, not absent
)


@dataclass(frozen=True, eq=False)
class Aim:
    """Targets and the loss of their predictions.

    Attributes
    ----------
    loss : Loss
        With all of its constants known.
    targets : (c, n) array
        y in one row; or −1 and 1 for the second of two classes, or for each of several.
    weights : (n,) array or None
        Of the rows, with mean 1; None if they are equal.
    """

    loss: Loss
    targets: Array
    weights: Array | None = None

    @classmethod
    def of_classes(
        cls, loss: Loss, codes: Index, classes: int, weights: Array | None = None
    ) -> Aim:
        """For the class 0, 1, … of each row."""
        numbers = np.array([1]) if classes == 2 else np.arange(classes)
        return cls(loss, np.where(codes == numbers[:, None], 1.0, -1.0), weights)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.targets.shape[1])

    def take(self, rows: Index) -> Aim:
        """The aim on some of the rows."""
        weights = weights_at(self.weights, rows)
        return replace(self, targets=self.targets[:, rows], weights=weights)

    @cached_property
    def codes(self) -> Array:
        """What squared loss can rank inputs for, (c, n): slopes of the loss at its best constants.

        Kinks are rounded within a robust standard deviation, else a code would only say above or
        below.
        """
        found = [
            -self.loss.parabola(y, np.full(self.n, c), spread(y))[0]
            for y, c in zip(self.targets, self.origin, strict=True)
        ]
        # The slope of Huber's loss is twice the error.
        return np.array(found) / (1 if self.loss.of_classes else 2)

    @cached_property
    def origin(self) -> Array:
        """The best constants, (c,)."""
        if not self.loss.of_classes:
            return np.array([self.loss.origin(target, self.weights) for target in self.targets])
        second = self.targets > 0
        present = second.sum(axis=1) if self.weights is None else second @ self.weights
        return np.asarray(logit((present + HALF_ROW) / (self.n + 2 * HALF_ROW)))

    def costs(self, f: Array, known: Aim) -> Array:
        """The loss of predictions f (..., c, n) by a fit to the rows of another aim, (..., n)."""
        if not self.loss.of_classes:
            return self.loss.pointwise(self.targets[0], f[..., 0, :])
        p = probabilities(f, known.origin, known.n)
        return np.asarray(-np.log((p * self._is_class).sum(axis=-2)))

    @property
    def _is_class(self) -> Array:
        """Whether each row is of each class, (classes, n)."""
        second = self.targets > 0
        return np.vstack([~second, second]) if len(second) == 1 else second


def probabilities(f: Array, origin: Array, n: int) -> Array:
    """The probability of each class, (..., classes, m), from log-odds f (..., c, m).

    The shares of the classes count as one more row beside the n that were fitted: no fit knows a
    probability better than its rows can tell, so that none is 0 or 1.

    Parameters
    ----------
    origin : (c,) array
        The log-odds of the shares.
    """
    p, share = _each(expit(f)), _each(expit(origin)[:, None])
    return np.asarray((n * p + share) / (n + 1))


def _each(p: Array) -> Array:
    """Of all classes: the other one of two, or divided by the sum."""
    if p.shape[-2] == 1:
        return np.concatenate([1 - p, p], axis=-2)
    return np.asarray(p / np.maximum(p.sum(axis=-2, keepdims=True), TINY))


def spread(y: Array) -> float:
    """The robust standard deviation of y."""
    return NORMAL_MAD * float(np.median(np.abs(y - np.median(y)))) or float(y.std()) or 1.0
