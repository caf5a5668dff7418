"""The loss of a whole sample as a term of the objective: weights, and a constant that is free.

    L(s) = min_c (1/n) Σ_i ω_i ℓ(y_i, s_i + c)            c = 0 where the constant is not free

Leaving the constant to this term keeps it out of everything else: the prox of L and its conjugate
are those of a convex function of s, and L*(v) is finite only where Σ_i v_i = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.data.checks import check_positive, check_target
from nvsd.data.classes import Labels, two_labels_of
from nvsd.data.weights import of_mean_one
from nvsd.losses.base import Loss
from nvsd.losses.roots import increasing_root
from nvsd.tolerances import EPS, MEAN_ROUNDING, TINY

Array = NDArray[np.float64]

# Mean of the slopes v_i over that of their sizes that counts as zero; `feasible` takes it off.
UNBALANCED = 1e-13
INSIDE = 1.0 - 8 * EPS  # so that v_i is still in its domain after a few roundings


@dataclass(frozen=True, eq=False)
class LossTerm:
    """L, for points s (k, n); see the module.

    Attributes
    ----------
    loss : Loss
        With all of its constants known.
    y : (n,) array
    weights : (n,) array
        ω, with mean 1.
    free : bool
        Whether there is a constant.
    classes : array or None
        The two labels, if the loss is of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.losses import Squared, loss_term
    >>> term = loss_term(Squared(), np.array([0.0, 2.0]), 2, None, None, True)
    >>> term.origin, term.scale
    (1.0, 1.0)
    """

    loss: Loss
    y: Array
    weights: Array
    free: bool
    classes: NDArray[Any] | None = None

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.y)

    @cached_property
    def origin(self) -> float:
        """The constant of least loss, if f = 0; 0 where it is not free."""
        return self.loss.origin(self.y, self.weights) if self.free else 0.0

    @cached_property
    def scale(self) -> float:
        """L(0): the loss of the best constant."""
        return float(self.mean(np.full((1, self.n), self.origin))[0])

    def mean(self, F: Array) -> Array:
        """(1/n) Σ_i ω_i ℓ(y_i, f_i) for each row of F, the constant included."""
        return np.asarray(self.loss.pointwise(self.y, F) @ self.weights / self.n)

    def rounding(self, F: Array, error: Array) -> Array:
        """What errors of F of at most this size change its mean by: slopes differ at kinks."""
        slopes = [np.abs(self.loss.gradient(self.y, F + each)) for each in (-error, error)]
        return np.asarray((np.maximum(*slopes) * error) @ self.weights / self.n)

    def at_constant(self) -> Array:
        """The slopes v of L at s = 0, (1, n)."""
        F = np.full((1, self.n), self.origin)
        return self.feasible(self.loss.gradient(self.y, F) * self.weights / self.n)

    def constant(self, S: Array) -> Array:
        """The c of each row of S, (k, 1)."""
        if not self.free:
            return np.zeros((len(S), 1))
        return self.loss.best_constant(self.y, S, self.weights)

    def value(self, S: Array) -> Array:
        """L(s) for each row."""
        return self.mean(S + self.constant(S))

    def prox(self, W: Array, kappa: float) -> Array:
        """argmin_s L(s) + κ/2 ‖s − w‖² for each row w.

        With t = s + c it is the prox of ℓ at w + c, for the c at which Σ_i (w_i + c − t_i) = 0.
        """
        step = self.weights / (self.n * kappa)
        if not self.free:
            return self.loss.prox(self.y, W, step)
        last: tuple[Array, Array, Array] | None = None  # c, t and the slopes of t in c

        def equation(c: Array) -> tuple[Array, Array]:
            """The mean of (w_i + c − t_i) over that of its size, and its slope."""
            nonlocal last
            guess = None if last is None else last[1] + last[2] * (c - last[0])
            T = self.loss.prox(self.y, W + c, step, guess)
            slopes = self.loss.prox_slope(self.y, T, step)
            last, pulls = (c, T, slopes), W + c - T
            size = np.maximum(np.abs(pulls).mean(axis=1, keepdims=True), TINY)
            return _mean(pulls) / size, _mean(1.0 - slopes) / size

        levels = self.loss.level(self.y, W, self.weights)
        reach = float(step.max())  # the prox moves by step times a slope of the loss
        low, high = levels.min(axis=1, keepdims=True), levels.max(axis=1, keepdims=True)
        c = increasing_root(equation, low - reach, high + reach, _mean(levels), UNBALANCED)
        assert last is not None
        return last[1] - c

    def feasible(self, V: Array) -> Array:
        """v in the domain of L*: each v_i in that of its own, and Σ_i v_i = 0 if c is free.

        0 is in the domain of every ℓ*, so the positive v_i, or the negative ones, may shrink.
        """
        per_sample = self.weights / self.n
        V = INSIDE * per_sample * self.loss.feasible(self.y, V / per_sample)
        if not self.free:
            return V
        plus, minus = np.maximum(V, 0.0), np.maximum(-V, 0.0)
        more, less = plus.sum(axis=1, keepdims=True), minus.sum(axis=1, keepdims=True)
        least = np.minimum(more, less)
        return plus * _ratio(least, more) - minus * _ratio(least, less)

    def fenchel_gap(self, S: Array, V: Array) -> Array:
        """L(s) + L*(v) − vᵀs ≥ 0 for v of `feasible`: a sum of n terms, none of them negative."""
        F, per_sample = S + self.constant(S), self.weights / self.n
        slopes = V / per_sample
        terms = self.loss.pointwise(self.y, F) + self.loss.conjugate(self.y, slopes) - slopes * F
        # Σ_i v_i is zero up to rounding, which the constant multiplies.
        left = np.abs(V.sum(axis=1) * (F - S)[:, 0])
        return np.asarray(np.maximum(terms, 0.0) @ per_sample + left)


def loss_term(
    loss: Loss, y: Any, n: int, weights: Array | None, class_weight: Any, free: bool
) -> LossTerm:
    """The term for this y: labels become signs, and constants of the loss are taken from y.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.losses import Logistic, loss_term
    >>> term = loss_term(Logistic(), ["no", "no", "yes"], 3, None, "balanced", True)
    >>> term.weights
    array([0.75, 0.75, 1.5 ])
    """
    total = np.ones(n) if weights is None else weights
    if not loss.of_classes:
        target = check_target(y, n)
        if free and np.ptp(target) <= MEAN_ROUNDING * np.abs(target).max():
            target = np.full_like(target, target[0])  # y is constant, up to rounding
        return LossTerm(loss.bound(target, weights), target, total, free)
    labels = two_labels_of(y, n)
    total = total * class_weights(class_weight, labels)
    return LossTerm(
        loss.bound(labels.signs), labels.signs, of_mean_one(total), free, labels.classes
    )


def class_weights(given: Any, labels: Labels) -> Array:
    """The weight of each sample: that of its class.

    Examples
    --------
    >>> from nvsd.data.classes import labels_of
    >>> from nvsd.losses import class_weights
    >>> class_weights({"yes": 2.0}, labels_of(["no", "no", "yes"], 3))
    array([1., 1., 2.])
    """
    return weights_of_classes(given, labels)[labels.codes]


def weights_of_classes(given: Any, labels: Labels) -> Array:
    """The weight of each class; if "balanced", all classes weigh the same.

    Parameters
    ----------
    given : mapping, "balanced" or None
        {label: weight}; a label that is missing has the weight 1.

    Examples
    --------
    >>> from nvsd.data.classes import labels_of
    >>> from nvsd.losses import weights_of_classes
    >>> weights_of_classes("balanced", labels_of(["no", "no", "yes"], 3))
    array([0.5, 1. ])
    """
    if given is None:
        return np.ones(len(labels.classes))
    if isinstance(given, str) and given == "balanced":
        counts = np.bincount(labels.codes, minlength=len(labels.classes))
        return np.asarray(1.0 / np.maximum(counts, 1))
    if not isinstance(given, Mapping):
        raise ValueError(
            f"class_weight = {given!r} is not allowed; give 'balanced', or {{label: weight}}."
        )
    known = labels.classes.tolist()
    unknown = [label for label in given if label not in known]
    if unknown:
        raise ValueError(f"class_weight names {unknown[0]!r}, but the classes are {known}.")
    each = [check_positive("a weight in class_weight", given.get(label, 1.0)) for label in known]
    return np.array(each)


def _mean(A: Array) -> Array:
    return np.asarray(A.mean(axis=1, keepdims=True))


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Divide with 0/0 = 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
