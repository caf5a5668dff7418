"""What `NVSDRegressor` and `NVSDClassifier` share: the certified path at one τ."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import xarray as xr

from nvsd.data.checks import check_non_negative, is_number
from nvsd.estimators.base import PathEstimator
from nvsd.estimators.data import Data
from nvsd.losses import Loss
from nvsd.path import nvsd_path
from nvsd.penalties import Penalty


class OneTau(PathEstimator):
    """The certified path at one τ: what the regressor and the classifier share."""

    tau: float | None
    tau_fraction: float
    nu: float
    refit_nu: float | None
    tol: float
    max_iter: int

    @abstractmethod
    def _loss(self) -> Loss: ...

    def _fit(self, data: Data) -> None:
        self.kernel_, self.penalty_ = self._kernel(data.X), self._penalty()
        path = self._path(data)
        refit_nu = self.nu if self.refit_nu is None else self.refit_nu
        self._set_fit(path, float(path["tau"][0]), data, check_non_negative("refit_nu", refit_nu))

    def _penalty(self) -> Penalty:
        penalties = self._penalties()
        if len(penalties) > 1:
            raise ValueError(
                f"there are {len(penalties)} values of mu; give one, or use "
                f"{type(self).__name__}CV."
            )
        return penalties[0]

    def _path(self, data: Data) -> xr.Dataset:
        """The path at the one τ; a fraction of τ_max is the end of a grid that starts at τ_max."""
        grid: dict[str, Any]
        if self.tau is not None:
            grid = {"taus": [self.tau]}
        elif not is_number(self.tau_fraction) or not 0 < self.tau_fraction <= 1:
            raise ValueError(
                f"tau_fraction = {self.tau_fraction!r} is not allowed; give a number in (0, 1]."
            )
        elif self.tau_fraction == 1:
            grid = {"n_taus": 1}
        else:
            grid = {"n_taus": 2, "tau_ratio": self.tau_fraction}
        path = nvsd_path(
            data.rows_alone,
            data.y,
            loss=self._loss(),
            kernel=self.kernel_,
            penalty=self.penalty_,
            nu=self.nu,
            standardize=self.standardize,
            sample_weight=data.weights,
            class_weight=getattr(self, "class_weight", None),
            tol=self.tol,
            max_iter=self.max_iter,
            **grid,
        )
        return path.isel(tau=[-1])
