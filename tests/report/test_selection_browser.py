"""The page of a selection in a real browser, wide and narrow, light and dark."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser_problems import Page
from report_problems import HOSTILE

import nvsd

NAMES = ["age", "pressure", "weight", *(name for name in HOSTILE if "\ud800" not in name)]


@cache
def found(kind: str) -> nvsd.Selection:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((120, len(NAMES))), columns=NAMES)
    y = np.sin(2 * X["age"]) + X["pressure"] * X["weight"] + 0.2 * rng.standard_normal(120)
    if kind == "classes":
        return nvsd.select(X, np.where(y > 0, "<b>up</b>", "down"))
    if kind == "three":
        return nvsd.select(X, np.digitize(y, [-1, 1]), loss="logistic")
    if kind == "none":
        return nvsd.select(X.iloc[:, :4], rng.standard_normal(120))
    if kind == "groups":
        labels = [f"group {a // 2} {'long ' * 20}" for a in range(len(NAMES))]
        return nvsd.select(X, y, groups=labels)
    if kind == "table":
        X["colour"] = rng.choice(["<b>red</b>", "a very long name of a level", "", "x"], 120)
        X["yes"] = rng.random(120) < 0.5
        y = y + 2.0 * (X["colour"] == "x") + X["yes"]
        X.loc[::7, "age"], X.loc[3::11, "colour"] = None, None
        return nvsd.select(X, y, missing="impute", keep=["age", "colour", "yes"])
    if kind == "pool":
        return nvsd.select(X.iloc[:, :5], y, method="eliminate")
    return nvsd.select(X, y)


@pytest.mark.parametrize("kind", ["squares", "classes", "three", "none", "groups", "pool", "table"])
def test_no_width_scrolls_sideways_and_nothing_complains(
    kind: str, page: Page, tmp_path: Path
) -> None:
    selection = found(kind)
    page.open(selection.report(tmp_path / "s.html", target="<i>y", title="</title><i>t"))
    assert page.driver.title == "</title><i>t"
    assert page.text("h1") == "Which inputs does <i>y depend on?"
    for width in (390, 1280):
        for scheme in ("light", "dark"):
            page.resize(width, scheme)
            assert page.run("return document.documentElement.scrollWidth") <= width
    hidden = (
        "return [...document.querySelectorAll('main > section')].filter((s) => s.hidden).length"
    )
    nothing = not selection.support.any()
    assert page.run(hidden) == 2 * nothing + 3 * (not hasattr(selection, "classes"))
    assert page.run("return document.querySelectorAll('h1 *, main img, tbody script').length") == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_levels_and_missing_values_are_drawn(width: int, page: Page, tmp_path: Path) -> None:
    selection = found("table")
    page.open(selection.report(tmp_path / "s.html"))
    page.resize(width)
    texts = page.run(
        "return [...document.querySelectorAll('#curves-charts figure')].map((f) => [f.title,"
        "[...f.querySelectorAll('text')].map((t) => t.textContent),"
        "f.querySelectorAll('circle').length])"
    )
    shown = {title: (written, points) for title, written, points in texts}
    assert set(shown) == set(selection.selected)
    assert "missing" in shown["age"][0]
    assert shown["age"][1] == 1
    assert shown["yes"] == (shown["yes"][0], 2)
    assert {"False", "True"} <= set(shown["yes"][0])
    assert shown["colour"][1] == 5
    # Nothing is cut off at the sides or below.
    outside = page.run(
        "return [...document.querySelectorAll('#curves-charts svg')].filter((svg) => {"
        "const box = svg.getBoundingClientRect();"
        "return [...svg.querySelectorAll('text')].some((t) => {"
        "const b = t.getBoundingClientRect();"
        "return b.left < box.left - 3 || b.right > box.right + 3 ||"
        " b.bottom > box.bottom + 3;"
        "});"
        "}).length"
    )
    assert outside == 0


def test_errors_keep_their_zeros(page: Page, tmp_path: Path) -> None:
    """0.200 ± 0.024, not 0.2 ± 0.024."""
    history = found("pool").history.copy(deep=True)
    history["error"][history.attrs["chosen"]] = 0.2
    selection = replace(found("pool"), history=history)
    page.open(selection.report(tmp_path / "s.html"))
    assert "0.200\u00a0±\u00a0" in page.text("#facts")


def test_it_shows_what_the_selection_holds(page: Page, tmp_path: Path) -> None:
    selection = found("squares")
    page.open(selection.report(tmp_path / "s.html"))
    page.resize(1280)
    shown = page.run("return [...document.querySelectorAll('#answer b')].map((b) => b.title)")
    assert shown == [name for name in selection.ranking.index if name in selection.selected]
    assert f"{selection.score:.3g}" in page.text("#facts")
    rows = page.run("return [...document.querySelectorAll('#ranking-list li')].map((r) => r.title)")
    assert len(rows) == len(NAMES)
    tests = page.run(
        "return [...document.querySelectorAll('#tests-table tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    assert len(tests) == 12  # and a sentence about the others
    assert "The other 1 have larger p-values" in page.text("#tests-caption")
    p = selection.p_values
    for name, _, _, shown_p, _ in tests[:3]:
        assert shown_p == ("< 0.001" if p[name] < 1e-3 else f"{p[name]:.2g}")
    curves = page.run("return document.querySelectorAll('#curves-charts figure').length")
    assert curves == len(selection.selected)
    pairs = selection.interactions()
    first = page.text("#pairs-list li span")
    assert first == " × ".join(pairs["pair"][0])
    assert page.run("return document.querySelectorAll('#surfaces figure').length") == min(
        4, int((pairs["share"] >= 0.01).sum())
    )
    page.press("#find", "pressure")
    table = "return [...document.querySelectorAll('#inputs tbody th')].map((c) => c.textContent)"
    assert page.run(table) == ["pressure"]


def test_classes_have_their_pictures(page: Page, tmp_path: Path) -> None:
    selection = found("classes")
    page.open(selection.report(tmp_path / "s.html"))
    page.resize(1280)
    auc = selection.quality["auc"]
    assert f"AUC {auc:.3f}" in page.text("#roc-caption")
    counts = page.run(
        "return [...document.querySelectorAll('#confusion-table td')]"
        ".map((cell) => Number(cell.firstChild.textContent))"
    )
    predicted = selection.held_out_probability.argmax(axis=1)
    expected = [
        int(((selection.held_out_class == i) & (predicted == j)).sum())
        for i in range(2)
        for j in range(2)
    ]
    assert counts == expected
    assert page.run("return document.querySelectorAll('#calibration-chart circle').length") == 10
