"""What scaling.py measures: each experiment is a function of a few numbers that returns a row."""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import nvsd
from nvsd.data.rows import Rows
from nvsd.data.sources import rows_of
from nvsd.data.sums import Moments
from nvsd.datasets import (
    Sample,
    make_e1,
    make_e3,
    make_logarithm,
    make_quadratic,
    make_sine,
)
from nvsd.kernels import Gaussian, Kernel, Polynomial
from nvsd.representations.monomials import Monomials
from nvsd.ridge.dense import RidgeFit
from nvsd.ridge.nystrom import derivative_metric, draw_points, fit_nystrom

Row = dict[str, Any]
Data = tuple[np.ndarray, np.ndarray]
Make = Callable[[int, int], Sample]
BLOCK = 50_000  # rows of the blocks that the data come in
NUS = np.geomspace(1e-1, 1e-9, 17)
WIDTHS = np.geomspace(0.1, 2.5, 8)
STEPS = np.array([0.63, 1.0, 1.6])
ROUNDS = 4  # refits, the first of which has no metric
HELD_OUT = 2000  # rows for validation, and as many for the test


@contextlib.contextmanager
def clock(row: Row, name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    row[name] = time.perf_counter() - start


# --- many rows, polynomial kernels ---------------------------------------------------------------


def source(make: Make, n: int, kind: str) -> tuple[tuple[Any, ...], Any]:
    """The same n rows as arrays, as blocks that are made when they are asked for, or on Dask."""

    def blocks() -> Iterator[Data]:
        for seed, start in enumerate(range(0, n, BLOCK)):
            yield tuple(make(min(BLOCK, n - start), seed)[:2])

    support = make(2, 0)[2]
    if kind == "blocks":
        return (blocks(),), support
    X, y = (np.concatenate(parts) for parts in zip(*blocks(), strict=True))
    if kind == "numpy":
        return (X, y), support
    import dask.array as da

    chunk = max(1, min(BLOCK, n // 8))
    return (da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk)), support


@contextlib.contextmanager
def cluster(kind: str) -> Iterator[None]:
    """A LocalCluster with two worker processes, if there is to be Dask."""
    if kind != "dask":
        yield
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local,
        Client(local),
    ):
        yield


def exact(problem: str, n: int) -> Row:
    """The path of 50 τ on all samples, from X and y to the Dataset."""
    make, kernel = {
        "E1, cubic": (make_e1, Polynomial(3)),
        "E3, Gaussian": (make_e3, Gaussian(4.0)),
    }[problem]
    data, row = make(n, 0), {}
    nvsd.nvsd_path(data.X[:10], data.y[:10], kernel=kernel, n_taus=3)  # imports, threads
    with clock(row, "seconds"):
        path = nvsd.nvsd_path(data.X, data.y, kernel=kernel)
    return row | {
        "gap": float(path.gap.max()) / path.attrs["scale"],
        "iterations": int(path.n_iter.sum()),
        "representation": path.attrs["representation"],
    }


def rows(problem: str, n: int, kind: str) -> Row:
    """The path of 50 τ with a polynomial kernel, from n rows."""
    make, kernel = {
        "E1, cubic, d = 18": (make_e1, Polynomial(3)),
        "degree 2, d = 100": (make_quadratic, Polynomial(2)),
    }[problem]
    row: Row = {}
    data, support = source(make, n, kind)
    with cluster(kind):
        with clock(row, "pass"):
            prepared = nvsd.prepare(data[0], y=data[1] if len(data) > 1 else None, kernel=kernel)
        with clock(row, "path"):
            y = None if prepared.has_target else data[1]
            path = nvsd.nvsd_path(prepared, y)
    top = np.argsort(-path.derivative_norm.values, axis=1)[:, : support.sum()]
    right = (path.support.values == support).all(axis=1)
    return row | {
        "seconds": row["pass"] + row["path"],
        "supports": int(right.sum()),
        "rankings": int(sum(support[ranked].all() for ranked in top)),
        "gap": float(path.gap.max()) / path.attrs["scale"],
        "iterations": int(path.n_iter.sum()),
    }


def elimination(n: int, seed: int) -> Row:
    """E1 with few rows: elimination, and ranking on the path, both judged on validation data."""
    train, held_out = make_e1(n, seed), make_e1(1000, 1000 + seed)
    row: Row = {}
    for method in ("eliminate", "rank"):
        with clock(row, f"{method} seconds"):
            chosen = nvsd.select(
                train.X,
                train.y,
                method=method,
                kernel=Polynomial(3),
                validation=(held_out.X, held_out.y),
            )
        row[method] = bool((chosen.support == train.support).all())
    return row


def agreement(n: int, chunks: int) -> Row:
    """The sums on two worker processes against those of one, largest relative difference."""
    X, y = make_e1(n, 0)[:2]
    job = partial(Moments.of, Monomials(18, 3, 1.0))
    single = rows_of(X, y).total(job)
    with cluster("dask"):
        import dask.array as da

        size = -(-n // chunks)
        both = da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size)
        total = rows_of(*both).total(job)
    found = {}
    for name in ("gram", "correlation", "root"):
        one, two = getattr(total, name), getattr(single, name)
        found[name] = float(np.abs(one - two).max() / np.abs(two).max())
    return found


def accuracy(shift: float, n: int) -> Row:
    """‖Ψv‖ along the right singular vectors v of Ψ, from its triangle and from ΨᵀΨ."""
    X = make_e1(n, 0).X + shift
    monomials = Monomials(18, 3, 1.0)
    Psi = monomials.lower(X)
    _, singular, V = np.linalg.svd(Psi, full_matrices=False)
    values, W = np.linalg.eigh(Psi.T @ Psi)
    roots = {
        "triangle": Moments.of(monomials, X).root,
        "gram": (W * np.sqrt(np.maximum(values, 0.0))).T,
    }
    row: Row = {"condition": float(singular[0] / singular[-1])}
    for name, R in roots.items():
        row[name] = float(np.abs(np.linalg.norm(R @ V.T, axis=0) / singular - 1).max())
    return row


# --- many rows, any kernel -----------------------------------------------------------------------


PROBLEMS = {"sine": make_sine, "logarithm": make_logarithm}


def draw(problem: str, n: int, seed: int) -> tuple[Data, Data, Data, set[int]]:
    """Training, validation and test data, and the relevant inputs."""
    rng = np.random.default_rng(seed)
    train, held_out, test = (PROBLEMS[problem](size, rng) for size in (n, HELD_OUT, HELD_OUT))
    return train[:2], held_out[:2], test[:2], set(np.flatnonzero(train.support).tolist())


def best_fit(
    train: Rows, points: np.ndarray, widths: np.ndarray, held_out: Data, used: Any = None
) -> tuple[float, RidgeFit]:
    """The least validation error over widths and ν, and its fit."""
    found: list[tuple[float, RidgeFit]] = []
    for width in widths:
        fit = fit_nystrom(train, points, Gaussian(float(width)), NUS, used)
        error = np.mean((fit.predict(held_out[0]) - held_out[1]) ** 2, axis=1)
        k = int(np.argmin(error))
        found.append((float(error[k]), fit.at(k)))
    return min(found, key=lambda one: one[0])


def eliminate(X: np.ndarray, y: np.ndarray, held_out: Data, m: int) -> np.ndarray:
    """Drop the weakest inputs, a fifth at a time and then one by one, width and ν tuned anew."""
    train = rows_of(X, y)
    points = draw_points(train, m)
    used = np.ones(X.shape[1], dtype=bool)
    found = []
    while used.any():
        widths = np.sqrt(used.sum()) * np.array([0.3, 0.5, 0.8, 1.3])
        error, fit = best_fit(train, points, widths, held_out, used)
        found.append((error, used.copy()))
        norms = np.where(used, np.sqrt(np.mean(fit.gradient(X[:1000])[0] ** 2, axis=1)), np.inf)
        drop = max(1, int(used.sum()) // 5) if used.sum() > 20 else 1
        used[np.argsort(norms)[:drop]] = False
    return min(found, key=lambda one: one[0])[1]


def regression(problem: str, n: int, seed: int, m_select: int, m_refit: int) -> Row:
    """Elimination, a refit on all rows, and refits with the metric of the derivatives."""
    (X, y), held_out, test, true = draw(problem, n, seed)
    row: Row = {}
    with clock(row, "select seconds"):
        used = eliminate(X[:20_000], y[:20_000], held_out, m_select)
    row["inputs"] = [int(a) + 1 for a in np.flatnonzero(used)]
    row["right"] = set(np.flatnonzero(used).tolist()) == true
    M, errors, scores = np.eye(len(used))[:, used], [], []
    widths = WIDTHS
    with clock(row, "refit seconds"):
        for _ in range(ROUNDS):
            train = rows_of(X @ M, y)
            points = draw_points(train, m_refit)
            error, fit = best_fit(train, points, widths, (held_out[0] @ M, held_out[1]))
            # The best of the next round is not far away.
            widths = fit.kernel.width * STEPS
            errors.append(error)
            scores.append(float(np.mean((fit.predict(test[0] @ M)[0] - test[1]) ** 2)))
            M = M @ derivative_metric(fit, (X @ M)[:HELD_OUT])
    best = int(np.argmin(errors))
    return row | {"mse": scores[0], "mse with metric": scores[best], "rounds": best, "all": scores}


def landmarks(problem: str, n: int, seed: int, m: int) -> Row:
    """The path on m value and m derivative points: what it ranks, and its error at the best τ."""
    (X, y), held_out, test, true = draw(problem, n, seed)
    row: Row = {}
    kernel = Gaussian(0.5 * float(np.sqrt(X.shape[1])))
    with clock(row, "seconds"):
        path = nvsd.nvsd_path(X, y, kernel=kernel, nu=1e-5, n_taus=20, value_points=m)
    errors = np.mean((path.nvsd.predict(held_out[0]).values - held_out[1]) ** 2, axis=1)
    best = path.isel(tau=[int(np.argmin(errors))])
    row["mse"] = float(np.mean((best.nvsd.predict(test[0]).values - test[1]) ** 2))
    for name in ("derivative_norm", "derivative_norm_held_out"):
        ranked = np.argsort(-best[name].values[0])[: len(true)]
        row[f"top by {name}"] = len(set(ranked.tolist()) & true)
    gaps = float(path.gap.max()) / path.attrs["scale"]
    return row | {"order": path.sizes["component"], "gap": gaps}


def points(n: int, seed: int, m_v: int, m: int) -> Row:
    """E3 on landmarks: norms on the points and elsewhere, error and ranking, as m grows."""
    train, held_out = make_e3(n, seed), make_e3(HELD_OUT, 1000 + seed)
    row: Row = {}
    with clock(row, "seconds"):
        path = nvsd.nvsd_path(
            train.X,
            train.y,
            kernel=Gaussian(4.0),
            n_taus=20,
            tau_ratio=0.01,
            value_points=m_v,
            derivative_points=m,
            random_state=seed,
        )
    errors = np.mean((path.nvsd.predict(held_out.X).values - held_out.y) ** 2, axis=1)
    best = path.isel(tau=int(np.argmin(errors)))
    elsewhere = best.derivative_norm_held_out.values
    row["rmse"] = float(np.sqrt(errors.min()))
    row["right on top"] = int(train.support[np.argsort(-elsewhere)[:6]].sum())
    row["selected"] = int(best.n_selected)
    row["norm ratio"] = float(elsewhere.sum() / best.derivative_norm.values.sum())
    return row


# --- many inputs ---------------------------------------------------------------------------------


def wide_kernel(name: str, d: int) -> Kernel:
    return {"cubic": Polynomial(3), "Gaussian": Gaussian(float(np.sqrt(d)))}[name]


def found(ranked: np.ndarray) -> int:
    """How many of E1's six inputs are among the first six."""
    return len(set(ranked[:6].tolist()) & {0, 1, 2, 6, 7, 8})


def wide(n: int, d: int, seed: int, method: str) -> Row:
    """Which six inputs a method puts on top, and how long it takes."""
    X, y = make_e1(n, seed, d)[:2]
    row: Row = {}
    kind, _, kernel = method.partition(", ")
    with clock(row, "seconds"):
        if kind == "path":
            path = nvsd.nvsd_path(X, y, kernel=wide_kernel(kernel, d))
        elif kind == "elimination":
            chosen = nvsd.select(
                X, y, method="eliminate", kernel=wide_kernel(kernel, d), standardize=False
            )
        else:
            ranked = hsic_lasso(X, y)
    if kind == "path":
        tops = [found(np.argsort(-norms)) for norms in path.derivative_norm.values[1:]]
        middle = int(np.argmin(np.abs(path.tau.values / path.tau.values[0] - 0.1)))
        return row | {
            "top": found(np.argsort(-path.derivative_norm.values[middle])),
            "best top": max(tops),
            "products": int(path.n_iter.sum()),
            "gap": float(path.gap.max()) / path.attrs["scale"],
            "representation": path.attrs["representation"],
        }
    if kind == "elimination":
        right = {0, 1, 2, 6, 7, 8} & set(np.flatnonzero(chosen.support).tolist())
        left_last = chosen.table().sort_values("rank")["feature"].tolist()
        order = np.array([chosen.features.index(name) for name in left_last])
        return row | {
            "top": found(order),
            "selected": int(chosen.support.sum()),
            "right": len(right),
        }
    return row | {"top": found(ranked)}


def hsic_lasso(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The inputs in the order of HSIC Lasso's weights, the authors' package."""
    from pyHSICLasso import HSICLasso

    model = HSICLasso()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.input(np.ascontiguousarray(X), y)
        model.regression(50, B=0, M=1, n_jobs=1)
    return np.array(model.get_index())
