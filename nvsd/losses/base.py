"""What all losses share: values, prox, conjugate, the best constant, JSON text."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nvsd.descriptions import Brief, class_names
from nvsd.losses.roots import increasing_root
from nvsd.tolerances import TINY

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Loss(Brief, ABC):
    """(1/n) Σ_i ℓ(y_i, f_i), convex in f.

    Predictions F have the samples along their last axis; y is (n,).

    Attributes
    ----------
    short_name : str
        Name of the class in estimators and on the command line; "" if it has none there.
    measure : str
        Name of its mean over held-out data.
    unit : str
        Unit of the loss, if y has the unit y.
    scale_name : str
        What tolerances are relative to.
    of_classes : bool
        Whether y tells classes apart: −1 for the first, 1 for the second.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.losses import Huber, Loss
    >>> loss = Loss.from_json(Huber(1.0).to_json())
    >>> loss, loss.measure
    (Huber(delta=1.0), 'mean Huber loss')
    >>> float(loss.origin(np.array([0.0, 1.0, 100.0])))
    1.0
    """

    short_name: ClassVar[str] = ""
    measure: ClassVar[str]
    unit: ClassVar[str] = ""
    scale_name: ClassVar[str] = "loss of the best constant"
    of_classes: ClassVar[bool] = False

    @abstractmethod
    def pointwise(self, y: Array, F: Array) -> Array:
        """ℓ(y_i, f_i), shaped like F."""

    @abstractmethod
    def gradient(self, y: Array, F: Array) -> Array:
        """∂ℓ(y_i, f_i)/∂f_i, shaped like F; a subgradient where there is a kink."""

    @abstractmethod
    def conjugate(self, y: Array, V: Array) -> Array:
        """ℓ*(y_i, v_i) = sup_f v_i f − ℓ(y_i, f), shaped like V; inf outside its domain."""

    def second_derivative(self, y: Array, F: Array) -> Array:
        """∂²ℓ/∂f_i², shaped like F; 0 at kinks and where the loss is straight."""
        raise NotImplementedError(f"{type(self).__name__} has no second derivative")

    def prox(self, y: Array, W: Array, step: Array | float, start: Array | None = None) -> Array:
        """argmin_t step ℓ(y_i, t) + ½ (t − w_i)², shaped like W; start is a guess.

        The root of t − w + step ℓ'(t), which increases; it lies between w and w − step ℓ'(w).
        """

        def equation(T: Array) -> tuple[Array, Array]:
            slope = 1.0 + step * self.second_derivative(y, T)
            return T - W + step * self.gradient(y, T), slope

        ends = W, W - step * self.gradient(y, W)
        return increasing_root(equation, np.minimum(*ends), np.maximum(*ends), start)

    def prox_slope(self, y: Array, T: Array, step: Array | float) -> Array:
        """The derivative of the prox in w, where its value is T."""
        return np.asarray(1.0 / (1.0 + step * self.second_derivative(y, T)))

    def level(self, y: Array, W: Array, weights: Array | None = None) -> Array:
        """The c with ℓ'(y_i, w_i + c) = 0, shaped like W; only an average of it has to exist.

        The best constant for predictions W lies between the least and the largest of a row.
        """
        return y - W

    def best_constant(self, y: Array, W: Array, weights: Array | None = None) -> Array:
        """The c of each row of W that minimises Σ_i ω_i ℓ(y_i, w_i + c), (k, 1)."""
        share = np.ones(len(y)) if weights is None else weights

        def equation(c: Array) -> tuple[Array, Array]:
            slope = self.second_derivative(y, W + c) @ share
            return (self.gradient(y, W + c) @ share)[:, None], np.maximum(slope, TINY)[:, None]

        levels = self.level(y, W, share)
        return increasing_root(
            equation, levels.min(axis=1, keepdims=True), levels.max(axis=1, keepdims=True)
        )

    def origin(self, y: Array, weights: Array | None = None) -> float:
        """The constant of least loss."""
        return float(self.best_constant(y, np.zeros((1, len(y))), weights)[0, 0])

    def feasible(self, y: Array, V: Array) -> Array:
        """The v that are nearest to V in the domain of the conjugate."""
        return V

    def typical_curvature(self, y: Array | None) -> float:
        """The second derivative c > 0 of a parabola of the same scale."""
        return 1.0

    def splitting_curvature(self, y: Array | None) -> float:
        """That of the parabola which takes the place of the loss in S1, around targets t that move.

        S1 has (c/2n) Σ_i (f_i − t_i)². Any c gives the same minimiser; a good one saves iterations.
        """
        return self.typical_curvature(y)

    def parabola(self, y: Array, F: Array, width: float = 0.0) -> tuple[Array, Array]:
        """Slope and curvature at f of a parabola in its place, for one step of a fit.

        By default its own, for Newton's method. A loss that is straight somewhere has a parabola
        that lies above it everywhere: to reweight squares. Within `width` of a kink it is rounded.
        """
        return self.gradient(y, F), self.rounded_curvature(y, F, width)

    def rounded_curvature(self, y: Array, F: Array, width: float) -> Array:
        """∂²ℓ/∂f_i², where kinks are rounded within a width."""
        return self.second_derivative(y, F)

    def bound(self, y: Array, weights: Array | None = None) -> Loss:
        """The loss with all of its constants known, for this y and weights of its rows."""
        return self

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
    with residuals y − f = shift α. The constant `origin` is subtracted from y before fitting.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.losses import Squared
    >>> Squared().curvature, float(Squared().origin(np.array([0.0, 1.0, 5.0])))
    (2.0, 2.0)
    """

    unit: ClassVar[str] = "y^2"
    scale_name: ClassVar[str] = "mean square of y"

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

    def second_derivative(self, y: Array, F: Array) -> Array:
        """The constant c."""
        return np.full_like(F, self.curvature)

    def conjugate(self, y: Array, V: Array) -> Array:
        """vy + v²/(2c)."""
        return np.asarray(V * y + V * V / (2.0 * self.curvature))

    def prox(self, y: Array, W: Array, step: Array | float, start: Array | None = None) -> Array:
        """(w + step c y) / (1 + step c)."""
        pull = step * self.curvature
        return np.asarray((W + pull * y) / (1.0 + pull))

    def typical_curvature(self, y: Array | None) -> float:
        """The constant c."""
        return self.curvature

    def value(self, y: Array, F: Array) -> Array:
        """(c/2n)‖f − y‖²."""
        return self.of_residuals(F - y)

    def of_residuals(self, R: Array) -> Array:
        """(c/2n)‖r‖² for each row r; starting from known residuals keeps their digits."""
        squares = R @ R if R.ndim == 1 else np.einsum("...i,...i->...", R, R)
        return np.asarray(0.5 * self.curvature * squares / R.shape[-1])

    def origin(self, y: Array, weights: Array | None = None) -> float:
        """The mean."""
        return float(y.mean()) if weights is None else float(np.average(y, weights=weights))


@dataclass(frozen=True)
class Parabola(QuadraticLoss):
    """ℓ(y, f) = (c/2) (f − y)²: what takes the place of another loss in S1.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.losses import Parabola
    >>> Parabola(c=4.0).pointwise(np.array([0.0]), np.array([1.0]))
    array([2.])
    """

    measure: ClassVar[str] = "mean squared error"
    c: float = 2.0

    @property
    def curvature(self) -> float:
        """The field c."""
        return self.c
