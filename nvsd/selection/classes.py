"""What `select` returns for classes: labels and probabilities in place of numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from nvsd.data.scaling import centred
from nvsd.engine.aims import probabilities
from nvsd.losses import Logistic
from nvsd.results.classes import class_dataset
from nvsd.ridge.newton import SeveralFits
from nvsd.selection.result import Refit, Selection
from nvsd.selection.task import Array

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
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
        f = self.fit.predict(self._points(X_new))
        return np.ascontiguousarray(probabilities(f, self.origin, self.n).T)

    def decision_function(self, X_new: ArrayLike) -> Array:
        """The log-odds of the second of two classes, (m,), or of each class, (m, classes)."""
        P = self.predict_proba(X_new)
        odds = np.log(P) - np.log1p(-P)
        return odds[:, 1] if len(self.classes) == 2 else odds

    def predict(self, X_new: ArrayLike) -> NDArray[Any]:
        """The most probable class at new points, (m,)."""
        return np.asarray(self.classes[self.predict_proba(X_new).argmax(axis=1)])

    def derivative_norms(self, X: Array) -> Array:
        """‖∂_a f‖ over samples, (d,): for several f the root of the sum of squares."""
        some = X[np.linspace(0, len(X) - 1, min(len(X), 500)).round().astype(int)]
        gradient = self.fit.gradient(centred(some, self.inputs.mean, self.inputs.scale))
        return np.asarray(np.sqrt(np.mean(np.sum(gradient**2, axis=0), axis=1)))


@dataclass(frozen=True, eq=False)
class ClassSelection(Selection):
    """Which inputs the class depends on, how they were selected, and the fit on them.

    As `Selection`; in addition

    Attributes
    ----------
    classes : array
        The labels, sorted: the order of the columns of `predict_proba`.
    score : float
        Log-loss of the chosen set on the data that judged it.
    strength : (d,) array
        The standard deviation of each input's total effect on the probability of a class, in a fit
        by squares; for several classes the root of the sum of squares over them.
    held_out : mapping
        Scores of the chosen set's probabilities on held-out rows; see `quality`.
    """

    refit: ClassRefit
    predictor: ClassRefit
    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    held_out: dict[str, float] = field(default_factory=dict)

    @cached_property
    def quality(self) -> pd.Series:
        """Scores of the chosen set's probabilities on held-out rows.

        `log_loss`, `brier`, `auc` (of each class against the rest, the mean over the classes),
        `accuracy`, and `calibration_error`, the mean gap between probabilities and shares in ten
        bins. The history has them as attributes too. Chosen sets are a little optimistic.
        """
        import pandas as pd

        return pd.Series(self.held_out, name="held_out")

    def predict(self, X_new: ArrayLike) -> NDArray[Any]:
        """The most probable class, by the fit of least loss; `predicts_with` says its inputs."""
        return self.predictor.predict(X_new)

    def predict_proba(self, X_new: ArrayLike) -> Array:
        """The probability of each class, (m, classes), by the same fit."""
        return self.predictor.predict_proba(X_new)

    def decision_function(self, X_new: ArrayLike) -> Array:
        """The log-odds of the second of two classes, (m,), or of each class, (m, classes)."""
        return self.predictor.decision_function(X_new)

    def dataset(self) -> xr.Dataset:
        """The fit on the selected inputs as a Dataset; `nvsd.results.classes` predicts from it."""
        attrs = {"method": str(self.method), "score": float(self.score), **self.held_out}
        refit = self.refit
        return class_dataset(
            refit.fit,
            *self._of_inputs(),
            refit.classes,
            refit.origin,
            attrs | self._loss() | {"loss": Logistic().to_json(), "n_fitted": refit.n},
        )
