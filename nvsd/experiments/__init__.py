"""The paper's experiments: every method on the same data, every table, the figure.

`protocol` draws the data, `methods` holds the methods, `tasks` puts both together, `running` runs
tasks and continues after an interruption, `store` keeps the results, and `tables` and `figure1`
show them beside the paper's numbers.
"""

from __future__ import annotations

from nvsd.experiments.methods import METHODS, Method, Model
from nvsd.experiments.protocol import EXPERIMENTS, Experiment, Split
from nvsd.experiments.running import run
from nvsd.experiments.store import collect, load_results, save_results
from nvsd.experiments.tables import TABLES, Report, report
from nvsd.experiments.tasks import Task, compute, tasks_of

__all__ = [
    "EXPERIMENTS",
    "METHODS",
    "TABLES",
    "Experiment",
    "Method",
    "Model",
    "Report",
    "Split",
    "Task",
    "collect",
    "compute",
    "load_results",
    "report",
    "run",
    "save_results",
    "tasks_of",
]
