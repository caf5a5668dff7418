"""Where the time of the 50-point path goes."""

from __future__ import annotations

import functools
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nvsd.representations import Problem

from . import common

SOLVED = [k for k in common.concrete(Problem).values() if "s1" in vars(k)]

# Functions whose time, without that of the stages they call, is a stage. What has been renamed
# counts as "rest"; the tests say so.
HOOKS = {
    "set-up": ["nvsd.prepared:prepare"],
    "factorisations": [
        "nvsd.linalg:cholesky",
        "nvsd.linalg.systems:CholeskySystem._factorise",
        "nvsd.linalg.systems:DiagonalSystem.__init__",
    ],
    "solves": [f"{kind.__module__}:{kind.__name__}.s1" for kind in SOLVED],
    "prox": ["nvsd.penalties.bound:BoundPenalty.prox"],
    "certificate": [
        "nvsd.solvers.admm:ADMM.look",
        "nvsd.penalties.bound:BoundPenalty.feasible",
        "nvsd.solvers.certificate:certificate",
    ],
    "acceleration": ["nvsd.solvers.base:Solver.extrapolate"],
    "result": ["nvsd.results.paths:path_dataset"],
}
STAGES = [*HOOKS, "rest"]
SEARCH = "nvsd.solvers.driver:tighten"
OVERLAP = "finding tau_max"  # all that SEARCH calls, booked a second time under its own stage


class Ledger:
    """Seconds and calls of each stage."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.calls = dict.fromkeys(STAGES, 0)
        self.search = 0.0
        self._inner = [0.0]  # seconds of the stages inside each stage that is running
        self._searching = False

    def timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """The function, with its own time booked."""

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self._inner.append(0.0)
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                total = time.perf_counter() - start
                self.seconds[stage] += total - self._inner.pop()
                self.calls[stage] += 1
                self._inner[-1] += total

        return wrapper

    def searched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with all its time booked as the search for τ_max."""

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if self._searching:  # it calls itself
                return function(*args, **kwargs)
            self._searching = True
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.search += time.perf_counter() - start
                self._searching = False

        return wrapper


def find(hook: str) -> tuple[Any, str] | None:
    """Where a hook's function is held, and under which name; None if there is no such thing."""
    module, _, qualified = hook.partition(":")
    *owners, name = qualified.split(".")
    try:
        owner = importlib.import_module(module)
        for part in owners:
            owner = getattr(owner, part)
    except (ImportError, AttributeError):
        return None
    return (owner, name) if name in vars(owner) else None


def holders(owner: Any, name: str) -> Iterator[Any]:
    """Everything that refers to the function: its class, or all modules that import it."""
    function = vars(owner)[name]
    if isinstance(owner, type):
        yield owner
        return
    for module_name, module in list(sys.modules.items()):
        if module_name.split(".")[0] == "nvsd" and vars(module).get(name) is function:
            yield module


@contextmanager
def booked() -> Iterator[Ledger]:
    """Book the time of every hook while the context lasts."""
    ledger = Ledger()
    wrappers: dict[str, Callable[[Any], Any]] = {SEARCH: ledger.searched}
    for stage, hooks in HOOKS.items():
        wrappers |= {hook: functools.partial(ledger.timed, stage=stage) for hook in hooks}
    replaced = []
    for hook, wrap in wrappers.items():
        if (found := find(hook)) is None:
            continue
        owner, name = found
        original = vars(owner)[name]
        for holder in list(holders(owner, name)):
            replaced.append((holder, name, original))
            setattr(holder, name, wrap(original))
    try:
        yield ledger
    finally:
        for holder, name, original in reversed(replaced):
            setattr(holder, name, original)


def measure(name: str, penalty: str, n: int) -> dict[str, float]:
    """Seconds and calls of each stage, in the faster of two runs."""
    p = common.problem(name, n)
    description = common.make_penalty(penalty, p.groups)
    runs = []
    for _ in range(2):
        with booked() as ledger:
            total, _ = common.stopwatch(lambda: p.path(description))
        ledger.seconds["rest"] = total - sum(ledger.seconds.values())
        runs.append((total, ledger))
    total, ledger = min(runs, key=lambda run: run[0])
    ledger.seconds[OVERLAP], ledger.calls[OVERLAP] = ledger.search, 1
    row = {f"seconds in {stage}": seconds for stage, seconds in ledger.seconds.items()}
    return row | {f"calls of {stage}": float(calls) for stage, calls in ledger.calls.items()}


class StageTracks:
    """What is read from the table that `measure` fills."""

    param_names = ("problem", "penalty", "stage", "n")

    def fill(self) -> common.Table:
        common.warm_up()
        problems, penalties, _, sizes = self.params
        return common.table([problems, penalties, sizes], measure)

    def seconds(self, rows: common.Table, name: str, penalty: str, stage: str, n: int) -> float:
        return common.entry(rows, f"seconds in {stage}", name, penalty, n)

    def calls(self, rows: common.Table, name: str, penalty: str, stage: str, n: int) -> float:
        return common.entry(rows, f"calls of {stage}", name, penalty, n)


class Stages(StageTracks):
    """Seconds and calls of each stage."""

    params = (["E1", "E3"], ["Lasso", "GroupLasso"], [*STAGES, OVERLAP], [70, 110])

    def setup_cache(self) -> common.Table:
        return self.fill()

    def track_seconds(self, rows: common.Table, *params: Any) -> float:
        return self.seconds(rows, *params)

    def track_calls(self, rows: common.Table, *params: Any) -> float:
        return self.calls(rows, *params)

    setup_cache.timeout = 1200.0
    track_seconds.unit = "seconds"
    track_calls.unit = "calls"
