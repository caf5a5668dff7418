"""Many independent tasks, over processes or a Dask cluster; each result is stored at once."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed, parallel_config
from tqdm import tqdm

from nvsd.experiments.store import Record, write


class Task(Protocol):
    """One task of a run: it can be sent to a worker, and knows where its record belongs."""

    @property
    def place(self) -> Path:
        """The file of its record, inside the folder of the run."""

    @property
    def kind(self) -> Hashable:
        """Tasks of one kind take about the same time."""

    def known(self, folder: Path) -> Record | None:
        """Its record, if the folder has a good one made with the present settings."""

    def compute(self) -> Record:
        """Run it; an error becomes part of the record."""


def run(
    tasks: Iterable[Task],
    out: str | Path,
    *,
    jobs: int | None = None,
    cluster: Any = None,
    progress: bool | None = None,
    what: str = "replicate",
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
    what : str
        The name of the progress bar.

    Returns
    -------
    int
        The number of tasks that were run.
    """
    folder, clock, todo = Path(out), Clock(), []
    for task in tasks:
        record = task.known(folder)
        if record is not None:
            clock.learn(task, record)
        else:
            todo.append(task)
    shown = sys.stderr.isatty() if progress is None else progress
    interval = 0.5 if sys.stderr.isatty() else 60.0
    with (
        warnings.catch_warnings(),
        tqdm(
            total=len(todo), desc=what, unit="task", disable=not shown, mininterval=interval
        ) as bar,
    ):
        # joblib replaces workers whose memory has grown, and importing PyTorch is enough for that.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
        clock.start(todo)
        for task, record in _records(todo, jobs, cluster):
            write(folder / task.place, record)
            clock.learn(task, record, new=True)
            bar.set_postfix_str(clock.time_left, refresh=False)
            bar.update(1)
    return len(todo)


def _records(todo: list[Task], jobs: int | None, cluster: Any) -> Iterator[tuple[Task, Record]]:
    """Tasks and their records as they are finished, in any order."""
    if cluster is None and jobs in (None, 1):
        for task in todo:
            yield task, task.compute()
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


def _work(task: Task, parent: int | None) -> tuple[Task, Record]:
    """Run a task in another process."""
    if parent is not None:
        _leave_with(parent)
    return task, task.compute()


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


class Clock:
    """Estimates the remaining time from the times of similar tasks."""

    def __init__(self) -> None:
        self._known: dict[Hashable, list[float]] = defaultdict(list)
        self._left: dict[Hashable, int] = {}
        self._began, self._spent = time.monotonic(), 0.0

    def start(self, todo: Iterable[Task]) -> None:
        """Count the remaining tasks."""
        self._left = defaultdict(int)
        for task in todo:
            self._left[task.kind] += 1
        self._began = time.monotonic()

    def learn(self, task: Task, record: Record, new: bool = False) -> None:
        """Take the time of a finished task into account."""
        seconds = float(record.get("seconds", 0.0))
        self._known[task.kind].append(seconds)
        if new:
            self._left[task.kind] -= 1
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
