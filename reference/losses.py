"""The losses as formulas of CVXPY, with their conjugates.

Only the descriptions of the losses (their fields) come from ``nvsd``; no numerics are shared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import singledispatch

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

from nvsd.losses import Huber, Logistic, Loss, Quantile, Squared

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Formula(ABC):
    """ℓ(y, f), what CVXPY needs of it, and what a lower bound on the minimum needs.

    Attributes
    ----------
    degree : int
        ℓ(cy, cf) = c^degree ℓ'(y, f), with the ℓ' of `in_units(c)`.
    of_classes : bool
        Whether y is −1 or 1, so that it cannot be shifted or scaled.
    free : bool
        Whether centring means an unpenalised constant beside f; else the mean of y is subtracted.
    """

    degree: int = 1
    of_classes: bool = False
    free: bool = True

    @abstractmethod
    def total(self, y: Array, f: cp.Expression, weights: Array) -> cp.Expression:
        """Σ_i ω_i ℓ(y_i, f_i) in CVXPY."""

    @abstractmethod
    def values(self, y: Array, f: Array) -> Array:
        """ℓ(y_i, f_i)."""

    @abstractmethod
    def slopes(self, y: Array, f: Array) -> Array:
        """A subgradient in f_i."""

    @abstractmethod
    def domain(self, y: Array) -> tuple[Array, Array]:
        """The smallest and largest v_i at which the conjugate is finite."""

    @abstractmethod
    def conjugates(self, y: Array, v: Array) -> Array:
        """sup_f v_i f − ℓ(y_i, f), for v_i in the domain."""

    def in_units(self, unit: float) -> Formula:
        """The formula for y and f divided by the unit."""
        return self


@singledispatch
def formula(loss: Loss) -> Formula:
    """The formula of a loss."""
    raise ValueError(
        f"the reference has no formula for the loss {type(loss).__name__}; "
        "register one with reference.losses.formula"
    )


@dataclass(frozen=True)
class SquaredFormula(Formula):
    """(y − f)²; its minimum has a lower bound without v, see `Objective.lower_bound`."""

    degree: int = 2
    free: bool = False

    def total(self, y: Array, f: cp.Expression, weights: Array) -> cp.Expression:
        """A sum of squares."""
        residual = y - f
        if (weights != 1).any():
            residual = cp.multiply(np.sqrt(weights), residual)
        return cp.sum_squares(residual)

    def values(self, y: Array, f: Array) -> Array:
        """(y − f)²."""
        return (y - f) ** 2

    def slopes(self, y: Array, f: Array) -> Array:
        """2(f − y)."""
        return 2 * (f - y)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """All numbers."""
        return np.full_like(y, -np.inf), np.full_like(y, np.inf)

    def conjugates(self, y: Array, v: Array) -> Array:
        """vy + v²/4."""
        return v * y + v**2 / 4


@dataclass(frozen=True)
class HuberFormula(Formula):
    """r² for |r| ≤ δ and 2δ|r| − δ² beyond, with r = y − f."""

    degree: int = 2
    delta: float = 1.0

    def total(self, y: Array, f: cp.Expression, weights: Array) -> cp.Expression:
        """CVXPY has it."""
        return weights @ cp.huber(y - f, self.delta)

    def values(self, y: Array, f: Array) -> Array:
        """The two cases."""
        r = np.abs(y - f)
        return np.where(r <= self.delta, r**2, 2 * self.delta * r - self.delta**2)

    def slopes(self, y: Array, f: Array) -> Array:
        """2(f − y), at most 2δ in size."""
        return np.clip(2 * (f - y), -2 * self.delta, 2 * self.delta)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """|v| ≤ 2δ."""
        return np.full_like(y, -2 * self.delta), np.full_like(y, 2 * self.delta)

    def conjugates(self, y: Array, v: Array) -> Array:
        """vy + v²/4."""
        return v * y + v**2 / 4

    def in_units(self, unit: float) -> Formula:
        """δ is in the units of y."""
        return HuberFormula(delta=self.delta / unit)


@dataclass(frozen=True)
class LogisticFormula(Formula):
    """log(1 + exp(−yf))."""

    of_classes: bool = True

    def total(self, y: Array, f: cp.Expression, weights: Array) -> cp.Expression:
        """CVXPY has log(1 + exp)."""
        return weights @ cp.logistic(-cp.multiply(y, f))

    def values(self, y: Array, f: Array) -> Array:
        """Without overflow for a large exponent."""
        m = -y * f
        return np.maximum(m, 0) + np.log1p(np.exp(-np.abs(m)))

    def slopes(self, y: Array, f: Array) -> Array:
        """−y / (1 + exp(yf))."""
        return -y * expit(-y * f)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """−yv from 0 to 1."""
        return np.minimum(-y, 0), np.maximum(-y, 0)

    def conjugates(self, y: Array, v: Array) -> Array:
        """p log p + (1 − p) log(1 − p) with p = −yv."""
        p = -y * v
        return xlogy(p, p) + xlogy(1 - p, 1 - p)


@dataclass(frozen=True)
class QuantileFormula(Formula):
    """max(q(y − f), (1 − q)(f − y))."""

    q: float = 0.5

    def total(self, y: Array, f: cp.Expression, weights: Array) -> cp.Expression:
        """The larger of two lines."""
        return weights @ cp.maximum(self.q * (y - f), (1 - self.q) * (f - y))

    def values(self, y: Array, f: Array) -> Array:
        """The larger of two lines."""
        return np.maximum(self.q * (y - f), (1 - self.q) * (f - y))

    def slopes(self, y: Array, f: Array) -> Array:
        """−q below y, 1 − q above."""
        return np.where(f < y, -self.q, 1 - self.q)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Between the two slopes."""
        return np.full_like(y, -self.q), np.full_like(y, 1 - self.q)

    def conjugates(self, y: Array, v: Array) -> Array:
        """A line."""
        return v * y


@formula.register
def _(loss: Squared) -> Formula:
    return SquaredFormula()


@formula.register
def _(loss: Logistic) -> Formula:
    return LogisticFormula()


@formula.register
def _(loss: Quantile) -> Formula:
    return QuantileFormula(q=loss.q)


@formula.register
def _(loss: Huber) -> Formula:
    if loss.delta is None:
        raise ValueError("delta of the Huber loss is None; the reference needs a number")
    return HuberFormula(delta=loss.delta)
