"""What the estimators share: validated data with names, short names, prediction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from nvsd.kernels import Gaussian, Isotropic, Kernel, Linear, Matern52, Polynomial, neighbour_width
from nvsd.penalties import ElasticNet, GroupLasso, Groups, Lasso, Penalty, SparseGroupLasso

Array = NDArray[np.float64]
Data = tuple[Any, Array]  # X, a DataFrame if the inputs have names, and y
T = TypeVar("T")

KERNELS: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "matern": Matern52,
    "polynomial": Polynomial,
    "linear": Linear,
}
PENALTIES: dict[str, type[Penalty]] = {
    "lasso": Lasso,
    "group": GroupLasso,
    "elastic-net": ElasticNet,
    "sparse-group": SparseGroupLasso,
}


class DerivativeSelector(SelectorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor that selects inputs: the parent of all estimators.

    `fit` of a subclass sets `support_`; its `_predict` and `_gradient` evaluate the fitted function
    on validated points.
    """

    kernel: str | Kernel
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
        """X and y as numbers; X with the names of its columns, if they have names."""
        points, target = validate_data(
            self, X, y, reset=reset, dtype=np.float64, y_numeric=True, ensure_min_samples=1 + reset
        )
        names = getattr(self, "feature_names_in_", None)
        return points if names is None else pd.DataFrame(points, columns=names), target

    def _held_out(self, validation: Any) -> Data | None:
        if validation is None:
            return None
        if not isinstance(validation, (tuple, list)) or len(validation) != 2:
            raise ValueError(
                f"validation is a {type(validation).__name__}; give the pair (X_val, y_val)."
            )
        return self._data(*validation, reset=False)

    def _as_kernel_sees(self, X: Any) -> Array:
        points = np.asarray(X)
        return np.asarray(StandardScaler().fit_transform(points)) if self.standardize else points

    def _kernel(self, X: Any) -> Kernel:
        """The kernel asked for; one that is named takes its width from the nearest neighbours."""
        if isinstance(self.kernel, Kernel):
            return self.kernel
        kind = by_name("kernel", self.kernel, KERNELS)
        if issubclass(kind, Isotropic):
            return kind(width=neighbour_width(self._as_kernel_sees(X)))  # type: ignore[call-arg]
        return kind()


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

        Unlike the refit it may depend on inputs that were not selected: their derivatives vanish
        at the samples only.

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
        """Set the attributes that tell of the chosen point of the path, and refit."""
        self.path_, self.tau_ = path, tau
        point = self._at_tau()
        self.support_ = point["support"].values[0].astype(bool)
        self.derivative_norms_ = point["derivative_norm"].values[0]
        self.n_iter_, self.gap_ = int(path["n_iter"].max()), float(point["gap"][0])
        self.refit_ = point.nvsd.debias(*data, nu=refit_nu) if self.debias else None

    def _penalties(self) -> tuple[Penalty, ...]:
        """The penalty asked for, or one for each mu."""
        if isinstance(self.penalty, ElasticNet):
            return self.penalty.split()
        if isinstance(self.penalty, Penalty):
            return (self.penalty,)
        kind = by_name("penalty", self.penalty, PENALTIES)
        if kind is Lasso:
            return (Lasso(),)
        mus = np.atleast_1d(self.mu).tolist()
        if kind is ElasticNet:
            return tuple(ElasticNet(mu) for mu in mus)
        if self.groups is None:
            raise ValueError(f"penalty = {self.penalty!r} needs groups; give them as groups=....")
        if kind is GroupLasso:
            return (GroupLasso(self.groups),)
        return tuple(SparseGroupLasso(self.groups, mu) for mu in mus)


def by_name(what: str, given: object, known: Mapping[str, T]) -> T:
    """The thing of this short name."""
    if not isinstance(given, str) or given not in known:
        names = ", ".join(map(repr, known))
        raise ValueError(f"{what} = {given!r} is unknown; give one of nvsd's own, or {names}.")
    return known[given]
