"""A selection goes through a file unchanged; other files are refused in one sentence."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import nvsd
from nvsd.files import write_dataset
from nvsd.kernels import Polynomial
from nvsd.selection.classes import ClassSelection

N, D = 90, 5
LABELS = ["a", "b", "c", "d", "e"]


def problem() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, D))
    y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(N)
    return pd.DataFrame(X, columns=LABELS), y


def several(y: np.ndarray) -> np.ndarray:
    return np.array(["low", "middle", "high"])[np.digitize(y, [-1, 1])]


KINDS: dict[str, Any] = {
    "squares": lambda X, y: nvsd.select(X, y),
    "tests": lambda X, y: nvsd.select(X, y, p_values=True),
    "groups": lambda X, y: nvsd.select(X, y, groups=["u", "u", "v", "v", "w"]),
    "huber": lambda X, y: nvsd.select(X, y, loss="huber"),
    "quantile": lambda X, y: nvsd.select(X, y, loss="quantile"),
    "two classes": lambda X, y: nvsd.select(X, y > 0),
    "three classes": lambda X, y: nvsd.select(X, several(y)),
    "numbered classes": lambda X, y: nvsd.select(X, (y > 0) * 3, loss="logistic"),
    "noise": lambda X, y: nvsd.select(X, np.random.default_rng(5).standard_normal(N)),
    "noisy classes": lambda X, y: nvsd.select(X, np.arange(N) % 3 == 0),
    "all predict": lambda X, y: nvsd.select(X, y, k=1),
    "pool": lambda X, y: nvsd.select(X, y, method="pool"),
    "eliminate": lambda X, y: nvsd.select(X, y, method="eliminate", kernel=Polynomial(2)),
    "support": lambda X, y: nvsd.select(X, y, method="support", n_taus=8),
    "stability": lambda X, y: nvsd.select(X, y, method="stability", n_pairs=2),
    "sections": lambda X, y: nvsd.select(X, y, method="reweight", value_points=40),
}


@cache
def selection(kind: str) -> nvsd.Selection:
    return KINDS[kind](*problem())


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_selection_is_the_same(kind: str, tmp_path: Path) -> None:
    X, _ = problem()
    found = selection(kind)
    file = tmp_path / "selection.nc"
    found.save(file)
    again = nvsd.load_selection(file)
    assert type(again) is type(found)
    assert again.selected == found.selected
    assert again.features == found.features
    assert again.groups == found.groups
    assert again.score == found.score
    assert again.predicts_with == found.predicts_with
    np.testing.assert_array_equal(again.order, found.order)
    pd.testing.assert_series_equal(again.ranking, found.ranking)
    assert again.history.identical(found.history)
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    np.testing.assert_array_equal(again.refit.predict(X), found.refit.predict(X))
    if not isinstance(found, ClassSelection):
        np.testing.assert_array_equal(again.refit.gradient(X), found.refit.gradient(X))
    pd.testing.assert_frame_equal(again.interactions(), found.interactions())
    assert repr(again.refit) == repr(found.refit)
    if isinstance(found, ClassSelection):
        assert isinstance(again, ClassSelection)
        np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))
        np.testing.assert_array_equal(again.held_out_class, found.held_out_class)
        assert again.held_out == found.held_out
        assert again.classes.dtype == found.classes.dtype
    if found.tests is not None:
        pd.testing.assert_series_equal(again.p_values, found.p_values)
        assert again.summary() == found.summary()
    # What was saved once is saved again in the same way.
    again.save(tmp_path / "again.nc")
    twice = nvsd.load_selection(tmp_path / "again.nc")
    np.testing.assert_array_equal(twice.predict(X), found.predict(X))


def test_kinds_cover_what_they_should() -> None:
    """Otherwise the cases above would say less than they seem to."""
    assert not selection("noise").support.any()
    assert selection("all predict").predictor is not selection("all predict").refit


def test_a_fit_to_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nvsd.engine.refits.MANY_ROWS", N - 1)
    monkeypatch.setattr("nvsd.engine.refits.SECTIONS", 30)
    X, y = problem()
    found = nvsd.select(X, y)
    assert len(found.refit.fit.X) == 30
    found.save(tmp_path / "s.nc")
    again = nvsd.load_selection(tmp_path / "s.nc")
    np.testing.assert_array_equal(again.predict(X), found.predict(X))


def test_tests_are_saved_if_they_were_made_or_asked_for(tmp_path: Path) -> None:
    found = KINDS["squares"](*problem())  # one of its own: the tests stay with it
    found.save(tmp_path / "without.nc")
    assert found.tests is None  # saving has not made them
    without = nvsd.load_selection(tmp_path / "without.nc")
    with pytest.raises(ValueError, match=r"^the selection was saved without tests; save it with"):
        without.p_values  # noqa: B018
    assert "p_value" not in without.table()
    found.save(tmp_path / "with.nc", p_values=True)
    pd.testing.assert_series_equal(
        nvsd.load_selection(tmp_path / "with.nc").p_values, found.p_values
    )


def one_sentence(file: Path) -> str:
    with pytest.raises(ValueError, match=r"^[^\n]*\.$") as caught:
        nvsd.load_selection(file)
    return str(caught.value)


def test_other_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    found = selection("eliminate")
    good = tmp_path / "good.nc"
    found.save(good)
    content = good.read_bytes()
    bad = tmp_path / "bad.nc"
    assert "does not exist" in one_sentence(bad)
    bad.write_text("no netCDF")
    assert "cannot be read as netCDF" in one_sentence(bad)
    bad.write_bytes(content[: len(content) // 2])
    one_sentence(bad)
    write_dataset(bad, found.history)
    assert "is not a selection" in one_sentence(bad)
    with pytest.raises(ValueError, match="it holds a whole selection"):
        nvsd.files.read_path(good)


@pytest.mark.parametrize("part", ["inputs", "history", "refit"])
def test_a_file_without_a_part_is_damaged(part: str, tmp_path: Path) -> None:
    tree = selection("eliminate")._stored().tree()
    del tree[part]
    write_dataset(tmp_path / "bad.nc", tree)
    assert one_sentence(tmp_path / "bad.nc") == "bad.nc is a damaged selection; save it again."


@pytest.mark.parametrize("name", ["alpha", "points", "all_scale", "ridge_nu"])
def test_numbers_that_are_not_finite_are_damage(name: str, tmp_path: Path) -> None:
    tree = selection("eliminate")._stored().tree()
    tree["refit"][name] = tree["refit"][name] * np.nan
    write_dataset(tmp_path / "bad.nc", tree)
    assert "damaged" in one_sentence(tmp_path / "bad.nc")


def test_flipped_bytes_never_do_more_than_refuse(tmp_path: Path) -> None:
    file = tmp_path / "s.nc"
    selection("eliminate").save(file)
    content, rng = file.read_bytes(), np.random.default_rng(0)
    for _ in range(30):
        changed = bytearray(content)
        for place in rng.integers(len(content), size=20):
            changed[place] = rng.integers(256)
        file.write_bytes(bytes(changed))
        with suppress(ValueError):  # anything else fails the test
            nvsd.load_selection(file)
