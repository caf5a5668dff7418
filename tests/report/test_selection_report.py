"""The numbers behind the page of a selection, against scikit-learn and brute force."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report_problems import Parsed, content
from sklearn.calibration import calibration_curve
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve

import nvsd
from nvsd.report import selection_html
from nvsd.report.curves import LEVELS, SPREAD, SURFACE_ROWS, samples
from nvsd.report.probabilities import area, calibration, confusion, roc
from nvsd.selection.classes import ClassSelection

NAMES = ["a", "b", "c", "d", "e"]


@cache
def found(kind: str) -> tuple[nvsd.Selection, pd.DataFrame]:
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.standard_normal((90, 5)), columns=NAMES)
    y = X["a"] + X["b"] * X["c"] + 0.3 * rng.standard_normal(90)
    if kind == "three":
        return nvsd.select(X, np.array(["u", "v", "w"])[np.digitize(y, [-1, 1])]), X
    return nvsd.select(X, y), X


def test_roc_curves_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    for ties in (False, True):
        positive = rng.random(200) < 0.4
        p = np.clip(0.3 * positive + 0.7 * rng.random(200), 0, 1)
        p = np.round(p, 1) if ties else p
        fpr, tpr = roc(p, positive)
        other_fpr, other_tpr, _ = roc_curve(positive, p, drop_intermediate=False)
        np.testing.assert_allclose(fpr, other_fpr)
        np.testing.assert_allclose(tpr, other_tpr)
        assert area(fpr, tpr) == pytest.approx(roc_auc_score(positive, p))


def test_calibration_and_confusion_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(200)
    positive = rng.random(200) < p
    mean, share, se = calibration(p, positive)
    expected_share, expected_mean = calibration_curve(positive, p, n_bins=10, strategy="quantile")
    np.testing.assert_allclose(mean, expected_mean)
    np.testing.assert_allclose(share, expected_share)
    np.testing.assert_allclose(se, np.sqrt(share * (1 - share) / 20))
    P, codes = rng.dirichlet(np.ones(3), 50), rng.integers(3, size=50)
    np.testing.assert_array_equal(confusion(P, codes), confusion_matrix(codes, P.argmax(axis=1)))


def test_held_out_probabilities_belong_to_their_classes() -> None:
    selection, _ = found("three")
    assert isinstance(selection, ClassSelection)
    P, codes = selection.held_out_probability, selection.held_out_class
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert -np.mean(np.log(P[np.arange(90), codes])) == pytest.approx(selection.score)
    shown = content(selection_html(selection))["classes"]
    assert shown["labels"] == ["u", "v", "w"]
    assert [curve["auc"] for curve in shown["curves"]] == pytest.approx(
        [roc_auc_score(codes == k, P[:, k]) for k in range(3)], abs=1e-4
    )


def test_curves_are_means_and_quantiles_of_predictions() -> None:
    selection, X = found("squares")
    curves = content(selection_html(selection))["curves"]
    points = samples(selection.refit) * selection.refit.x_scale + selection.refit.x_mean
    np.testing.assert_allclose(points[:, selection.support], X.loc[:, selection.support])
    rows = points[np.linspace(0, 89, curves["rows"]).astype(int)]
    for k, a in enumerate(curves["inputs"]):
        for i in (0, 7, 24):
            changed = rows.copy()
            share = i / 24
            low, high = np.quantile(points[:, a], [0.01, 0.99])
            changed[:, a] = (1 - share) * low + share * high
            f = selection.refit.predict(changed)
            assert curves["mean"][k][0][i] == pytest.approx(f.mean(), rel=1e-3, abs=1e-3)
            bounds = [curves["band"][k][side][i] for side in (0, 1)]
            np.testing.assert_allclose(bounds, np.quantile(f, SPREAD), rtol=1e-3, atol=1e-3)


@cache
def of_table() -> tuple[nvsd.Selection, pd.DataFrame]:
    """Effects of a category, a boolean and a number, of which two have missing values."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue", "grey"], 120),
            "yes": rng.random(120) < 0.5,
            "size": rng.normal(1e5, 2e4, 120),
            "noise": rng.standard_normal(120),
        }
    )
    y = 2.0 * (X["colour"] == "red") + X["yes"] + (X["size"] / 2e4 - 5) ** 2
    X.loc[::9, "size"] = np.nan
    X.loc[::13, "colour"] = None
    return nvsd.select(X, y + 0.1 * rng.standard_normal(120), missing="impute"), X


def test_curves_of_categories_and_imputed_columns_are_means_of_predictions() -> None:
    selection, X = of_table()
    assert {"colour", "yes", "size"} <= set(selection.selected)
    curves = content(selection_html(selection))["curves"]
    rows = X.iloc[np.linspace(0, 119, curves["rows"]).astype(int)]
    shown = dict(zip(curves["inputs"], range(len(curves["inputs"])), strict=True))
    levels = {"colour": ["blue", "green", "grey", "red", None], "yes": [False, True]}
    for name, values in levels.items():
        k = shown[selection.features.index(name)]
        assert curves["low"][k] is None
        texts = ["missing" if value is None else str(value) for value in values]
        assert curves["levels"][k] == texts
        assert curves["missing"][k] == (None in values)
        for i, value in enumerate(values):
            f = selection.refit.predict(rows.assign(**{name: value}))
            assert curves["mean"][k][0][i] == pytest.approx(f.mean(), rel=1e-3, abs=1e-3)
            bounds = [curves["band"][k][side][i] for side in (0, 1)]
            np.testing.assert_allclose(bounds, np.quantile(f, SPREAD), rtol=1e-3, atol=1e-3)
    k = shown[selection.features.index("size")]
    assert curves["levels"][k] is None
    assert curves["missing"][k]
    assert len(curves["mean"][k][0]) == 26
    low, high = np.nanquantile(X["size"], [0.01, 0.99])
    assert [curves["low"][k], curves["high"][k]] == pytest.approx([low, high], rel=1e-3)
    for i, value in ((0, low), (24, high), (25, np.nan)):
        f = selection.refit.predict(rows.assign(size=value))
        assert curves["mean"][k][0][i] == pytest.approx(f.mean(), rel=1e-3, abs=1e-3)


def test_of_many_levels_the_most_common_are_drawn() -> None:
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.geometric(0.07, 300), 30)
    X = pd.DataFrame({"a": [f"level {code}" for code in codes], "b": rng.standard_normal(300)})
    selection = nvsd.select(X, (codes % 3) + 0.1 * rng.standard_normal(300), keep=["a"])
    curves = content(selection_html(selection))["curves"]
    k = curves["inputs"].index(0)
    assert len(curves["levels"][k]) == len(curves["mean"][k][0]) == LEVELS
    counts = X["a"].value_counts()
    assert curves["leftOut"][k] == len(counts) - LEVELS
    left = counts[~counts.index.isin(curves["levels"][k])]
    assert counts[curves["levels"][k]].min() >= left.max()


def test_surfaces_are_means_of_predictions() -> None:
    selection, _ = found("squares")
    (first, *_) = content(selection_html(selection))["surfaces"]
    a, b = first["inputs"]
    assert {NAMES[a], NAMES[b]} == {"b", "c"}
    points = samples(selection.refit) * selection.refit.x_scale + selection.refit.x_mean
    rows = points[np.linspace(0, 89, SURFACE_ROWS).astype(int)]
    low, high = first["range"]
    for i, j in ((0, 0), (0, 15), (15, 0), (6, 11)):
        changed = rows.copy()
        changed[:, a] = first["x"][0] + (first["x"][1] - first["x"][0]) * j / 15
        changed[:, b] = first["y"][0] + (first["y"][1] - first["y"][0]) * i / 15
        level = low + (high - low) * first["levels"][i][j] / 999
        assert selection.refit.predict(changed).mean() == pytest.approx(level, abs=0.01)


def test_what_was_nearly_selected_is_next_in_the_ranking() -> None:
    selection, _ = found("squares")
    near = content(selection_html(selection))["near"]
    left = [name for name in selection.ranking.index if name not in selection.selected]
    named = [NAMES[each["input"]] for each in near]
    assert named == [name for name in left if selection.ranking[name] > 0][:5]
    history = selection.history
    for each in near:
        if each["error"] is not None:
            same = history["n_selected"].values == each["size"]
            assert each["error"] == pytest.approx(float(history["error"].values[same][0]), rel=1e-3)


def test_tests_are_made_unless_they_are_not_wanted(tmp_path: Path) -> None:
    _, X = found("squares")
    again = nvsd.select(X, X["a"], k=1)
    again.report(tmp_path / "without.html", p_values=False)
    assert again.tests is None
    assert content((tmp_path / "without.html").read_text())["tests"] is None
    again.report(tmp_path / "with.html")
    tests = content((tmp_path / "with.html").read_text())["tests"]
    p = dict(zip(tests["names"], tests["p"], strict=True))
    for name, value in again.p_values.items():
        assert p[name] == pytest.approx(value, rel=5e-3)
    assert tests["p"] == sorted(tests["p"])


def test_a_loaded_selection_has_the_same_page(tmp_path: Path) -> None:
    for kind in ("squares", "three"):
        selection, _ = found(kind)
        selection.save(tmp_path / "s.nc", p_values=True)
        again = nvsd.load_selection(tmp_path / "s.nc")
        assert selection_html(again) == selection_html(selection)


def test_nothing_is_loaded_from_elsewhere() -> None:
    text = selection_html(found("squares")[0])
    for _, attributes in Parsed(text).tags:
        for name in ("src", "href", "action", "data", "srcset"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))
    assert text.count("<script") == 2
