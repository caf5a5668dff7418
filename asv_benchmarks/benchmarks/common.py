"""What the benchmarks share: problems, kernels and penalties to run over, and a stopwatch."""

from __future__ import annotations

import inspect
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from itertools import product
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

import nvsd
from nvsd.datasets import make_e1, make_e3
from nvsd.kernels import Gaussian, Kernel, Linear, Polynomial
from nvsd.penalties import Lasso, Penalty

SIZES = [30, 50, 70, 90, 110]  # the paper's
D = 18
NU = 1e-3
MUS = (0.1, 0.3, 0.5, 0.7, 0.9)
SEED = 0
PROBLEMS = {"E1": (make_e1, Polynomial(3)), "E3": (make_e3, Gaussian(4.0))}

# What the fields without a default get when a kernel is made from its name.
REQUIRED = {
    "kernel": Gaussian(4.0),
    "kernels": (Gaussian(4.0), Polynomial(2)),
    "factor": 2.0,
}


def _concrete(base: type) -> Iterator[type]:
    for kind in base.__subclasses__():
        yield from _concrete(kind)
        if not inspect.isabstract(kind) and kind.__module__.startswith("nvsd."):
            yield kind


def concrete(base: type) -> dict[str, type]:
    """The library's classes that derive from this one, by name: new ones come by themselves."""
    return {kind.__name__: kind for kind in sorted(_concrete(base), key=lambda k: k.__name__)}


KERNELS = list(concrete(Kernel))
PENALTIES = list(concrete(Penalty))


def make_kernel(name: str) -> Kernel:
    """A kernel of this class with its default fields and a fixed width."""
    kind = concrete(Kernel)[name]
    made = kind(**{f.name: REQUIRED[f.name] for f in fields(kind) if f.name in REQUIRED})
    return made.filled(4.0 if kind is Gaussian else 1.0)


def make_penalty(name: str, groups: list[str], mu: float | tuple[float, ...] = MUS) -> Penalty:
    """A penalty of this class on these groups; the elastic net with several mu."""
    kind, values = concrete(Penalty)[name], {"groups": groups, "mu": mu}
    return kind(**{f.name: values[f.name] for f in fields(kind) if f.name in values})


@dataclass(frozen=True, eq=False)
class Problem:
    """Data and a kernel."""

    X: np.ndarray
    y: np.ndarray
    groups: list[str]
    kernel: Kernel

    def path(self, penalty: Penalty | None = None, **settings: Any) -> Any:
        """The whole path, from X and y to the Dataset."""
        return nvsd.nvsd_path(
            self.X, self.y, kernel=self.kernel, penalty=penalty or Lasso(), nu=NU, **settings
        )


@cache
def problem(name: str, n: int) -> Problem:
    """One of the paper's problems, d = 18."""
    make, kernel = PROBLEMS[name]
    sample = make(n, SEED)
    return Problem(sample.X, sample.y, sample.groups, kernel)


@cache
def wide(kernel: str, n: int, d: int) -> Problem:
    """Any number of inputs, of which y uses three."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n, d))
    y = X[:, :3].sum(axis=1) ** 3 + 0.1 * rng.standard_normal(n)
    # Distances grow as the root of d; so does the width, which is the paper's 4 at d = 18.
    kernels = {"Polynomial": Polynomial(3), "Gaussian": Gaussian(4.0 * np.sqrt(d / D))}
    return Problem(X, y, [str(a // 3) for a in range(d)], kernels[kernel])


@cache
def largest_tau(name: str, penalty: str, n: int) -> float:
    """The first τ of the automatic grid."""
    p = problem(name, n)
    return float(p.path(make_penalty(penalty, p.groups, mu=0.5), n_taus=1).tau[0])


@cache
def warm_up() -> None:
    """Import what is imported late, start BLAS: the first call is no slower than the others."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((12, 3))
    for kernel in (Linear(), Gaussian(2.0)):
        nvsd.nvsd_path(X, X[:, 0], kernel=kernel, nu=NU, n_taus=5)
    np.linalg.cholesky(np.eye(500))


class Timed:
    """One call per sample, because factorisations are cached; the first call is not the coldest."""

    number = 1
    rounds = 1
    repeat: ClassVar = (2, 5, 0.5)
    warmup_time = 0.0
    min_run_count = 1

    def setup(self, *params: Any) -> None:
        warm_up()


class Single(Timed):
    """For what takes minutes: a single call."""

    repeat: ClassVar = 1
    timeout = 7200.0


def best(calls: Callable[[], object], times: int) -> float:
    """Seconds of the fastest of several calls."""
    return min(stopwatch(calls)[0] for _ in range(times))


def stopwatch(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that one call took, and what it returned."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


@cache
def floor_matrix(N: int) -> np.ndarray:
    """A fixed symmetric positive definite matrix, diagonally dominant."""
    A = np.random.default_rng(SEED).uniform(-1, 1, (N, N))
    A = (A + A.T) / 2
    A[np.diag_indices(N)] += N
    return A


def floor_seconds(n: int, d: int = D, times: int = 5) -> float:
    """One dense Cholesky factorisation of order N = n(d + 1): nothing of nvsd can change it."""
    M = floor_matrix(n * (d + 1))
    return best(lambda: scipy.linalg.cholesky(M, lower=True, check_finite=False), times)


Table = dict[tuple[Any, ...], dict[str, float] | str]


def table(params: list[list[Any]], measure: Callable[..., dict[str, float]]) -> Table:
    """Measure every combination of the parameters; a failure stays with its own combination."""
    rows: Table = {}
    for combination in product(*params):
        try:
            rows[combination] = measure(*combination)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            rows[combination] = f"{type(error).__name__}: {error}"
    return rows


def entry(rows: Table, column: str, *combination: Any) -> float:
    """What `table` measured."""
    row = rows[combination]
    if isinstance(row, str):
        raise RuntimeError(row)
    return row[column]
