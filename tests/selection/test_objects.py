"""Objects as people see them: short text, HTML for notebooks, a summary of 80 columns."""

from __future__ import annotations

import ast
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from report_problems import HOSTILE

import nvsd
from nvsd.kernels import Anova, Gaussian, Kernel, Linear
from nvsd.losses import Huber, Logistic
from nvsd.penalties import GroupLasso, Lasso
from nvsd.report.selection import selection_content
from nvsd.results.facts import reason_of
from nvsd.results.screen import _width
from nvsd.ridge.dense import fit_ridge
from nvsd.selection.effects import effects_of, interactions_of
from nvsd.selection.inputs import Inputs
from nvsd.selection.refits import Refit

N = 80
NAMES = ["age", "blood pressure", "x" * 200, "年齢年齢年齢年齢年齢年齢年齢年齢年齢年齢年齢", "e"]


@cache
def found(kind: str) -> nvsd.Selection:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((N, 5)), columns=NAMES)
    y = X["age"] + X["age"] * X["e"] + 0.1 * rng.standard_normal(N)
    groups = ["u", "u", "v", "v", "年" * 60]
    match kind:
        case "classes":
            return nvsd.select(X, y > 0)
        case "groups":
            return nvsd.select(X, y, groups=groups, p_values=True)
        case "eliminate":
            return nvsd.select(X, y, method="eliminate")
        case "none":
            return nvsd.select(X, rng.standard_normal(N))
        case "copies":
            again = X["age"] + 1e-3 * rng.standard_normal(N)
            return nvsd.select(X.assign(again=again), y, p_values=True)
    return nvsd.select(X, y)


KINDS = ["squares", "classes", "groups", "eliminate", "none", "copies"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_is_short_and_says_what_was_selected(kind: str) -> None:
    selection = found(kind)
    text = repr(selection)
    assert len(text.splitlines()) <= 6
    assert f"{len(selection.selected)} of {len(selection.features)} inputs" in text
    assert f"{selection.score:.4g}" in text
    assert ("age" in text) == ("age" in selection.selected)
    for refit in (selection.refit, selection.predictor):
        assert len(repr(refit).splitlines()) == 2
        assert len(repr(refit)) < 600
        assert ("age" in repr(refit)) == ("age" in refit.uses)


@pytest.mark.parametrize("kind", KINDS)
def test_the_summary_fits_the_screen_and_has_the_numbers(kind: str) -> None:
    selection = found(kind)
    text = selection.summary()
    lines = text.splitlines()
    assert max(map(_width, lines)) <= 80
    words = " ".join(text.split()).lower()
    assert reason_of(selection.history).lower() in words
    assert selection.predicts_with in words
    error, size = selection.history["error"].values, selection.history["n_selected"].values
    for number in (selection.score, error.min(), error[size == 0].min()):
        assert f"{number:.4g}" in text
    assert f"explained{1 - selection.score / error[size == 0].min():.0%}" in words.replace(" ", "")
    rows = [line.split() for line in lines if line.startswith("age")]
    assert [row[0] for row in rows] == ["age"]
    strength = selection.ranking["age"]
    assert f"{float(f'{strength:.3g}'):.4g}" in rows[0]
    assert ("q value" in text) == (selection.tests is not None)


def test_near_copies_are_named() -> None:
    text = " ".join(found("copies").summary().split())
    assert "Near copies, tested together: age, again." in text


def test_nothing_starts_the_tests() -> None:
    selection = found("squares")
    repr(selection), selection.summary(), selection._repr_html_()
    assert selection.tests is None
    assert "p value" not in selection.summary()


class Balanced(HTMLParser):
    """Text and tags; every tag that is opened is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.texts: list[str] = []
        self.bars: list[float] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        style = dict(attrs).get("style") or ""
        if tag == "span":
            self.bars.append(float(style.split("width:")[1].split("%")[0]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("kind", KINDS)
def test_html_for_notebooks(kind: str) -> None:
    selection = found(kind)
    page = Balanced(selection._repr_html_())
    assert not page.seen & {"script", "style", "img", "link"}
    text = "".join(page.texts)
    assert f"{selection.score:.4g}" in text
    assert selection.predicts_with in text
    assert ("age" in text) or "age" not in selection.selected
    assert max(page.bars) == pytest.approx(100)
    strengths = selection.strength / selection.strength.max()
    np.testing.assert_allclose(np.sort(page.bars), np.sort(100 * strengths), atol=0.06)
    Balanced(selection.refit._repr_html_())


def test_names_are_text_and_never_markup() -> None:
    rng = np.random.default_rng(0)
    names = [name for name in HOSTILE if "\ud800" not in name]
    X = pd.DataFrame(rng.standard_normal((60, len(names))), columns=names)
    selection = nvsd.select(X, X[names[0]] + 0.1 * rng.standard_normal(60))
    page = Balanced(selection._repr_html_() + selection.refit._repr_html_())
    assert page.seen <= {"div", "strong", "table", "tr", "th", "td", "span", "code"}
    assert any("<script>alert(1)</script>" in text for text in page.texts)
    assert max(map(_width, selection.summary().splitlines())) <= 80
    assert len(repr(selection).splitlines()) == 4


def test_kernels_penalties_and_losses_are_short() -> None:
    assert repr(Gaussian(width=2.0)) == "Gaussian(width=2.0)"
    assert repr(0.5 * Gaussian(1.0) + Linear()) == "0.5 * Gaussian(width=1.0) + Linear()"
    assert repr(2.0 * (Gaussian(1.0) + Linear())) == "2 * (Gaussian(width=1.0) + Linear())"
    assert repr(Anova()) == "Anova(base=Gaussian(width=1.0), order=2)"
    assert repr(Lasso()) == "Lasso()"
    assert repr(Huber()) == "Huber()"
    assert repr(Logistic()) == "Logistic()"
    long = [
        Anova(weights=np.linspace(0, 1, 500)),
        Gaussian(np.linspace(1, 2, 500)),
        GroupLasso([f"group {a // 3}" for a in range(500)]),
        GroupLasso({f"group {g}": list(range(3 * g, 3 * g + 3)) for g in range(150)}),
    ]
    for each in long:
        assert len(repr(each)) < 120
        assert "in all" in repr(each)


@pytest.mark.parametrize("kernel", [Gaussian((1.0, 2.0)), 0.5 * Gaussian(1.0) + Linear()], ids=repr)
def test_short_text_is_still_python(kernel: Kernel) -> None:
    again = eval(compile(ast.parse(repr(kernel), mode="eval"), "", "eval"))
    assert again == kernel


def test_prepared_is_short() -> None:
    X = np.random.default_rng(0).standard_normal((30, 4))
    text = repr(nvsd.prepare(X, kernel=Gaussian(2.0), nu=0.01))
    assert len(text.splitlines()) == 2
    for part in ("30 rows, 4 inputs", "Gaussian(width=2.0)", "nu=0.01", "'derivative'"):
        assert part in text


def test_estimators_have_scikit_learns_diagram() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    model = nvsd.SelectiveRegressor(k=1, groups=["a", "b", "c"])
    for each in (model, model.fit(X, X[:, 0])):
        assert "SelectiveRegressor" in each._repr_html_()
        assert "SelectiveRegressor" in repr(each)


def test_tables_of_effects_and_interactions() -> None:
    selection = found("squares")
    effects, pairs = selection.effects(), selection.interactions()
    s = len(selection.selected)
    assert sorted(effects["feature"]) == sorted(selection.selected)
    assert len(pairs) == s * (s - 1) // 2
    assert (np.diff(pairs["share"]) <= 0).all()
    assert set(pairs["pair"][0]) == {"age", "e"}
    assert pairs["share"][0] > 0.2
    total = effects["share"].sum() + pairs["share"].sum()
    assert 0.95 < total <= 1 + 1e-9
    with_age = ["age" in pair for pair in pairs["pair"]]
    by_hand = pairs["share"][with_age].sum()
    assert effects.set_index("feature")["interactions"]["age"] == pytest.approx(by_hand)
    nothing = found("none")
    assert len(nothing.effects()) == len(nothing.interactions()) == 0
    assert list(nothing.interactions()) == ["pair", "share", "strength"]
    assert len(found("classes").effects()) == len(found("classes").selected)


def test_inputs_of_the_kernel_with_one_name_are_one_effect() -> None:
    """As the levels of a category are."""

    class Two(Refit):
        owner = np.array([0, 1, 1, 2])
        features = ("a", "b", "c")

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 0] * X[:, 2]
    fit = fit_ridge(X, y, Gaussian(2.0), 1e-4, np.array([True, True, True, False]))
    inputs = Inputs(("a", "b=1", "b=2", "c"), np.zeros(4), np.ones(4))
    each, both = Refit(fit, inputs), Two(fit, inputs)
    assert both.uses == ["a", "b"]
    one = effects_of(each).set_index("feature")["share"]
    two = effects_of(both).set_index("feature")["share"]
    pairs = interactions_of(each).set_index("pair")["share"]
    assert two["a"] == pytest.approx(one["a"])
    assert two["b"] == pytest.approx(one["b=1"] + one["b=2"] + pairs[("b=1", "b=2")])
    together = interactions_of(both)
    assert together["pair"].tolist() == [("a", "b")]
    assert together["share"][0] == pytest.approx(pairs[("a", "b=1")] + pairs[("a", "b=2")])


def test_y_is_called_as_its_column_is() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.standard_normal(60), "colour": rng.choice(list("rgb"), 60)})
    y = pd.Series(X["a"] + (X["colour"] == "r"), name="score")
    selection = nvsd.select(X, y, cv=3, p_values=True)
    assert selection_content(selection)["target"] == "score"
    text = " ".join(selection.summary().split())
    assert "whether score depends on it" in text
    assert "in units of score" in text
    assert "Not plain numbers: colour (category, with levels 'b', 'g', 'r')." in text
    unnamed = nvsd.select(X, y.to_numpy(), cv=3)
    assert "in units of y" in " ".join(unnamed.summary().split())
    assert "target" not in unnamed.history.attrs


def test_the_table_has_what_the_summary_shows() -> None:
    selection = found("squares")
    selection.p_values  # noqa: B018
    table = selection.table().set_index("feature")
    tests = selection.significance.to_dataframe()
    np.testing.assert_array_equal(table["strength"], selection.strength)
    np.testing.assert_array_equal(table["q_value"], tests["q_value"][table.index])
    assert "q_value" not in selection.table(p_values=False)
