"""Damaged files, two writers, full disks: refused in one sentence, and nothing is lost."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr
from file_problems import check_sentence

import nvsd
from nvsd.experiments import Task, collect
from nvsd.experiments.store import read, write
from nvsd.experiments.tasks import records_in
from nvsd.files import read_path, write_dataset
from nvsd.kernels import Gaussian, Linear
from nvsd.machine import locked

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 2))
Y = X[:, 0] + 0.1 * RNG.standard_normal(12)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    place = tmp_path / "model.nc"
    write_dataset(place, nvsd.nvsd_path(X, Y, kernel=Gaussian(1.0), n_taus=3))
    return place


def flip(file: h5py.File) -> None:
    """The lowest bit of one coefficient."""
    values = file["alpha"][()]
    values.view(np.int64)[1, 2] ^= 1
    file["alpha"][...] = values


def enlarge(file: h5py.File) -> None:
    file["alpha"][0, 0] = 1e308


def recount(file: h5py.File) -> None:
    file.attrs["n_samples"] = 99


@pytest.mark.parametrize("damage", [flip, enlarge, recount])
def test_a_changed_model_is_refused(model: Path, damage: Callable) -> None:
    assert "checksum" not in read_path(model).attrs
    with h5py.File(model, "r+") as file:
        damage(file)
    with pytest.raises(ValueError, match="have changed") as refused:
        read_path(model)
    check_sentence(refused.value)


def test_a_file_without_a_checksum_loads(model: Path) -> None:
    expected = read_path(model)
    with h5py.File(model, "r+") as file:
        del file.attrs["checksum"]
    xr.testing.assert_identical(read_path(model), expected)


def checkpoint(place: Path) -> nvsd.Prepared:
    return nvsd.prepare(X, y=Y, kernel=Linear(), checkpoint=place)


def rewrite(place: Path, change: Callable[[dict], object]) -> None:
    with np.load(place) as file:
        content = {name: file[name] for name in file.files}
    change(content)
    np.savez(place, **content)


def flip_sum(content: dict) -> None:
    content["gram"].view(np.int64)[0, 0] ^= 1


def count_more(content: dict) -> None:
    content["n"] = content["n"] + 1


@pytest.mark.parametrize("change", [flip_sum, count_more])
def test_a_changed_checkpoint_is_refused(tmp_path: Path, change: Callable) -> None:
    place = tmp_path / "pass.npz"
    checkpoint(place)
    rewrite(place, change)
    with pytest.raises(ValueError, match="have changed") as refused:
        checkpoint(place)
    check_sentence(refused.value)


def test_an_old_checkpoint_loads(tmp_path: Path) -> None:
    place = tmp_path / "pass.npz"
    checkpoint(place)
    rewrite(place, lambda content: content.pop("checksum"))
    assert checkpoint(place).representation.n == len(X)


def test_two_writers_of_a_checkpoint(tmp_path: Path) -> None:
    place = tmp_path / "pass.npz"
    with locked(place, "the checkpoint"), pytest.raises(ValueError, match="another process") as no:
        checkpoint(place)
    check_sentence(no.value)
    checkpoint(place)
    assert os.listdir(tmp_path) == ["pass.npz"]


@pytest.mark.parametrize("another", [False, True])
def test_a_lock_that_its_file_has_lost_keeps_no_one_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, another: bool
) -> None:
    """The first writer ends when the second has opened its file, and a third may begin."""
    place, flock = tmp_path / "pass.npz", fcntl.flock
    first, third = (locked(place, "the checkpoint") for _ in range(2))

    def late(*given: Any) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        first.__exit__(None, None, None)
        if another:
            third.__enter__()
        flock(*given)

    first.__enter__()
    monkeypatch.setattr(fcntl, "flock", late)
    if another:
        with pytest.raises(ValueError, match="another process"), locked(place, "the checkpoint"):
            pass
        third.__exit__(None, None, None)
    else:
        with locked(place, "the checkpoint"):
            with pytest.raises(ValueError, match="another process"):
                third.__enter__()
            assert os.listdir(tmp_path) == ["pass.npz.lock"]
    assert os.listdir(tmp_path) == []


# --- records of a replication --------------------------------------------------------------------

TASK = Task("E1", 30, 0, "krls")


def record() -> dict:
    names = [f"x{a}" for a in range(18)]
    fit = {"rmse": 1.0, "validation_mse": 1.0, "support": "1" * 18, "seconds": 0.1, "facts": {}}
    return TASK._asdict() | {"settings": TASK.settings, "names": names} | fit


CHANGES: list[dict] = [
    {"replication": 10**12},
    {"replication": -1},
    {"rmse": float("nan")},
    {"rmse": "1"},
    {"support": "12"},
    {"facts": []},
    {"n": 30.5},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_damaged_record_is_set_aside(tmp_path: Path, change: dict) -> None:
    place = tmp_path / TASK.place
    write(place, record() | change)
    with pytest.warns(UserWarning, match="damaged"):
        assert not records_in(tmp_path, "E1")
    assert not place.exists()
    assert place.with_suffix(".damaged").exists()


def test_a_good_record_stays(tmp_path: Path) -> None:
    write(tmp_path / TASK.place, record())
    assert read(tmp_path / TASK.place) == json.loads(json.dumps(record()))
    assert collect(records_in(tmp_path, "E1"), "E1").sizes["replication"] == 1


# --- a disk that is really full ------------------------------------------------------------------


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "full"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        done = False
    if not done:
        pytest.skip("no file system can be mounted here")
    try:
        write(place / "results" / TASK.place, record())
        (place / "taken").write_bytes(b"x" * (32 * 1024))
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=False)


def fill(place: Path) -> None:
    """Take what is left."""
    with open(place / "taken", "ab", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 1024)
        except OSError:
            return


def nvsd_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nvsd", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_a_full_disk_ends_every_command_in_a_sentence(full: Path, model: Path) -> None:
    table = model.with_name("t.csv")
    rows = [f"{a},{b},{c}" for (a, b), c in zip(X.tolist(), Y.tolist(), strict=True)]
    table.write_text("\n".join(["x0,x1,y", *rows]))
    fill(full)
    path = ["path", table, "--target", "y", "--n-taus", 3]
    commands = [
        [*path, "--out", full / "p.nc"],
        [*path, "--plot", full / "p.png"],
        ["select", table, "--target", "y", "--no-tests", "--out", full / "s.nc"],
        ["predict", model, table, "--tau", 1, "--out", full / "p.csv"],
        ["report", model, "--out", full / "p.html"],
        ["replicate", "table1", "--out", full / "results", "--show"],
    ]
    for command in commands:
        ended = nvsd_command(*command)
        assert ended.returncode == 1, (command, ended)
        assert "No space left" in ended.stderr, (command, ended)
        assert ended.stderr.count("error:") == 1
    assert sorted(os.listdir(full)) == ["results", "taken"]
