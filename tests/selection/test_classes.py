"""`select` on classes, and by losses that far values of y do not decide."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.model_selection import StratifiedKFold

import nvsd
from nvsd.data.units import DataWarning
from nvsd.losses import Huber, Logistic, Quantile
from nvsd.plots import plot_elimination
from nvsd.results.classes import of_classes, predicted_classes
from nvsd.selection.classes import ClassSelection
from nvsd.selection.folds import _folds
from nvsd.selection.quality import quality
from nvsd.selection.targets import are_labels


def sample(n: int, seed: int = 0, d: int = 6) -> tuple[pd.DataFrame, np.ndarray]:
    """Two classes: the odds have a parabola in b and a line in d."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, d)), columns=list("abcdefghij")[:d])
    odds = 2 * X["b"] ** 2 - 2 + 2 * X["d"]
    return X, np.where(odds + rng.logistic(size=n) > 0, "yes", "no")


@pytest.fixture(scope="module")
def found() -> ClassSelection:
    return nvsd.select(*sample(250), progress=False)


def test_classes_are_selected_predicted_and_scored(found: ClassSelection) -> None:
    assert isinstance(found, ClassSelection)
    assert set(found.selected) == {"b", "d"}
    assert found.classes.tolist() == ["no", "yes"]
    assert found.measure == "log-loss"
    X, y = sample(2000, 1)
    P = found.predict_proba(X)
    assert P.shape == (2000, 2)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(found.predict(X), found.classes[P.argmax(axis=1)])
    np.testing.assert_allclose(
        found.decision_function(X), np.log(P[:, 1] / P[:, 0]), rtol=1e-6, atol=1e-9
    )
    fresh = metrics.log_loss(y, P)
    assert fresh == pytest.approx(found.score, abs=0.08)
    assert found.quality["log_loss"] == pytest.approx(found.score)
    assert found.quality["accuracy"] == pytest.approx(np.mean(found.predict(X) == y), abs=0.06)
    assert found.quality["auc"] == pytest.approx(metrics.roc_auc_score(y, P[:, 1]), abs=0.06)
    assert 0 < found.quality["calibration_error"] < 0.1
    for name, value in found.quality.items():
        assert found.history.attrs[name] == value
    # The least that a log-loss can be here.
    odds = 2 * X["b"] ** 2 - 2 + 2 * X["d"]
    least = np.mean(np.logaddexp(0, -np.where(y == "yes", 1, -1) * odds))
    assert fresh < least + 0.06


def test_the_history_says_what_it_measures(found: ClassSelection) -> None:
    assert found.history["error"].attrs["long_name"] == "log-loss on held-out data"
    assert found.history.attrs["loss"] == Logistic().to_json()
    assert plot_elimination(found).get_ylabel() == "log-loss on held-out data"
    first = found.history.isel(step=0)
    _, y = sample(250)
    share = np.mean(y == "yes")
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert float(first["n_selected"]) == 0
    assert float(first["error"]) == pytest.approx(entropy, abs=0.02)


def test_p_values_and_the_table(found: ClassSelection) -> None:
    p = found.p_values
    assert (p[["b", "d"]] < 1e-3).all()
    assert (p[["a", "c", "e", "f"]] > 0.01).all()
    assert set(found.table()["feature"][found.table()["selected"]]) == {"b", "d"}


def test_the_dataset_predicts_the_same(found: ClassSelection, tmp_path) -> None:
    from nvsd.files import read_path, write_dataset

    X, _ = sample(20, 3)
    write_dataset(tmp_path / "model.nc", found.dataset())
    model = read_path(tmp_path / "model.nc")
    assert of_classes(model)
    classes, P = predicted_classes(model, X)
    assert classes.tolist() == ["no", "yes"]
    np.testing.assert_allclose(P, found.refit.predict_proba(X), atol=1e-12)


def test_relabelling_mirrors_the_probabilities(found: ClassSelection) -> None:
    X, y = sample(250)
    other = nvsd.select(X, np.where(y == "yes", "a", "b"), progress=False)
    np.testing.assert_array_equal(other.support, found.support)
    np.testing.assert_allclose(
        other.predict_proba(X)[:, 0], found.predict_proba(X)[:, 1], atol=1e-3
    )


@pytest.mark.parametrize("kind", ["bool", "category", "boolean", "string", "int"])
def test_labels_of_every_type_are_the_same_problem(kind: str) -> None:
    X, y = sample(60, 2)
    given = pd.Series(y == "yes")
    labels = {
        "bool": given.to_numpy(),
        "category": pd.Series(y).astype("category"),
        "boolean": given.astype("boolean"),
        "string": pd.Series(y).astype("string"),
        "int": given.to_numpy().astype(int),
    }[kind]
    options = {"cv": 3, "progress": False}
    loss = "logistic" if kind == "int" else None
    one, two = nvsd.select(X, labels, loss=loss, **options), nvsd.select(X, y, **options)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-12)
    assert one.classes[1] == {"string": "yes", "category": "yes"}.get(kind, True)


def test_whole_numbers_are_numbers_unless_told() -> None:
    X, y = sample(80, 2)
    zeros = (y == "yes").astype(int)
    with pytest.warns(DataWarning, match="2 different values"):
        plain = nvsd.select(X, zeros, cv=3, progress=False)
    assert not isinstance(plain, ClassSelection)
    assert plain.measure == "mean squared error"
    assert not are_labels(zeros)
    assert not are_labels(np.array([0, 1, 2.5], dtype=object))
    assert isinstance(nvsd.select(X, zeros, cv=3, loss=Logistic(), progress=False), ClassSelection)


def three(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 7))
    odds = np.stack([2 * X[:, 0], 2 * X[:, 1] ** 2 - 2, np.zeros(n)], axis=1)
    return X, np.array([3, 5, 9])[(odds + rng.gumbel(size=odds.shape)).argmax(axis=1)]


def test_three_classes(tmp_path) -> None:
    from nvsd.files import read_path, write_dataset

    found = nvsd.select(*three(300, 0), loss="logistic", progress=False)
    assert found.selected == ["x0", "x1"]
    assert found.classes.tolist() == [3, 5, 9]
    X, y = three(2000, 1)
    P = found.predict_proba(X)
    assert metrics.log_loss(y, P) == pytest.approx(found.score, abs=0.15)
    assert metrics.log_loss(y, P) < 0.8  # known odds have .67, shares 1.1
    assert found.quality["auc"] == pytest.approx(
        metrics.roc_auc_score(y, P, multi_class="ovr"), abs=0.06
    )
    assert found.decision_function(X).shape == (2000, 3)
    assert set(found.predict(X)) == {3, 5, 9}
    write_dataset(tmp_path / "model.nc", found.dataset())
    model = read_path(tmp_path / "model.nc")
    classes, Q = predicted_classes(model, X[:9, :2])
    assert classes.tolist() == [3, 5, 9]
    np.testing.assert_allclose(Q, found.refit.predict_proba(X[:9]), atol=1e-12)
    # Without the row of the shares.
    plain = model.nvsd.probability(X[:9, :2]).transpose("sample", "class")
    np.testing.assert_allclose(plain, Q, atol=0.01)


def test_scores_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for k in (2, 4):
        P = rng.dirichlet(np.ones(k), 200).round(2) + 0.01
        P /= P.sum(axis=1, keepdims=True)
        y = rng.integers(k, size=200)
        found = quality(P, y)
        assert found["log_loss"] == pytest.approx(metrics.log_loss(y, P))
        assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y, P.argmax(axis=1)))
        scores = P[:, 1] if k == 2 else P
        auc = metrics.roc_auc_score(y, scores, multi_class="ovr")
        assert found["auc"] == pytest.approx(auc)
    P = np.column_stack([1 - P[:, 1], P[:, 1]])
    y = (rng.random(200) < 0.5).astype(int)
    assert quality(P, y)["brier"] == pytest.approx(metrics.brier_score_loss(y, P[:, 1]))
    even = np.full((1000, 2), 0.5)
    assert quality(even, np.arange(1000) % 2)["calibration_error"] == 0
    assert quality(even, np.ones(1000, dtype=int))["calibration_error"] == 0.5
    assert quality(even, np.ones(1000, dtype=int))["auc"] == 0.5


def test_folds_keep_the_shares_of_rare_classes() -> None:
    y = np.array([0.0] * 90 + [1.0] * 10)
    folds = list(_folds(5, y, 0, True))
    assert [int(y[test].sum()) for _, test in folds] == [2] * 5
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(100))
    for train, test in folds:
        assert not set(train) & set(test)
    assert not np.array_equal(folds[0][1], next(iter(_folds(5, y, 1, True)))[1])


def test_classes_without_a_pattern_select_nothing() -> None:
    X, y = sample(150, 5)
    y = np.random.default_rng(0).permutation(y)
    found = nvsd.select(X, y, progress=False)
    assert found.selected == []
    assert found.predicts_with == "the shares of the classes"
    P = found.predict_proba(X)
    np.testing.assert_allclose(P[:, 1], np.mean(y == "yes"), atol=0.01)
    _, Q = predicted_classes(found.dataset(), X)
    np.testing.assert_allclose(Q, P, atol=1e-12)


def test_separable_classes_have_sensible_log_losses() -> None:
    rng = np.random.default_rng(0)
    X, fresh = rng.standard_normal((120, 5)), rng.standard_normal((2000, 5))
    found = nvsd.select(X, X[:, 2] > 0.3, progress=False)
    assert found.order[0] == 2
    assert "x2" in found.selected
    P = found.predict_proba(fresh)
    loss = -np.log(np.where(fresh[:, 2] > 0.3, P[:, 1], P[:, 0]))
    assert loss.mean() < 0.06
    assert loss.max() < 8
    assert found.score < 0.06


def test_groups_keep_k_validation_and_splitters() -> None:
    X, y = sample(120, 4)
    grouped = nvsd.select(*sample(250), groups=list("uuvvww"), cv=3, progress=False)
    assert grouped.support.tolist() == [True, True, True, True, False, False]
    exact = nvsd.select(X, y, keep=["f"], k=3, cv=StratifiedKFold(3), progress=False)
    assert exact.support.sum() == 3
    assert exact.support[5]
    judged = nvsd.select(X, y, validation=sample(300, 5), progress=False)
    assert {"b", "d"} <= set(judged.selected)
    P = judged.refit.predict_proba(sample(300, 5)[0])
    assert metrics.log_loss(sample(300, 5)[1], P) == pytest.approx(judged.score, abs=0.1)
    by_tests = nvsd.select(X, y, fdr=0.1, cv=3, progress=False)
    assert {"b", "d"} <= set(by_tests.selected)
    assert by_tests.history.attrs["rule"] == "fdr"
    jobs = nvsd.select(X, y, cv=3, n_jobs=2, progress=False)
    alone = nvsd.select(X, y, cv=3, progress=False)
    np.testing.assert_array_equal(jobs.predict_proba(X), alone.predict_proba(X))


def test_imbalanced_classes() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 6))
    y = X[:, 1] + X[:, 4] ** 2 + rng.logistic(size=400) * 0.3 > 3.2
    assert 0.03 < y.mean() < 0.15
    found = nvsd.select(X, y, progress=False)
    assert {"x1", "x4"} <= set(found.selected)
    assert found.quality["auc"] > 0.9


def test_refusals() -> None:
    X, y = sample(40)
    with pytest.raises(ValueError, match="knows squares only"):
        nvsd.select(X, y, method="pool")
    with pytest.raises(ValueError, match="knows squares only"):
        nvsd.select(X, np.arange(40.0), loss="huber", method="eliminate")
    with pytest.raises(ValueError, match="one class only"):
        nvsd.select(X, ["one"] * 40)
    with pytest.raises(ValueError, match=r"loss = 'hinge' is unknown; give a loss of nvsd\.losses"):
        nvsd.select(X, y, loss="hinge")
    with pytest.raises(ValueError, match="numbers with fractions"):
        nvsd.select(X, np.linspace(0, 1, 40), loss="logistic")
    with pytest.raises(ValueError, match=r"y has 2 missing values .* or give missing='drop'"):
        nvsd.select(X, pd.Series(y).where(np.arange(40) > 1).astype("category"))
    with pytest.raises(ValueError, match="'maybe', which is not a class"):
        nvsd.select(X, y, validation=(X, ["maybe"] * 40))
    with pytest.raises(ValueError, match="come in blocks"):
        nvsd.select([(X.to_numpy(), np.arange(40) % 2)], loss="logistic")
    with pytest.raises(ValueError, match="holds something other than numbers"):
        nvsd.select(X, y, loss="squared")


# --- far values of y -----------------------------------------------------------------------------


def far(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] * np.exp(2 * X[:, 1]) + X[:, 2] ** 2 + rng.standard_normal(n)


@pytest.mark.parametrize("loss", ["huber", "quantile"])
def test_a_steep_product_does_not_hide_a_parabola(loss: str) -> None:
    found = nvsd.select(*far(300, 20, 7), loss=loss, progress=False)
    assert set(found.order[:3].tolist()) == {0, 1, 2}
    assert {"x0", "x2"} <= set(found.selected)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "d"), [(200, 20), (500, 50)])
def test_all_three_inputs_come_first_by_huber(n: int, d: int, seed: int) -> None:
    found = nvsd.select(*far(n, d, seed), loss="huber", progress=False)
    assert set(found.order[:3].tolist()) == {0, 1, 2}


def test_outliers_do_not_move_a_robust_fit() -> None:
    rng = np.random.default_rng(0)
    X, fresh = rng.standard_normal((200, 6)), rng.standard_normal((500, 6))
    y = np.sin(2 * X[:, 1]) + X[:, 3] + 0.2 * rng.standard_normal(200)
    bad = y.copy()
    bad[::20] += 500.0
    truth = np.sin(2 * fresh[:, 1]) + fresh[:, 3]
    for loss in (Huber(0.5), Quantile(0.5)):
        found = nvsd.select(X, bad, loss=loss, progress=False)
        assert set(found.selected) == {"x1", "x3"}
        assert np.sqrt(np.mean((found.predict(fresh) - truth) ** 2)) < 0.35
        assert found.measure == loss.measure
        model = found.dataset()
        assert model.attrs["loss"] == loss.to_json()
        np.testing.assert_allclose(
            model.nvsd.predict(fresh[:, found.support]), found.refit.predict(fresh), atol=1e-8
        )


def test_quantiles_are_quantiles() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 4))
    y = 2 * X[:, 0] + (1 + 0.5 * np.abs(X[:, 2])) * rng.standard_normal(240)
    for q in (0.2, 0.8):
        found = nvsd.select(X, y, loss=Quantile(q), progress=False)
        assert "x0" in found.selected
        assert np.mean(y < found.predict(X)) == pytest.approx(q, abs=0.07)


def test_huber_with_a_large_delta_is_judged_as_squares_are() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 5))
    y = np.sin(2 * X[:, 1]) + X[:, 3] + 0.3 * rng.standard_normal(150)
    one = nvsd.select(X, y, loss=Huber(1e3), progress=False)
    two = nvsd.select(X, y, progress=False)
    assert one.selected == two.selected
    assert 0.06 < one.score < 1.2 * two.score
    fresh = rng.standard_normal((200, 5))
    assert np.mean((one.predict(fresh) - two.predict(fresh)) ** 2) < 0.02
