"""The benchmark: `nvsd.select` beside other methods, on data that its authors did not pick.

`suites` fixes the cells and draws their data, `methods` holds the methods, `scores` judges them,
`tasks` puts these together for the runner of `nvsd.experiments`, `store` keeps the results,
`comparison` compares them, and `budget` says beforehand what a run costs.
"""

from __future__ import annotations

from nvsd.benchmark.methods import LEFT_OUT, METHODS, OURS, Fit, Method
from nvsd.benchmark.problems import Problem
from nvsd.benchmark.store import collect, load_suites
from nvsd.benchmark.suites import ABOUT, SUITES, Cell, data
from nvsd.benchmark.tasks import Task, compute, tasks_of

__all__ = [
    "ABOUT",
    "LEFT_OUT",
    "METHODS",
    "OURS",
    "SUITES",
    "Cell",
    "Fit",
    "Method",
    "Problem",
    "Task",
    "collect",
    "compute",
    "data",
    "load_suites",
    "tasks_of",
]
