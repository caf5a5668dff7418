"""`SelectiveRegressor`: select with the manners of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from estimator_problems import NAMES, RELEVANT, sample, unequal_weights
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import nvsd
from nvsd.kernels import Gaussian, Polynomial


# Some checks have a y that does not depend on X, and then nothing is selected.
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks([nvsd.SelectiveRegressor(cv=2)], expected_failed_checks=unequal_weights)
def test_scikit_learn_accepts_it(estimator, check) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def model() -> nvsd.SelectiveRegressor:
    return nvsd.SelectiveRegressor().fit(*sample(150, 0))


def test_it_selects_predicts_and_transforms(model: nvsd.SelectiveRegressor) -> None:
    X, y = sample(300, 1)
    assert model.get_support().tolist() == RELEVANT
    assert model.get_feature_names_out().tolist() == ["a", "b"]
    assert model.transform(X).shape == (300, 2)
    assert model.score(X, y) > 0.9
    assert list(model.ranking_.index[:2]) in (["a", "b"], ["b", "a"])
    assert set(model.ranking_.index) == set(NAMES)
    assert (model.derivative_norms_ > 0).tolist() == RELEVANT


def test_it_is_select(model: nvsd.SelectiveRegressor) -> None:
    X, y = sample(150, 0)
    selection = nvsd.select(X, y)
    assert selection.selected == model.selection_.selected
    np.testing.assert_allclose(selection.predict(X), model.predict(X), atol=1e-10)


def test_gradients_are_those_of_predictions(model: nvsd.SelectiveRegressor) -> None:
    X, _ = sample(20, 2)
    gradient = model.predict_gradient(X)
    step = 1e-5
    up, down = X.copy(), X.copy()
    up["a"] += step
    down["a"] -= step
    slope = (model.predict(up) - model.predict(down)) / (2 * step)
    np.testing.assert_allclose(gradient[:, 0], slope, atol=1e-5)


def test_it_works_in_a_pipeline_and_can_be_cloned() -> None:
    X, y = sample(120, 3)
    pipeline = make_pipeline(StandardScaler(), clone(nvsd.SelectiveRegressor(cv=3)))
    assert pipeline.fit(X, y).score(*sample(200, 4)) > 0.85


def test_other_methods_take_a_kernel() -> None:
    X, y = sample(60, 5)
    model = nvsd.SelectiveRegressor("eliminate", kernel="gaussian", cv=3).fit(X, y)
    assert isinstance(model.selection_.refit.kernel, Gaussian)
    exact = nvsd.SelectiveRegressor(k=3, keep=["c"], cv=3).fit(X, y)
    assert exact.get_support().sum() == 3
    assert exact.get_support()[2]
    judged = nvsd.SelectiveRegressor().fit(X, y, validation=sample(100, 6))
    assert set(judged.get_feature_names_out()) >= {"a", "b"}


@pytest.mark.parametrize("method", ["eliminate", "pool"])
def test_another_method_is_that_of_select(method: str) -> None:
    (X, y), (fresh, _) = sample(30, 0), sample(7, 1)
    given = {"method": method, "kernel": Gaussian(2.0), "cv": 3, "random_state": 5}
    model = nvsd.SelectiveRegressor(**given).fit(X, y)
    selection = nvsd.select(X, y, **given, progress=False)
    assert list(model.support_) == RELEVANT
    xr.testing.assert_identical(model.selection_.history, selection.history)
    np.testing.assert_allclose(model.predict(fresh), selection.refit.predict(fresh), rtol=1e-12)
    np.testing.assert_array_equal(model.derivative_norms_ > 0, model.support_)


def test_groups_options_and_validation() -> None:
    X, y = sample(30, 0)
    model = nvsd.SelectiveRegressor(
        "eliminate",
        kernel="polynomial",
        groups=["u", "v", "v", "u", "w"],
        rule="1se",
        options={"nus": [1e-2, 1e-4]},
    )
    model.fit(X, y, validation=sample(50, seed=2))
    assert model.support_[0] == model.support_[3]
    assert model.support_[1] == model.support_[2]
    assert model.selection_.refit.kernel == Polynomial()
    assert set(model.selection_.history["ridge_nu"].values) <= {1e-2, 1e-4}
    with pytest.raises(ValueError, match="no option 'nonsense'"):
        nvsd.SelectiveRegressor("eliminate", options={"nonsense": 1}).fit(X, y)


def test_a_width_for_each_input() -> None:
    (X, y), (fresh, _) = sample(30, 0), sample(7, 1)
    given = {"kernel": Gaussian(2.0), "cv": 3}
    options = {"width_per_input": True}
    model = nvsd.SelectiveRegressor("eliminate", **given, options=options).fit(X, y)
    selection = nvsd.select(X, y, method="eliminate", **given, **options, progress=False)
    assert list(model.support_) == RELEVANT
    assert len(set(model.selection_.refit.kernel.width)) == 2
    assert model.selection_.refit.kernel == selection.refit.kernel
    np.testing.assert_allclose(model.predict(fresh), selection.refit.predict(fresh), rtol=1e-12)
