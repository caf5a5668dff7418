"""What all losses share: values, the best constant, the conjugate, JSON text."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nvsd.descriptions import class_names

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Loss(ABC):
    """(1/n) Σ_i ℓ(y_i, f_i), convex in f.

    Predictions F have the samples along their last axis; y is (n,).

    Attributes
    ----------
    short_name : str
        Name of the class in estimators and on the command line; "" if it has none there.
    measure : str
        Name of its mean over held-out data.
    """

    short_name: ClassVar[str] = ""
    measure: ClassVar[str]

    @abstractmethod
    def pointwise(self, y: Array, F: Array) -> Array:
        """ℓ(y_i, f_i), shaped like F."""

    @abstractmethod
    def gradient(self, y: Array, F: Array) -> Array:
        """∂ℓ(y_i, f_i)/∂f_i, shaped like F; a subgradient where there is a kink."""

    @abstractmethod
    def conjugate(self, y: Array, V: Array) -> Array:
        """ℓ*(y_i, v_i) = sup_f v_i f − ℓ(y_i, f), shaped like V; inf outside its domain."""

    @abstractmethod
    def origin(self, y: Array) -> float:
        """The constant of least loss; it is subtracted from y first and added to predictions."""

    def value(self, y: Array, F: Array) -> Array:
        """The mean over the samples."""
        return np.asarray(self.pointwise(y, F).mean(axis=-1))

    def to_json(self) -> str:
        """The loss as text, for `from_json`."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        return json.dumps({"loss": type(self).__name__} | content)

    @staticmethod
    def from_json(text: str) -> Loss:
        """The loss that `to_json` wrote."""
        kinds = class_names(Loss)  # type: ignore[type-abstract]
        try:
            content = json.loads(text)
            return kinds[content.pop("loss")](**content)
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{text!r} does not describe a loss; give what to_json returned."
            ) from error


@dataclass(frozen=True)
class QuadraticLoss(Loss):
    """ℓ(y, f) = (c/2) (f − y)², with a constant curvature c > 0.

    A representation needs only c: the objective without the penalty is ½θᵀAθ − bᵀθ + const with
    A = 2νI + (c/n)ΦᵀΦ and b = (c/n)Φᵀy, and its minimiser in the RKHS solves (K + shift I)α = y,
    with residuals y − f = shift α.
    """

    @property
    @abstractmethod
    def curvature(self) -> float:
        """The second derivative c of ℓ in f."""

    def shift(self, n: int, nu: float) -> float:
        """2νn/c, which kernel ridge adds to the diagonal of K."""
        return 2.0 * nu * n / self.curvature

    def pointwise(self, y: Array, F: Array) -> Array:
        """(c/2)(f − y)²."""
        return np.asarray(0.5 * self.curvature * (F - y) ** 2)

    def gradient(self, y: Array, F: Array) -> Array:
        """c(f − y)."""
        return np.asarray(self.curvature * (F - y))

    def conjugate(self, y: Array, V: Array) -> Array:
        """vy + v²/(2c)."""
        return np.asarray(V * y + V * V / (2.0 * self.curvature))

    def value(self, y: Array, F: Array) -> Array:
        """(c/2n)‖f − y‖²."""
        return self.of_residuals(F - y)

    def of_residuals(self, R: Array) -> Array:
        """(c/2n)‖r‖² for each row r; starting from known residuals keeps their digits."""
        squares = R @ R if R.ndim == 1 else np.einsum("...i,...i->...", R, R)
        return np.asarray(0.5 * self.curvature * squares / R.shape[-1])

    def origin(self, y: Array) -> float:
        """The mean."""
        return float(y.mean())
