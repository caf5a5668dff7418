"""Dask arrays on two worker processes against numpy in one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest
from experiment_problems import records
from joblib import parallel_config

import nvsd
from nvsd.data.names import name_of
from nvsd.data.sources import rows_of
from nvsd.data.sums import Moments
from nvsd.datasets import make_e2
from nvsd.experiments import run, tasks_of
from nvsd.kernels import Gaussian, Polynomial
from nvsd.representations.monomials import Monomials

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

TAUS = np.geomspace(3.0, 0.01, 5)
solve = partial(nvsd.nvsd_path, kernel=Polynomial(3), taus=TAUS)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((900, 5))
    return X, 7 + X[:, 0] ** 3 + X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(900)


# --- in threads, before the cluster is there -----------------------------------------------------


def test_chunks_of_unknown_size(data) -> None:
    X, y = data
    rows = da.from_array(X, chunks=(300, 5))
    positive = da.from_array(X[:, 0] > 0, chunks=300)
    expected = solve(X[X[:, 0] > 0], y[X[:, 0] > 0])
    for target in (y[X[:, 0] > 0], da.from_array(y, chunks=300)[positive]):
        path = solve(rows[positive], target)
        np.testing.assert_allclose(path.objective, expected.objective, rtol=1e-9)
    index = np.array([899, 3, 300])
    np.testing.assert_array_equal(rows_of(rows).take(index), X[index])


@dataclass
class Frame:
    """What is used of Dask's DataFrame and Series, which would need pyarrow."""

    array: Any
    columns: list[str] | None = None

    def __dask_graph__(self):
        return self.array.__dask_graph__()

    def to_dask_array(self):
        return self.array


def test_a_name_that_dask_made_is_not_that_of_y(data) -> None:
    y = data[1]
    assert name_of(da.from_array(y, chunks=300)) == "y"
    assert name_of(pd.Series(y, name="wear")) == "wear"


def test_the_columns_of_a_frame_name_the_inputs(data) -> None:
    X, y = data
    names = ["a", "b", "c", "d", "e"]
    frame = Frame(da.from_array(X, chunks=(300, 5)), names)
    path = solve(frame, Frame(da.from_array(y, chunks=200)))
    assert path.feature.values.tolist() == names
    np.testing.assert_allclose(path.objective, solve(X, y).objective, rtol=1e-9)


def test_prepared_chunks_serve_several_targets(data) -> None:
    X, y = data
    prepared = nvsd.prepare(da.from_array(X, chunks=(300, 5)), kernel=Polynomial(3))
    for target in (y, y**2):
        path = nvsd.nvsd_path(prepared, target, taus=TAUS)
        np.testing.assert_allclose(path.objective, solve(X, target).objective, rtol=1e-9)


def test_an_interrupted_sum_over_chunks_goes_on(data, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("nvsd.data.dask_rows.BATCH", 2)
    X, y = data
    file = tmp_path / "pass.npz"
    rows = da.from_array(X, chunks=(100, 5)), da.from_array(y, chunks=100)
    expected = solve(*rows)

    def limited(*given, left=[5]):  # noqa: B006
        left[0] -= 1
        if left[0] < 0:
            raise ConnectionError
        return given

    monkeypatch.setattr("nvsd.data.dask_rows.checked_block", limited)
    with pytest.raises(ConnectionError):
        solve(*rows, checkpoint=file)
    assert np.load(file)["n"] == 400
    monkeypatch.undo()
    monkeypatch.setattr("nvsd.data.dask_rows.BATCH", 2)
    assert solve(*rows, checkpoint=file).identical(expected)
    with pytest.raises(ValueError, match="block 0 differs from the one"):
        solve(rows[0] + 1, rows[1], checkpoint=file)


def test_what_cannot_be_summed_is_refused_in_one_sentence(data) -> None:
    X, y = data
    rows = da.from_array(X, chunks=(300, 5))
    holed = da.from_array(np.where(X > 3, np.nan, X), chunks=(300, 5))
    for arguments, message in [
        ((holed, y), "NaN"),
        ((rows, y[:5]), "y has shape"),
        ((rows[0], y), "dimensions"),
        ((rows,), "y is missing"),
    ]:
        with pytest.raises(ValueError, match=message):
            solve(*arguments)
    with pytest.raises(ValueError, match="rows that come in blocks need"):
        nvsd.nvsd_path(rows, y, kernel=Gaussian(1.0))
    with pytest.raises(ValueError, match=r"X\.compute"):
        nvsd.prepare(rows, kernel=Polynomial(2)).X  # noqa: B018


# --- on a cluster --------------------------------------------------------------------------------


def test_sums_on_two_processes_are_those_of_one(client, data) -> None:
    X, y = data
    monomials = Monomials(5, 3, 1.0)
    job = partial(Moments.of, monomials)
    X_dask, y_dask = da.from_array(X, chunks=(37, 2)), da.from_array(y, chunks=100)
    total, single = rows_of(X_dask, y_dask).total(job), Moments.of(monomials, X, y)
    for name in ("gram", "root", "correlation", "total", "y_mean", "y_square"):
        one, two = np.asarray(getattr(total, name)), np.asarray(getattr(single, name))
        assert np.abs(one - two).max() <= 1e-10 * np.abs(two).max(), name
    assert total.n == 900


def test_the_path_is_that_of_numpy_within_the_gaps(client, data) -> None:
    X, y = data
    for standardize in (False, True):
        path = solve(da.from_array(X, chunks=(200, 5)), y[:, None], standardize=standardize)
        expected = solve(X, y, standardize=standardize)
        gaps = np.maximum(path.gap, expected.gap) + 1e-10 * expected.attrs["scale"]
        assert (abs(path.objective - expected.objective) <= gaps).all()
        np.testing.assert_allclose(path.nvsd.predict(X[:5]), expected.nvsd.predict(X[:5]), 1e-6)
        assert set(path.dims) == {"tau", "feature", "component"}


def test_columns_of_parquet_files_line_up(client, data, tmp_path) -> None:
    """Dask reads several files as one block if it takes few of their columns."""
    pytest.importorskip("pyarrow")
    frames = pytest.importorskip("dask.dataframe")
    X, y = data
    names = list("abcde")
    table = pd.DataFrame(X, columns=names).assign(y=y, **{f"other {k}": "text" for k in range(20)})
    for k in range(6):
        table[150 * k : 150 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    frame = frames.read_parquet(tmp_path / "*.parquet")
    path = solve(frame[names], frame["y"])
    assert path.feature.values.tolist() == names
    np.testing.assert_allclose(path.objective, solve(X, y).objective, rtol=1e-9)


def test_a_process_that_is_connected_to_a_cluster_saves(client, data, tmp_path) -> None:
    X, y = data
    selection = nvsd.select(X[:60], y[:60], cv=2)
    selection.save(tmp_path / "selection.nc")
    again = nvsd.load_selection(tmp_path / "selection.nc")
    np.testing.assert_array_equal(again.predict(X), selection.predict(X))


def test_a_worker_that_dies_changes_nothing(client, data, tmp_path) -> None:
    X, y = data
    expected = solve(X, y, representation="monomial")

    here, marker = os.getpid(), tmp_path / "died"

    def die_once(block):
        if os.getpid() != here and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    path = solve(da.from_array(X, chunks=(100, 5)).map_blocks(die_once, meta=X[:0]), y)
    assert marker.exists()
    np.testing.assert_allclose(path.objective, expected.objective, rtol=1e-9)


@contextmanager
def a_dying_worker(client) -> Iterator[None]:
    """A worker process is killed while it has something to do."""
    client.wait_for_workers(2)
    pids, died = client.run(os.getpid), Event()

    def kill() -> None:
        while not died.is_set():
            busy = [w for w, tasks in client.processing().items() if tasks and w in pids]
            if busy:
                os.kill(pids[busy[0]], signal.SIGKILL)
                died.set()
            time.sleep(0.01)

    killer = Thread(target=kill, daemon=True)
    killer.start()
    yield
    assert died.wait(1.0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["eliminate", "stability"])
def test_a_selection_on_a_cluster_is_that_of_one_process(client, method: str) -> None:
    X, y = make_e2(60, 0)[:2]
    options = {"n_pairs": 3} if method == "stability" else {}
    choose = partial(nvsd.select, X, y, method=method, kernel=Gaussian(5.0), **options)
    with parallel_config(backend="dask", client=client), a_dying_worker(client):
        found = choose(n_jobs=-1)
    expected = choose()
    assert found.selected == expected.selected
    np.testing.assert_allclose(found.history["error"], expected.history["error"], rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_replications_on_a_cluster_are_those_of_one_process(client, tmp_path: Path) -> None:
    tasks = tasks_of([("E1", 30)], ["krls", "nvsd-l"], range(4))
    with a_dying_worker(client):
        assert run(tasks, tmp_path / "cluster", cluster=client, progress=False) == len(tasks)
    run(tasks, tmp_path / "alone", progress=False)
    assert records(tmp_path / "cluster") == records(tmp_path / "alone")
    assert len(records(tmp_path / "alone")) == len(tasks)
