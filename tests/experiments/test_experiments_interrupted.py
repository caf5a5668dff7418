"""Long runs survive: killed, interrupted, continued, spread over processes and clusters."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from experiment_problems import command, files, finish, kill_group, records
from reliability_record import recorder

from nvsd.experiments import run, tasks_of

METHODS = ["lasso", "krls", "nvsd-l", "rank-l", "pool", "oracle"]
OPTIONS = [
    "table1", "--experiments", "E1,E2", "--sizes", "30,50", "--methods", ",".join(METHODS),
    "--jobs", "2",
]  # fmt: skip
CELLS = [("E1", 30), ("E1", 50), ("E2", 30), ("E2", 50)]
PATIENCE = 300.0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run in one process, never interrupted."""
    out = tmp_path_factory.mktemp("undisturbed")
    process = command([*OPTIONS[:-2], "--replications", "4"], out)
    finish(process, PATIENCE)
    return out


def wait_for(condition, limit: float = PATIENCE) -> None:
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def kill_again_and_again(times: int, out: Path, undisturbed: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    arguments = [*OPTIONS, "--replications", "4"]
    done: dict[str, int] = {}
    for _ in range(times):
        process = command(arguments, out)
        wait_for(lambda p=process, d=done: len(files(out)) > len(d) or p.poll() is not None)
        time.sleep(rng.uniform(0.0, 0.5))
        kill_group(process)
        kept = {str(path): path.stat().st_mtime_ns for path in files(out)}
        # Nothing finished is lost or computed a second time.
        assert done.items() <= kept.items()
        assert all(json.loads(Path(path).read_text())["rmse"] > 0 for path in kept)
        done = kept
    process = command(arguments, out)
    finish(process, PATIENCE)
    assert done.items() <= {str(p): p.stat().st_mtime_ns for p in files(out)}.items()
    assert records(out) == records(undisturbed)
    assert (out / "table1.md").read_bytes() == (undisturbed / "table1.md").read_bytes()


def test_killed_five_times_and_the_tables_are_the_same(
    tmp_path, undisturbed, record_property
) -> None:
    kill_again_and_again(5, tmp_path, undisturbed, 1)
    recorder(record_property, "interrupted work")(cases=5, certified=5)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_killed_twenty_times_and_the_tables_are_the_same(
    tmp_path, undisturbed, record_property
) -> None:
    kill_again_and_again(20, tmp_path, undisturbed, 2)
    recorder(record_property, "interrupted work")(cases=20, certified=20)


def test_workers_whose_parent_is_killed_write_nothing_and_end(tmp_path: Path) -> None:
    process = command([*OPTIONS, "--replications", "30"], tmp_path)
    wait_for(lambda: len(files(tmp_path)) > 0)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    left = files(tmp_path)

    def gone() -> bool:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        return False

    wait_for(gone, 60.0)
    assert files(tmp_path) == left


def test_an_interrupt_ends_the_run_at_once_and_keeps_what_is_done(tmp_path: Path) -> None:
    process = command([*OPTIONS, "--replications", "30"], tmp_path)
    wait_for(lambda: len(files(tmp_path)) > 2)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "interrupted" in said
    assert "Traceback" not in said
    left = files(tmp_path)
    assert all("rmse" in json.loads(path.read_text()) for path in left)
    time.sleep(1.0)
    assert files(tmp_path) == left


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_the_same_numbers(tmp_path: Path, undisturbed: Path) -> None:
    distributed = pytest.importorskip("distributed")
    tasks = tasks_of(CELLS[:2], METHODS[:4], range(2))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert run(tasks, tmp_path, cluster=client, progress=False) == len(tasks)
    expected = records(undisturbed)
    assert records(tmp_path) == {str(t.place): expected[str(t.place)] for t in tasks}
