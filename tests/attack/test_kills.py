"""Kills, other users, and two writers: no finished file is lost, and none is half written.

ATTACK_CASES sets how often; 30 is the short part.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from experiment_problems import hear_interrupts, kill_group
from reliability_record import Record, recorder

import nvsd

CASES = int(os.environ.get("ATTACK_CASES", "30"))
NOBODY = 65534
OUTPUTS = {"--save": "selection.nc", "--report": "page.html", "--out": "model.nc"}

# Each round writes a selection, its page and its tests over those of the round before.
PROGRAM = """
import sys
from pathlib import Path
import numpy as np
import nvsd
from nvsd.files import write_dataset

folder = Path(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(40)
selected = nvsd.select(X, y, method="eliminate", kernel=nvsd.kernels.Gaussian(2.0), cv=2)
tests = nvsd.significance(X, y, cv=2, n_copies=2, random_state=0)
print("ready", flush=True)
while True:
    selected.save(folder / "selection.nc")
    selected.report(folder / "page.html")
    write_dataset(folder / "tests.nc", tests)
"""

# The interpreter may lie where another user cannot read, so everything is imported before.
AS_NOBODY = f"""
import importlib, os, pkgutil, sys
import nvsd, nvsd.cli
for module in pkgutil.walk_packages(nvsd.__path__, "nvsd."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
sys.exit(nvsd.cli.main(sys.argv[1:]))
"""


@pytest.fixture
def record(record_property: Callable) -> Record:
    return recorder(record_property, "interrupted work")


def start(*command: str, **options: Any) -> subprocess.Popen[str]:
    """A process in a group of its own."""
    return subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=hear_interrupts, env=os.environ | {"MPLBACKEND": "Agg"}, **options,
    )  # fmt: skip


def check_outputs(folder: Path) -> int:
    """Every file is whole; returns how many there are."""
    files = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    for name in files:
        if name == "selection.nc":
            assert list(nvsd.load_selection(folder / name).selected) == ["x0"]
        elif name == "page.html":
            assert (folder / name).read_text().rstrip().endswith("</html>")
        else:
            assert name == "tests.nc"
            assert len(xr.load_dataset(folder / name, engine="h5netcdf").feature) == 3
    return len(files)


def test_a_kill_leaves_whole_files(tmp_path: Path, record: Record) -> None:
    rng = np.random.default_rng(0)
    kills = max(2, CASES // 15)
    found = 0
    for _ in range(kills):
        process = start("-c", PROGRAM, str(tmp_path))
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.0, 1.5))
        kill_group(process)
        now = check_outputs(tmp_path)
        assert now >= found  # what was written once stays
        found = now
    record(cases=kills, certified=kills)


def table(folder: Path, n: int = 60) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    place = folder / "data.csv"
    frame.assign(y=np.sin(2 * frame["a"]) + frame["b"]).to_csv(place, index=False)
    return place


def select_command(data: Path, folder: Path) -> list[str]:
    options = [part for key, name in OUTPUTS.items() for part in (key, str(folder / name))]
    return ["-m", "nvsd", "select", str(data), "--target", "y", "--cv", "2", *options]


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name
)
def test_a_selection_that_is_ended_keeps_the_old_files(
    tmp_path: Path, how: signal.Signals, record: Record
) -> None:
    data, out = table(tmp_path, 1500), tmp_path / "out"
    out.mkdir()
    for name in OUTPUTS.values():
        (out / name).write_text("old")
    process = start(*select_command(data, out))
    time.sleep(4.0)  # after the imports, in the middle of the work
    assert process.poll() is None
    os.killpg(process.pid, how)
    _, said = process.communicate(timeout=60)
    assert process.returncode != 0
    assert sorted(os.listdir(out)) == sorted(OUTPUTS.values())
    assert {(out / name).read_text() for name in OUTPUTS.values()} == {"old"}
    if how == signal.SIGINT:
        assert said.count("\n") == 1, said
        assert "interrupted" in said
    record(certified=1)


def test_two_processes_write_the_same_files(tmp_path: Path, record: Record) -> None:
    """The last one wins, as with any file; none is a mixture."""
    data, out = table(tmp_path), tmp_path / "out"
    out.mkdir()
    both = [start(*select_command(data, out)) for _ in range(2)]
    for process in both:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    assert sorted(os.listdir(out)) == sorted(OUTPUTS.values())
    assert {"a", "b"} <= set(nvsd.load_selection(out / "selection.nc").selected)
    assert (out / "page.html").read_text().rstrip().endswith("</html>")
    record(cases=2, certified=2)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a program as another user")
@pytest.mark.parametrize("command", ["path", "select", "replicate"])
def test_a_folder_of_another_user_is_refused_at_once(
    tmp_path: Path, command: str, record: Record
) -> None:
    data, out = table(tmp_path), tmp_path / "out"
    out.mkdir(mode=0o755)
    for place in (tmp_path, *tmp_path.parents):
        if place == Path(tempfile.gettempdir()):
            break
        place.chmod(place.stat().st_mode | 0o055)
    commands = {
        "path": ["-m", "nvsd", "path", str(data), "--target", "y", "--out", str(out / "p.nc")],
        "select": select_command(data, out),
        "replicate": ["-m", "nvsd", "replicate", "table1", "--out", str(out / "results")],
    }
    process = start("-c", AS_NOBODY, *commands[command][2:])
    _, said = process.communicate(timeout=120)
    assert process.returncode in (1, 2), said
    sentences = [line for line in said.splitlines() if "nvsd: note: " not in line]
    assert len(sentences) == 1, said
    assert "cannot be written" in sentences[0]
    assert os.listdir(out) == []
    record(refused=1)
