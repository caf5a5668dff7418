"""What the user gave is checked at the border, once, and in no loop."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from path_problems import sample

import nvsd
from nvsd.data import checks
from nvsd.kernels import Gaussian, Polynomial
from nvsd.penalties import ElasticNet, GroupLasso
from nvsd.selection import METHODS, select

Count = Callable[..., int]


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Count:
    """How often a call checks points, whichever module asks for it."""
    root = Path(nvsd.__path__[0])
    for file in root.rglob("*.py"):
        if "check_points" in file.read_text():  # before it is replaced, or it would stay so
            parts = file.relative_to(root.parent).with_suffix("").parts
            importlib.import_module(".".join(parts))
    right, calls = checks.check_points, []

    def counted(*given: Any) -> Any:
        calls.append(given)
        return right(*given)

    holders = [
        module
        for name, module in sys.modules.items()
        if name.split(".")[0] == "nvsd" and getattr(module, "check_points", None) is right
    ]
    assert len(holders) > 3
    for module in holders:
        monkeypatch.setattr(module, "check_points", counted)

    def of(action: Callable[..., Any], *given: Any, **options: Any) -> int:
        calls.clear()
        action(*given, **options)
        return len(calls)

    return of


X, Y = sample(0, 24, 4)
OF_THE_PATH = {"penalty", "history"}  # not of `prepare`


def mapped(tmp_path: Path) -> np.ndarray:
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def test_the_counter_counts(count: Count) -> None:
    assert count(Gaussian(1.0).K, X) == 1
    assert count(Gaussian(1.0).K, X, X + 1) == 2
    assert count(checks.check_samples, X) == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"standardize": True},
        {"kernel": Polynomial(2)},
        {"kernel": Polynomial(2), "representation": "factor"},
        {"representation": "derivative", "penalty": ElasticNet([0.2, 0.9])},
        {"representation": "matrix-free", "penalty": GroupLasso(["a", "a", "b", "b"])},
        {"value_points": 6},
        {"history": True},
    ],
    ids=str,
)
def test_a_path_checks_its_points_at_most_twice(options: dict, count: Count) -> None:
    for given in (X, pd.DataFrame(X), X.tolist()):
        assert 1 <= count(nvsd.nvsd_path, given, Y, n_taus=3, **options) <= 2
    # However many τ there are.
    several = count(nvsd.nvsd_path, X, Y, n_taus=9, **options)
    assert several == count(nvsd.nvsd_path, X, Y, n_taus=3, **options)
    prepared = nvsd.prepare(X, **{k: v for k, v in options.items() if k not in OF_THE_PATH})
    rest = {k: v for k, v in options.items() if k in OF_THE_PATH}
    assert count(nvsd.nvsd_path, prepared, Y, n_taus=3, **rest) == 0


def test_a_memory_map_is_checked_as_it_is_read(count: Count, tmp_path: Path) -> None:
    """Once for each pass over it: to standardise, and to sum."""
    given = {"kernel": Gaussian(2.0), "n_taus": 3}
    assert count(nvsd.nvsd_path, mapped(tmp_path), Y, **given) <= 2
    assert count(nvsd.nvsd_path, mapped(tmp_path), Y, standardize=True, **given) <= 2


OPTIONS: dict[str, dict[str, Any]] = {
    "support": {"n_taus": 5, "tol": 1e-3},
    "adaptive": {"n_taus": 4, "tol": 1e-2},
    "stability": {"n_pairs": 2},
    "pool": {"methods": ["eliminate", "rank"]},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(2)], ids=str)
def test_no_loop_of_a_selection_checks_points(method: str, kernel, count: Count) -> None:
    given = {"method": method, "kernel": kernel, "nus": [1e-2, 1e-4], "progress": False}
    given |= OPTIONS.get(method, {})
    counts = {cv: count(select, X, Y, cv=cv, **given) for cv in (3, 5)}
    assert counts[3] == counts[5] <= 2
    wide, y = sample(0, 24, 6)
    assert count(select, wide, y, cv=3, **given) == counts[3]
    held_out = count(select, X, Y, validation=sample(1, 12, 4), **given)
    assert held_out <= counts[3] + 1


def test_options_of_a_selection_add_no_checks(count: Count) -> None:
    given = {"method": "eliminate", "kernel": Gaussian(2.0), "nus": [1e-2, 1e-4], "cv": 3}
    usual = count(select, X, Y, **given)
    assert count(select, X, Y, widths=[0.5, 1.0, 2.0], **given) == usual
    assert count(select, X, Y, width_per_input=True, **given) == usual
    assert count(select, X, Y, value_points=8, **given) == usual
    assert count(select, X, Y, groups=["a", "a", "b", "b"], **given) == usual
    assert count(select, X, Y, standardize=False, **given) == usual
