"""Long work survives: kill -9 at random moments, Ctrl-C, a full disk, too little memory.

`test_experiments_interrupted.py` does the same to `nvsd replicate`, over several processes.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from experiment_problems import command as replicate
from experiment_problems import files, hear_interrupts, kill_group, records
from reliability_record import Record, recorder

import nvsd
from nvsd.kernels import Gaussian, Polynomial

BLOCKS, ROWS = 60, 50
PAUSE = 0.02  # seconds that reading a block takes
PASS = BLOCKS * PAUSE
PROMPT = 20.0  # seconds: less than one on an idle machine, but tests share theirs

# Blocks that come slowly, and a result that is written when all have been read.
PROGRAM = f"""
import sys, time
import numpy as np
from nvsd import nvsd_path
from nvsd.files import write_dataset
from nvsd.kernels import Polynomial

class Slow:
    def __iter__(self):
        for number in range({BLOCKS}):
            rng = np.random.default_rng(number)
            X = rng.standard_normal(({ROWS} + number, 4))
            time.sleep(float(sys.argv[3]))
            yield X, X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.standard_normal(len(X))

print("started", flush=True)
path = nvsd_path(Slow(), kernel=Polynomial(2), n_taus=5, checkpoint=sys.argv[1])
write_dataset(sys.argv[2], path)
"""
COUNTS = np.cumsum(ROWS + np.arange(BLOCKS))  # rows in the first blocks


@pytest.fixture
def record(record_property: Callable) -> Record:
    return recorder(record_property, "interrupted work")


def read_blocks(folder: Path, pause: float = PAUSE) -> subprocess.Popen[str]:
    """A process, in a group of its own, that has begun to read."""
    arguments = [str(folder / "sums.npz"), str(folder / "path.nc"), str(pause)]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=hear_interrupts,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    folder = tmp_path_factory.mktemp("undisturbed")
    process = read_blocks(folder, pause=0.0)
    assert process.wait(60) == 0
    process.communicate()
    return xr.load_dataset(folder / "path.nc", engine="h5netcdf")


def saved_blocks(folder: Path) -> int:
    """How many blocks are in the checkpoint; their rows were counted once each."""
    if not (folder / "sums.npz").exists():
        return 0
    with np.load(folder / "sums.npz") as file:
        marks, n = file["marks"], int(file["n"])
    assert len(set(marks)) == len(marks)
    assert n == COUNTS[len(marks) - 1]
    return len(marks)


def kill_again_and_again(times: int, folder: Path, undisturbed: xr.Dataset, seed: int) -> None:
    rng = np.random.default_rng(seed)
    done = 0
    for _ in range(times):
        process = read_blocks(folder)
        time.sleep(rng.uniform(0.0, PASS / 2))
        kill_group(process)
        assert saved_blocks(folder) >= done  # nothing that was saved is lost
        done = saved_blocks(folder)
        assert not (folder / "path.nc").exists() or done == BLOCKS
    process = read_blocks(folder, pause=0.0)
    assert process.wait(60) == 0
    process.communicate()
    assert saved_blocks(folder) == BLOCKS
    assert xr.load_dataset(folder / "path.nc", engine="h5netcdf").identical(undisturbed)


def test_a_pass_killed_five_times_ends_with_the_same_path(tmp_path, undisturbed, record) -> None:
    kill_again_and_again(5, tmp_path, undisturbed, 1)
    record(cases=5, certified=5)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_pass_killed_twenty_times_ends_with_the_same_path(tmp_path, undisturbed, record) -> None:
    kill_again_and_again(20, tmp_path, undisturbed, 2)
    record(cases=20, certified=20)


# --- Ctrl-C --------------------------------------------------------------------------------------


def interrupted(process: subprocess.Popen[str]) -> tuple[float, str]:
    """Seconds until the end, and what was said."""
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    return time.monotonic() - start, said


def test_an_interrupt_keeps_every_block_that_was_read(tmp_path, undisturbed, record) -> None:
    process = read_blocks(tmp_path)
    time.sleep(PASS / 3)
    seconds, _ = interrupted(process)
    assert seconds < PROMPT
    assert process.returncode == -signal.SIGINT
    assert 0 < saved_blocks(tmp_path) < BLOCKS
    assert sorted(os.listdir(tmp_path)) == ["sums.npz"]
    kill_again_and_again(0, tmp_path, undisturbed, 3)
    record(certified=1)


def command_line(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "nvsd", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=hear_interrupts,
    )  # fmt: skip


def test_an_interrupted_command_leaves_no_file_and_says_so(tmp_path, record) -> None:
    """Some minutes of work, were it not for Ctrl-C."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((250, 6)), columns=list("abcdef"))
    frame.assign(y=np.sin(frame["a"]) * frame["b"]).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "path.nc").write_text("old")
    out = ["--out", str(tmp_path / "path.nc"), "--tol", "1e-13", "--max-iter", "100000"]
    out += ["--n-taus", "500"]
    process = command_line("path", str(tmp_path / "data.csv"), "--target", "y", *out)
    time.sleep(4.0)
    seconds, said = interrupted(process)
    assert seconds < PROMPT
    assert process.returncode == 1
    assert said.startswith("nvsd: error: interrupted")
    assert said.count("\n") == 1
    assert (tmp_path / "path.nc").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "path.nc"]
    record(certified=1)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_replication_keeps_what_is_done(tmp_path, jobs: str, record) -> None:
    arguments = ["table1", "--experiments", "E1", "--sizes", "30", "--methods", "lasso,krls"]
    process = replicate([*arguments, "--replications", "200", "--jobs", jobs], tmp_path)
    end = time.monotonic() + 60
    while len(files(tmp_path)) < 3:
        assert time.monotonic() < end
        time.sleep(0.02)
    seconds, said = interrupted(process)
    assert seconds < PROMPT
    assert process.returncode == 1
    assert "interrupted" in said
    assert "Traceback" not in said
    assert all("rmse" in content for content in records(tmp_path).values())
    assert not list(tmp_path.rglob(".*"))
    record(certified=1)


# --- a full disk ---------------------------------------------------------------------------------


def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    for _ in range(6):
        X = rng.standard_normal((20, 2))
        yield X, X[:, 0] + X[:, 1] ** 2


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path, monkeypatch, record) -> None:
    """The old one is as good as before: from there the pass goes on."""
    place = tmp_path / "sums.npz"
    options: dict[str, Any] = {"kernel": Polynomial(2), "n_taus": 3, "checkpoint": place}
    first = list(blocks())[:3]
    nvsd.nvsd_path(first, **options)
    old = place.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        with pytest.raises(OSError, match="No space"):
            nvsd.nvsd_path(list(blocks()), **options)
    assert place.read_bytes() == old
    assert os.listdir(tmp_path) == ["sums.npz"]
    resumed = nvsd.nvsd_path(list(blocks()), **options)
    assert resumed.identical(nvsd.nvsd_path(list(blocks()), kernel=Polynomial(2), n_taus=3))
    record(certified=1)


# --- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "kernel", "kind"),
    [
        ((20_000, 100), Gaussian(4.0), "auto"),
        ((1_000_000, 3), Gaussian(4.0), "auto"),
        ((100, 400), Polynomial(6), "monomial"),
        ((2000, 100), Gaussian(4.0), "derivative"),
    ],
    ids=str,
)
def test_too_little_memory_is_told_before_anything_is_done(shape, kernel, kind, record) -> None:
    X = np.broadcast_to(0.0, shape) + np.arange(shape[1])
    start = time.monotonic()
    with pytest.raises(
        ValueError, match=r"would need [\d.]+ GiB but only [\d.]+ GiB are allowed; use "
    ):
        nvsd.prepare(X, kernel=kernel, max_memory=2e9, representation=kind)
    assert time.monotonic() - start < 10 * PROMPT
    record(refused=1)
