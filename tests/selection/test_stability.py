"""Stability selection: its bounds on false selections, and the picture of its shares."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from scipy.optimize import minimize

from nvsd import plots
from nvsd.kernels import Gaussian, Linear
from nvsd.results.schema import FALSE_SELECTIONS, STABILITY
from nvsd.selection import pooling, select, subsamples
from nvsd.selection.bounds import largest_tail, meinshausen_buhlmann, r_concave, unimodal
from nvsd.selection.candidates import Candidate

mpl.use("Agg")

# --- the formulas ---------------------------------------------------------------------------------


def test_the_bound_of_meinshausen_and_buhlmann_by_hand() -> None:
    assert meinshausen_buhlmann(8, 71, 0.75) == pytest.approx(64 / (0.5 * 71))
    assert meinshausen_buhlmann(2, 9, 0.9) == pytest.approx(4 / 7.2)
    assert meinshausen_buhlmann(9, 10, 0.6) == 10  # no more than there are
    assert meinshausen_buhlmann(1, 10, 0.5) == np.inf


def test_the_unimodal_bound_by_hand() -> None:
    # C = 1/(2(2π − 1 − 1/(2B))) up to ¾; the R package stabs prints 0.454 for this one.
    assert unimodal(2, 9, 0.75, 50) == pytest.approx(4 / 9 / (2 * (0.5 - 0.01)))
    assert unimodal(2, 9, 0.75, 50) == pytest.approx(0.454, abs=5e-4)
    # C = 4(1 − π + 1/(2B))/(1 + 1/B) above.
    assert unimodal(11, 100, 0.9, 50) == pytest.approx(1.21 * 4 * 0.11 / 1.02)
    # A threshold between multiples of 1/(2B) is as good as the next one.
    assert unimodal(2, 9, 0.745, 50) == unimodal(2, 9, 0.75, 50)
    assert unimodal(2, 9, 0.7, 50) > unimodal(2, 9, 0.75, 50)


@pytest.mark.parametrize(
    ("q", "d", "threshold", "n_pairs"),
    [(6, 9, 0.9, 50), (5, 9, 0.6, 50), (2, 9, 0.5, 50), (2, 9, 0.505, 50)],
)
def test_where_the_unimodal_theorem_says_nothing(q, d, threshold, n_pairs) -> None:
    assert unimodal(q, d, threshold, n_pairs) == np.inf


@pytest.mark.parametrize("threshold", [0.6, 0.7, 0.75, 0.8, 0.9, 1.0])
@pytest.mark.parametrize(("q", "d"), [(2, 40), (5, 60), (10, 200)])
def test_more_assumptions_give_smaller_bounds(q: int, d: int, threshold: float) -> None:
    found = [
        r_concave(q, d, threshold, 50),
        unimodal(q, d, threshold, 50),
        meinshausen_buhlmann(q, d, threshold),
    ]
    assert found == sorted(found)
    assert found[0] > 0


def best_found(mean: float, place: int, B: int, r: float, seed: int) -> float:
    """The largest tail that a general optimiser finds among r-concave distributions.

    g = f^r is convex: g_0, its first slope and its bends, which are not negative.
    """
    rng = np.random.default_rng(seed)

    def distribution(x: np.ndarray) -> np.ndarray:
        slopes = x[0] + np.concatenate([[0.0], np.cumsum(np.exp(x[1:]))])
        g = np.concatenate([[0.0], np.cumsum(slopes)])
        g = g - g.min() + 1.0
        f = g ** (1 / r)
        return f / f.sum()

    def loss(x: np.ndarray) -> float:
        f = distribution(x)
        # A larger mean than allowed costs more than it gains.
        excess = max(0.0, float(f @ np.arange(B + 1)) / B - mean)
        return -f[place:].sum() + 50 * excess

    best = 0.0
    for _ in range(12):
        start = np.concatenate([rng.normal(0, 2, 1), rng.normal(-3, 3, B - 1)])
        found = minimize(loss, start, method="Powell", options={"maxiter": 4000, "xtol": 1e-6})
        f = distribution(found.x)
        if f @ np.arange(B + 1) / B <= mean * (1 + 1e-4):
            best = max(best, float(f[place:].sum()))
    return best


@pytest.mark.parametrize(
    ("mean", "place", "B", "r"),
    [(0.05, 4, 6, -0.5), (0.1, 5, 6, -0.5), (0.08, 4, 6, -0.25), (0.02, 3, 5, -0.25)],
)
def test_the_largest_tail_is_what_an_optimiser_finds(mean, place, B, r) -> None:
    expected = largest_tail(mean, place, B, r)
    found = max(best_found(mean, place, B, r, seed) for seed in range(2))
    assert found <= expected * 1.001
    assert found >= 0.9 * expected


def test_random_r_concave_distributions_stay_below(rng) -> None:
    B, place, mean = 12, 8, 0.15
    for r in (-0.5, -0.25):
        limit = largest_tail(mean, place, B, r)
        seen = 0
        for _ in range(3000):
            slopes = np.sort(rng.standard_normal(B) * rng.choice([0.1, 1, 5])) + rng.uniform(0, 3)
            g = np.concatenate([[0.0], np.cumsum(slopes)])
            f = (g - g.min() + 10 ** rng.uniform(-3, 1)) ** (1 / r)
            f /= f.sum()
            if f @ np.arange(B + 1) / B <= mean:
                seen += 1
                assert f[place:].sum() <= limit * (1 + 1e-9)
        assert seen > 100


def test_tails_at_the_ends() -> None:
    assert largest_tail(0.0, 3, 10, -0.5) == 0.0
    assert largest_tail(0.4, 3, 10, -0.5) == 1.0
    assert largest_tail(0.49, 10, 10, -0.5) == 1.0
    tails = [largest_tail(0.05, place, 20, -0.5) for place in range(1, 21)]
    assert (np.diff(tails) <= 0).all()


# --- in a selection -------------------------------------------------------------------------------


def strongest(size: int):
    """A cheap base: the inputs of largest correlation."""

    def propose(task, **_):
        strength = np.abs((task.X - task.X.mean(0)).T @ (task.y - task.y.mean()))
        support = np.zeros(len(strength), dtype=bool)
        support[np.argsort(-strength)[:size]] = True
        return [Candidate(support, "cheap", "", strength)]

    return propose


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> int:
    size = 5
    monkeypatch.setitem(pooling.POOLED, "rank", strongest(size))
    monkeypatch.setitem(subsamples.POOLED, "rank", strongest(size))
    return size


def noise(seed: int, n: int = 40, d: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(n)


GIVEN = {"method": "stability", "base": "rank", "kernel": Linear(), "nus": [0.1], "cv": 2}


def test_false_selections_on_noise_are_fewer_than_the_bounds(cheap: int) -> None:
    """All units are alike here, so that every selection is false."""
    results = [
        select(*noise(seed), n_pairs=10, threshold=0.6, random_state=seed, **GIVEN)
        for seed in range(40)
    ]
    V = np.array([result.support.sum() for result in results])
    error = V.std() / np.sqrt(len(V))
    for result in results[:2]:
        assert result.history.attrs["mean_selected"] == cheap
    bounds = results[0].false_selections
    assert list(bounds.index) == ["exchangeable", "unimodal", "r-concave"]
    assert bounds["exchangeable"] == pytest.approx(25 / (0.2 * 30))
    assert V.sum() > 0
    assert V.mean() <= bounds.min() + 3 * error


def test_the_history_holds_what_the_bounds_are_made_of(cheap: int, tmp_path) -> None:
    X, y = noise(0)
    result = select(X, y, n_pairs=10, threshold=0.8, **GIVEN)
    attrs = result.history.attrs
    assert set(STABILITY) <= set(attrs)
    assert (attrs["n_pairs"], attrs["threshold"], attrs["n_units"]) == (10, 0.8, 30)
    assert all(type(attrs[name]) in (int, float) for name in STABILITY)
    expected = {
        "exchangeable": meinshausen_buhlmann(cheap, 30, 0.8),
        "unimodal": unimodal(cheap, 30, 0.8, 10),
        "r-concave": r_concave(cheap, 30, 0.8, 10),
    }
    assert dict(result.false_selections) == pytest.approx(expected)
    result.history.to_netcdf(tmp_path / "history.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "history.nc", engine="h5netcdf") as again:
        assert {name: again.attrs[name] for name in STABILITY} == {n: attrs[n] for n in STABILITY}
    share = result.history["strength"].isel(step=0).values
    assert share.shape == (30,)
    assert share.sum() == pytest.approx(cheap)  # a share for every input


def test_groups_count_as_units(monkeypatch: pytest.MonkeyPatch) -> None:
    def propose(task, **_):
        support = np.isin(task.units, [0, 2])
        return [Candidate(support, "cheap", "", support.astype(float))]

    monkeypatch.setitem(subsamples.POOLED, "rank", propose)
    X, y = noise(1, d=8)
    result = select(X, y, groups=list("aaabbccd"), n_pairs=3, threshold=0.9, **GIVEN)
    assert result.history.attrs["n_units"] == 4
    assert result.history.attrs["mean_selected"] == 2
    assert result.false_selections["exchangeable"] == pytest.approx(4 / (0.8 * 4))
    assert list(result.support) == [True, True, True, False, False, True, True, False]


def test_bounds_that_say_nothing_are_left_out(cheap: int) -> None:
    X, y = noise(2)
    result = select(X, y, n_pairs=2, threshold=0.5, **GIVEN)
    assert "false_selections_exchangeable" not in result.history.attrs
    assert "unimodal" not in result.false_selections
    without = select(X, y, n_pairs=2, threshold=None, **GIVEN)
    assert without.false_selections.empty
    assert not set(FALSE_SELECTIONS.values()) & set(without.history.attrs)
    other = select(X, y, method="eliminate", kernel=Gaussian(3.0), cv=2, nus=[0.1])
    assert other.false_selections.empty


# --- the picture ----------------------------------------------------------------------------------


def texts(ax) -> list[str]:
    ax.figure.canvas.draw()
    return [t.get_text() for t in (*ax.texts, *ax.get_yticklabels(), ax.title)]


def test_the_picture_shows_every_share_and_the_threshold(cheap: int) -> None:
    X, y = noise(3)
    result = select(X, y + 5 * X[:, 4], n_pairs=10, threshold=0.8, **GIVEN)
    ax = plots.plot_stability(result)
    widths = [bar.get_width() for bar in ax.patches]
    share = result.history["strength"].values[0]
    assert widths == sorted(share, reverse=True)
    assert ax.get_yticklabels()[0].get_text() == "x4"
    line = next(line for line in ax.lines if line.get_linestyle() == "--")
    assert set(line.get_xdata()) == {0.8}
    title = ax.title.get_text()
    assert f"{result.support.sum()} of 30 inputs selected, from 20 halves" in title
    assert f"{result.false_selections['unimodal']:.2g} (unimodal)" in title
    few = plots.plot_stability(result.history, n_features=4)
    assert len(few.patches) == 4
    assert any("26 more" in text for text in texts(few))
    mpl.pyplot.close("all")


def test_the_title_says_when_the_bound_is_of_no_use(cheap: int) -> None:
    X, y = noise(3, d=20)
    result = select(X, y, n_pairs=4, threshold=0.6, **GIVEN)
    assert result.false_selections.min() > result.support.sum()
    assert "says nothing" in plots.plot_stability(result).title.get_text()
    without = select(X, y, n_pairs=2, threshold=None, **GIVEN)
    assert "no bound" in plots.plot_stability(without).title.get_text()
    mpl.pyplot.close("all")


def test_other_selections_are_refused() -> None:
    X, y = noise(3, d=4)
    other = select(X, y, method="eliminate", kernel=Gaussian(3.0), cv=2, nus=[0.1])
    for wrong in (other, xr.Dataset(), None):
        with pytest.raises(ValueError, match="not a stability selection"):
            plots.plot_stability(wrong)
