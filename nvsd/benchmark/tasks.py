"""The tasks of the benchmark: one method on the data of one cell; `nvsd.experiments` runs them."""

from __future__ import annotations

import hashlib
import json
import math
import time
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from nvsd.benchmark.measuring import Meter, commit, processor, today, versions
from nvsd.benchmark.methods import METHODS
from nvsd.benchmark.scores import scores
from nvsd.benchmark.store import is_record, load_suites, records_of
from nvsd.benchmark.suites import SUITES, Cell, data, is_of_classes
from nvsd.experiments.store import Record, is_done, read, write

__all__ = ["Task", "compute", "records_in", "restore", "tasks_of"]

VERSION = 1  # raise it when a change of data or scores invalidates the results of all methods
TINY = (30, 4)  # rows and inputs of the fit after which all imports are done


class Task(NamedTuple):
    """One method on the data of one cell."""

    suite: str
    problem: str
    n: int
    d: int
    replication: int
    method: str

    @property
    def cell(self) -> Cell:
        """Its cell."""
        return Cell(self.suite, self.problem, self.n, self.d)

    @property
    def place(self) -> Path:
        """The file of its record."""
        folder = Path(self.suite) / f"{self.problem}-n{self.n}-d{self.d}"
        return folder / f"r{self.replication:04d}" / f"{self.method}.json"

    @property
    def settings(self) -> str:
        """A fingerprint; records with another fingerprint are computed again."""
        text = json.dumps([VERSION, self.suite, self.method, METHODS[self.method].version])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def kind(self) -> tuple[str, int, int]:
        """Tasks of one kind take about the same time."""
        return self.method, self.n, self.d

    def known(self, folder: Path) -> Record | None:
        """Its record, if the folder has a good one made with the present settings."""
        record = read(folder / self.place, is_record)
        return record if is_done(record, self.settings) else None

    def compute(self) -> Record:
        """Run it; an error becomes part of the record."""
        return compute(self)


def tasks_of(
    cells: Iterable[Cell], methods: Iterable[str], replications: Iterable[int]
) -> list[Task]:
    """Methods in the cells that they take, replication by replication, small cells first."""
    cells, methods = sorted(cells, key=lambda cell: cell.n * cell.d), list(methods)
    return [
        Task(*cell, replication, key)
        for replication in replications
        for cell in cells
        for key in methods
        if METHODS[key].takes(cell.n, cell.d, is_of_classes(cell))
    ]


def compute(task: Task) -> Record:
    """Run one task; an error becomes part of the record."""
    method = METHODS[task.method]
    record: Record = task._asdict() | {"settings": task.settings, **_signature(task.method)}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _warm(task.method, is_of_classes(task.cell))
            start = time.process_time()
            problem = data(task.cell, task.replication)
            with Meter() as meter:
                fit = method.fit(problem.X, problem.y, problem.classes, task.replication)
            found = scores(problem, fit, task.replication)
        except Exception as error:
            return record | {"failed": f"{type(error).__name__}: {error}"}
    return record | {
        "scores": {name: _short(value) for name, value in found.items()},
        "seconds": round(meter.seconds, 3),
        "memory": _short(meter.memory),
        "spent": round(time.process_time() - start, 3),
    }


def _short(value: float) -> float | None:
    """Six digits; None, which JSON can hold, for NaN."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


@cache
def _signature(method: str) -> dict[str, str]:
    packages = dict.fromkeys(("numpy", *METHODS[method].packages))
    return {
        "versions": versions(*packages),
        "machine": processor(),
        "made": today(),
        "commit": commit(),
    }


@cache
def _warm(method: str, classes: bool) -> None:
    """Fit once in each process, so that imports are not the method's time."""
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal(TINY), rng.standard_normal(TINY[0])
    METHODS[method].fit(X, np.arange(len(X)) % 2 if classes else noise, classes, 0)


def records_in(out: str | Path, suite: str) -> list[Record]:
    """The records of a suite with the present settings, failures among them, in a fixed order."""
    records, cells = [], set(SUITES[suite])
    for path in sorted((Path(out) / suite).glob("*/r*/*.json")):
        record = read(path, is_record)
        if record is None or record["method"] not in METHODS:
            continue
        task = Task(*(record[name] for name in Task._fields))
        here = task.cell in cells and path == Path(out) / task.place
        if here and record["settings"] == task.settings:
            records.append(record)
    return records


def restore(known: str | Path, out: str | Path) -> int:
    """Write the good records of compact results that are not yet in the folder of a run."""
    count = 0
    for dataset in load_suites(known).values():
        for record in records_of(dataset):
            task = Task(*(record[name] for name in Task._fields))
            good = task.method in METHODS and is_done(record, task.settings)
            if good and task.known(Path(out)) is None:
                write(Path(out) / task.place, record)
                count += 1
    return count
