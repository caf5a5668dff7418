"""What the estimators share: validated data with names, kernels by name, prediction."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from nvsd.data.names import feature_names
from nvsd.data.rows import ArrayRows
from nvsd.data.scaling import standardized
from nvsd.kernels import Kernel
from nvsd.kernels.named import kernel_by_name
from nvsd.penalties import Groups, Penalty
from nvsd.penalties.named import penalty_by_name

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Data:
    """Validated samples and target, with the names of the inputs if they have any."""

    X: Array
    y: Array
    names: tuple[str, ...] | None = None

    @property
    def rows(self) -> ArrayRows:
        """What `nvsd_path` and `select` take; nothing is checked again."""
        X = np.ascontiguousarray(self.X)
        names = feature_names(None, X.shape[1]) if self.names is None else self.names
        return ArrayRows(X, self.y, features=names, checked=True)

    def take(self, rows: NDArray[np.intp]) -> Data:
        """Some of the samples."""
        return replace(self, X=self.X[rows], y=self.y[rows])


class DerivativeSelector(SelectorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor that selects inputs: the parent of all estimators.

    `fit` of a subclass sets `support_`; its `_predict` and `_gradient` evaluate the fitted function
    on validated points.
    """

    kernel: str | Kernel | None
    standardize: bool
    support_: NDArray[np.bool_]

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

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _new_points(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        points: Array = validate_data(self, X, reset=False, dtype=np.float64)
        return points

    def _data(self, X: ArrayLike, y: ArrayLike, *, reset: bool = True) -> Data:
        """X and y as numbers, with the names of the columns if they have names."""
        points, target = validate_data(
            self, X, y, reset=reset, dtype=np.float64, y_numeric=True, ensure_min_samples=1 + reset
        )
        names = getattr(self, "feature_names_in_", None)
        return Data(points, target, None if names is None else tuple(map(str, names)))

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
        """The requested kernel; if given by name, its width comes from the nearest neighbours."""
        if isinstance(self.kernel, Kernel):
            return self.kernel
        return kernel_by_name(self.kernel, self._as_kernel_sees(X))


class PathRegressor(DerivativeSelector):
    """An estimator whose f is a point of a regularisation path, and the refit on its support."""

    penalty: str | Penalty
    groups: Groups | None
    mu: Any
    debias: bool
    path_: xr.Dataset
    refit_: xr.Dataset | None
    tau_: float

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

    def _at_tau(self) -> xr.Dataset:
        return self.path_.sel(tau=[self.tau_])

    def _model(self) -> xr.Dataset:
        return self._at_tau() if self.refit_ is None else self.refit_

    def _set_fit(self, path: xr.Dataset, tau: float, data: Data, refit_nu: float) -> None:
        """Set the attributes that describe the chosen point of the path, and refit."""
        self.path_, self.tau_ = path, tau
        point = self._at_tau()
        self.support_ = point["support"].values[0].astype(bool)
        self.derivative_norms_ = point["derivative_norm"].values[0]
        self.n_iter_, self.gap_ = int(path["n_iter"].max()), float(point["gap"][0])
        self.refit_ = point.nvsd.debias(data.X, data.y, nu=refit_nu) if self.debias else None

    def _penalties(self) -> tuple[Penalty, ...]:
        """The requested penalty, or one for each mu."""
        if isinstance(self.penalty, Penalty):
            return self.penalty.split()
        mus = np.atleast_1d(self.mu).tolist()
        found = [penalty_by_name(self.penalty, self.groups, mu) for mu in mus]
        return tuple(dict.fromkeys(found))
