from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from plot_problems import draw, small_path
from scipy.optimize import minimize

import nvsd
from nvsd import plots
from nvsd.penalties import ElasticNet
from nvsd.plots._draw import GREY, label, labels, spread, tau_axis
from nvsd.plots.paths import entry_order

AWKWARD = [
    "$\\alpha^2$ in $",
    "a\n\tb",
    "<b>,\"'</b>",
    "_hidden",
    " ",
    "z" * 10_000,
    "\udcff\x00",
    "%s",
]


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


def made_up_path(d: int, n_taus: int = 12, names: list[str] | None = None) -> xr.Dataset:
    """A path whose norms grow, input after input."""
    rng = np.random.default_rng(d)
    steps = np.arange(n_taus)[:, None]
    norms = np.maximum(0.0, steps - rng.uniform(0, n_taus, d)) * rng.uniform(0.1, 1, d)
    return xr.Dataset(
        {
            "derivative_norm": (("tau", "feature"), norms),
            "support": (("tau", "feature"), norms > 0),
            "n_selected": ("tau", (norms > 0).sum(axis=1)),
        },
        coords={
            "tau": np.geomspace(1.0, 1e-3, n_taus),
            "feature": names or [f"input {a}" for a in range(d)],
        },
    )


def made_up_history(d: int, methods: tuple[str, ...] = ("eliminate",)) -> xr.Dataset:
    """Nested sets that lose their first input again and again, once for each method."""
    support = np.tile(np.triu(np.ones((d, d), bool)), (len(methods), 1))
    size = support.sum(axis=1)
    rng = np.random.default_rng(d)
    error = np.where(size >= 3, 1.0 + 0.01 * size, 50.0) * rng.uniform(0.9, 1.1, len(size))
    return xr.Dataset(
        {
            "support": (("step", "feature"), support),
            "n_selected": ("step", size),
            "error": ("step", error),
            "error_se": ("step", 0.1 * error),
            "method": ("step", np.repeat(np.array(methods, dtype=object), d)),
        },
        coords={"feature": [f"input {a}" for a in range(d)]},
        attrs={"chosen": d - 3},
    )


# --- names as labels -----------------------------------------------------------------------------


@given(st.text(max_size=60))
def test_labels_are_short_lines_and_never_formulas(name: str) -> None:
    text = label(name)
    assert text.isprintable()
    assert text.strip()
    assert text.count("$") == text.count(r"\$")
    assert len(text.replace(r"\$", "$")) <= 24


def test_short_labels_stay_distinct() -> None:
    names = [f"{'long ' * 9}{middle}{' and long' * 9}" for middle in "abc"]
    assert len(set(labels([*names, "x"]))) == 4
    assert labels(["x", "y $"]) == ["x", r"y \$"]


@given(
    st.lists(st.floats(-0.2, 1.2), min_size=1, max_size=6),
    st.floats(0.01, 0.15),
)
def test_spread_moves_as_little_as_possible(positions: list[float], distance: float) -> None:
    y = np.array(positions)
    moved = spread(y, distance, 0.0, 1.0)
    order = np.argsort(y, kind="stable")
    assert (np.diff(moved[order]) >= distance - 1e-9).all()
    assert moved.min() >= -1e-9
    assert moved.max() <= 1 + 1e-9
    constraints = [
        {"type": "ineq", "fun": lambda q, i=i: q[i + 1] - q[i] - distance}
        for i in range(len(y) - 1)
    ]
    start = np.linspace(0.0, 1.0, len(y))
    twin = minimize(
        lambda q: np.sum((q - y[order]) ** 2), start, bounds=[(0, 1)] * len(y),
        constraints=constraints, options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    assert np.sum((moved - y) ** 2) <= twin.fun + 1e-6


# --- paths ---------------------------------------------------------------------------------------


def test_a_path_has_a_line_for_each_input_and_large_tau_left(path: xr.Dataset) -> None:
    ax = plots.plot_path(path)
    curves = [line for line in ax.lines if len(line.get_xdata()) == path.sizes["tau"]]
    drawn = {tuple(np.round(line.get_ydata(), 12)) for line in curves}
    assert len(curves) == 18
    assert drawn == {tuple(np.round(row, 12)) for row in path.derivative_norm.values.T}
    left, right = ax.get_xlim()
    assert left == pytest.approx(float(path.tau[0]))
    assert right == pytest.approx(float(path.tau[-1]))
    assert ax.get_xscale() == "log"


@pytest.mark.parametrize("decades", [0.8, 1.5, 2.2, 4.0])
def test_labels_of_tau_do_not_overlap(decades: float) -> None:
    figure, ax = plt.subplots(figsize=(6.4, 3), layout="constrained")
    tau_axis(ax, np.geomspace(0.43, 0.43 * 10**-decades, 20))
    figure.canvas.draw()
    drawn = [t for t in ax.get_xticklabels(which="both") if t.get_text()]
    boxes = sorted((t.get_window_extent().x0, t.get_window_extent().x1) for t in drawn)
    inside = [box for box in boxes if ax.bbox.x0 <= sum(box) / 2 <= ax.bbox.x1]
    assert len(inside) >= 2
    assert all(one[1] < two[0] for one, two in pairwise(inside))
    plt.close(figure)


def test_groups_are_coloured_alike(path: xr.Dataset) -> None:
    ax = plots.plot_path(path)
    colours: dict[str, set[str]] = {}
    for a, group in enumerate(path.group.values):
        values = path.derivative_norm.values[:, a]
        found = [
            line.get_color()
            for line in ax.lines
            if len(line.get_xdata()) == len(values) and (line.get_ydata() == values).all()
        ]
        colours.setdefault(group, set()).update(found)
    assert all(len(shades) == 1 for shades in colours.values())
    assert len({next(iter(shades)) for shades in colours.values()}) == 6
    assert {"g1", "g2", "g3", "g4", "g5", "g6"} <= set(draw(ax))


def test_the_chosen_tau_is_marked_with_its_inputs(path: xr.Dataset) -> None:
    chosen = float(path.tau[3])
    ax = plots.plot_path(path, chosen=chosen * 1.01, n_labels=3)
    count = int(path.n_selected[3])
    assert f"chosen τ = {chosen:.3g} ({count} inputs)" in draw(ax)
    strongest = path.feature.values[np.argsort(-path.derivative_norm.values[3])[:3]]
    assert {t for t in draw(ax) if t in set(path.feature.values)} == set(strongest)
    with pytest.raises(ValueError, match="not a tau"):
        plots.plot_path(path, chosen=float("nan"))


def test_two_hundred_inputs_stay_readable() -> None:
    path = made_up_path(200)
    ax = plots.plot_path(path)
    texts = draw(ax)
    assert sum(text.startswith("input ") for text in texts) == 8
    curves = [line for line in ax.lines if len(line.get_xdata()) == 12]
    assert sum(line.get_color() == GREY for line in curves) == 192
    boxes = [t.get_window_extent() for t in ax.texts if t.get_text().startswith("input ")]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    many = path.assign_coords(group=("feature", [f"group {a // 10}" for a in range(200)]))
    assert "13 other groups" in draw(plots.plot_path(many))


@pytest.mark.filterwarnings("ignore:Glyph .* missing:UserWarning")
def test_awkward_names_are_drawn_as_they_are() -> None:
    path = made_up_path(8, names=AWKWARD)
    for plot in (plots.plot_path, plots.plot_support):
        texts = draw(plot(path))
        assert any("_hidden" in text for text in texts)
        assert all(len(text) < 80 and "\n" not in text for text in texts)
    groups = path.assign_coords(group=("feature", ["_g", "$g$"] * 4))
    texts = draw(plots.plot_path(groups))
    assert {"_g", r"\$g\$"} <= set(texts)


@pytest.mark.parametrize("taus", [[0.5], [1.0, 0.1, 0.0], [0.0]])
def test_odd_grids_are_drawn(taus: list[float]) -> None:
    path = made_up_path(4, len(taus)).assign_coords(tau=taus)
    draw(plots.plot_path(path, chosen=0.1))
    draw(plots.plot_support(path, chosen=0.1))


def test_a_path_without_inputs_is_drawn() -> None:
    path = made_up_path(3)
    off = path.assign(derivative_norm=path.derivative_norm * 0, support=path.support & False)
    draw(plots.plot_path(off))
    draw(plots.plot_support(off))


def test_other_things_are_refused(sample: nvsd.datasets.Sample) -> None:
    with pytest.raises(ValueError, match="not a path"):
        plots.plot_path(xr.Dataset())
    with pytest.raises(ValueError, match="not a path"):
        plots.plot_support([1, 2])  # type: ignore[arg-type]
    several = nvsd.nvsd_path(
        sample.X[:, :2], sample.y, penalty=ElasticNet([0.2, 0.8]), n_taus=2, tol=1e-2
    )
    with pytest.raises(ValueError, match=r"0\.2, 0\.8"):
        plots.plot_path(several)
    draw(plots.plot_path(several.sel(mu=0.2)))


def test_the_heat_map_is_sorted_by_entry(path: xr.Dataset) -> None:
    ax = plots.plot_support(path)
    shown = [text.get_text() for text in ax.get_yticklabels()]
    on = path.support.to_pandas()
    first = {name: (on[name].argmax() if on[name].any() else len(on)) for name in on.columns}
    assert sorted(shown) == sorted(first)
    assert [first[name] for name in shown] == sorted(first.values())
    image = ax.images[0].get_array()
    assert (image.mask == ~on[shown].to_numpy().T).all()


def test_the_heat_map_names_what_it_leaves_out() -> None:
    texts = draw(plots.plot_support(made_up_path(200), n_features=30))
    assert "… and 170 more, which enter later or never" in texts
    assert sum(text.startswith("input ") for text in texts) == 30


def test_entry_order_by_hand() -> None:
    on = np.array([[0, 0, 1, 0], [1, 0, 1, 1], [1, 0, 0, 1]], dtype=bool)
    norms = on * np.array([1.0, 0.0, 1.0, 2.0])
    assert entry_order(on, norms).tolist() == [2, 3, 0, 1]


def test_without_matplotlib_a_sentence_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"^plots need matplotlib.*pip install 'nvsd\[plot\]'\.$"):
        plots.plot_path(made_up_path(3))


# --- errors --------------------------------------------------------------------------------------


def test_least_error_and_the_one_standard_error_rule() -> None:
    taus = np.geomspace(1.0, 1e-3, 9)
    error = np.array([9.0, 5.0, 3.1, 2.2, 2.1, 2.0, 2.3, 3.0, 4.0])
    se = np.full(9, 0.25)
    data = xr.Dataset({"error": ("tau", error), "error_se": ("tau", se)}, coords={"tau": taus})
    texts = draw(plots.plot_error(data))
    within = [tau for tau, e in zip(taus, error, strict=True) if e <= 2.0 + 0.25]
    assert f"least error, τ = {taus[5]:.3g}" in texts
    assert f"1-SE rule, τ = {max(within):.3g}" in texts
    assert not any("1-SE" in text for text in draw(plots.plot_error(data.drop_vars("error_se"))))


def test_a_chosen_tau_is_marked_where_the_number_of_inputs_is_not_known() -> None:
    data = xr.Dataset({"error": ("tau", [2.0, 1.0, 3.0])}, coords={"tau": [1.0, 0.1, 0.01]})
    assert "chosen τ = 0.1" in draw(plots.plot_error(data, chosen=0.12))


def test_a_band_that_reaches_below_zero_does_not_stretch_the_logarithmic_axis() -> None:
    variables = {"error": ("tau", [100.0, 10.0, 1.0]), "error_se": ("tau", [1.0, 1.0, 2.0])}
    ax = plots.plot_error(xr.Dataset(variables, coords={"tau": [1.0, 0.1, 0.01]}))
    draw(ax)
    assert ax.get_yscale() == "log"
    assert ax.get_ylim()[0] == 0.5


def test_errors_of_an_estimator_use_its_best_slice() -> None:
    rng = np.random.default_rng(0)
    folds = rng.uniform(1, 2, (2, 3, 6, 4))
    taus = np.geomspace(1, 0.1, 36).reshape(2, 3, 6)
    names = ("nu", "mu", "tau")
    results = xr.Dataset(
        {
            "error": ((*names, "fold"), folds),
            "mean_error": (names, folds.mean(axis=-1)),
            "error_se": (names, folds.std(axis=-1)),
            "tau_value": (names, taus),
            "n_selected": (names, np.ones((2, 3, 6), int)),
        }
    )
    best = np.unravel_index(folds.mean(axis=-1).argmin(), (2, 3, 6))
    model = SimpleNamespace(cv_results_=results, tau_=float(taus[best]))
    ax = plots.plot_error(model)
    curve = next(line for line in ax.lines if len(line.get_xdata()) == 6)
    np.testing.assert_allclose(curve.get_xdata(), taus[best[:2]])
    np.testing.assert_allclose(curve.get_ydata(), folds.mean(axis=-1)[best[:2]])
    assert f"chosen τ = {taus[best]:.3g} (1 input)" in draw(ax)


def test_a_real_cross_validation_is_drawn(sample: nvsd.datasets.Sample) -> None:
    from nvsd.estimators import NVSDRegressorCV

    model = NVSDRegressorCV(n_taus=4, cv=2, tol=1e-2).fit(sample.X[:, :3], sample.y)
    assert any(text.startswith("chosen τ") for text in draw(plots.plot_error(model)))
    draw(plots.plot_effect(model, sample.X[:, :3], 0))


def test_errors_of_other_things_are_refused() -> None:
    for wrong in (xr.Dataset(), made_up_history(4), 3, xr.Dataset({"error": 1.0})):
        with pytest.raises(ValueError, match="error over tau"):
            plots.plot_error(wrong)


def test_the_elimination_curve_takes_the_best_of_each_size() -> None:
    history = made_up_history(12, ("eliminate", "rank"))
    ax = plots.plot_elimination(SimpleNamespace(history=history))
    curves = [line for line in ax.lines if len(line.get_xdata()) == 12]
    assert len(curves) == 2
    for line, method in zip(curves, ("eliminate", "rank"), strict=True):
        rows = history.isel(step=np.flatnonzero(history.method.values == method))
        for k, value in zip(line.get_xdata(), line.get_ydata(), strict=True):
            assert value == min(rows.error.values[rows.n_selected.values == k])
    texts = draw(ax)
    assert "chosen: 3 of 12 inputs" in texts
    assert {"eliminate", "rank"} <= set(texts)


def test_dropped_inputs_are_named_beside_their_number() -> None:
    ticks = [t.get_text() for t in plots.plot_elimination(made_up_history(6)).get_xticklabels()]
    assert ticks == [f"input {6 - k} · {k}" for k in range(1, 7)]


def test_sets_that_are_not_nested_have_no_names() -> None:
    history = made_up_history(6)
    history["support"][3] = [True, False, True, False, True, False]
    ticks = [t.get_text() for t in plots.plot_elimination(history).get_xticklabels()]
    assert ticks == [str(k) for k in range(1, 7)]


def test_whole_groups_that_leave_are_named() -> None:
    history = made_up_history(6).isel(step=[0, 2, 4])
    history.attrs["chosen"] = 1
    ticks = [t.get_text() for t in plots.plot_elimination(history).get_xticklabels()]
    assert "input 0 +1 · 6" in ticks
    selection = SimpleNamespace(history=history, groups=tuple("aabbcc"))
    ticks = [t.get_text() for t in plots.plot_elimination(selection).get_xticklabels()]
    assert ticks == ["c · 2", "b · 4", "a · 6"]


def test_long_eliminations_stay_readable() -> None:
    texts = draw(plots.plot_elimination(made_up_history(200)))
    assert sum("input" in text and "·" in text for text in texts) == 10
    assert {"20", "50", "100", "200"} <= set(texts)


def test_other_histories_are_refused(path: xr.Dataset) -> None:
    with pytest.raises(ValueError, match="not the history"):
        plots.plot_elimination(path)
