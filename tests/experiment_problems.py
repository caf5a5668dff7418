"""Data and runs shared by the tests of the experiments."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]

# File, names of the inputs, and rows: what the protocol draws from, with made-up values.
REAL = {
    "AI": ("airfoil.csv", [f"a{i}" for i in range(5)], 1600),
    "BH": ("boston_housing.csv", ["ZN", "CHAS", "RAD", *(f"b{i}" for i in range(10))], 600),
    "CC": ("concrete.csv", [f"c{i}" for i in range(8)], 1100),
    "EN": ("energy.csv", [f"e{i}" for i in range(8)], 800),
    "CP": ("cpu_act.csv.gz", [f"p{i}" for i in range(21)], 2200),
    "EL": ("elevators.csv.gz", ["diffSaTime4", *(f"l{i}" for i in range(17))], 2200),
    "KN": ("kin8nm.csv.gz", [f"k{i}" for i in range(8)], 2200),
}


def write_real(folder: Path) -> None:
    """Tables of the shape of the real data: y depends on the last three inputs."""
    rng = np.random.default_rng(0)
    for file, names, rows in REAL.values():
        X = rng.standard_normal((rows, len(names))).round(3)
        y = np.sin(2 * X[:, -1]) + X[:, -2] * X[:, -3] + 0.1 * rng.standard_normal(rows)
        pd.DataFrame(X, columns=names).assign(target=y).to_csv(folder / file, index=False)


def hear_interrupts() -> None:
    """In a child that is to be interrupted: what a shell starts in the background ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def command(arguments: Sequence[str], out: Path, **options: Any) -> subprocess.Popen[str]:
    """`nvsd replicate` in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "nvsd", "replicate", *arguments, "--out", str(out)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        preexec_fn=hear_interrupts,
        **options,
    )


def finish(process: subprocess.Popen[str], limit: float) -> None:
    """Wait for the end, which must be a good one."""
    said = process.communicate(timeout=limit)
    assert process.returncode == 0, said


def kill_group(process: subprocess.Popen[str]) -> None:
    """kill -9 of the process and all its workers."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def files(out: Path) -> list[Path]:
    """The records of finished fits."""
    return sorted(out.glob("*/n*/r*/[!.]*.json"))


def records(out: Path) -> dict[str, dict[str, Any]]:
    """What the records say, without the time it took."""
    found = {}
    for path in files(out):
        content = json.loads(path.read_text())
        content.pop("seconds", None)
        found[str(path.relative_to(out))] = content
    return found
