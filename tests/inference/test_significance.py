"""`nvsd.significance`, and the p-values of `select`."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, sem, ttest_1samp

import nvsd
from nvsd.engine.judging import Structure, rank_in_folds
from nvsd.inference.copies import Copier
from nvsd.inference.hypotheses import Model, _t_test
from nvsd.selection.significance import CopyWarning

NAMES = [f"v{a}" for a in range(6)]


def sample(n: int = 150, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """v0 has a main effect, v1 and v2 a product; the others none."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)
    return pd.DataFrame(X, columns=NAMES), y


@pytest.fixture(scope="module")
def found():
    return nvsd.significance(*sample())


def test_inputs_that_matter_are_told_from_those_that_do_not(found) -> None:
    assert found.feature.values[found.q_value < 0.1].tolist() == ["v0", "v1", "v2"]
    assert (found.p_value.values[:3] < 1e-4).all()
    assert (found.p_value.values[3:] > 0.01).all()
    assert (found.importance_lower <= found.importance).all()
    np.testing.assert_allclose(
        found.statistic.values[:3], (found.importance / found.importance_se).values[:3]
    )


def test_rows_with_copies_are_predicted_as_such_rows() -> None:
    """The part of the kernel that is made again, against predictions at the changed table."""
    X, y = sample(100)
    points = X.to_numpy()
    splits = [(np.arange(70), np.arange(70, 100))]
    fold = rank_in_folds(points, y / y.std(), splits)[0]
    structure = Structure(np.arange(6), np.zeros(6, dtype=bool))
    model = Model.of(fold, structure, 0)
    rng = np.random.default_rng(1)
    for unit in (np.array([1]), np.array([0, 2])):
        used = model.uses(unit)
        assert len(used)
        copies = rng.standard_normal((3, 30, len(used)))
        rows = points[70:]
        fast = model.fit.with_copies(rows, used, copies)
        for copy, predicted in zip(copies, fast, strict=True):
            changed = rows.copy()
            changed[:, used] = copy
            np.testing.assert_allclose(predicted, model.fit.predict(changed), atol=2e-4)


def test_the_rise_is_that_of_the_loss_at_rows_not_seen() -> None:
    X, y = sample(100)
    points = X.to_numpy()
    fold = rank_in_folds(points, y / y.std(), [(np.arange(70), np.arange(70, 100))])[0]
    model = Model.of(fold, Structure(np.arange(6), np.zeros(6, dtype=bool)), 0)
    unit = np.array([1])
    drawn = Copier(points).draw(unit, 4)
    naive = np.zeros(30)
    for copy in drawn.copies:
        changed = points.copy()
        changed[:, 1] = copy[:, 0]
        naive += model.loss(model.fit.predict(changed[70:])) / 4
    naive -= model.loss(model.fit.predict(points[70:]))
    np.testing.assert_allclose(model.rise(points, unit, drawn), naive, atol=1e-3)
    assert not model.rise(points, np.array([99]), drawn).any()


def test_the_test_is_students() -> None:
    delta = np.random.default_rng(0).standard_normal(7) + 0.5
    rise, se, statistic, p = _t_test(delta)
    known = ttest_1samp(delta, 0.0, alternative="greater")
    assert (rise, se) == (pytest.approx(delta.mean()), pytest.approx(sem(delta)))
    assert statistic == pytest.approx(known.statistic)
    assert p == pytest.approx(known.pvalue)
    assert _t_test(np.zeros(5)) == (0.0, 0.0, 0.0, 1.0)
    assert _t_test(delta, np.ones(7)) == pytest.approx((rise, se, statistic, p))


@pytest.mark.slow
def test_p_values_of_noise_are_not_too_small() -> None:
    """Forty tables of noise: at most as many small p-values as chance gives."""
    p = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((60, 5)), rng.standard_normal(60)
        p.append(nvsd.significance(X, y, cv=3).p_value.values)
    p = np.concatenate(p)
    assert np.mean(p < 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(p))
    assert kstest(p, "uniform", alternative="greater").pvalue > 1e-3


@pytest.mark.slow
def test_a_null_input_that_depends_on_a_true_one_is_not_called() -> None:
    """x1 = x0² + noise is correlated with y, and y does not depend on it given x0."""
    small = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 5))
        X[:, 1] = X[:, 0] ** 2 + 0.5 * X[:, 1]
        y = X[:, 0] ** 2 + 0.5 * rng.standard_normal(200)
        tests = nvsd.significance(X, y)
        assert tests.p_value.values[0] < 0.01
        small += tests.p_value.values[1] < 0.05
    assert small <= 2


def test_groups_are_tested_as_a_whole() -> None:
    X, y = sample()
    tests = nvsd.significance(X, y, groups={"one": ["v0", "v1"], "two": ["v2"], "rest": NAMES[3:]})
    assert list(tests.group.values) == ["one", "two", "rest"]
    assert (tests.q_value.values < 0.1).tolist() == [True, True, False]


def test_near_copies_have_power_together() -> None:
    rng = np.random.default_rng(0)
    X, y = sample(200)
    X["copy"] = X["v0"] + 0.03 * rng.standard_normal(200)
    tests = nvsd.significance(X, y).set_index(feature="feature")
    assert tests.near_copies.sel(feature="v0") == "v0, copy"
    assert tests.near_copies.sel(feature="v1") == ""
    assert tests.p_value_together.sel(feature=["v0", "copy"]).max() < 1e-6
    assert tests.q_value.sel(feature="copy") == tests.q_value.sel(feature="v0")


def test_some_inputs_may_be_asked_for(found) -> None:
    tests = nvsd.significance(*sample(), inputs=["v2", 3])
    assert list(tests.feature.values) == ["v2", "v3"]
    np.testing.assert_array_equal(tests.p_value, found.p_value.sel(feature=["v2", "v3"]))


def test_repeats_average_over_splits() -> None:
    X, y = sample(80)
    once, twice = (nvsd.significance(X, y, cv=3, repeats=r) for r in (1, 2))
    assert twice.attrs["repeats"] == 2
    assert (twice.p_value.values[:3] < 0.05).all()
    assert not once.identical(twice)


def test_corrections_grow_more_careful() -> None:
    X, y = sample(60)
    q = [nvsd.significance(X, y, cv=2, correction=c).q_value for c in ("bh", "by", "holm")]
    np.testing.assert_array_equal(q[0], nvsd.significance(X, y, cv=2).q_value)
    assert q[0].values[0] < 0.1 < q[0].values.max()
    assert (q[1] >= q[0]).all()
    assert (q[2] >= q[0] - 1e-12).all()


def test_equal_calls_give_equal_datasets(found, tmp_path) -> None:
    assert found.identical(nvsd.significance(*sample(), n_jobs=2))
    found.to_netcdf(tmp_path / "tests.nc", engine="h5netcdf")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"inputs": ["nobody"]}, "inputs names 'nobody'"),
        ({"correction": "none"}, "correction = 'none' is unknown"),
        ({"repeats": 0}, "repeats = 0"),
        ({"n_copies": 1.5}, "n_copies = 1.5"),
        ({"repeats": 2, "cv": [(np.arange(50), np.arange(50, 60))]}, "give a number of folds"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        nvsd.significance(*sample(60), **arguments)


def test_a_poor_model_of_an_input_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a model of the mean, x1 looks relevant; the check says that it cannot be trusted."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    X[:, 1] = X[:, 0] ** 2 + 0.2 * X[:, 1]
    y = X[:, 0] ** 2 + 0.5 * rng.standard_normal(200)
    monkeypatch.setattr(
        "nvsd.inference.conditional.smoothed",
        lambda others, t, seed: np.full(len(others.X), t.mean()),
    )
    with pytest.warns(CopyWarning, match="x0, x1 given the other inputs|x1 given the other inputs"):
        tests = nvsd.significance(X, y)
    assert tests.copy_check.values[1] > 2


@pytest.fixture(scope="module")
def selection() -> nvsd.Selection:
    return nvsd.select(*sample())


def test_a_selection_tests_when_asked(selection: nvsd.Selection) -> None:
    p = selection.p_values
    assert set(p.index) == set(NAMES)
    assert list(p.index) == list(selection.ranking.index)
    assert (p[["v0", "v1", "v2"]] < 1e-4).all()
    assert (p[["v3", "v4", "v5"]] > 0.01).all()
    table = selection.table()
    np.testing.assert_array_equal(table["p_value"], p[NAMES])
    assert "p_value" not in selection.table(p_values=False)


def test_tests_made_at_once_are_those_made_later(selection: nvsd.Selection) -> None:
    at_once = nvsd.select(*sample(), p_values=True)
    assert at_once.significance.identical(selection.significance)
    np.testing.assert_array_equal(at_once.history.p_value, at_once.significance.p_value)
    assert at_once.selected == selection.selected


def test_a_false_discovery_rate_decides() -> None:
    found = nvsd.select(*sample(), fdr=0.1)
    assert found.selected == ["v0", "v1", "v2"]
    assert found.history.attrs["rule"] == "fdr"
    assert "false discovery rate of 0.1" in found.history.attrs["reason"]
    chosen = found.history.isel(step=found.history.attrs["chosen"])
    np.testing.assert_array_equal(chosen.support, found.support)
    rng = np.random.default_rng(3)
    nothing = nvsd.select(rng.standard_normal((80, 4)), rng.standard_normal(80), fdr=0.05)
    assert nothing.selected == []
    kept = nvsd.select(*sample(), fdr=0.1, keep=["v5"])
    assert kept.selected == ["v0", "v1", "v2", "v5"]


def test_groups_of_a_selection_are_tested() -> None:
    groups = ["a", "a", "b", "b", "c", "c"]
    found = nvsd.select(*sample(), groups=groups, fdr=0.1)
    assert found.selected == NAMES[:4]
    assert sorted(found.p_values.index) == ["a", "b", "c"]
    assert list(found.table()["p_value"]) == [found.p_values[g] for g in groups]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"fdr": 1.5}, "fdr = 1.5"),
        ({"fdr": 0.1, "k": 2}, "leave one of them out"),
        ({"fdr": 0.1, "method": "eliminate"}, "does not take keep, k, fdr"),
    ],
)
def test_rates_that_make_no_sense_are_refused(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        nvsd.select(*sample(60), **arguments)


def test_a_method_without_tests_says_so() -> None:
    found = nvsd.select(*sample(60), method="eliminate")
    with pytest.raises(ValueError, match="makes no tests"):
        _ = found.p_values
    assert "p_value" not in found.table()


def test_degenerate_tables_have_p_values() -> None:
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (nvsd.significance(rng.standard_normal((30, 3)), np.ones(30)).p_value == 1).all()
        one = nvsd.significance(np.arange(40.0)[:, None], np.arange(40.0) ** 2)
        assert float(one.p_value[0]) < 0.01
        constant = np.column_stack([np.ones(60), rng.standard_normal(60)])
        assert nvsd.significance(constant, constant[:, 1] ** 3).p_value.values[0] == 1
