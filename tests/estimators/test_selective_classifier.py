"""`SelectiveClassifier`, and the losses of `SelectiveRegressor`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from estimator_problems import unequal_weights
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import nvsd
from nvsd.losses import Huber, Logistic

NAMES = ["a", "b", "c", "d", "e"]


# Some checks have a y that does not depend on X, and then nothing is selected.
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [nvsd.SelectiveClassifier(cv=2), nvsd.SelectiveRegressor(loss="huber", cv=2)],
    expected_failed_checks=unequal_weights,
)
def test_scikit_learn_accepts_it(estimator, check) -> None:
    check(estimator)


def sample(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Classes by a circle in b and d, a tenth of them wrong."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 5)), columns=NAMES)
    inside = (X["b"] ** 2 + X["d"] ** 2 < 1.4).to_numpy() ^ (rng.random(n) < 0.1)
    return X, np.where(inside, "in", "out")


@pytest.fixture(scope="module")
def model() -> nvsd.SelectiveClassifier:
    return nvsd.SelectiveClassifier().fit(*sample(200, 0))


def test_it_selects_predicts_and_transforms(model: nvsd.SelectiveClassifier) -> None:
    X, y = sample(500, 1)
    assert model.get_feature_names_out().tolist() == ["b", "d"]
    assert model.transform(X).shape == (500, 2)
    assert model.classes_.tolist() == ["in", "out"]
    assert model.score(X, y) > 0.82
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    odds = model.decision_function(X)
    np.testing.assert_allclose(odds, np.log(P[:, 1] / P[:, 0]), atol=1e-9)
    # A tenth of the labels is wrong, and the probabilities know it.
    assert 0.005 < P.min() < 0.2
    assert set(model.ranking_.index[:2]) == {"b", "d"}
    np.testing.assert_array_equal(model.derivative_norms_ > 0, model.support_)


def test_it_is_select(model: nvsd.SelectiveClassifier) -> None:
    X, y = sample(200, 0)
    selection = nvsd.select(X, y)
    assert selection.selected == model.selection_.selected
    np.testing.assert_allclose(selection.predict_proba(X), model.predict_proba(X), atol=1e-10)


def test_it_works_in_a_pipeline_and_can_be_cloned() -> None:
    X, y = sample(120, 3)
    pipeline = make_pipeline(StandardScaler(), clone(nvsd.SelectiveClassifier(cv=3, k=2)))
    assert cross_val_score(pipeline, X, y, cv=2, scoring="roc_auc").mean() > 0.75


def test_validation_labels_and_options() -> None:
    X, y = sample(120, 4)
    model = nvsd.SelectiveClassifier(keep=["a"], k=3).fit(X, y, validation=sample(200, 5))
    assert model.get_support()[0]
    assert model.get_support().sum() == 3
    with pytest.raises(ValueError, match="'else', which is not a class"):
        nvsd.SelectiveClassifier().fit(X, y, validation=(X, np.where(y == "in", "in", "else")))


def test_a_regressor_takes_a_robust_loss_but_no_loss_of_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 5))
    y = np.sin(2 * X[:, 1]) + X[:, 3] + 0.2 * rng.standard_normal(150)
    y[:8] = 1e4
    model = nvsd.SelectiveRegressor(loss=Huber(0.5)).fit(X, y)
    assert model.get_support().tolist() == [False, True, False, True, False]
    np.testing.assert_array_equal(
        model.predict(X), nvsd.select(X, y, loss=Huber(0.5), progress=False).predict(X)
    )
    fresh = rng.standard_normal((300, 5))
    error = np.sin(2 * fresh[:, 1]) + fresh[:, 3] - model.predict(fresh)
    assert np.sqrt(np.mean(error**2)) < 0.4
    with pytest.raises(ValueError, match=r"use nvsd\.SelectiveClassifier"):
        nvsd.SelectiveRegressor(loss=Logistic()).fit(X, y)
    with pytest.raises(ValueError, match="knows squares only"):
        nvsd.SelectiveRegressor("eliminate", loss="huber").fit(X, y)
