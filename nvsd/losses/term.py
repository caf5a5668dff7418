"""The loss of a whole sample as a term of the objective: weights, and a constant that is free.

    L(s) = min_c (1/n) Σ_i ω_i ℓ(y_i, s_i + c)            c = 0 where the constant is not free

Leaving the constant to this term keeps it out of everything else: the prox of L and its conjugate
are those of a convex function of s, and L*(v) is finite only where Σ_i v_i = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nvsd.losses.base import Loss
from nvsd.losses.roots import increasing_root

Array = NDArray[np.float64]


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
    """

    loss: Loss
    y: Array
    weights: Array
    free: bool

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
        c = self._prox_constant(W, step)
        return self.loss.prox(self.y, W + c, step) - c

    def _prox_constant(self, W: Array, step: Array) -> Array:
        """The root of Σ_i (w_i + c − t_i), which increases in c, (k, 1)."""

        def equation(c: Array) -> tuple[Array, Array]:
            T = self.loss.prox(self.y, W + c, step)
            slope = 1.0 - self.loss.prox_slope(self.y, T, step)
            return _mean(W + c - T), _mean(slope)

        levels = self.loss.level(self.y, W, self.weights)
        reach = float(step.max())  # the prox moves by step times a slope of the loss
        low, high = levels.min(axis=1, keepdims=True), levels.max(axis=1, keepdims=True)
        return increasing_root(equation, low - reach, high + reach, _mean(levels))

    def feasible(self, V: Array) -> Array:
        """v in the domain of L*: each v_i in that of its own, and Σ_i v_i = 0 if c is free.

        0 is in the domain of every ℓ*, so the positive v_i, or the negative ones, may shrink.
        """
        per_sample = self.weights / self.n
        V = per_sample * self.loss.feasible(self.y, V / per_sample)
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
        return np.maximum(terms, 0.0) @ per_sample + left


def _mean(A: Array) -> Array:
    return np.asarray(A.mean(axis=1, keepdims=True))


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Divide with 0/0 = 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
