"""The fits that a selection ends with: kernel ridge, or logistic regression, on some inputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvsd.data.columns import Columns
from nvsd.data.scaling import centred
from nvsd.engine.aims import probabilities
from nvsd.kernels import Kernel
from nvsd.results.selections import StoredFit
from nvsd.ridge.decomposition import Decomposition, decompose
from nvsd.ridge.dense import RidgeFit
from nvsd.ridge.newton import SeveralFits
from nvsd.selection.html import refit_html
from nvsd.selection.seen import Inputs
from nvsd.selection.summary import brief_refit
from nvsd.selection.task import Array


@dataclass(frozen=True, eq=False, repr=False)
class Refit:
    """Kernel ridge on the selected inputs; it ignores all others.

    Attributes
    ----------
    fit : RidgeFit
        The fit on the selected inputs, as the kernel sees them.
    inputs : Inputs
        Names of all inputs and how the kernel sees them.

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 4))
    >>> refit = nvsd.select(X, np.sin(2 * X[:, 0])).refit
    >>> refit.uses
    ['x0']
    >>> refit.gradient(X).any(axis=1).tolist()  # the other inputs have no slope
    [True, False, False, False]
    """

    fit: RidgeFit
    inputs: Inputs

    @property
    def features(self) -> tuple[str, ...]:
        """Names of all inputs; of a table, of its columns."""
        return self.columns.names

    @property
    def columns(self) -> Columns:
        """How the columns of a table became inputs of the kernel."""
        return self.inputs.columns or Columns.of_numbers(self.inputs.features)

    @property
    def x_mean(self) -> Array:
        """The kernel sees (X − x_mean) / x_scale."""
        return self.inputs.mean

    @property
    def x_scale(self) -> Array:
        """The kernel sees (X − x_mean) / x_scale."""
        return self.inputs.scale

    @property
    def owner(self) -> NDArray[np.intp]:
        """The number, among `features`, of the input that each input of the kernel belongs to."""
        return self.columns.owner

    @property
    def uses(self) -> list[str]:
        """Names of the inputs that f uses."""
        return [self.features[a] for a in np.unique(self.owner[self.fit.features])]

    @property
    def kernel(self) -> Kernel:
        """The kernel on the selected inputs."""
        return self.fit.kernel

    @property
    def nu(self) -> float:
        """The weight of the squared norm."""
        return float(self.fit.nus[0])

    def predict(self, X_new: ArrayLike) -> Array:
        """f at new points, (m,).

        X_new has all columns, or is a DataFrame with at least the selected ones. Values of other
        columns do not matter.
        """
        return np.asarray(self.predicted(self._points(X_new))[0])

    def predicted(self, points: Array) -> Array:
        """What is predicted at points as the kernel sees them: f (1, m), or probabilities."""
        return self.fit.predict(points)

    def gradient(self, X_new: ArrayLike) -> Array:
        """∂_a f at new points, (d, m), in the units of the samples as given; 0 if not selected.

        A category has no derivative: it is NaN if f uses the category.
        """
        gradient = self.fit.gradient(self._points(X_new))[0]
        return self.columns.slopes(gradient / self.inputs.scale[:, None], self.fit.features)

    def derivative_norms(self, X: Array) -> Array:
        """‖∂_a f‖ over samples, (d,), per unit of the inputs as the kernel sees them.

        Above 500 rows an evenly spaced subsample is used.
        """
        some = X[np.linspace(0, len(X) - 1, min(len(X), 500)).round().astype(int)]
        gradient = self.fit.gradient(centred(some, self.inputs.mean, self.inputs.scale))[0]
        return np.asarray(np.sqrt(np.mean(gradient**2, axis=1)))

    @cached_property
    def decomposition(self) -> Decomposition:
        """Variances of what inputs do alone and in pairs."""
        return decompose(self.fit)

    def __repr__(self) -> str:
        return brief_refit(self)

    def _repr_html_(self) -> str:
        return refit_html(self)

    def stored(self) -> StoredFit:
        """What a file needs to hold."""
        return StoredFit(self.fit, self.inputs.features, self.x_mean, self.x_scale)

    def _points(self, X_new: ArrayLike) -> Array:
        points = self.inputs.points(X_new, self.fit.features, "X_new")
        return np.nan_to_num(points, copy=False)  # a missing value is at the centre


@dataclass(frozen=True, eq=False, repr=False)
class ClassRefit(Refit):
    """Kernel logistic regression on the selected inputs; it ignores all others.

        minimise (1/n) Σ_i log(1 + exp(−y_i f(x_i))) + ν ‖f‖²,   f with a free constant

    Two classes have one f, the log-odds of the second. More have one each, against the rest.

    Attributes
    ----------
    fit : SeveralFits
    inputs : Inputs
    classes : array
        The labels.
    origin : (c,) array
        The log-odds of the classes' shares.
    n : int
        Number of rows that were fitted.

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> X = np.random.default_rng(0).uniform(-1, 1, (120, 3))
    >>> refit = nvsd.select(X, np.where(X[:, 0] > 0, "right", "left")).refit
    >>> refit.predict(np.array([[0.8, 0, 0], [-0.8, 0, 0]])).tolist()
    ['right', 'left']
    """

    fit: SeveralFits
    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    origin: Array = field(default_factory=lambda: np.zeros(1))
    n: int = 0

    def predict_proba(self, X_new: ArrayLike) -> Array:
        """The probability of each class at new points, (m, classes).

        The shares of the classes count as one row beside those that were fitted, so that no
        probability is 0 or 1.
        """
        return np.ascontiguousarray(self.predicted(self._points(X_new)).T)

    def predicted(self, points: Array) -> Array:
        """The probability of each class at points as the kernel sees them, (classes, m)."""
        return probabilities(self.fit.predict(points), self.origin, self.n)

    def decision_function(self, X_new: ArrayLike) -> Array:
        """The log-odds of the second of two classes, (m,), or of each class, (m, classes)."""
        P = self.predict_proba(X_new)
        odds = np.log(P) - np.log1p(-P)
        return odds[:, 1] if len(self.classes) == 2 else odds

    def predict(self, X_new: ArrayLike) -> NDArray[Any]:
        """The most probable class at new points, (m,)."""
        return np.asarray(self.classes[self.predict_proba(X_new).argmax(axis=1)])

    def stored(self) -> StoredFit:
        """What a file needs to hold."""
        return replace(super().stored(), origin=self.origin, n=self.n)

    def derivative_norms(self, X: Array) -> Array:
        """‖∂_a f‖ over samples, (d,): for several f the root of the sum of squares."""
        some = X[np.linspace(0, len(X) - 1, min(len(X), 500)).round().astype(int)]
        gradient = self.fit.gradient(centred(some, self.inputs.mean, self.inputs.scale))
        return np.asarray(np.sqrt(np.mean(np.sum(gradient**2, axis=0), axis=1)))
