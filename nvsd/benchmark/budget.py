"""What a run costs, estimated from measured times before it is started."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nvsd.benchmark.suites import Cell
from nvsd.benchmark.tasks import Task, tasks_of

__all__ = ["Cost", "Measured", "costs", "hours", "read_measured"]

LEAST = 0.01  # seconds; what is quicker is not measured well
STEEPEST = 3.0  # power of n or d that few measurements may suggest
PRIOR = 1e-4  # weight of the power 1, which decides where the measurements do not


class Measured(NamedTuple):
    """Processor seconds of one task, scoring included."""

    method: str
    n: int
    d: int
    seconds: float


class Cost(NamedTuple):
    """Seconds = factor · n^a · d^b."""

    factor: float
    a: float
    b: float

    def at(self, n: int, d: int) -> float:
        """Seconds in a cell."""
        return float(self.factor * n**self.a * d**self.b)


def read_measured(path: str | Path) -> list[Measured]:
    """Times from a file, one JSON list in each line."""
    return [Measured(*json.loads(line)) for line in Path(path).read_text().splitlines()]


def costs(measured: Iterable[Measured]) -> dict[str, Cost]:
    """The cost of each method, by least squares on logarithms; powers lie between 0 and 3.

    A method with few measurements is taken to be linear in n and d.
    """
    by_method: dict[str, list[Measured]] = defaultdict(list)
    for row in measured:
        by_method[row.method].append(row)
    return {method: _cost(rows) for method, rows in by_method.items()}


def _cost(rows: Sequence[Measured]) -> Cost:
    from scipy.optimize import lsq_linear

    seconds = np.log([max(row.seconds, LEAST) for row in rows])
    A = np.column_stack(
        [np.ones(len(rows)), np.log([row.n for row in rows]), np.log([row.d for row in rows])]
    )
    A = np.vstack([A, [0.0, PRIOR, 0.0], [0.0, 0.0, PRIOR]])
    seconds = np.append(seconds, [PRIOR, PRIOR])
    limits = ([-np.inf, 0.0, 0.0], [np.inf, STEEPEST, STEEPEST])
    factor, a, b = lsq_linear(A, seconds, limits).x
    return Cost(float(np.exp(factor)), float(a), float(b))


def hours(
    cells: Iterable[Cell], known: dict[str, Cost], replications: int
) -> dict[str, tuple[int, float]]:
    """Cells and core-hours of each method whose cost is known."""
    found = {}
    cells = list(cells)
    for method, cost in known.items():
        tasks: list[Task] = tasks_of(cells, [method], range(1))
        seconds = sum(cost.at(task.n, task.d) for task in tasks)
        found[method] = (len(tasks), replications * seconds / 3600)
    return found
