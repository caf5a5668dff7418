"""Pictures of effects and interactions show the numbers of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import nvsd
from nvsd.plots import plot_effects, plot_interactions

NAMES = ["a", "b", "$c_1$", "a name that is far too long to be a label of any plot"]


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    plt.close("all")


@cache
def found(k: int | None = None, noise: bool = False) -> nvsd.Selection:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((80, 4)), columns=NAMES)
    y = X["a"] + X["b"] * X["$c_1$"] + 0.1 * rng.standard_normal(80)
    return nvsd.select(X, rng.standard_normal(80) if noise else y, k=k)


def test_effects_are_bars_of_shares() -> None:
    selection = found()
    ax = plot_effects(selection)
    effects = selection.effects()
    widths = [bar.get_width() for bar in ax.patches]
    n = len(effects)
    np.testing.assert_allclose(widths[:n], 100 * effects["share"])
    np.testing.assert_allclose(widths[n:], 100 * effects["interactions"])
    assert {text.get_text() for text in ax.get_yticklabels()} >= {"a", "b", r"\$c_1\$"}
    ax.figure.canvas.draw()
    assert len(plot_effects(selection, most=1).patches) == 2


def test_interactions_are_a_symmetric_matrix() -> None:
    selection = found(k=4)
    ax = plot_interactions(selection)
    shown = np.asarray(ax.images[0].get_array())
    np.testing.assert_array_equal(shown, shown.T)
    texts = [text.get_text() for text in ax.get_yticklabels()]
    i, j = texts.index("b"), texts.index(r"\$c_1\$")
    pairs = selection.interactions().set_index("pair")["share"]
    assert shown[i, j] == pytest.approx(100 * pairs[("b", "$c_1$")])
    total = np.trace(shown) + np.triu(shown, 1).sum()
    assert 95 < total <= 100 + 1e-6
    ax.figure.canvas.draw()
    assert plot_interactions(selection, most=2).images[0].get_array().shape == (2, 2)


def test_no_input_and_other_objects() -> None:
    nothing = found(noise=True)
    assert not nothing.support.any()
    for plot in (plot_effects, plot_interactions):
        assert plot(nothing).get_title() == "no input was selected"
        with pytest.raises(ValueError, match=r"dict has no effects to draw; give what nvsd.select"):
            plot({})


def test_estimators_and_given_axes() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    model = nvsd.SelectiveRegressor(k=2).fit(X, X[:, 0] * X[:, 1])
    _, axes = plt.subplots(1, 2)
    assert plot_effects(model, ax=axes[0]) is axes[0]
    assert plot_interactions(model, ax=axes[1]) is axes[1]
