"""From data to a set of inputs: the default, elimination, the pooled methods, cross-validation."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from . import common


def imported(name: str) -> ModuleType:
    """The module, or no result: a commit without it can still be compared with one that has it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise NotImplementedError(f"this commit has no {name}") from error


class DefaultSelection(common.Timed):
    """`nvsd.select(X, y)` with nothing else said; "pool" beside it, so that one run has both."""

    repeat = (1, 3, 0.3)
    timeout = 600.0
    params = (["default", "pool"], [20], [30, 200, 500])
    param_names = ("method", "d", "n")

    def setup(self, method: str, d: int, n: int) -> None:
        super().setup()
        self.select, self.problem = imported("nvsd.selection").select, common.wide("Gaussian", n, d)
        self.given = {} if method == "default" else {"method": method}

    def time_select(self, *params: Any) -> None:
        self.select(self.problem.X, self.problem.y, **self.given)

    def peakmem_select(self, *params: Any) -> None:
        self.select(self.problem.X, self.problem.y, **self.given)


class Selection(common.Timed):
    """`nvsd.select` with 1000 validation points, the paper's protocol."""

    repeat = (1, 3, 0.3)
    params = (["eliminate", "pool"], list(common.PROBLEMS), [30, 110])
    param_names = ("method", "problem", "n")

    def setup(self, method: str, name: str, n: int) -> None:
        super().setup()
        self.select, self.problem = imported("nvsd.selection").select, common.problem(name, n)
        held_out = common.PROBLEMS[name][0](1000, common.SEED + 1)
        self.validation = (held_out.X, held_out.y)

    def time_select(self, method: str, *params: Any) -> None:
        p = self.problem
        self.select(p.X, p.y, method=method, kernel=p.kernel, validation=self.validation)


class CrossValidation(common.Timed):
    """`NVSDRegressorCV`: the path on all samples and on five folds, with refits."""

    repeat = (1, 3, 0.3)
    params = (list(common.PROBLEMS), [30, 50])
    param_names = ("problem", "n")

    def setup(self, name: str, n: int) -> None:
        super().setup()
        self.problem = common.problem(name, n)
        self.model = imported("nvsd.estimators").NVSDRegressorCV(
            kernel=self.problem.kernel, nu=common.NU, standardize=False
        )

    def time_fit(self, *params: Any) -> None:
        self.model.fit(self.problem.X, self.problem.y)
