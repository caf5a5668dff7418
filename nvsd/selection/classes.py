"""What `select` returns for classes: labels and probabilities in place of numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from nvsd.losses import Logistic
from nvsd.results.classes import class_dataset
from nvsd.results.selections import StoredSelection
from nvsd.selection.refits import ClassRefit
from nvsd.selection.result import Selection
from nvsd.selection.task import Array

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
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
    held_out_probability : (rows, classes) array
        These probabilities, fold after fold.
    held_out_class : (rows,) int array
        The number of each row's class.

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> X = np.random.default_rng(0).uniform(-1, 1, (120, 4))
    >>> selection = nvsd.select(X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other"))
    >>> selection.selected
    ['x0', 'x1']
    >>> selection.predict(X[:2]).tolist()
    ['other', 'same']
    >>> selection.predict_proba(X).shape
    (120, 2)
    """

    refit: ClassRefit
    predictor: ClassRefit
    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    held_out: dict[str, float] = field(default_factory=dict)
    held_out_probability: Array = field(default_factory=lambda: np.empty((0, 2)))
    held_out_class: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

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

    def _stored(self) -> StoredSelection:
        """What a file needs to hold."""
        return replace(
            super()._stored(),
            classes=self.classes,
            probabilities=self.held_out_probability,
            codes=self.held_out_class,
        )
