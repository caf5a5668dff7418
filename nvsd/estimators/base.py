"""What the estimators share: validated data with names, kernels by name, prediction."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from nvsd.data.checks import refuse_cells
from nvsd.data.names import is_table, refuse_misaligned
from nvsd.data.scaling import standardized
from nvsd.data.weights import row_weights
from nvsd.estimators.data import Data
from nvsd.kernels import Kernel
from nvsd.kernels.named import kernel_for
from nvsd.losses import Logistic, Loss
from nvsd.losses.named import loss_by_name
from nvsd.penalties import Groups, Penalty
from nvsd.penalties.named import penalty_by_name

Array = NDArray[np.float64]


class InputSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator that selects inputs: the parent of all estimators; `fit` sets `support_`."""

    kernel: str | Kernel | None
    standardize: bool
    support_: NDArray[np.bool_]

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _new_points(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        if is_table(X):
            refuse_cells(X, "X")
        points: Array = validate_data(self, X, reset=False, dtype=np.float64)
        return points

    def _data(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        reset: bool = True,
        sample_weight: Any = None,
        cv_groups: Any = None,
    ) -> Data:
        """X and y as numbers, or y as labels, with the names of the columns if they have names.

        Rows of weight 0 are left out. Of cv_groups only the row labels are checked.
        """
        refuse_misaligned(X, y=y, sample_weight=sample_weight, cv_groups=cv_groups)
        if is_table(X):
            refuse_cells(X, "X")
        points, target = validate_data(
            self,
            X,
            y,
            reset=reset,
            dtype=np.float64,
            y_numeric=not is_classifier(self),
            ensure_min_samples=1 + reset,
        )
        if is_classifier(self):
            check_classification_targets(target)
        names = getattr(self, "feature_names_in_", None)
        counted = row_weights(sample_weight, len(points))
        points, target = counted.take(points), counted.take(target)
        return Data(points, target, None if names is None else tuple(map(str, names)), counted)

    def _held_out(self, validation: Any) -> Data | None:
        if validation is None:
            return None
        if not isinstance(validation, (tuple, list)) or len(validation) != 2:
            raise ValueError(
                f"validation is a {type(validation).__name__}; give the pair (X_val, y_val)."
            )
        return self._data(*validation, reset=False)

    def _as_kernel_sees(self, X: Array) -> Array:
        return standardized(X) if self.standardize else X

    def _kernel(self, X: Array) -> Kernel:
        """The requested kernel; a width not given is the median neighbour distance."""
        return kernel_for(self._as_kernel_sees(X), self.kernel)


class DerivativeSelector(RegressorMixin, InputSelector):  # type: ignore[misc]
    """A regressor that selects inputs.

    Its `_predict` and `_gradient` evaluate the fitted function on validated points.
    """

    def predict(self, X: ArrayLike) -> Array:
        """f at new points.

        Parameters
        ----------
        X : (m, d) array or DataFrame

        Returns
        -------
        (m,) array
        """
        return self._predict(self._new_points(X))

    def predict_gradient(self, X: ArrayLike) -> Array:
        """∂f/∂x_a at new points, of the same f as `predict` and in the units of X.

        Parameters
        ----------
        X : (m, d) array or DataFrame

        Returns
        -------
        (m, d) array
        """
        return self._gradient(self._new_points(X))

    @abstractmethod
    def _predict(self, X: Array) -> Array: ...

    @abstractmethod
    def _gradient(self, X: Array) -> Array: ...


class PathEstimator(InputSelector):
    """An estimator whose f is a point of a regularisation path, and the refit on its support."""

    penalty: str | Penalty
    groups: Groups | None
    mu: Any
    debias: bool
    path_: xr.Dataset
    refit_: xr.Dataset | None
    tau_: float

    def _at_tau(self) -> xr.Dataset:
        return self.path_.sel(tau=[self.tau_])

    def _model(self) -> xr.Dataset:
        return self._at_tau() if self.refit_ is None else self.refit_

    def _set_fit(self, path: xr.Dataset, tau: float, data: Data, refit_nu: float) -> None:
        """Set the attributes that describe the chosen point of the path, and refit."""
        self.path_, self.tau_ = path, tau
        point = self._at_tau()
        several = [dim for dim in point["support"].dims if dim != "feature"]  # τ, and classes
        self.support_ = point["support"].any(several).values
        squares = point["derivative_norm"] ** 2
        self.derivative_norms_ = np.sqrt(squares.sum(several).values)
        self.n_iter_, self.gap_ = int(path["n_iter"].max()), float(point["gap"].max())
        self.refit_ = None
        if self.debias:
            weights = {"class_weight": getattr(self, "class_weight", None)}
            weights["sample_weight"] = data.weights
            self.refit_ = point.nvsd.debias(data.X, data.y, nu=refit_nu, **weights)

    def _penalties(self) -> tuple[Penalty, ...]:
        """The requested penalty, or one for each mu."""
        if isinstance(self.penalty, Penalty):
            return self.penalty.split()
        mus = np.atleast_1d(self.mu).tolist()
        found = [penalty_by_name(self.penalty, self.groups, mu) for mu in mus]
        return tuple(dict.fromkeys(found))


class PathRegressor(DerivativeSelector, PathEstimator):
    """A regressor whose f is a point of a regularisation path, and the refit on its support."""

    loss: str | Loss

    def predict_penalized(self, X: ArrayLike) -> Array:
        """The penalised f at new points, whatever `debias` is.

        Unlike the refit, it may depend on inputs that were not selected: their derivatives vanish
        at the samples only. If τ was chosen for the refit, the penalised f is shrunk so much that
        it predicts little more than the mean. To predict with it, choose τ with debias=False.

        Parameters
        ----------
        X : (m, d) array or DataFrame

        Returns
        -------
        (m,) array
        """
        points = self._new_points(X)
        return np.asarray(self._at_tau().nvsd.predict(points).values[0])

    def _predict(self, X: Array) -> Array:
        return np.asarray(self._model().nvsd.predict(X).values[0])

    def _gradient(self, X: Array) -> Array:
        return np.asarray(self._model().nvsd.gradient(X).values[0].T)

    def _loss(self) -> Loss:
        loss = loss_by_name(self.loss)
        if loss is None or loss.of_classes:
            raise ValueError(
                f"loss = {self.loss!r} is not a loss of numbers; give 'squared', 'huber' or "
                "'quantile', or use a classifier."
            )
        return loss


class PathClassifier(ClassifierMixin, PathEstimator):  # type: ignore[misc]
    """A classifier whose log-odds are a point of a regularisation path, and the refit.

    With more than two classes each class has its own path, against all others; probabilities are
    scaled to the sum 1.
    """

    classes_: NDArray[Any]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class at new points.

        Parameters
        ----------
        X : (m, d) array or DataFrame

        Returns
        -------
        (m,) array of labels
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: ArrayLike) -> Array:
        """The probability of each class at new points, in the order of `classes_`.

        Parameters
        ----------
        X : (m, d) array or DataFrame

        Returns
        -------
        (m, classes) array
        """
        points = self._new_points(X)
        shares = self._model().nvsd.probability(points)
        return np.ascontiguousarray(shares.isel(tau=0).transpose("sample", "class").values)

    def decision_function(self, X: ArrayLike) -> Array:
        """The log-odds of the second of two classes, or of each class against all others.

        Parameters
        ----------
        X : (m, d) array or DataFrame

        Returns
        -------
        (m,) or (m, classes) array
        """
        points = self._new_points(X)
        odds = self._model().nvsd.predict(points).isel(tau=0)
        several = ("sample", "class") if "class" in odds.dims else ("sample",)
        return np.ascontiguousarray(odds.transpose(*several).values)

    def _loss(self) -> Loss:
        return Logistic()
