"""Ctrl-C ends a long call soon; outputs that are closed, and odd options, end in a sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from designs import EXHAUSTIVE
from file_problems import check_sentence

import nvsd
from nvsd.kernels import Gaussian, Matern52, neighbour_width
from nvsd.kernels.widths import PIECE

LIMIT = 2.0  # seconds of the process itself, from the signal to its end
LOADED = 10.0  # seconds of the clock: others compute on the same machine
# Rows, inputs, and a call that takes minutes; repeated where it takes less.
CALLS = {
    "width": (2000, 1000, "while True: neighbour_width(X)"),
    "path without a matrix": (2000, 1000, "nvsd.nvsd_path(X, y, n_taus=50, tol=1e-10)"),
    "path": (700, 20, "nvsd.nvsd_path(X, y)"),
    "path of one input": (6000, 1, "nvsd.nvsd_path(X, y)"),
    "select": (5000, 1000, "nvsd.select(X, y)"),
    "refit": (6000, 5, "while True: fit_ridge(X, y, Gaussian(2.0), np.zeros(1))"),
    "path with landmarks": (
        20_000,
        20,
        "while True: nvsd.nvsd_path(X, y, value_points=400, derivative_points=150)",
    ),
    "significance": (1000, 50, "while True: nvsd.significance(X, y)"),
    "cross-validation": (300, 20, "while True: nvsd.NVSDRegressorCV().fit(X, y)"),
}
MOMENTS = (1.0, 5.0, 20.0)  # seconds after the start of the call
PROGRAM = """
import warnings
import numpy as np, nvsd
from nvsd.kernels import Gaussian, neighbour_width
from nvsd.ridge.dense import fit_ridge
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal(({n}, {d})); y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal({n})
print("ready", flush=True)
{call}
"""


def seconds_of(process: subprocess.Popen[bytes]) -> float:
    """Of the processor, so far."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:  # not Linux, where only the clock is known
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "moment"),
    [
        # A call that is repeated is at the same places again.
        pytest.param(name, moment, marks=EXHAUSTIVE * (moment > 5 and call.startswith("while")))
        for (name, (_, _, call)), moment in product(CALLS.items(), MOMENTS)
    ],
)
def test_an_interrupt_ends_a_long_call(name: str, moment: float) -> None:
    n, d, call = CALLS[name]
    program = [sys.executable, "-c", PROGRAM.format(n=n, d=d, call=call)]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    # Shells start background processes with Ctrl-C ignored, which Python and its children inherit.
    heard = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(program, env=one_thread, preexec_fn=heard, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(moment)
        assert process.poll() is None
        start, used = time.monotonic(), seconds_of(process)
        process.send_signal(signal.SIGINT)
        try:
            while process.poll() is None:
                assert not seconds_of(process) - used > LIMIT
                assert time.monotonic() - start < LOADED
                time.sleep(0.01)
        finally:
            process.kill()
        assert process.returncode != 0


def test_the_width_does_not_depend_on_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).standard_normal((300, 4))
    expected = neighbour_width(X)
    monkeypatch.setattr("nvsd.kernels.widths.PIECE", 7 * X.size)
    assert 7 * X.size < PIECE
    assert neighbour_width(X) == expected


@pytest.mark.parametrize("kind", [Gaussian, Matern52])
@pytest.mark.parametrize("width", [1e-300, 1e300, (1.0, 1e-200)])
def test_a_width_out_of_range_is_refused(kind: type, width: float) -> None:
    with pytest.raises(ValueError, match="other units") as refused:
        kind(width)
    check_sentence(refused.value)


def test_a_grid_that_does_not_fit_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("nvsd.solved.flat_point", never)
    X = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(ValueError, match="99999999 functions") as refused:
        nvsd.nvsd_path(X, X[:, 0], n_taus=99_999_999)
    check_sentence(refused.value)


def test_a_closed_stdout_is_told_of(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = np.random.default_rng(0).standard_normal((9, 2))
    table.write_text("a,y\n" + "\n".join(f"{a},{b}" for a, b in rows.tolist()))
    command = f"{sys.executable} -m nvsd path {table} --target y --n-taus 2 >&-"
    ended = subprocess.run(
        command, shell=True, stderr=subprocess.PIPE, text=True, timeout=120, check=False
    )
    assert ended.returncode == 1
    assert "stdout is closed" in ended.stderr


def test_an_interrupt_while_the_command_starts_is_one_sentence() -> None:
    """As the command would import it, with Ctrl-C in the middle of the imports."""
    program = """
import sys
sys.argv = ["nvsd"]
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "nvsd.kernels":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
import nvsd
"""
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 1
    assert ended.stderr == "nvsd: error: interrupted; no further file was written.\n"
