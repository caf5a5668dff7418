"""scikit-learn's inspection works on the estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence, permutation_importance

import nvsd
from nvsd.kernels import Gaussian

NAMES = ["a", "b", "c", "d"]
MODELS: dict[str, Any] = {
    "selective": nvsd.SelectiveRegressor(),
    "selective classifier": nvsd.SelectiveClassifier(),
    "path": nvsd.NVSDRegressor(kernel=Gaussian(2.0), tau=0.1),
    "path classifier": nvsd.NVSDClassifier(kernel=Gaussian(2.0), tau=0.01),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request: pytest.FixtureRequest) -> tuple[Any, pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((70, 4)), columns=NAMES)
    y = 2 * X["a"] + X["b"] ** 2 + 0.1 * rng.standard_normal(70)
    y = np.where(y > 1, "yes", "no") if "classifier" in request.param else y
    return MODELS[request.param].fit(X, y), X, y


def test_partial_dependence_is_a_mean_of_predictions(fitted: tuple[Any, Any, Any]) -> None:
    model, X, _ = fitted
    found = partial_dependence(model, X, ["a"], grid_resolution=5)
    for value, mean in zip(found["grid_values"][0], found["average"][0], strict=True):
        at = X.assign(a=value)
        predicted = model.predict_proba(at)[:, 1] if hasattr(model, "predict_proba") else None
        expected = model.predict(at) if predicted is None else predicted
        assert mean == pytest.approx(np.mean(expected))
    assert found["average"][0][-1] > found["average"][0][0] + 0.3


def test_permutation_importance_finds_the_inputs(fitted: tuple[Any, Any, Any]) -> None:
    model, X, y = fitted
    found = permutation_importance(model, X, y, n_repeats=3, random_state=0)
    assert set(np.argsort(-found.importances_mean)[:2]) == {0, 1}
