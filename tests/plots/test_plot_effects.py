from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from plot_problems import draw, small_path

import nvsd
from nvsd import plots
from nvsd.plots import effects


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def sample() -> nvsd.datasets.Sample:
    return nvsd.datasets.make_e3(25, 0)


@pytest.fixture(scope="module")
def path(sample: nvsd.datasets.Sample) -> xr.Dataset:
    return small_path(sample)


def function() -> SimpleNamespace:
    """f = x0 x1 + x2², with its gradient, as a refit would offer it."""
    return SimpleNamespace(
        features=("x0", "x1", "x2"),
        predict=lambda X: X[:, 0] * X[:, 1] + X[:, 2] ** 2,
        gradient=lambda X: np.array([X[:, 1], X[:, 0], 2 * X[:, 2]]),
    )


# --- effects -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> tuple[nvsd.Selection, pd.DataFrame]:
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], 60),
            "yes": rng.random(60) < 0.5,
            "size": rng.normal(1e5, 2e4, 60),
        }
    )
    y = 2.0 * (X["colour"] == "red") + X["yes"] + (X["size"] / 2e4 - 5) ** 2
    X.loc[::9, "size"] = np.nan
    return nvsd.select(X, y, missing="impute", keep=list(X)), X


def marks(ax: Any) -> Any:
    """The heights of the points of an effect."""
    (found,) = [line for line in ax.lines if line.get_marker() == "o"]
    return found.get_ydata()


def test_levels_have_a_point_each(table: tuple[nvsd.Selection, pd.DataFrame]) -> None:
    selection, X = table
    for name, levels in (("colour", ["blue", "green", "red"]), ("yes", [False, True])):
        ax = plots.plot_effect(selection, X, name)
        assert [text.get_text() for text in ax.get_xticklabels()] == list(map(str, levels))
        assert len(ax.figure.axes) == 1  # a category has no derivative
        expected = [selection.refit.predict(X.assign(**{name: each})).mean() for each in levels]
        np.testing.assert_allclose(marks(ax), expected)
        draw(ax)


def test_a_missing_value_has_a_point(table: tuple[nvsd.Selection, pd.DataFrame]) -> None:
    selection, X = table
    ax = plots.plot_effect(selection, X, "size", n_points=5)
    expected = selection.refit.predict(X.assign(size=np.nan)).mean()
    np.testing.assert_allclose(marks(ax), [expected])
    grid = np.linspace(*np.nanquantile(X["size"], [0.01, 0.99]), 5)
    means = [selection.refit.predict(X.assign(size=value)).mean() for value in grid]
    np.testing.assert_allclose(ax.lines[-3].get_ydata(), means)
    bottom = ax.figure.axes[-1]
    changed = X.assign(size=grid[2])
    slope = np.nanmean(selection.refit.gradient(changed)[2])
    (mean_slope,) = [line for line in bottom.lines if line.get_color() == effects.PALETTE[1]]
    assert mean_slope.get_ydata()[2] == pytest.approx(slope, rel=1e-6)
    draw(ax)


def test_pairs_with_a_category_are_cells(table: tuple[nvsd.Selection, pd.DataFrame]) -> None:
    selection, X = table
    ax = plots.plot_pair(selection, X, ("colour", "size"), n_points=4)
    cells = ax.collections[0].get_array()
    assert cells.shape == (4, 3)
    grid = np.linspace(*np.nanquantile(X["size"], [0.01, 0.99]), 4)
    changed = X.assign(colour="green", size=grid[3])
    assert cells[3, 1] == pytest.approx(selection.refit.predict(changed).mean())
    assert [text.get_text() for text in ax.get_xticklabels()] == ["blue", "green", "red"]
    draw(ax)


def test_of_classes_the_probability_is_drawn() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((60, 2)), columns=["a", "b"])
    selection = nvsd.select(X, np.where(X["a"] > 0, "up", "down"), keep=["a"])
    ax = plots.plot_effect(selection, X, "a", n_points=3)
    assert ax.get_ylabel() == "probability of up"
    middle = np.linspace(*np.quantile(X["a"], [0.01, 0.99]), 3)[1]
    expected = selection.refit.predict_proba(X.assign(a=middle))[:, 1].mean()
    (mean,) = [line for line in ax.lines if line.get_color() == effects.PALETTE[0]]
    assert mean.get_ydata()[1] == pytest.approx(expected)


def test_inputs_that_are_called_by_numbers(rng: np.random.Generator) -> None:
    X = pd.DataFrame(rng.standard_normal((30, 3)), columns=[1.5, 2.5, 0.5])
    found = nvsd.select(X, X[0.5] ** 2, method="eliminate", cv=2)
    for given, drawn in ((0.5, "0.5"), ("2.5", "2.5"), (0, "1.5"), (-1, "0.5")):
        assert plots.plot_effect(found, X, given).figure.axes[-1].get_xlabel() == drawn
    with pytest.raises(ValueError, match=r"there is no input '0.7'; give one of 1.5, 2.5, 0.5"):
        plots.plot_effect(found, X, 0.7)
    X.columns = [1, 2, 3]
    found = nvsd.select(X, X[1] ** 2, method="eliminate", cv=2)
    assert plots.plot_effect(found, X, 3).figure.axes[-1].get_xlabel() == "3"
    with pytest.raises(ValueError, match="1 is the number of input '2' and the name of another"):
        plots.plot_effect(found, X, 1)


def test_an_estimator_without_names_takes_columns_in_order(rng: np.random.Generator) -> None:
    X = pd.DataFrame(rng.standard_normal((30, 3)), columns=[400.5, 403.0, 405.5])
    model = nvsd.NVSDRegressor().fit(X, X[405.5] ** 2)
    named, plain = (plots.plot_effect(model, given, 2) for given in (X, X.to_numpy()))
    np.testing.assert_array_equal(named.lines[-1].get_ydata(), plain.lines[-1].get_ydata())


def test_the_order_of_the_inputs_of_a_path_does_not_matter(rng: np.random.Generator) -> None:
    X = pd.DataFrame(rng.standard_normal((20, 3)), columns=["x10", "x9", "a"])
    kernel = nvsd.kernels.Gaussian((1.0, 2.0, 3.0))
    path = nvsd.nvsd_path(X, X["a"] ** 2, kernel=kernel, n_taus=4).isel(tau=-1)
    one, other = (plots.plot_effect(each, X, "a") for each in (path, path.sortby("feature")))
    np.testing.assert_allclose(one.lines[-1].get_ydata(), other.lines[-1].get_ydata(), rtol=1e-9)


def test_an_input_that_does_not_matter_is_drawn_flat(rng: np.random.Generator) -> None:
    X = pd.DataFrame(rng.standard_normal((30, 3)), columns=list("abc"))
    found = nvsd.select(X, X["a"] ** 2 + 7, method="eliminate", cv=2)
    assert found.selected == ["a"]
    ax = plots.plot_effect(found, X, "b")
    assert ax.figure.axes[-1].get_ylim() == (-1.0, 1.0)
    ax = plots.plot_pair(found, X, ("b", "c"))
    draw(ax.figure)
    ticks = ax.figure.axes[-1].get_yticklabels()
    assert len(ticks) == 1
    assert float(ticks[0].get_text()) == pytest.approx(
        float(found.refit.predict(X).mean()), rel=0.1
    )


def test_the_effect_of_an_input_is_f_along_it(rng: np.random.Generator) -> None:
    X = rng.standard_normal((20, 3))
    ax = plots.plot_effect(function(), X, "x0", n_points=7)
    grid = ax.lines[0].get_xdata()
    assert len(ax.lines) == 22  # the samples, and their mean with a white edge
    for line, row in zip(ax.lines, X, strict=False):
        expected = [x * row[1] + row[2] ** 2 for x in grid]
        np.testing.assert_allclose(line.get_ydata(), expected)
    mean = np.mean([line.get_ydata() for line in ax.lines[:20]], axis=0)
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), mean)
    below = ax.figure.axes[-1]
    np.testing.assert_allclose(below.lines[3].get_ydata(), X[3, 1])
    assert below.get_xlabel() == "x0"
    draw(ax)


def test_effects_of_a_path_agree_with_differences(
    path: xr.Dataset, sample: nvsd.datasets.Sample
) -> None:
    model = path.isel(tau=5)
    ax = plots.plot_effect(model, sample.X, 6, n_curves=5, n_points=401)
    below = ax.figure.axes[-1]
    for value, slope in zip(ax.lines[:5], below.lines[:5], strict=True):
        numeric = np.gradient(value.get_ydata(), value.get_xdata())
        np.testing.assert_allclose(slope.get_ydata()[2:-2], numeric[2:-2], atol=1e-3)


def test_columns_are_matched_by_name(rng: np.random.Generator) -> None:
    X = pd.DataFrame(rng.standard_normal((9, 4)), columns=["x2", "other", "x0", "x1"])
    one = plots.plot_effect(function(), X, "x1", derivative=False)
    two = plots.plot_effect(function(), X[["x0", "x1", "x2"]].to_numpy(), 1, derivative=False)
    for a, b in zip(one.lines[:9], two.lines[:9], strict=True):
        np.testing.assert_array_equal(a.get_ydata(), b.get_ydata())
    with pytest.raises(ValueError, match="'x1'"):
        plots.plot_effect(function(), X[["x0", "x2"]], "x0")


def test_estimators_with_names_get_names(rng: np.random.Generator) -> None:
    seen = []

    def predict(X: Any) -> Any:
        seen.append(list(X.columns))
        return np.asarray(X).sum(axis=1)

    model = SimpleNamespace(
        feature_names_in_=np.array(["a", "b"], dtype=object),
        predict=predict,
        predict_gradient=lambda X: np.ones(X.shape) * [1.0, 2.0],
    )
    X = pd.DataFrame(rng.standard_normal((5, 2)), columns=["a", "b"])
    ax = plots.plot_effect(model, X, "b")
    assert seen == [["a", "b"]]
    assert (ax.figure.axes[-1].lines[0].get_ydata() == 2.0).all()


def test_the_surface_is_the_mean_over_samples(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = rng.standard_normal((15, 3))
    drawn = []
    monkeypatch.setattr(effects, "_surface", lambda _, *arrays: drawn.append(arrays))
    plots.plot_pair(function(), X, ("x2", 0), n_points=4)
    U, V, values, *_ = drawn[0]
    for u, v, value in zip(U.ravel(), V.ravel(), values.ravel(), strict=True):
        assert value == pytest.approx(np.mean([v * row[1] + u**2 for row in X]))


def test_a_pair_is_drawn_from_a_path(path: xr.Dataset, sample: nvsd.datasets.Sample) -> None:
    ax = plots.plot_pair(path.isel(tau=-1), sample.X, ("x1", "x7"), n_points=6, n_rows=5)
    draw(ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "x7")


def test_a_constant_function_is_drawn(path: xr.Dataset, sample: nvsd.datasets.Sample) -> None:
    flat = SimpleNamespace(
        features=("a", "b"), predict=lambda X: np.ones(len(X)),
        gradient=lambda X: np.zeros((2, len(X))),
    )  # fmt: skip
    draw(plots.plot_effect(flat, np.ones((4, 2)), 0))
    draw(plots.plot_pair(flat, np.ones((4, 2)), (0, 1)))


def test_wrong_effects_are_refused(path: xr.Dataset, sample: nvsd.datasets.Sample) -> None:
    X = np.ones((4, 3))
    for wrong, feature, match in (
        (function(), "q", "no input 'q'"),
        (function(), 3, "number 3"),
        (path, 0, "one tau"),
        (xr.Dataset(), 0, "one tau"),
        (object(), 0, "cannot be plotted"),
    ):
        with pytest.raises(ValueError, match=match):
            plots.plot_effect(wrong, X, feature)
    with pytest.raises(ValueError, match="same inputs"):
        plots.plot_effect(function(), np.ones((4, 2)), 0)
    with pytest.raises(ValueError, match="two different"):
        plots.plot_pair(function(), X, ("x0", 0))
    with pytest.raises(ValueError, match="not a pair"):
        plots.plot_pair(function(), X, ("x0",))  # type: ignore[arg-type]


def test_panels_fit_where_they_are_put(rng: np.random.Generator) -> None:
    X = rng.standard_normal((6, 3))
    _, axes = plt.subplots(1, 2, layout="constrained")
    assert plots.plot_effect(function(), X, 0, ax=axes[0]) is axes[0]
    free = plt.figure().add_axes((0.2, 0.2, 0.6, 0.6))
    plots.plot_effect(function(), X, 0, ax=free)
    for ax in (axes[0], free):
        draw(ax)
        below = ax.figure.axes[-1]
        assert below.get_position().y1 < ax.get_position().y0
        assert below.get_position().width == pytest.approx(ax.get_position().width, rel=0.02)


# --- fits and the rest ----------------------------------------------------------------------


def test_predictions_against_observations(rng: np.random.Generator) -> None:
    y = rng.standard_normal(30)
    f = y + 0.5
    ax = plots.plot_predictions(y, f, name="cost in $")
    texts = draw(ax)
    assert f"RMSE 0.5\nR² {1 - 0.25 / y.var():.3f}" in texts
    assert r"observed cost in \$" in texts
    np.testing.assert_allclose(ax.collections[0].get_offsets(), np.column_stack([y, f]))
    assert ax.get_xlim() == ax.get_ylim()
    draw(plots.plot_predictions(np.ones(3), np.ones(3)))
    with pytest.raises(ValueError, match="shape"):
        plots.plot_predictions(y, f[:-1])


@pytest.mark.parametrize("name", plots.__all__)
def test_every_plot_takes_axes_and_says_so(name: str) -> None:
    plot = getattr(plots, name)
    assert "ax" in plot.__annotations__
    assert plot.__annotations__["return"] == "Axes"
    assert "Axes" in plot.__doc__


def test_given_axes_are_used(path: xr.Dataset) -> None:
    for plot in (plots.plot_path, plots.plot_support):
        _, ax = plt.subplots()
        assert plot(path, ax=ax) is ax


def test_plots_need_matplotlib_only_when_called() -> None:
    code = (
        "import sys, nvsd, nvsd.plots, nvsd.cli\n"
        "assert not {'matplotlib', 'cvxpy', 'dask'} & set(sys.modules)\n"
        "sys.modules['matplotlib.pyplot'] = None\n"
        "try: nvsd.plots.plot_predictions([1, 2], [1, 2])\n"
        "except ImportError as error: assert 'pip install' in str(error)\n"
        "else: raise SystemExit('drawn without matplotlib')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
