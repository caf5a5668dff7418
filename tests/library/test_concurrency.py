"""Threads and processes: the same numbers everywhere, and no fit leaves anything to another."""

from __future__ import annotations

import multiprocessing
import pickle
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import xarray as xr
from path_problems import sample
from reliability_record import Record, recorder

import nvsd
from nvsd.kernels import Gaussian, Polynomial
from nvsd.linalg import CholeskySystem
from nvsd.penalties import ElasticNet, GroupLasso, Lasso

X, Y = sample(0, 24, 4)
WORK = [
    (kernel, penalty)
    for kernel in (Gaussian(2.0), Polynomial(2))
    for penalty in (Lasso(), GroupLasso(["a", "a", "b", "b"]), ElasticNet([0.3, 0.9]))
]


@pytest.fixture
def record(record_property: Callable) -> Record:
    return recorder(record_property, "threads and processes")


def fit_path(number: int) -> xr.Dataset:
    kernel, penalty = WORK[number]
    return nvsd.nvsd_path(X, Y, kernel=kernel, penalty=penalty, n_taus=5, tol=1e-6)


def estimators() -> dict[str, Any]:
    return {
        "NVSDRegressor": nvsd.NVSDRegressor(kernel=Gaussian(2.0)),
        "NVSDRegressorCV": nvsd.NVSDRegressorCV(kernel=Gaussian(2.0), n_taus=4, cv=3),
        "SelectiveRegressor": nvsd.SelectiveRegressor("eliminate", kernel=Gaussian(2.0), cv=3),
    }


def fit_and_predict(name: str) -> tuple[Any, np.ndarray]:
    """A fitted estimator, and its predictions where it was fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = estimators()[name].fit(X, Y)
    return fitted, fitted.predict(X[:5])


def executors() -> dict[str, Callable[[], Executor]]:
    return {
        "threads": lambda: ThreadPoolExecutor(4),
        "fork": lambda: ProcessPoolExecutor(2, multiprocessing.get_context("fork")),
        "spawn": lambda: ProcessPoolExecutor(2, multiprocessing.get_context("spawn")),
    }


# A forked child of a process with threads may hang; Python warns of it, and here it must not.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("how", executors())
def test_paths_in_parallel_are_the_paths_one_after_the_other(how: str, record: Record) -> None:
    alone = [fit_path(number) for number in range(len(WORK))]
    rounds = 3 if how == "threads" else 1
    with executors()[how]() as pool:
        together = list(pool.map(fit_path, list(range(len(WORK))) * rounds, timeout=120))
    for number, path in enumerate(together):
        assert path.identical(alone[number % len(WORK)])
    record(cases=len(together), certified=len(together))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("how", executors())
def test_estimators_travel_and_predict_the_same(how: str, record: Record) -> None:
    names = list(estimators())
    alone = [fit_and_predict(name)[1] for name in names]
    with executors()[how]() as pool:
        results = list(pool.map(fit_and_predict, names, timeout=120))
    for expected, (fitted, predictions) in zip(alone, results, strict=True):
        np.testing.assert_array_equal(predictions, expected)
        np.testing.assert_array_equal(fitted.predict(X[:5]), expected)
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.predict(X[:5]), expected)
    record(cases=len(names), certified=len(names))


def solved_alike(prepared: nvsd.Prepared, targets: list[np.ndarray], rounds: int) -> int:
    """Four threads and one find the same paths; returns how many there were."""

    def solve(y: np.ndarray) -> xr.Dataset:
        return nvsd.nvsd_path(prepared, y, n_taus=5)

    alone = [solve(y) for y in targets]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(solve, targets * rounds))
    assert all(one.identical(other) for one, other in zip(alone * rounds, together, strict=True))
    return len(together)


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(2)], ids=str)
@pytest.mark.parametrize("s1", ["cholesky", "diagonal"])
def test_threads_can_share_what_was_prepared(kernel, s1: str, record: Record) -> None:
    """The factors that are kept for several κ are found, or made, by every thread for itself."""
    prepared = nvsd.prepare(X, kernel=kernel, s1=s1)
    cases = solved_alike(prepared, [Y * c + c for c in range(1, 9)], rounds=3)
    record(cases=cases, certified=cases)


def test_threads_can_share_few_factors(record: Record) -> None:
    """Room for two factors and eight threads that want five: each gets the one it asked for."""
    rng = np.random.default_rng(0)
    M, b = np.diag(rng.uniform(1.0, 2.0, 60)), rng.standard_normal((1, 60))
    system = CholeskySystem(M, memory=0.0)
    kappas = rng.choice([0.1, 0.5, 1.0, 2.0, 10.0], 2000)

    def error(kappa: float) -> float:
        x = system.solve(np.array([kappa]), b)
        return float(np.abs(x + kappa * x @ M - b).max())

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(error, kappas)) < 1e-12
    record(cases=len(kappas), certified=len(kappas))


def test_threads_can_share_a_matrix_free_problem(record: Record) -> None:
    """Conjugate gradients start from the solution before, which is never another thread's."""
    points = np.random.default_rng(1).standard_normal((10, 40))
    prepared = nvsd.prepare(points, kernel=Gaussian(8.0), representation="matrix-free")
    targets = [points[:, 0] * c + points[:, 1] ** 2 for c in range(1, 7)]
    cases = solved_alike(prepared, targets, rounds=2)
    record(cases=cases, certified=cases)


def test_a_prepared_problem_can_be_pickled(record: Record) -> None:
    for kernel in (Gaussian(2.0), Polynomial(2)):
        prepared = nvsd.prepare(X, kernel=kernel)
        again = pickle.loads(pickle.dumps(prepared))
        one, other = (nvsd.nvsd_path(p, Y, n_taus=4) for p in (prepared, again))
        assert one.identical(other)
        record(certified=1)


def test_a_fit_leaves_no_trace(record: Record) -> None:
    """Random numbers, error handling, warnings and printing are as they were before."""
    rng = np.random.default_rng(0)
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].tolist(), np.geterr(), np.get_printoptions()  # noqa: NPY002
    filters = list(warnings.filters)
    first = fit_path(0)
    nvsd.nvsd_path(rng.standard_normal((9, 2)), rng.standard_normal(9), n_taus=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nvsd.select(X, Y, kernel=Gaussian(2.0))
    assert list(warnings.filters) == filters
    after = np.random.get_state()[1].tolist(), np.geterr(), np.get_printoptions()  # noqa: NPY002
    assert before == after
    assert fit_path(0).identical(first)
    record(certified=1)
