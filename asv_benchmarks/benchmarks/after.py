"""What is done with a path: predictions, gradients and refits, for all 50 τ in one call."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from . import common


@cache
def solved(name: str, n: int) -> xr.Dataset:
    return common.problem(name, n).path()


class Afterwards(common.Timed):
    """At 1000 new points; the refit is on the samples."""

    params = (list(common.PROBLEMS), [30, 110])
    param_names = ("problem", "n")

    def setup(self, name: str, n: int) -> None:
        super().setup()
        self.path = solved(name, n)
        self.problem = common.problem(name, n)
        self.X_new = common.PROBLEMS[name][0](1000, common.SEED + 1).X

    def time_predict(self, *params: Any) -> None:
        self.path.nvsd.predict(self.X_new)

    def time_gradient(self, *params: Any) -> None:
        self.path.nvsd.gradient(self.X_new)

    def time_derivative_norm(self, *params: Any) -> None:
        self.path.nvsd.derivative_norm(self.X_new)

    def time_debias(self, *params: Any) -> None:
        self.path.nvsd.debias(self.problem.X, self.problem.y)

    def peakmem_gradient(self, *params: Any) -> None:
        self.path.nvsd.gradient(self.X_new)


class Nested(common.Timed):
    """The refit of 18 nested sets of inputs with the ridge chosen on 1000 validation points."""

    params = (list(common.PROBLEMS), [30, 110])
    param_names = ("problem", "n")

    def setup(self, name: str, n: int) -> None:
        super().setup()
        self.path = solved(name, n).isel(tau=slice(common.D))
        self.problem = common.problem(name, n)
        validation = common.PROBLEMS[name][0](1000, common.SEED + 1)
        self.validation = (validation.X, validation.y)
        self.support = np.tri(common.D, dtype=bool)

    def time_debias(self, *params: Any) -> None:
        self.path.nvsd.debias(
            self.problem.X, self.problem.y, validation=self.validation, support=self.support
        )
