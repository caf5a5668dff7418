"""From data to a set of inputs: elimination, the pooled methods, and cross-validation."""

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
