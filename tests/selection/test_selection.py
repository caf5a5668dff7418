"""Selection of inputs: what is found, what is recorded, and a naive twin of elimination."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit

import nvsd
from nvsd.kernels import Gaussian, Linear, Matern52, Polynomial
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, SparseGroupLasso
from nvsd.selection import METHODS, elimination, select
from nvsd.selection.candidates import Candidate, Judged, judge
from nvsd.selection.elimination import _guides
from nvsd.selection.inputs import make_task
from nvsd.selection.pooling import default_methods
from nvsd.selection.widths import width_per_input

CUBIC = Polynomial(3)
E1, E2, E3 = nvsd.datasets.make_e1, nvsd.datasets.make_e2, nvsd.datasets.make_e3


def problem(make, n, seed=0):
    """A sample and validation data for it."""
    train, held_out = make(n, seed), make(300, 1000 + seed)
    return train, (held_out.X, held_out.y)


def additive(n, d, seed=0, noise=0.1):
    """y = sin(2 x0) + x1² + noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + noise * rng.standard_normal(n)


# --- what is found ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["eliminate", "reweight", "rank", "adaptive", "pool"])
def test_true_inputs_of_e2(method):
    train, held_out = problem(E2, 70)
    result = select(train.X, train.y, method=method, kernel=CUBIC, validation=held_out)
    assert_array_equal(result.support, train.support)


@pytest.mark.parametrize("method", ["eliminate", "reweight", "pool"])
def test_true_inputs_of_e1(method):
    train, held_out = problem(E1, 80)
    result = select(train.X, train.y, method=method, kernel=CUBIC, validation=held_out)
    assert_array_equal(result.support, train.support)


def test_stability_finds_e1():
    train, held_out = problem(E1, 110)
    options = {"kernel": CUBIC, "validation": held_out, "n_pairs": 3}
    result = select(train.X, train.y, method="stability", **options)
    assert_array_equal(result.support, train.support)
    frequency = result.history["strength"].values[0]
    assert_array_equal(frequency >= 0.6, result.support)
    assert_allclose(frequency * 6, np.round(frequency * 6))


@pytest.mark.parametrize("method", ["rank", "adaptive", "pool"])
def test_true_inputs_of_e3_by_groups(method):
    train, held_out = problem(E3, 60)
    given = {"kernel": Gaussian(4.0), "groups": train.groups, "validation": held_out}
    result = select(train.X, train.y, method=method, **given)
    assert_array_equal(result.support, train.support)
    assert result.groups == tuple(train.groups)


def test_cross_validation_finds_the_inputs():
    X, y = additive(100, 6)
    result = select(X, y, cv=4)
    assert result.selected == ["x0", "x1"]


@pytest.mark.parametrize("method", ["eliminate", "reweight", "pool"])
def test_some_points_do_for_many_rows(method):
    train, held_out = problem(E2, 2000)
    options = {"kernel": CUBIC, "validation": held_out, "value_points": 150}
    if method == "pool":
        options["methods"] = ["eliminate", "reweight"]
    result = select(train.X, train.y, method=method, **options)
    assert_array_equal(result.support, train.support)
    # f is made of the points, and its loss is that of all rows: least squares by hand.
    fit, scaled = result.refit.fit, result.refit.inputs.points
    X = scaled(train.X, result.support, "X")[:, result.support]
    assert len(fit.X) == 150
    K, C = fit.kernel.K(fit.X), fit.kernel.K(X, fit.X)
    A = C.T @ C + len(X) * result.refit.nu * K
    residual = A @ fit.alpha[0] - C.T @ (train.y - train.y.mean())
    assert np.abs(residual).max() < 1e-6 * np.abs(C.T @ train.y).max()
    error = np.mean((result.refit.predict(held_out[0]) - held_out[1]) ** 2)
    assert result.score == pytest.approx(error, rel=1e-9)
    chosen = result.history.isel(step=result.history.attrs["chosen"])
    _, slopes = fit.kernel.apply(fit.X, fit.X, fit.alpha[0])
    norms = np.sqrt(np.mean(np.asarray(slopes) ** 2, axis=1))
    assert_allclose(chosen["derivative_norm"][result.support], norms, rtol=1e-9)


def test_as_many_points_as_rows_are_all_rows():
    X, y = additive(60, 4)
    every, exact = (
        select(X, y, method="eliminate", kernel=Gaussian(2.0), value_points=m) for m in (60, None)
    )
    assert every.history.identical(exact.history)


def test_rows_that_do_not_fit_in_memory_are_refused(monkeypatch):
    monkeypatch.setattr("nvsd.machine.available_memory", lambda: 1e6)
    X, y = additive(300, 3)
    with pytest.raises(ValueError, match=r"300 rows would need 0.0 GiB .* give value_points=1000"):
        select(X, y, method="eliminate")
    select(X, y, method="eliminate", value_points=20, nus=[1e-3], cv=2)


def test_nothing_is_selected_where_there_is_nothing():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 5)), rng.standard_normal(60)
    result = select(X, y, method="eliminate", rule="1se")
    assert not result.selected
    assert_allclose(result.refit.predict(X), y.mean())
    assert not result.refit.gradient(X).any()


@pytest.mark.filterwarnings("ignore::nvsd.selection.DataWarning")
def test_a_constant_target_selects_nothing():
    X, _ = additive(30, 4)
    for method in METHODS:
        options = {"n_pairs": 1} if method == "stability" else {}
        assert not select(X, np.full(30, 0.1), method=method, cv=3, **options).selected


def test_more_inputs_than_samples_are_dropped_by_fifths():
    X, y = additive(150, 120)
    X_new, y_new = additive(100, 120, seed=1)
    result = select(X, y, method="eliminate", kernel=Gaussian(8.0), validation=(X_new, y_new))
    sizes = result.history["n_selected"].values[: len(result.history["step"]) // 4]
    assert_array_equal(sizes[:5], [120, 96, 76, 60, 50])
    assert_array_equal(sizes[5:], np.arange(49, -1, -1))
    assert {"x0", "x1"} <= set(result.selected)


# --- elimination against a naive twin ---------------------------------------------------------


def naive_elimination(X, y, nu, groups, rate=1e-5):
    """Scikit-learn's kernel ridge, finite differences, and sets of names."""
    left, order = sorted(set(groups)), []
    while left:
        columns = [a for a, group in enumerate(groups) if group in left]
        model = KernelRidge(alpha=len(y) * nu, kernel="rbf", gamma=1 / (2 * 3.0**2))
        model.fit(X[:, columns], y - y.mean())
        squares = {group: [] for group in left}
        for place, a in enumerate(columns):
            step = np.zeros(len(columns))
            step[place] = rate
            up, down = model.predict(X[:, columns] + step), model.predict(X[:, columns] - step)
            squares[groups[a]].append(np.mean(((up - down) / (2 * rate)) ** 2))
        weakest = min(left, key=lambda group: np.mean(squares[group]))
        order.append(weakest)
        left.remove(weakest)
    return order


@pytest.mark.parametrize("groups", [list("abcdefgh"), list("abacbdda")])
@pytest.mark.parametrize("nu", [1e-1, 1e-4])
def test_elimination_is_the_naive_one(groups, nu):
    X, y = additive(40, 8, noise=0.5)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    result = select(X, y, method="eliminate", kernel=Gaussian(3.0), groups=groups, nus=[nu], cv=2)
    sets = [
        {g for g, used in zip(groups, row, strict=True) if used}
        for row in result.history["support"].values
    ]
    dropped = [(larger - smaller).pop() for larger, smaller in pairwise(sets)]
    assert dropped == naive_elimination(Z, y, nu, groups)


def test_errors_are_those_of_scikit_learn():
    X, y = additive(40, 5)
    X_new, y_new = additive(50, 5, seed=1)
    nus = [1e-1, 1e-3]
    result = select(
        X,
        y,
        method="eliminate",
        kernel=Gaussian(2.0),
        nus=nus,
        validation=(X_new, y_new),
        standardize=False,
    )
    for step in range(result.history.sizes["step"]):
        row = result.history.isel(step=step)
        used = row["support"].values
        if not used.any():
            squares = [(y_new - y.mean()) ** 2] * 2
        else:
            models = (KernelRidge(alpha=40 * nu, kernel="rbf", gamma=1 / 8) for nu in nus)
            fits = (model.fit(X[:, used], y - y.mean()) for model in models)
            squares = [(f.predict(X_new[:, used]) + y.mean() - y_new) ** 2 for f in fits]
        best = int(np.argmin([s.mean() for s in squares]))
        assert_allclose(row["error"], squares[best].mean(), rtol=1e-8)
        assert_allclose(row["error_se"], squares[best].std(ddof=1) / np.sqrt(50), rtol=1e-8)
        assert_allclose(row["ridge_nu"], nus[best])


# --- cross-validation -------------------------------------------------------------------------


def a_task(X, y, **changes):
    """The task of `select` with its defaults."""
    given = {
        "kernel": Gaussian(2.0),
        "groups": None,
        "penalty": None,
        "nu": 1e-3,
        "validation": None,
        "cv": 3,
        "nus": [1e-2, 1e-4],
        "widths": None,
        "rule": "min",
        "standardize": True,
        "value_points": None,
        "random_state": 0,
        "n_jobs": None,
    }
    return make_task(X, y, **(given | changes))[0]


def test_every_fold_proposes_anew():
    X, y = additive(30, 3)
    task = a_task(X, y)
    seen = []

    def method(part):
        seen.append(len(part.y))
        strongest = np.argmax(np.abs(part.X.T @ part.y))
        return [Candidate(np.arange(3) == strongest, "spy", "", np.ones(3))]

    judged = judge(task, method)
    assert seen == [30, 20, 20, 20]
    folds = []
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        strongest = np.argmax(np.abs(task.X[train].T @ y[train]))
        Z, mean = task.X[:, [strongest]], y[train].mean()
        models = [KernelRidge(alpha=20 * nu, kernel="rbf", gamma=1 / 8) for nu in (1e-2, 1e-4)]
        fits = [model.fit(Z[train], y[train] - mean) for model in models]
        folds.append([np.mean((fit.predict(Z[test]) + mean - y[test]) ** 2) for fit in fits])
    mean = np.mean(folds, axis=0)
    best = int(np.argmin(mean))
    assert_allclose(judged.error, mean[best])
    assert_allclose(judged.error_se, np.std(folds, axis=0, ddof=1)[best] / np.sqrt(3))
    assert not judged.of_sets
    assert_allclose(judged.nu, (1e-2, 1e-4)[best])


def test_a_set_that_lacks_what_its_folds_had_is_judged_by_itself():
    X, y = additive(30, 3)
    task = a_task(X, y)
    both, first, rest = np.array([1, 1, 0]) > 0, np.array([1, 0, 0]) > 0, np.array([0, 0, 1]) > 0

    def method(part):
        sets = (first, both, both) if len(part.y) == 30 else (both, both, rest)
        return [Candidate(support, "spy", "", np.ones(3)) for support in sets]

    def errors(support, nu):
        for train, test in KFold(3, shuffle=True, random_state=0).split(X):
            Z, mean = task.X[:, support], y[train].mean()
            model = KernelRidge(alpha=20 * nu, kernel="rbf", gamma=1 / 8)
            fitted = model.fit(Z[train], y[train] - mean).predict(Z[test])
            yield np.mean((fitted + mean - y[test]) ** 2)

    judged = judge(task, method)
    for i, (kept, proposed) in enumerate([(first, both), (both, both), (both, rest)]):
        for nu in (1e-2, 1e-4):
            parts = max((list(errors(each, nu)) for each in (kept, proposed)), key=np.mean)
            assert judged.error[i] <= np.mean(parts) * (1 + 1e-9)
            if nu == judged.nu[i]:
                assert_allclose(judged.parts[:, i], parts)
                assert_allclose(judged.error[i], np.mean(parts))
    assert judged.error[1] < 0.5 * min(judged.error[0], judged.error[2])
    assert judged.best("min") == 1


def test_a_path_that_is_right_in_every_fold_may_be_wrong_at_the_end():
    # At two τ all folds find the six inputs; at the first of them all samples together do not.
    train, fresh = E2(70, 500), E2(1000, 9000)
    result = select(train.X, train.y, method="rank", kernel=CUBIC)
    assert_array_equal(result.support, train.support)
    error = np.mean((result.refit.predict(fresh.X) - fresh.y) ** 2)
    assert error < 0.01 * fresh.y.var()


def test_folds_of_all_kinds():
    X, y = additive(40, 3)
    splitter = KFold(4, shuffle=True, random_state=0)
    results = [
        select(X, y, method="eliminate", cv=cv)
        for cv in (4, splitter, list(splitter.split(X)), splitter.split(X))
    ]
    for result in results[1:]:
        xr.testing.assert_identical(result.history, results[0].history)
    random = ShuffleSplit(3, random_state=1)
    assert select(X, y, method="eliminate", cv=random).selected == ["x0", "x1"]


# --- which candidate wins ---------------------------------------------------------------------


def judged(sizes, errors, se=0.1, clearness=None):
    """Candidates with errors that are larger by se on one half of the data, smaller on the other.

    With clearness, the differences between errors have a standard error of se too.
    """
    candidates = [Candidate(np.arange(9) < size, "", "", np.ones(9)) for size in sizes]
    sign = np.ones(len(sizes))
    if clearness is not None:
        candidates = [
            c._replace(clearness=value) for c, value in zip(candidates, clearness, strict=True)
        ]
        sign[int(np.argmin(errors))] = 0.0
    errors = np.array(errors)
    parts = np.array([errors - se * sign, errors + se * sign])
    return Judged(candidates, errors, parts, np.full(2, 0.5), sign, np.zeros(len(sizes), int))


def test_ties_go_to_the_smaller_set_and_then_to_the_first():
    assert judged([5, 2, 3, 2], [1.0, 1.0, 1.0, 1.0]).best("min") == 1
    assert judged([5, 2, 3], [1.0, 1.0 + 1e-14, 1.1]).best("min") == 1
    assert judged([5, 2, 3], [1.0, 1.0 + 1e-6, 1.1]).best("min") == 0


def test_the_clearest_of_the_sets_with_all_but_the_least_error():
    sizes, errors = [6, 2, 5, 4], [1.045, 1.0, 1.03, 1.06]
    clear = [8.0, 1.2, 3.0, 90.0]
    assert judged(sizes, errors, 0.1, clear).best("clear") == 0
    assert judged(sizes, errors, 0.1, clear).best("min") == 1
    assert judged(sizes, errors, 0.01, clear).best("clear") == 1
    assert judged(sizes, errors, 0.1, [3.0] * 4).best("clear") == 1
    # What shifts all errors alike does not make them equal.
    assert judged(sizes, errors, 10.0).best("clear") == 1
    assert judged([0, 2], [1.0, 1.01], 0.1, [1.0, 9.0]).best("clear") == 0


def test_one_huge_error_does_not_make_bad_sets_as_good():
    parts = np.ones((50, 2))
    parts[:, 1] = 3.0
    parts[0, 1] = 1000.0
    share = np.full(50, 0.02)
    error = share @ parts
    se = (parts[:, 1] - parts[:, 0]).std() / np.sqrt(49)
    assert error[1] < error[0] + 2 * se
    candidates = [
        Candidate(np.arange(4) < size, "rank", "", np.ones(4), clearness=value)
        for size, value in ((2, 1.1), (4, 50.0))
    ]
    judged = Judged(candidates, error, parts, share, np.ones(2), np.zeros(2, dtype=int))
    assert judged.best("clear") == judged.best("min") == 0


def test_clearness_is_the_gap_between_the_norms():
    task = a_task(*additive(30, 4))
    norms = np.array([4.0, 0.5, 3.0, 1.0])
    cases = {
        (1, 0, 1, 0): 3.0,
        (1, 0, 0, 0): 4 / 3,
        (1, 1, 1, 0): 0.5,
        (1, 1, 1, 1): 1.0,
        (0,) * 4: 0.0,
    }
    for support, expected in cases.items():
        assert task.clearness(norms, np.array(support, bool)) == pytest.approx(expected)
    assert task.clearness(np.array([2.0, 0, 1, 0]), np.array([1, 0, 1, 0], bool)) == 1


@pytest.mark.parametrize("seed", [2001, 2003])
def test_inputs_that_repeat_each_other_stay_together(seed):
    """E3 measures each variable three times: for some samples two of six inputs do as well."""
    parts = zip((110, 1000), np.random.SeedSequence([seed]).spawn(3), strict=False)
    train, held_out = (E3(n, child) for n, child in parts)
    choose = partial(
        select, train.X, train.y, kernel=Gaussian(4.0), validation=(held_out.X, held_out.y)
    )
    assert choose(rule="min").support.sum() == 2
    assert_array_equal(choose().support, train.support)


def test_one_standard_error():
    assert judged([5, 4, 3, 3, 2], [1.0, 1.01, 1.09, 1.05, 1.11]).best("1se") == 3
    assert judged([5, 4, 3], [1.0, 0.95, 1.2], se=0.0).best("1se") == 1


def test_pool_is_never_worse_than_its_parts():
    train, held_out = problem(E3, 50)
    choose = partial(
        select, train.X, train.y, kernel=Gaussian(4.0), validation=held_out, rule="min"
    )
    parts = [choose(method=method) for method in ("eliminate", "reweight", "rank")]
    pool = choose()
    assert pool.score == min(part.score for part in parts)
    assert pool.history.sizes["step"] == sum(part.history.sizes["step"] for part in parts)
    two = choose(methods=["eliminate", "support"])
    assert set(two.history["method"].values) == {"eliminate", "support"}


def test_gaussian_kernels_help_out_a_polynomial_where_samples_are_few(monkeypatch):
    problems = [problem(E1, 30, seed) for seed in range(4)]

    def wrong_inputs():
        found = [
            select(train.X, train.y, kernel=CUBIC, validation=held_out, method="reweight")
            for train, held_out in problems
        ]
        return found, sum(
            int((result.support != train.support).sum())
            for result, (train, _) in zip(found, problems, strict=True)
        )

    helped, few = wrong_inputs()
    origins = {o for o in helped[0].history["origin"].values if "Gaussian" in o}
    assert len(origins) == 6 * 3  # two nu, three widths, three rounds
    monkeypatch.setattr(elimination, "GUIDES", ())
    assert few < wrong_inputs()[1]


def test_other_kernels_many_rows_and_repeated_rows_get_no_help():
    X, y = additive(1001, 3)
    for options in ({"kernel": Gaussian(2.0)}, {"kernel": CUBIC}):
        assert not _guides(a_task(X, y, **options))
    assert _guides(a_task(X[:1000], y[:1000], kernel=CUBIC))
    repeated = np.repeat(X[:2], 25, axis=0)
    assert not _guides(a_task(repeated, np.repeat(y[:2], 25), kernel=CUBIC))


@pytest.mark.filterwarnings("ignore::nvsd.selection.DataWarning")
@pytest.mark.parametrize("method", ["reweight", "pool"])
def test_every_fold_has_as_many_guides_as_all_samples(method):
    given = {"method": method, "kernel": Polynomial(2), "nus": [1e-2, 1e-4]}
    X, y = additive(1100, 2)  # folds with fewer than 1000 rows
    assert select(X, y**2, **given).selected == ["x0", "x1"]
    # Where points are repeated there is no width for all samples, or for those of a fold.
    X = np.tile(np.array(list(product([-1.0, 1.0], repeat=3))), (13, 1))
    assert select(X, X[:, 0] * X[:, 1], **given, cv=2).selected == ["x0", "x1"]
    X, y = additive(104, 2)
    X[:26] = X[0]
    found = select(X, X[:, 0] * X[:, 1], **given, cv=TimeSeriesSplit(3))
    assert any("Gaussian" in origin for origin in found.history["origin"].values)


def test_the_pool_is_decided_once_for_all_folds():
    X, y = additive(60, 50)
    given = {"nus": [1e-2], "cv": 2, "kernel": Gaussian(5.0)}
    one, other = (select(X, y, **given, **options) for options in ({}, {"methods": None}))
    xr.testing.assert_identical(one.history, other.history)


def test_pool_leaves_out_a_path_that_would_be_large():
    X, y = additive(60, 100)
    assert default_methods(a_task(X, y)) == ["eliminate", "reweight"]
    assert default_methods(a_task(X[:, :10], y)) == ["eliminate", "reweight", "rank"]
    assert default_methods(a_task(X, y, kernel=Linear())) == ["eliminate", "reweight", "rank"]


# --- what is recorded -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results():
    """One result of every method, by cross-validation and with groups."""
    X, y = additive(40, 6)
    choose = partial(select, X, y, cv=2, groups=list("aabbcc"))
    few = {"rank": {"n_taus": 4}, "support": {"n_taus": 6}, "adaptive": {"n_taus": 4}}
    few |= {"stability": {"n_pairs": 2, "threshold": None}, "pool": {"methods": ["eliminate"]}}
    return {method: choose(method=method, **few.get(method, {})) for method in METHODS}


@pytest.mark.parametrize("method", METHODS)
def test_groups_move_together(results, method):
    support = results[method].history["support"].values.reshape(-1, 3, 2)
    assert_array_equal(support[:, :, 0], support[:, :, 1])
    assert support.any()


@pytest.mark.parametrize("method", [m for m in METHODS if m != "support"])
def test_sets_of_one_origin_are_nested(results, method):
    history = results[method].history
    for origin in np.unique(history["origin"].values):
        sets = history["support"].values[history["origin"].values == origin]
        assert not (sets[1:] & ~sets[:-1]).any()
        assert not sets[-1].any()
        if method in ("eliminate", "reweight"):
            assert_array_equal(sets.sum(axis=1), [6, 4, 2, 0])


@pytest.mark.parametrize("method", METHODS)
def test_history_and_its_file(results, method, tmp_path):
    result = results[method]
    history = result.history
    steps = history.sizes["step"]
    for name in ("support", "derivative_norm", "strength"):
        assert history[name].dims == ("step", "feature")
        assert history[name].shape == (steps, 6)
    for name in (
        "n_selected",
        "error",
        "error_se",
        "ridge_nu",
        "kernel",
        "method",
        "origin",
        "tau",
    ):
        assert history[name].dims == ("step",)
    assert all("long_name" in history[name].attrs for name in history.data_vars)
    assert_array_equal(history["n_selected"], history["support"].sum("feature"))
    assert not history["derivative_norm"].values[~history["support"].values].any()
    chosen = history.isel(step=history.attrs["chosen"])
    assert_array_equal(chosen["support"], result.support)
    assert float(chosen["error"]) == result.score
    assert float(chosen["ridge_nu"]) == result.refit.nu
    assert history.attrs["method"] == result.method == method
    history.to_netcdf(tmp_path / "history.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "history.nc", engine="h5netcdf") as read:
        xr.testing.assert_identical(read.load(), history)


def test_derivative_norms_are_those_of_the_refit(results):
    result = results["eliminate"]
    X, _ = additive(40, 6)
    norms = np.sqrt(np.mean(result.refit.gradient(X) ** 2, axis=1)) * X.std(axis=0)
    chosen = result.history.isel(step=result.history.attrs["chosen"])
    assert_allclose(chosen["derivative_norm"], norms, rtol=1e-6)


def test_equal_runs_are_identical_also_in_parallel():
    X, y = additive(40, 5)
    for method, options in (("pool", {}), ("stability", {"n_pairs": 2, "threshold": None})):
        one, other = (select(X, y, method=method, cv=2, **options) for _ in range(2))
        xr.testing.assert_identical(one.history, other.history)
    parallel = select(X, y, method="stability", cv=2, n_jobs=2, **options)
    xr.testing.assert_allclose(one.history, parallel.history, rtol=1e-6)
    assert_array_equal(one.support, parallel.support)


def test_the_seed_makes_the_folds():
    X, y = additive(40, 5, noise=1.0)
    one, other = (select(X, y, method="eliminate", random_state=seed) for seed in (0, 1))
    assert not np.array_equal(one.history["error"], other.history["error"])


def test_table(results):
    table = results["eliminate"].table()
    names = ["feature", "group", "selected", "strength", "derivative_norm", "rank"]
    assert list(table.columns) == names
    np.testing.assert_array_equal(table["strength"], results["eliminate"].strength)
    assert list(table["feature"]) == [f"x{a}" for a in range(6)]
    assert sorted(table["rank"]) == [2, 2, 4, 4, 6, 6]
    assert table["rank"][table["selected"]].max() == table["selected"].sum()
    assert table["rank"][~table["selected"]].min() > table["selected"].sum()
    support = results["support"].table()
    assert support["rank"].isna().sum() <= 6


# --- the refit --------------------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [True, False])
def test_refit_ignores_what_was_dropped(standardize):
    X, y = additive(60, 5)
    given = {"nus": [1e-3, 1e-4], "standardize": standardize}
    result = select(X * 2.0 + 1.0, y, method="eliminate", **given)
    X_new = additive(20, 5, seed=7)[0] * 2.0 + 1.0
    nonsense = X_new.copy()
    nonsense[:, ~result.support] = np.nan
    prediction = result.refit.predict(X_new)
    assert_array_equal(prediction, result.refit.predict(nonsense))
    assert_array_equal(result.refit.gradient(X_new), result.refit.gradient(nonsense))
    assert np.mean((prediction - additive(20, 5, seed=7)[1]) ** 2) < 0.5
    gradient = result.refit.gradient(X_new)
    for a in range(5):
        step = 1e-5 * (np.arange(5) == a)
        up, down = result.refit.predict(X_new + step), result.refit.predict(X_new - step)
        assert_allclose(gradient[a], (up - down) / 2e-5, atol=1e-6)


def test_predictions_keep_the_units():
    X, y = additive(60, 4)
    one = select(X, y, method="eliminate")
    other = select(X * 1000.0 - 5.0, 10.0 * y + 3.0, method="eliminate")
    assert_array_equal(one.support, other.support)
    X_new = additive(10, 4, seed=1)[0]
    expected = 10.0 * one.refit.predict(X_new) + 3.0
    assert_allclose(other.refit.predict(X_new * 1000.0 - 5.0), expected, rtol=1e-6)


def test_names_of_a_data_frame():
    X, y = additive(60, 5)
    names = ["air temperature", 7, "größe", "step", "tau"]
    frame = pd.DataFrame(X, columns=names)
    validation = (pd.DataFrame(*additive(50, 5, seed=1)[:1], columns=names), additive(50, 5, 1)[1])
    shuffled = (validation[0][["tau", 7, "größe", "step", "air temperature"]], validation[1])
    groups = {"first": ["air temperature", "7"], "rest": ["größe", "step", "tau"]}
    result = select(frame, y, method="eliminate", validation=validation)
    assert result.selected == ["air temperature", "7"]
    assert result.features == ("air temperature", "7", "größe", "step", "tau")
    again = select(frame, y, method="eliminate", validation=shuffled)
    xr.testing.assert_identical(result.history, again.history)
    grouped = select(frame, y, method="eliminate", validation=validation, groups=groups)
    assert grouped.selected == ["air temperature", "7"]
    only = pd.DataFrame({7: X[:, 1], "air temperature": X[:, 0]})
    assert_array_equal(result.refit.predict(only), result.refit.predict(X))
    with pytest.raises(ValueError, match=r"lack '7'"):
        result.refit.predict(only[["air temperature"]])
    with pytest.raises(ValueError, match=r"several inputs are called 'air temperature'"):
        result.refit.predict(pd.concat([only, only], axis=1))


def test_labels_of_a_data_array():
    (X, y), (X_val, y_val) = additive(60, 3), additive(50, 3, seed=1)
    labels = {"sensor": ["a", "b", "c"]}
    labelled, held_out = (xr.DataArray(each, labels, ("row", "sensor")) for each in (X, X_val))
    turned = held_out.sel(sensor=["c", "a", "b"])
    results = [
        select(labelled, y, method="eliminate", validation=(each, y_val))
        for each in (held_out, turned)
    ]
    assert results[0].selected == ["a", "b"]
    xr.testing.assert_identical(results[0].history, results[1].history)
    assert_array_equal(results[0].refit.predict(turned), results[0].refit.predict(X_val))


def test_folds_as_masks():
    X, y = additive(40, 3)
    folds = list(KFold(4).split(X))
    masks = [tuple(np.isin(np.arange(40), part) for part in fold) for fold in folds]
    one, other = (select(X, y, method="eliminate", cv=cv) for cv in (folds, masks))
    xr.testing.assert_identical(one.history, other.history)


NAMES = ["air temperature", "7", "größe", "a,b"]
PAIRS = {"first": NAMES[:2], "rest": NAMES[2:]}
WEIGHTS = {"größe": 3.0, "a,b": 3.0}


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize(
    ("by_name", "by_place"),
    [
        ({}, {}),
        ({"groups": PAIRS}, {"groups": ["first", "first", "rest", "rest"]}),
        ({"penalty": Lasso(WEIGHTS)}, {"penalty": Lasso([1.0, 1.0, 3.0, 3.0])}),
        ({"penalty": GroupLasso(PAIRS)}, {"penalty": GroupLasso([0, 0, 1, 1])}),
    ],
)
def test_every_method_takes_groups_and_weights_by_name(method, by_name, by_place):
    X, y = additive(40, 4)
    given = {"method": method, "cv": 2, "nus": [1e-2, 1e-4]}
    given |= {"n_pairs": 3} if method == "stability" else {}
    named = select(pd.DataFrame(X, columns=NAMES), y, **given, **by_name)
    plain = select(X, y, **given, **by_place)
    assert_array_equal(named.support, plain.support)
    assert named.score == plain.score


# --- widths and penalties ---------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Matern52((1.0, 2.0)), 2.0 * Gaussian(3.0)])
def test_a_wider_kernel_sees_smaller_inputs(kernel, rng):
    X = rng.standard_normal((5, 2))
    assert_allclose((kernel + kernel).widened(1.7).K(X), (kernel + kernel).K(X / 1.7))


def test_the_width_is_chosen_for_every_candidate():
    X, y = additive(100, 5)
    wide, tuned = (
        select(X, y, method="eliminate", kernel=Gaussian(50.0), nus=[1e-3, 1e-4], widths=widths)
        for widths in (None, [1.0, 0.1, 0.03])
    )
    assert tuned.score < 0.5 * wide.score
    assert tuned.selected == ["x0", "x1"]
    assert tuned.refit.kernel in (Gaussian(5.0), Gaussian(1.5))


def wiggly(n, seed=0):
    """y = sin(3 x0) + x1, and x2 that does not matter."""
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1]


def test_a_width_for_each_input_changes_the_refit_and_not_the_set():
    (X, y), held_out = wiggly(120), wiggly(200, seed=1)
    given = {"method": "eliminate", "kernel": Gaussian(1.0), "validation": held_out}
    one, own = (select(X, y, width_per_input=per_input, **given) for per_input in (False, True))
    assert one.selected == own.selected == ["x0", "x1"]
    assert own.score < 0.5 * one.score
    assert own.refit.kernel.width[0] < 0.5 * own.refit.kernel.width[1]
    # What is recorded of the chosen candidate is the refit's.
    chosen = own.history.isel(step=own.history.attrs["chosen"])
    errors = (own.refit.predict(held_out[0]) - held_out[1]) ** 2
    assert own.score == pytest.approx(errors.mean(), rel=1e-12)
    assert chosen["error"] == own.score
    parts = [part.mean() for part in np.array_split(errors, 50)]
    assert chosen["error_se"] == pytest.approx(np.std(parts, ddof=1) / np.sqrt(50), rel=1e-9)
    gradient = own.refit.gradient(X) * own.refit.x_scale[:, None]
    assert_allclose(chosen["derivative_norm"], np.sqrt(np.mean(gradient**2, axis=1)), rtol=1e-9)
    dropped = own.history["error"].where(own.history["step"] != chosen["step"], drop=True)
    before = one.history["error"].where(one.history["step"] != chosen["step"], drop=True)
    assert_array_equal(dropped, before)


def test_widths_divided_by_norms_are_inputs_multiplied_by_them():
    X, y = wiggly(40)
    task = a_task(X, y, kernel=Gaussian(1.5))
    support, scale = np.array([True, True, False]), np.ones(2)
    kernels = width_per_input(task, support)
    assert len(kernels) == 1 + 2 * 3
    for kernel in kernels[1:4]:  # three rounds by hand, at the first ν
        ridge = KernelRidge(alpha=40 * 1e-2, kernel="precomputed")
        Z = task.X[:, :2] * scale
        ridge.fit(Gaussian(1.5).K(Z), y - y.mean())
        _, slopes = Gaussian(1.5).apply(Z, Z, ridge.dual_coef_)
        norms = scale * np.sqrt(np.mean(slopes**2, axis=1))
        scale = norms / np.sqrt(np.mean(norms**2))
        assert_allclose(kernel.restrict(support).width, 1.5 / scale, rtol=1e-6)


def test_a_width_for_each_input_by_cross_validation():
    X, y = wiggly(200)
    given = {"method": "eliminate", "kernel": Gaussian(1.0), "cv": 3}
    one, own = (select(X, y, width_per_input=per_input, **given) for per_input in (False, True))
    assert own.selected == one.selected
    assert own.score == one.score
    X_new, y_new = wiggly(500, seed=2)
    errors = [np.mean((each.refit.predict(X_new) - y_new) ** 2) for each in (one, own)]
    assert errors[1] < 0.5 * errors[0]
    model = own.dataset().sortby("feature", ascending=False)
    assert_allclose(model.nvsd.predict(X_new[:, :2]), own.refit.predict(X_new), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::nvsd.selection.DataWarning")
def test_no_inputs_have_no_widths():
    X, y = wiggly(30)
    result = select(X[:, 2:], 0 * y, width_per_input=True, method="eliminate")
    assert result.selected == []


@pytest.mark.parametrize(
    "penalty",
    [
        Lasso(),
        ElasticNet(0.5),
        ElasticNet([0.5, 0.9]),
        GroupLasso(list("aabb")),
        SparseGroupLasso(list("aabb")),
    ],
)
def test_penalties_of_the_path(penalty):
    X, y = additive(40, 4)
    for method in ("support", "rank", "adaptive"):
        result = select(X, y, method=method, penalty=penalty, n_taus=4, cv=2)
        assert {"x0", "x1"} <= set(result.selected)
        assert (result.groups is not None) == isinstance(penalty, GroupLasso)
        assert np.isfinite(result.history["tau"]).all()


def test_support_is_the_path_s_own():
    X, y = additive(40, 4)
    path = nvsd.nvsd_path(X, y, kernel=Gaussian(2.0), n_taus=10, standardize=True)
    result = select(X, y, method="support", kernel=Gaussian(2.0), n_taus=10)
    assert_array_equal(result.history["support"], path["support"])
    assert_allclose(result.history["tau"], path["tau"])
    # The strengths are the norms of φ, as far from those of Zθ as the primal residual says.
    strength = result.history["strength"]
    assert_array_equal(strength > 0, path["support"])
    difference = np.abs(strength.values - path["derivative_norm"].values).max(axis=1)
    assert (difference <= path["primal_residual"].values + 1e-9).all()


# --- what is refused --------------------------------------------------------------------------

X_BAD, Y_BAD = additive(12, 3)
REFUSED = [
    ({"value_points": 0}, "value_points = 0 is not allowed; give a positive integer"),
    ({"method": "guess"}, "method = 'guess' is unknown"),
    ({"method": "eliminate", "rounds": 3}, "'eliminate' has no option 'rounds'"),
    ({"method": "rank", "taus": 3}, "no option 'taus'; give n_taus"),
    ({"methods": ["pool"]}, "'pool' is not a method"),
    ({"methods": []}, "an empty list is not a method"),
    ({"method": "stability", "base": "magic"}, "'magic' is not a method"),
    ({"method": "stability", "threshold": 0}, "threshold = 0 is not allowed"),
    ({"method": "stability", "n_pairs": 0}, "n_pairs = 0 is not allowed"),
    ({"method": "reweight", "rounds": 0}, "rounds = 0 is not allowed"),
    ({"method": "adaptive", "stages": 0}, "stages = 0 is not allowed"),
    ({"rule": "2se"}, "rule = '2se' is unknown"),
    ({"cv": 1}, "cv = 1 is not allowed; give from 2 to 12 folds"),
    ({"cv": 13}, "cv = 13 is not allowed"),
    ({"cv": 2.5}, "cv = 2.5 is not allowed"),
    ({"cv": [1, 2]}, "cv = [1, 2] is not allowed"),
    ({"cv": "5"}, "cv = '5' is not allowed; give a number of folds"),
    ({"cv": []}, "cv has no folds"),
    ({"cv": [(range(6), range(6, 12)), (range(12), [])]}, "fold 1 of cv has 0 test rows"),
    ({"cv": [([0], range(1, 12))]}, "fold 0 of cv has 1 training rows"),
    ({"cv": [(range(6), [12])]}, "test rows that are not indices below 12"),
    ({"cv": [(range(6), [0.5])]}, "test rows that are not indices below 12"),
    ({"cv": [([0, 1, 2], range(3, 12))], "method": "stability"}, "halves of 3 samples"),
    ({"standardize": "no"}, "standardize = 'no' is not allowed; give True or False"),
    ({"validation": (X_BAD[:, :2], Y_BAD)}, "validation X has shape (12, 2); give rows of 3"),
    ({"validation": (X_BAD, Y_BAD[:5])}, "y has shape (5,) for 12 rows"),
    ({"validation": (X_BAD[:1], Y_BAD[:1])}, "fewer than 2 rows"),
    ({"validation": X_BAD}, "validation is not a pair"),
    ({"validation": (pd.DataFrame(X_BAD, columns=list("abc")), Y_BAD)}, "lack 'x0'"),
    ({"groups": {"a": [0, 1], "b": [1, 2]}}, "the groups overlap in 'x1'"),
    ({"groups": ["a", "b"]}, "2 group labels were given for 3 features"),
    ({"kernel": "round"}, "kernel = 'round' is unknown; give a kernel of nvsd.kernels, or one of"),
    ({"penalty": "ridge"}, "penalty = 'ridge' is unknown; give a penalty of nvsd.penalties, or"),
    ({"penalty": "group"}, "penalty = 'group' needs groups"),
    ({"nus": []}, "nus has shape (0,)"),
    ({"nus": [1.0, -1.0]}, "a number of nus = -1.0 is not allowed"),
    ({"widths": [0.0]}, "a number of widths = 0.0 is not allowed"),
    ({"widths": [1.0, 2.0], "kernel": CUBIC}, "has no width to multiply"),
    ({"width_per_input": True, "kernel": CUBIC}, "has no width to multiply"),
    ({"nu": -1.0}, "nu = -1.0 is not allowed"),
    ({"random_state": -1}, "random_state = -1 is not a seed"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_refused(given, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        select(X_BAD, Y_BAD, **given)
    assert str(error.value).count("\n") == 0


def test_refused_points():
    result = select(X_BAD, Y_BAD, method="eliminate", cv=2)
    with pytest.raises(ValueError, match=r"X_new has shape \(4, 2\); give rows of 3 inputs"):
        result.refit.predict(np.ones((4, 2)))
    with pytest.raises(ValueError, match="X holds NaN or infinite"):
        select(X_BAD * np.inf, Y_BAD)
    with pytest.raises(ValueError, match="X holds NaN or infinite"):
        select(np.ma.masked_less(X_BAD, 0.0), Y_BAD)
    missing = pd.DataFrame(X_BAD).astype("Float64").mask(X_BAD < 0.0)
    with pytest.raises(ValueError, match="X holds NaN or infinite"):
        select(missing, Y_BAD)
    with pytest.raises(ValueError, match="y has shape"):
        select(X_BAD, Y_BAD[:-1])
