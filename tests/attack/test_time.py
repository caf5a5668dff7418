"""A call that takes long says so before it starts, and one that takes hours what to use instead."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest
from file_problems import check_sentence

import nvsd
from nvsd.data.sources import rows_of
from nvsd.kernels import Gaussian
from nvsd.losses import SQUARED
from nvsd.representations import Request
from nvsd.representations.base import kinds
from nvsd.representations.costs import predicted_seconds


def predicted(n: int, d: int) -> float:
    rows = rows_of(np.broadcast_to(np.float64(1.0), (n, d)), None, False)
    return predicted_seconds(kinds()["derivative"], Request(rows, Gaussian(4.0), 1e-3, SQUARED))


def test_a_short_call_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "nvsd"):
        assert 0 < predicted(50, 5) < 1
    assert "will take" not in caplog.text


def test_minutes_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "nvsd"):
        assert 60 < predicted(500, 20) < 3600
    assert "min" in caplog.text


def test_hours_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="about .* h .*landmarks") as caught:
        predicted(3000, 20)
    check_sentence(caught[0].message)  # type: ignore[arg-type]


def test_the_limit_of_the_process_counts() -> None:
    program = """
import resource, numpy as np, nvsd
from nvsd.machine import available_memory
resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, -1))
assert available_memory() < 6 * 2**30
X = np.zeros((1000, 30)) + np.arange(1000)[:, None]
try:
    nvsd.prepare(X, kernel=nvsd.kernels.Gaussian(1.0), representation="derivative")
except ValueError as error:
    print(error)
"""
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "GiB are allowed" in ended.stdout, ended


def test_a_path_knows_how_long_it_takes() -> None:
    X = np.random.default_rng(0).standard_normal((20, 2))
    assert 0 < nvsd.prepare(X, kernel=Gaussian(1.0)).seconds < 1
