"""`nvsd.select` as it is called: names, groups, inputs that are kept, a number, the result."""

from __future__ import annotations

from itertools import pairwise

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.model_selection import KFold

import nvsd
from nvsd.engine.judging import Judged, rank_rows, size_grid
from nvsd.engine.many import fit_set
from nvsd.engine.ranking import clip_bounds, rank
from nvsd.selection import METHODS

NAMES = [f"v{a}" for a in range(8)]


def sample(n: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Of eight inputs v1, v4 and v6 matter: a sine, and a product."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8))
    y = np.sin(2 * X[:, 1]) + X[:, 4] * X[:, 6] + 0.1 * rng.standard_normal(n)
    return pd.DataFrame(X, columns=NAMES), y


@pytest.fixture(scope="module")
def found() -> nvsd.Selection:
    return nvsd.select(*sample())


def test_the_default_finds_the_inputs_and_predicts(found: nvsd.Selection) -> None:
    assert found.selected == ["v1", "v4", "v6"]
    assert found.method == "anova"
    X, y = sample(500, seed=1)
    assert np.mean((found.predict(X) - y) ** 2) < 0.15 * y.var()
    assert np.mean((found.refit.predict(X) - y) ** 2) < 0.15 * y.var()


def test_every_input_has_a_number_and_a_place(found: nvsd.Selection) -> None:
    ranking = found.ranking
    assert sorted(ranking.index) == NAMES
    assert set(ranking.index[:3]) == {"v1", "v4", "v6"}
    assert (np.diff(ranking.values) <= 0).all()
    assert np.isfinite(ranking.values).all()
    table = found.table()
    assert list(table["feature"]) == NAMES
    assert set(table[table["selected"]]["feature"]) == set(found.selected)


def test_the_history_says_what_the_rule_did(found: nvsd.Selection) -> None:
    history = found.history
    assert history.n_selected.values[0] == 0  # the empty set competes
    chosen = history.isel(step=history.attrs["chosen"])
    assert int(chosen.n_selected) == 3
    assert float(chosen.error) == pytest.approx(found.score)
    assert float(history.excess.min()) == 0.0
    assert "least error" in history.attrs["reason"]
    sets = history.support.values
    assert all((a <= b).all() for a, b in pairwise(sets))


def test_the_refit_ignores_what_was_dropped(found: nvsd.Selection) -> None:
    X, _ = sample(30, seed=2)
    other = X.copy()
    other[["v0", "v2"]] = 1e3
    np.testing.assert_array_equal(found.refit.predict(X), found.refit.predict(other))
    gradient = found.refit.gradient(X)
    assert not gradient[~found.support].any()
    step = 1e-5
    for a in np.flatnonzero(found.support):
        up, down = X.copy(), X.copy()
        up.iloc[:, a] += step
        down.iloc[:, a] -= step
        slope = (found.refit.predict(up) - found.refit.predict(down)) / (2 * step)
        np.testing.assert_allclose(gradient[a], slope, atol=1e-5)


def test_far_values_do_not_ruin_predictions(found: nvsd.Selection) -> None:
    X, y = sample(5, seed=3)
    X.iloc[0] = 1e9
    X.iloc[1] = -1e9
    assert np.abs(found.predict(X)).max() < 20 * np.abs(y).max()


def test_the_refit_travels_as_a_dataset(found: nvsd.Selection, tmp_path) -> None:
    X, _ = sample(10, seed=4)
    dataset = found.dataset()
    np.testing.assert_allclose(dataset.nvsd.predict(X), found.refit.predict(X), atol=1e-10)
    dataset.to_netcdf(tmp_path / "model.nc", engine="h5netcdf")
    again = xr.load_dataset(tmp_path / "model.nc", engine="h5netcdf")
    np.testing.assert_array_equal(again.nvsd.predict(X), dataset.nvsd.predict(X))


def test_equal_calls_give_equal_results(found: nvsd.Selection) -> None:
    again = nvsd.select(*sample())
    assert again.history.identical(found.history)
    np.testing.assert_array_equal(again.strength, found.strength)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_jobs_change_nothing(found: nvsd.Selection, n_jobs: int) -> None:
    assert nvsd.select(*sample(), n_jobs=n_jobs).history.identical(found.history)


def test_the_order_of_columns_does_not_matter(found: nvsd.Selection) -> None:
    X, y = sample()
    turned = nvsd.select(X[NAMES[::-1]], y)
    assert sorted(turned.selected) == found.selected


@pytest.mark.parametrize("factor", [1e6, 1e-6])
def test_units_of_y_and_of_an_input_do_not_matter(found: nvsd.Selection, factor: float) -> None:
    X, y = sample()
    assert nvsd.select(X, factor * y).selected == found.selected
    X["v4"] *= factor
    assert nvsd.select(X, y).selected == found.selected


def test_outliers_of_y_do_not_decide() -> None:
    X, y = sample(250)
    y[:3] += [300.0, -500.0, 400.0]
    assert nvsd.select(X, y).selected == ["v1", "v4", "v6"]


def test_validation_data_judge_instead_of_folds() -> None:
    found = nvsd.select(*sample(), validation=sample(200, seed=5))
    assert found.selected == ["v1", "v4", "v6"]
    assert len(found.refit.fit.X) == 120


def test_folds_may_be_given() -> None:
    cv = KFold(3, shuffle=True, random_state=1)
    assert nvsd.select(*sample(), cv=cv).selected == ["v1", "v4", "v6"]
    assert nvsd.select(*sample(), cv=4).selected == ["v1", "v4", "v6"]


def test_groups_are_kept_or_dropped_as_a_whole() -> None:
    groups = {"a": ["v0", "v1"], "b": ["v2", "v3"], "c": ["v4", "v6"], "d": ["v5", "v7"]}
    found = nvsd.select(*sample(), groups=groups)
    assert found.selected == ["v0", "v1", "v4", "v6"]


def test_what_is_kept_is_in_every_set() -> None:
    found = nvsd.select(*sample(), keep=["v7"])
    assert {"v1", "v4", "v6", "v7"} <= set(found.selected)
    assert found.history.support.sel(feature="v7").all()
    assert nvsd.select(*sample(), keep=[7]).selected == found.selected


@pytest.mark.parametrize("k", [1, 2, 5, 8])
def test_an_exact_number(k: int) -> None:
    found = nvsd.select(*sample(), k=k)
    assert len(found.selected) == k
    assert set(found.selected) <= {"v1", "v4", "v6"} or k > 3


@pytest.mark.parametrize("rule", ["smallest", "min"])
def test_no_set_is_filled_with_inputs_without_an_effect(rule: str, monkeypatch) -> None:
    # Every set is clearly better than all smaller ones, as if a fold had ranked inputs badly.
    monkeypatch.setattr(Judged, "loss", property(lambda self: -np.array(self.sizes, dtype=float)))
    monkeypatch.setattr(Judged, "smallest", lambda self: len(self.sizes) - 1)
    X, _ = sample()
    y = np.sin(2 * X["v1"]) + X["v4"] * X["v6"]  # nothing is left for inputs without an effect
    found = nvsd.select(X, y, rule=rule)
    with_effect = set(found.ranking[found.ranking > 0].index)
    assert len(with_effect) < 8
    assert int(found.history.n_selected.max()) == 8
    assert set(found.selected) == with_effect
    assert "only these inputs have an effect" in found.history.attrs["reason"]
    assert "selected" in found.predicts_with
    without = next(iter(set(NAMES) - with_effect))
    assert set(nvsd.select(X, y, rule=rule, keep=[without]).selected) >= {*with_effect, without}
    assert len(nvsd.select(X, y, k=8).selected) == 8


def test_the_least_error_may_be_asked_for() -> None:
    found = nvsd.select(*sample(), rule="min")
    assert {"v1", "v4", "v6"} <= set(found.selected)
    assert float(found.history.excess[found.history.attrs["chosen"]]) == 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "anova", "widths": [1, 2]}, "does not take widths"),
        ({"method": "pool", "k": 2}, "does not take keep, k"),
        ({"method": "eliminate", "keep": ["v1"]}, "does not take keep, k"),
        ({"keep": ["none"]}, "keep names 'none', which is not an input"),
        ({"k": 9}, "k = 9 is not allowed"),
        ({"k": 1, "keep": ["v1", "v2"]}, "give from 2"),
        ({"method": "anova", "rule": "clear"}, "give 'smallest' or 'min'"),
        ({"method": "anova", "n_taus": 3}, "does not take n_taus"),
    ],
)
def test_what_cannot_be_honoured_is_refused(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        nvsd.select(*sample(30), **arguments)


def test_a_kernel_is_respected() -> None:
    kernel = nvsd.kernels.Gaussian(2.0)
    found = nvsd.select(*sample(40), kernel=kernel, cv=3)
    assert found.method == "pool"
    assert found.refit.kernel == kernel
    assert len(found.ranking) == 8
    assert {"pool", "eliminate"} <= set(METHODS)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_selected_from_noise(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    found = nvsd.select(rng.standard_normal((80, 10)), rng.standard_normal(80))
    assert found.selected == []
    assert found.predicts_with == "the mean"
    assert np.ptp(found.predict(rng.standard_normal((5, 10)))) == 0.0


@pytest.mark.filterwarnings("ignore::nvsd.selection.DataWarning")
def test_degenerate_tables_have_an_answer() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    assert nvsd.select(X, np.full(40, 2.5)).selected == []
    assert nvsd.select(np.ones((20, 3)), rng.standard_normal(20)).selected == []
    assert nvsd.select(X, X[:, 0]).selected == ["x0"]
    assert nvsd.select(1e80 * X, 1e60 * X[:, 1]).selected == ["x1"]
    assert nvsd.select(rng.standard_normal((6, 2)), rng.standard_normal(6)).selected == []


def test_many_inputs_are_screened() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 400))
    y = 2 * X[:, 17] + X[:, 230] ** 2 + 0.2 * rng.standard_normal(150)
    found = nvsd.select(X, y, cv=3)
    assert found.selected == ["x17", "x230"]
    assert len(found.ranking) == 400


@pytest.mark.slow
def test_many_rows_are_summed() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 6))
    y = np.sin(2 * X[:, 1]) + X[:, 4] * X[:, 2] + 0.3 * rng.standard_normal(4000)
    found = nvsd.select(X, y, cv=2)
    assert found.selected == ["x1", "x2", "x4"]
    assert found.history.attrs["n_ranked"] == 1500
    assert len(found.refit.fit.X) == 1000  # kernel sections
    assert np.mean((found.predict(X) - y) ** 2) < 0.2


def test_the_rule_takes_the_smallest_that_errors_cannot_tell_from_the_best() -> None:
    rng = np.random.default_rng(0)
    noise = rng.chisquare(1, 400)
    wave = 0.1 * (-1.0) ** np.arange(400) - 1e-3  # a little better, a fifth of its standard error
    noise += 0.2
    errors = np.column_stack([noise + 1.0, noise + 0.5, noise, noise + wave])
    assert Judged([0, 1, 2, 3], np.sqrt(errors), np.sqrt(noise)).smallest() == 2
    alike = np.column_stack([noise + rng.normal(0, 5, 400), noise])
    assert Judged([0, 1], np.abs(alike), noise).smallest() in (0, 1)
    assert Judged([0, 1], np.column_stack([noise, noise + 1]), noise).smallest() == 0


def test_a_few_outliers_do_not_judge() -> None:
    """A set that halves the errors of all rows but three loses nothing by these."""
    rng = np.random.default_rng(0)
    e = rng.standard_normal(200)
    errors = np.column_stack([2 * e, e])
    errors[:3] = [[50.0, 52.0]] * 3
    judged = Judged([0, 1], errors, e)
    assert judged.costs.mean(axis=0).argmin() == 0
    assert judged.smallest() == 1
    np.testing.assert_allclose(judged.losses[10:, 1], np.minimum(e[10:] ** 2, 9.0), atol=2.0)


def test_sizes_go_from_what_is_kept_to_what_there_is() -> None:
    assert size_grid(0, 3) == [0, 1, 2, 3]
    assert size_grid(2, 2) == [2]
    assert size_grid(0, 100)[-1] == 40
    assert size_grid(3, 9) == [3, 4, 5, 6, 7, 8, 9]


def test_clipping_leaves_counts_and_constants_alone() -> None:
    assert clip_bounds(np.full(20, 3.0)) == (-np.inf, np.inf)
    low, high = clip_bounds(np.append(np.random.default_rng(0).standard_normal(200), 1e6))
    assert -8 < low < high < 8
    counts = np.repeat([0.0, 1.0], [90, 10])
    low, high = clip_bounds(counts)
    assert low < 0
    assert high > 1


@pytest.mark.parametrize(
    ("truth", "inputs"),
    [
        (lambda X: np.sin(4 * X[:, 2]), {2}),
        (lambda X: np.sign(X[:, 0]) * np.sign(X[:, 3]), {0, 3}),
        (lambda X: (np.abs(np.hypot(X[:, 1], X[:, 2]) - 1) < 0.35).astype(float), {1, 2}),
        (lambda X: (X[:, 0] > 0.3) + 0.5 * X[:, 4], {0, 4}),
    ],
    ids=["sine", "xor", "ring", "step"],
)
def test_what_one_width_or_main_effects_would_miss_ranks_first(truth, inputs: set) -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((300, 30))
    y = truth(X) + 0.1 * rng.standard_normal(300)
    assert set(rank(X, y).order[: len(inputs)].tolist()) == inputs


def many_rows(kind: str, X: np.ndarray, y: np.ndarray) -> tuple:
    """The same rows from another source."""
    if kind == "blocks":
        return ([(X[a : a + 900], y[a : a + 900]) for a in range(0, len(X), 900)],)
    if kind == "dask":
        return da.from_array(X, chunks=(1000, -1)), da.from_array(y, chunks=1000)
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["array", "blocks", "dask", "memory map"])
def test_rows_come_from_any_source(kind: str, tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 5))
    y = np.sin(2 * X[:, 1]) + X[:, 4] + 0.3 * rng.standard_normal(5000)
    if kind == "memory map":
        np.save(tmp_path / "X.npy", X)
        found = nvsd.select(np.load(tmp_path / "X.npy", mmap_mode="r"), y, cv=2)
    else:
        found = nvsd.select(*many_rows(kind, X, y), cv=2)
    assert found.selected == ["x1", "x4"]
    assert found.history.attrs["n_samples"] == 5000
    assert np.mean((found.predict(X) - y) ** 2) < 0.11


def test_blocks_are_refused_where_all_rows_are_needed() -> None:
    X, y = np.random.default_rng(0).standard_normal((100, 3)), np.arange(100.0)
    with pytest.raises(ValueError, match="give a number of folds"):
        nvsd.select([(X, y)], cv=KFold(3))
    with pytest.raises(ValueError, match="can be read only once"):
        nvsd.select(pair for pair in [(X, y)])


def test_a_function_without_low_orders_is_found() -> None:
    """Neither an input alone nor a pair explains it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 8))
    y = np.sign(X[:, 1] * X[:, 3] * X[:, 4]) + 0.1 * rng.standard_normal(500)
    assert nvsd.select(X, y, cv=3).selected == ["x1", "x3", "x4"]


def test_tails_that_are_signal_are_not_clipped() -> None:
    """A cubic: clipped it is none, and only as it came do errors tell the sets apart."""
    train, fresh = nvsd.datasets.make_e2(110, seed=71), nvsd.datasets.make_e2(1000, seed=1)
    found = nvsd.select(train.X, train.y)
    assert found.selected == ["x0", "x1", "x2", "x6", "x7", "x8"]
    assert np.mean((found.predict(fresh.X) - fresh.y) ** 2) < 0.01 * fresh.y.var()


def test_what_a_fit_leaves_is_looked_for_among_all_inputs() -> None:
    """An effect that screening has missed, since another one hides it."""
    rng = np.random.default_rng(50)
    X = np.sqrt(0.5) * (rng.standard_normal((200, 1)) + rng.standard_normal((200, 800)))
    y = 2 * np.abs(X[:, 0]) + X[:, 1] - X[:, 2] ** 2 / 2 + 0.5 * rng.standard_normal(200)
    assert set(rank(X, y / y.std()).order[:3].tolist()) == {0, 1, 2}


def test_a_triple_beside_a_pair_is_found() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 20))
    y = 2 * np.sin(np.pi * X[:, 0]) * X[:, 1] + 1.5 * X[:, 2] * X[:, 3] * X[:, 4]
    y += 0.2 * rng.standard_normal(600)
    assert set(rank(X, y / y.std()).order[:5].tolist()) == {0, 1, 2, 3, 4}


def test_rules_of_the_pool_call_the_pool() -> None:
    X, y = sample(40)
    assert nvsd.select(X, y, rule="1se", cv=2).method == "pool"
    assert nvsd.select(X, y, nu=1e-2, cv=2).method == "pool"


def test_more_rows_show_weak_effects() -> None:
    """Beside a strong effect, two that 1500 rows cannot tell from chance."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 12))
    y = 2 * np.sin(2 * X[:, 0]) + 0.12 * X[:, 3] + 0.12 * np.cos(2 * X[:, 7])
    y += rng.standard_normal(6000)
    ranking, more = rank_rows(X, y / y.std(), np.arange(6000), 0)
    assert len(more.y) == 6000
    assert set(ranking.order[:3].tolist()) == {0, 3, 7}
    fit = fit_set(ranking, more, np.array([0, 3, 7]))
    fresh = rng.standard_normal((500, 12))
    truth = 2 * np.sin(2 * fresh[:, 0]) + 0.12 * fresh[:, 3] + 0.12 * np.cos(2 * fresh[:, 7])
    assert np.mean((y.std() * fit.predict(fresh) - truth) ** 2) < 0.03 * truth.var()


def test_rows_in_groups_take_the_size_that_the_folds_chose(monkeypatch) -> None:
    def never(*_: object) -> int:
        raise AssertionError("leave-one-out errors decide, but rows belong together")

    monkeypatch.setattr("nvsd.selection.engine.sufficient", never)
    X, y = sample()
    found = nvsd.select(X, y, cv_groups=np.repeat(np.arange(24), 5))
    assert {"v1", "v4", "v6"} <= set(found.selected)
    with pytest.raises(AssertionError, match="belong together"):
        nvsd.select(X, y)
