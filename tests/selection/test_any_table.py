"""Any small table gives a selection, or one sentence that says why not."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nvsd
from nvsd.selection import Selection

SETTINGS = settings(
    derandomize=True,
    deadline=None,
    max_examples=int(os.environ.get("ATTACK_CASES", "15")),
    suppress_health_check=list(HealthCheck),
)
NAMES = st.one_of(st.text(max_size=4), st.integers(0, 3), st.just("x0"), st.booleans())


@st.composite
def columns(draw: Any, n: int) -> Any:
    """A column of some type, perhaps with gaps."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    kinds = {
        "float": lambda: rng.standard_normal(n) * draw(st.sampled_from([1e-8, 1.0, 1e8])),
        "integer": lambda: rng.integers(0, 5, n),
        "nullable": lambda: pd.array(rng.integers(0, 5, n), dtype="Int64"),
        "boolean": lambda: rng.random(n) < 0.5,
        "text": lambda: rng.choice(["a", "b", "c c", "", "nan"], n),
        "category": lambda: pd.Categorical(rng.choice(["u", "v", "w"], n)),
        "ordered": lambda: pd.Categorical(rng.choice(["u", "v"], n), ["v", "u"], ordered=True),
        "levels of numbers": lambda: pd.Categorical(rng.integers(0, 3, n)),
        "objects": lambda: np.array(rng.choice([1, 2.5, 3], n), dtype=object),
        "mixed": lambda: np.array(rng.choice([1, "b"], n), dtype=object),
        "dates": lambda: pd.date_range("2020", periods=n),
        "constant": lambda: np.ones(n),
        "infinite": lambda: np.where(rng.random(n) < 0.3, np.inf, 1.0),
        "lists": lambda: [[1]] * n,
    }
    likely = ["float"] * 4 + ["integer", "text", "category"] * 2
    kind = draw(st.sampled_from([*likely, *kinds]))
    series = pd.Series(kinds[kind]())
    if draw(st.integers(0, 3)) == 0:
        series = series.mask(rng.random(n) < draw(st.sampled_from([0.1, 0.5, 1.0])))
    return series


@st.composite
def tables(draw: Any) -> tuple[pd.DataFrame, Any]:
    n, d = draw(st.integers(4, 16)), draw(st.integers(1, 4))
    frame = pd.concat([draw(columns(n)) for _ in range(d)], axis=1)
    unique = draw(st.integers(0, 4)) > 0
    frame.columns = draw(st.lists(NAMES, min_size=d, max_size=d, unique_by=str if unique else None))
    frame.index = draw(
        st.sampled_from([range(n), range(n, 0, -1), [0] * n, list("abcdefghijklmnop"[:n])])
    )
    rng = np.random.default_rng(n)
    y = draw(st.sampled_from(["numbers", "whole", "constant", "series", "other series"]))
    values = {"whole": rng.integers(0, 3, n), "constant": np.ones(n)}.get(y, rng.standard_normal(n))
    if "series" in y:
        values = pd.Series(values, frame.index if y == "series" else range(5, n + 5))
    return frame, values


@SETTINGS
@given(tables(), st.sampled_from(["error", "drop", "impute"]))
def test_any_table_has_an_answer(problem: tuple[pd.DataFrame, Any], missing: str) -> None:
    frame, y = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nvsd.selection.DataWarning)
        try:
            found: Any = nvsd.select(frame, y, cv=2, missing=missing)
        except ValueError as error:
            found = str(error)
    if isinstance(found, str):
        assert "\n" not in found
        assert found.endswith(".")
        assert ";" in found
        return
    assert isinstance(found, Selection)
    assert found.features == tuple(map(str, frame.columns))
    assert found.support.shape == found.strength.shape == (frame.shape[1],)
    assert set(found.order) == set(range(frame.shape[1]))
    if missing == "impute" or not frame.isna().any(axis=None):
        assert np.isfinite(found.predict(frame)).all()


def said(call: Any) -> Any:
    """What a call returns, or the sentence that it refuses with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except (ValueError, TypeError) as error:
            text = str(error)
            assert "\n" not in text, text
            assert text.endswith("."), text
            return None


@SETTINGS
@given(tables(), st.sampled_from(["error", "drop", "impute"]))
def test_any_table_is_tested_or_refused(problem: tuple[pd.DataFrame, Any], missing: str) -> None:
    frame, y = problem
    found = said(lambda: nvsd.significance(frame, y, cv=2, missing=missing))
    if found is not None:
        assert list(found.feature.values) == list(map(str, frame.columns))
        assert ((found.p_value >= 0) & (found.p_value <= 1)).all()


@SETTINGS
@given(tables(), st.booleans())
def test_any_table_has_a_path_or_is_refused(
    problem: tuple[pd.DataFrame, Any], standardize: bool
) -> None:
    frame, y = problem
    found = said(lambda: nvsd.nvsd_path(frame, y, n_taus=3, standardize=standardize))
    if found is not None:
        assert list(found.feature.values) == list(map(str, frame.columns))
        assert np.isfinite(found.nvsd.predict(frame)).all()


@SETTINGS
@given(tables(), st.sampled_from(["eliminate", "rank", "support"]), st.booleans())
def test_any_table_goes_through_other_methods_or_is_refused(
    problem: tuple[pd.DataFrame, Any], method: str, drop: bool
) -> None:
    frame, y = problem
    missing = "drop" if drop else "error"
    given = {"n_taus": 3} if method != "eliminate" else {}
    found = said(lambda: nvsd.select(frame, y, cv=2, method=method, missing=missing, **given))
    if found is not None:
        assert found.features == tuple(map(str, frame.columns))
        assert set(found.order) == set(range(frame.shape[1]))
        if not frame.isna().any(axis=None):
            assert np.isfinite(found.predict(frame)).all()


@settings(SETTINGS, max_examples=SETTINGS.max_examples // 3)
@given(tables(), st.sampled_from(["drop", "impute"]))
def test_any_table_is_saved_and_drawn(problem: tuple[pd.DataFrame, Any], missing: str) -> None:
    import tempfile
    from pathlib import Path

    frame, y = problem
    found = said(lambda: nvsd.select(frame, y, cv=2, missing=missing))
    if found is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.nc"
        found.save(file)
        again = nvsd.load_selection(file)
        assert again.features == found.features
        assert again.selected == found.selected
        whole = frame if missing == "impute" else frame.dropna()
        if len(whole):
            np.testing.assert_array_equal(again.predict(whole), found.predict(whole))
        page = again.report(Path(folder) / "page.html")
        assert page.stat().st_size > 10_000
    assert found._repr_html_() == again._repr_html_()


@settings(SETTINGS, max_examples=2)
@given(st.permutations(range(4)), st.integers(0, 9))
def test_order_of_columns_and_units_of_y_do_not_matter(order: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=["a", "b", "c"])
    frame["d"] = rng.choice(["u", "v", "w"], n)
    y = 2 * frame["a"] + 3.0 * (frame["d"] == "u") + 0.1 * rng.standard_normal(n)
    plain = nvsd.select(frame, y, cv=3)
    other = nvsd.select(frame.iloc[:, order], 1e6 * y, cv=3)
    assert set(other.selected) == set(plain.selected)
    assert {"a", "d"} <= set(plain.selected)
