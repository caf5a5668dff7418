"""Weights of rows, and rows that belong together, in `select` and `significance`."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, TimeSeriesSplit

import nvsd
from nvsd.data.weights import (
    mean,
    median,
    row_weights,
    standard_error,
    unbiased_error,
    weights_at,
)
from nvsd.engine import judging, loss_judging, loss_sets, refits
from nvsd.engine.ranking import rank
from nvsd.losses import Huber
from nvsd.selection.quality import quality

N = 120
UNEQUAL = np.arange(N) + 1.0


@pytest.fixture(scope="module")
def sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """y depends on x0 and x1."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.standard_normal(N)
    return X, y, rng.uniform(0.2, 3, N)


def same(one: nvsd.Selection, two: nvsd.Selection) -> None:
    xr.testing.assert_identical(one.history, two.history)
    np.testing.assert_array_equal(one.refit.fit.alpha, two.refit.fit.alpha)


def target(kind: str, y: np.ndarray) -> tuple[np.ndarray, dict]:
    return {
        "squares": (y, {}),
        "huber": (y, {"loss": "huber"}),
        "classes": (np.where(y > 0.7, "high", "low"), {}),
        "three": (np.digitize(y, [0.2, 1.2]).astype(str), {}),
    }[kind]


every_kind = pytest.mark.parametrize("kind", ["squares", "huber", "classes", "three"])


def test_the_weights_of_no_rows_are_none() -> None:
    """A split may hold nothing out."""
    assert weights_at(UNEQUAL, np.arange(0)).shape == (0,)
    assert weights_at(UNEQUAL, [0, 2]).tolist() == [0.5, 1.5]


# --- laws ----------------------------------------------------------------------------------------


@every_kind
def test_equal_weights_are_none_and_zeros_leave_rows_out(kind: str, sample) -> None:
    X, y, _ = sample
    y, given = target(kind, y)
    given |= {"cv": 2}
    some = np.arange(N) % 3 > 0
    few = nvsd.select(X[some], y[some], **given)
    same(few, nvsd.select(X, y, sample_weight=np.where(some, 7.0, 0.0), **given))


def test_only_ratios_matter(sample) -> None:
    X, y, w = sample
    one, two = (nvsd.select(X, y, cv=2, sample_weight=c * w) for c in (1.0, 8.0))
    same(one, two)  # a power of two scales without rounding
    assert one.score != nvsd.select(X, y, cv=2).score


def test_zeros_with_listed_splits_and_groups(sample) -> None:
    X, y, w = sample
    kept = np.arange(N) >= 20
    halves = [(np.arange(0, N, 2), np.arange(1, N, 2)), (np.arange(1, N, 2), np.arange(0, N, 2))]
    shifted = [(a[a >= 20] - 20, b[b >= 20] - 20) for a, b in halves]
    one = nvsd.select(X, y, cv=halves, sample_weight=w * kept)
    same(one, nvsd.select(X[kept], y[kept], cv=shifted, sample_weight=w[kept]))
    days = np.arange(N) // 10
    one = nvsd.select(X, y, cv=2, cv_groups=days, sample_weight=w * kept)
    same(one, nvsd.select(X[kept], y[kept], cv=2, cv_groups=days[kept], sample_weight=w[kept]))


@pytest.mark.parametrize("kind", ["squares", "huber", "classes"])
def test_weights_choose_the_rows_that_decide(kind: str) -> None:
    """x0 explains the heavy half of the rows, and x1 the light half."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((140, 3))
    heavy = rng.random(140) < 0.5
    y = np.where(heavy, 2 * X[:, 0], 2 * X[:, 1]) + 0.1 * rng.standard_normal(140)
    y, given = target(kind, y)
    weights = np.where(heavy, 1.0, 1e-3)
    found = nvsd.select(X, y, cv=2, sample_weight=weights, **given)
    assert found.selected == ["x0"]
    assert found.ranking.index[0] == "x0"
    assert "x1" in nvsd.select(X, y, cv=2, sample_weight=1 / weights, **given).selected


def test_the_score_is_a_weighted_mean(sample) -> None:
    """With validation data, and with folds: the mean of y alone is the known case."""
    rng = np.random.default_rng(2)
    X, y, w = rng.standard_normal((60, 2)), rng.standard_normal(60), rng.uniform(0.1, 3, 60)
    found = nvsd.select(X, y, k=0, cv=3, sample_weight=w)
    folds = [(t, h) for t, h in _shuffled(60, 3)]
    errors = np.concatenate([y[h] - np.average(y[t], weights=w[t]) for t, h in folds])
    of_held = np.concatenate([w[h] for _, h in folds])
    first = found.history.isel(step=0)
    assert float(first.error) == pytest.approx(np.average(errors**2, weights=of_held))
    assert found.predict(X)[0] == pytest.approx(np.average(y, weights=w))
    val = nvsd.select(X, y, k=0, validation=(X[:20], y[:20]), sample_weight=w)
    known = np.mean((y[:20] - np.average(y, weights=w)) ** 2)
    assert float(val.history.isel(step=0).error) == pytest.approx(known)


def _shuffled(n: int, k: int):
    return KFold(k, shuffle=True, random_state=0).split(np.zeros(n))


def test_many_rows_are_weighted(monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than fit in a matrix, here few: landmarks, and sums over all rows."""
    monkeypatch.setattr(judging, "RANK_ROWS", 100)
    monkeypatch.setattr(loss_judging, "RANK_ROWS", 100)
    monkeypatch.setattr(loss_sets, "MANY", 50)
    monkeypatch.setattr(refits, "MANY_ROWS", 200)
    monkeypatch.setattr(refits, "SAMPLE", 150)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 3))
    heavy = rng.random(400) < 0.5
    y = np.where(heavy, 2 * X[:, 0], 5 - 2 * X[:, 1]) + 0.1 * rng.standard_normal(400)
    given = {"cv": 2, "sample_weight": np.where(heavy, 1.0, 1e-5)}
    found = nvsd.select(X, y, **given)
    assert found.selected == ["x0"]
    new = rng.uniform(-2, 2, (50, 3))
    np.testing.assert_allclose(found.predict(new), 2 * new[:, 0], atol=0.4)
    assert nvsd.select(X, y > 0, **given).selected == ["x0"]


# --- classes -------------------------------------------------------------------------------------


def test_class_weight_multiplies_sample_weight(sample) -> None:
    X, y, w = sample
    labels = np.where(y > 1.5, "rare", "usual")
    each = np.where(labels == "rare", 5.0, 1.0)
    one = nvsd.select(X, labels, cv=2, sample_weight=w, class_weight={"rare": 5.0})
    two = nvsd.select(X, labels, cv=2, sample_weight=w * each)
    assert one.selected == two.selected
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-6)
    balanced = nvsd.select(X, labels, cv=2, class_weight="balanced")
    share = (labels == "rare").mean()
    weights = np.where(labels == "rare", 1 / share, 1 / (1 - share))
    again = nvsd.select(X, labels, cv=2, sample_weight=weights)
    np.testing.assert_allclose(balanced.predict_proba(X), again.predict_proba(X), rtol=1e-6)
    plain = nvsd.select(X, labels, cv=2).predict_proba(X)[:, 0].mean()
    assert balanced.predict_proba(X)[:, 0].mean() > plain


def test_weighted_quality_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(50).round(1).clip(0.05, 0.95)
    codes, w = (rng.random(50) < p).astype(int), rng.uniform(0.1, 3, 50)
    found = quality(np.column_stack([1 - p, p]), codes, w)
    given = {"sample_weight": w}
    assert found["log_loss"] == pytest.approx(log_loss(codes, p, **given))
    assert found["brier"] == pytest.approx(brier_score_loss(codes, p, **given))
    assert found["auc"] == pytest.approx(roc_auc_score(codes, p, **given))
    assert found["accuracy"] == pytest.approx(accuracy_score(codes, p > 0.5, **given))
    times = rng.integers(1, 4, 50)
    repeated = quality(np.repeat(np.column_stack([1 - p, p]), times, axis=0), codes.repeat(times))
    weighted = quality(np.column_stack([1 - p, p]), codes, times.astype(float))
    for name in ("log_loss", "brier", "auc", "accuracy"):
        assert weighted[name] == pytest.approx(repeated[name])


# --- tests ---------------------------------------------------------------------------------------


def test_significance_with_weights(sample) -> None:
    X, y, w = sample
    plain = nvsd.significance(X, y, cv=2)
    xr.testing.assert_identical(plain, nvsd.significance(X, y, cv=2, sample_weight=np.full(N, 2.0)))
    weighted = nvsd.significance(X, y, cv=2, sample_weight=w)
    assert weighted.feature.values[weighted.q_value < 0.1].tolist() == ["x0", "x1"]
    assert not np.array_equal(weighted.importance, plain.importance)
    some = np.arange(N) % 4 > 0
    few = nvsd.significance(X[some], y[some] > 0.7, cv=2)
    xr.testing.assert_identical(few, nvsd.significance(X, y > 0.7, cv=2, sample_weight=some * 1.0))


def test_weighted_errors_of_means() -> None:
    """Equal weights give the usual formulas, and a simulation agrees with unequal ones."""
    rng = np.random.default_rng(0)
    v, ones = rng.standard_normal((30, 2)), np.ones(30)
    np.testing.assert_allclose(standard_error(v, ones), standard_error(v, None))
    np.testing.assert_allclose(unbiased_error(v, ones), unbiased_error(v, None))
    w = rng.uniform(0.1, 3, 30)
    draws = rng.standard_normal((4000, 30))
    spread = np.std([mean(each, w) for each in draws])
    found = np.sqrt(np.mean([unbiased_error(each, w) ** 2 for each in draws]))
    assert found == pytest.approx(spread, rel=0.05)


def test_the_weighted_median_is_that_of_repeated_values() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 8):
        v, times = rng.standard_normal(n).round(1), rng.integers(1, 4, n)
        repeated = np.median(np.repeat(v, times))
        assert median(v, times / times.mean()) == pytest.approx(repeated)
    y = np.array([0.0, 1.0, 5.0, 9.0])
    assert Huber().bound(y, np.array([1.0, 1.0, 2.0, 1.0])) == Huber().bound(
        np.array([0.0, 1.0, 5.0, 5.0, 9.0])
    )


def test_a_ranking_of_weighted_rows() -> None:
    """Rows of nearly no weight do not count in the scan, the race and the effects."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 5))
    heavy = np.arange(150) < 75
    y = np.where(heavy, X[:, 3], X[:, 1])
    w = np.where(heavy, 2.0, 1e-6)
    found = rank(X, y, weights=w / w.mean())
    assert found.order[0] == 3
    assert found.score[3] > 5 * np.delete(found.score, 3).max()


# --- rows that belong together -------------------------------------------------------------------


def test_groups_of_rows_are_held_out_together(sample) -> None:
    X, y, _ = sample
    days = np.arange(N) // 8
    by_splitter = nvsd.select(X, y, cv=GroupKFold(3), cv_groups=days)
    listed = nvsd.select(X, y, cv=list(GroupKFold(3).split(X, y, days)))
    same(by_splitter, listed)
    names = np.array([f"day {day}" for day in days])
    for cv in (3, LeaveOneGroupOut()):
        nvsd.select(X, y, cv=cv, cv_groups=names if cv == 3 else days // 5)
    nvsd.select(X, y > 1, cv=3, cv_groups=names)
    nvsd.significance(X, y, cv=3, cv_groups=days, repeats=2)
    nvsd.select(X, y, cv=GroupKFold(2), cv_groups=days, method="eliminate", nus=[1e-2])


def test_rows_that_are_never_held_out(sample) -> None:
    X, y, w = sample
    found = nvsd.select(X, y, cv=TimeSeriesSplit(3), sample_weight=w)
    assert found.selected == ["x0", "x1"]
    assert nvsd.significance(X, y, cv=TimeSeriesSplit(3)).attrs["n_rows"] == 90


WRONG = {
    "groups are missing": ({"cv": GroupKFold(3)}, "splits by groups of rows; give cv_groups"),
    "too few labels": ({"cv_groups": [1, 2]}, "cv_groups has shape"),
    "a missing label": ({"cv_groups": [None] + ["a"] * (N - 1)}, "cv_groups has missing labels"),
    "too many folds": ({"cv_groups": [0, 1] * (N // 2)}, "more than the 2 labels of cv_groups"),
    "listed splits": ({"cv": [([0, 1], [2])], "cv_groups": [0] * N}, "cv_groups has no effect"),
    "negative": ({"sample_weight": [-1.0] + [1.0] * (N - 1)}, "give weights >= 0"),
    "all zero": ({"sample_weight": np.zeros(N)}, "sample_weight is zero in every row"),
    "short": ({"sample_weight": np.ones(3)}, "sample_weight has shape"),
    "no classes": ({"class_weight": "balanced"}, "y holds no classes"),
    "pool": ({"sample_weight": UNEQUAL, "method": "pool"}, "'pool' does not take sample_weight"),
    "by kernel": ({"sample_weight": UNEQUAL, "nus": [1.0]}, "'pool' does not take sample_weight"),
    "both seeds": ({"rng": 1, "random_state": 0}, "rng and random_state were both given"),
    "no seed": ({"rng": "a"}, "rng = 'a' is not a seed"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_refused(case: str, sample) -> None:
    X, y, _ = sample
    given, words = WRONG[case]
    with pytest.raises(ValueError, match=words) as caught:
        nvsd.select(X, y, **given)
    assert str(caught.value).count(". ") == 0
    if not {"method", "nus", "class_weight"} & set(given):
        with pytest.raises(ValueError, match=words):
            nvsd.significance(X, y, **given)


def test_other_methods_take_equal_weights(sample) -> None:
    X, y, _ = sample
    given = {"method": "eliminate", "nus": [1e-2], "cv": 2}
    same(nvsd.select(X, y, sample_weight=np.full(N, 2.0), **given), nvsd.select(X, y, **given))


def test_blocks_have_no_weights(sample) -> None:
    X, y, w = sample
    for given in ({"sample_weight": w}, {"cv_groups": w}):
        with pytest.raises(ValueError, match="needs all rows at once"):
            nvsd.select([(X, y)], **given)


# --- seeds ---------------------------------------------------------------------------------------


def test_rng_takes_the_place_of_random_state(sample) -> None:
    X, y = sample[0][:60, :2], sample[1][:60]
    same(nvsd.select(X, y, cv=2, rng=3), nvsd.select(X, y, cv=2, random_state=3))
    one, two = (nvsd.select(X, y, cv=2, rng=np.random.default_rng(5)) for _ in range(2))
    same(one, two)
    rng = np.random.default_rng(5)
    first, second = (nvsd.select(X, y, cv=2, rng=rng) for _ in range(2))
    same(first, one)
    assert first.score != second.score


def test_row_weights_are_checked_once() -> None:
    found = row_weights([0, 2, 0, 2], 4)
    assert found.kept.tolist() == [1, 3]
    assert found.values is None
    assert found.take(["a", "b", "c", "d"]).tolist() == ["b", "d"]
    with pytest.raises(ValueError, match="y has shape"):
        found.take([1, 2])
    assert row_weights([0, 1, 3], 3).values.tolist() == [0.5, 1.5]
