"""Many independent tasks, over processes or a Dask cluster; each result is stored at once."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits
from tqdm import tqdm

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


def run(
    tasks: Iterable[Task],
    out: str | Path,
    *,
    jobs: int | None = None,
    cluster: Any = None,
    progress: bool | None = None,
) -> int:
    """Run the tasks that are not done yet, and write each record as soon as it is ready.

    Only this process writes, so a worker that outlives it writes nothing.

    Parameters
    ----------
    tasks : iterable of Task
    out : path
        The folder of the records.
    jobs : int, optional
        Processes; 1 by default, -1 for all cores.
    cluster : Dask cluster, client or address of a scheduler, optional
        Used instead of processes.
    progress : bool, optional
        Show a progress bar; by default if stderr is a terminal.

    Returns
    -------
    int
        The number of tasks that were run.
    """
    folder, clock, todo = Path(out), Clock(), []
    for task in tasks:
        record = read(folder / task.place)
        if is_done(record, task.settings):
            clock.learn(record)
        else:
            todo.append(task)
    shown = sys.stderr.isatty() if progress is None else progress
    interval = 0.5 if sys.stderr.isatty() else 60.0
    with (
        warnings.catch_warnings(),
        tqdm(
            total=len(todo), desc="replicate", unit="task", disable=not shown, mininterval=interval
        ) as bar,
    ):
        # joblib replaces workers whose memory has grown, and importing PyTorch is enough for that.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
        clock.start(todo)
        for record in _records(todo, jobs, cluster):
            write(folder / Task(*(record[name] for name in Task._fields)).place, record)
            clock.learn(record, new=True)
            bar.set_postfix_str(clock.time_left, refresh=False)
            bar.update(1)
    return len(todo)


def _records(todo: list[Task], jobs: int | None, cluster: Any) -> Iterator[Record]:
    """Records as they are finished, in any order."""
    if cluster is None and jobs in (None, 1):
        yield from map(compute, todo)
        return
    with _dask(cluster) if cluster is not None else nullcontext():
        parallel = Parallel(
            n_jobs=-1 if cluster is not None else jobs,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch="2*n_jobs",
        )
        parent = os.getpid() if cluster is None else None
        with _without_interrupts():
            records = parallel(delayed(_work)(task, parent) for task in todo)
        yield from records


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C is for this process: workers that are started here ignore it."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _work(task: Task, parent: int | None) -> Record:
    """Run a task in another process."""
    if parent is not None:
        _leave_with(parent)
    return compute(task)


@lru_cache(maxsize=1)
def _leave_with(parent: int) -> None:
    """End this worker when its parent is gone; otherwise it would wait for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    if os.getpid() != parent:
        Thread(target=watch, daemon=True).start()


def _dask(cluster: Any) -> Any:
    from distributed import Client

    try:
        client = cluster if isinstance(cluster, Client) else Client(cluster)  # type: ignore[no-untyped-call]
    except OSError as error:
        raise ValueError(
            f"the cluster {cluster} does not answer; start it, or give another address."
        ) from error
    return parallel_config(backend="dask", client=client)


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


class Clock:
    """Estimates the remaining time from the times of similar tasks."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        self._left: dict[tuple[Any, ...], int] = {}
        self._began, self._spent = time.monotonic(), 0.0

    def start(self, todo: Iterable[Task]) -> None:
        """Count the remaining tasks."""
        self._left = defaultdict(int)
        for task in todo:
            self._left[self._kind(task._asdict())] += 1
        self._began = time.monotonic()

    def learn(self, record: Record | None, new: bool = False) -> None:
        """Take the time of a finished task into account."""
        if record is None:
            return
        seconds = float(record.get("seconds", 0.0))
        self._known[self._kind(record)].append(seconds)
        if new:
            self._left[self._kind(record)] -= 1
            self._spent += seconds

    @property
    def time_left(self) -> str:
        """In words."""
        means = {kind: float(np.mean(values)) for kind, values in self._known.items()}
        usual = float(np.mean(list(means.values()))) if means else 0.0
        work = sum(count * means.get(kind, usual) for kind, count in self._left.items())
        pace = (time.monotonic() - self._began) / max(self._spent, 1e-3)
        minutes = round(work * pace / 60)
        if minutes < 1:
            return "less than a minute left"
        return f"about {minutes // 60} h {minutes % 60:02d} min left"

    @staticmethod
    def _kind(record: Record) -> tuple[Any, ...]:
        return record["experiment"], record["n"], record["method"]
