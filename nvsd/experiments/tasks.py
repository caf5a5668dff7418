"""The tasks of a replication: one method on the data of one cell; `running` runs them."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from nvsd.experiments.grouping import GROUPS
from nvsd.experiments.methods import METHODS
from nvsd.experiments.protocol import EXPERIMENTS
from nvsd.experiments.store import Record, is_done, load_results, read, records_of, write
from nvsd.path import ConvergenceWarning

VERSION = 1  # raise it when a change of the code invalidates the stored results of all methods


class Task(NamedTuple):
    """One method on the data of one cell."""

    experiment: str
    n: int
    replication: int
    method: str
    keep_predictions: bool = False

    @property
    def place(self) -> Path:
        """The file of its record."""
        folder = Path(self.experiment) / f"n{self.n:03d}" / f"r{self.replication:04d}"
        end = "-predictions.json" if self.keep_predictions else ".json"
        return folder / f"{self.method}{end}"

    @property
    def settings(self) -> str:
        """A fingerprint of all settings; records with another fingerprint are computed again."""
        experiment, method = EXPERIMENTS[self.experiment], METHODS[self.method]
        kernel = None if experiment.kernel is None else experiment.kernel.to_json()
        shared = asdict(experiment) | {"kernel": kernel, "sizes": None, "penalties": None}
        groups = GROUPS.get(experiment.data) if method.uses_groups else None
        text = json.dumps([VERSION, shared, groups, type(method).__name__, asdict(method)])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def kind(self) -> tuple[str, int, str]:
        """Tasks of one kind take about the same time."""
        return self.experiment, self.n, self.method

    def known(self, folder: Path) -> Record | None:
        """Its record, if the folder has a good one made with the present settings."""
        record = read(folder / self.place)
        return record if is_done(record, self.settings) else None

    def compute(self) -> Record:
        """Run it; an error becomes part of the record."""
        return compute(self)


def tasks_of(
    cells: Iterable[tuple[str, int]], methods: Iterable[str], replications: Iterable[int]
) -> list[Task]:
    """All methods on all cells, replication by replication: a partial run is a smaller run."""
    cells, methods = list(cells), list(methods)
    return [Task(*cell, r, key) for r in replications for cell in cells for key in methods]


def compute(task: Task) -> Record:
    """Run one task; an error becomes part of the record."""
    experiment, method = EXPERIMENTS[task.experiment], METHODS[task.method]
    split = experiment.split(task.n, task.replication)
    record: Record = task._asdict() | {"settings": task.settings, "names": list(split.names)}
    start = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ConvergenceWarning)
        try:
            model = method.fit(split)
            seconds = time.process_time() - start
            predictions = model.predict(split.X_test)
        except Exception as error:
            return record | {"failed": f"{type(error).__name__}: {error}"}
    record |= {
        "rmse": float(np.sqrt(np.mean((predictions - split.y_test) ** 2))),
        "validation_mse": model.error,
        "support": "".join("1" if used else "0" for used in model.support),
        "seconds": round(seconds, 3),
        "facts": model.facts,
        "warnings": len(caught),
    }
    if task.keep_predictions:
        record["predictions"] = [float(f"{value:.6g}") for value in predictions]
    return record


def restore(known: str | Path, out: str | Path) -> int:
    """Write the good records of compact results that are not yet in the folder of a run."""
    count = 0
    for dataset in load_results(known).values():
        for record in records_of(dataset):
            task = Task(*(record[name] for name in Task._fields))
            good = task.method in METHODS and is_done(record, task.settings)
            path = Path(out) / task.place
            if good and not is_done(read(path), task.settings):
                write(path, record)
                count += 1
    return count


def records_in(out: str | Path, experiment: str, predictions: bool = False) -> list[Record]:
    """The good records of an experiment, in a fixed order."""
    records = []
    for path in sorted((Path(out) / experiment).glob("n*/r*/*.json")):
        record = read(path)
        if record is None:
            continue
        task = Task(*(record[name] for name in Task._fields))
        known = task.experiment == experiment and task.method in METHODS
        known = known and path == Path(out) / task.place
        if known and task.keep_predictions == predictions and is_done(record, task.settings):
            records.append(record)
    return records
