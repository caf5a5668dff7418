from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from estimator_problems import NAMES, QUICK, RELEVANT, SCALE, sample, unequal_weights
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import nvsd
from nvsd.estimators import (
    NVSDClassifier,
    NVSDClassifierCV,
    NVSDRegressor,
    NVSDRegressorCV,
    SelectiveRegressor,
)
from nvsd.kernels import Gaussian, Linear, Matern52, Polynomial, neighbour_width
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, SparseGroupLasso

ESTIMATORS = [
    NVSDRegressor(),
    NVSDRegressorCV(**QUICK),
    SelectiveRegressor(cv=3),
    SelectiveRegressor("eliminate", cv=3),
]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, pd.Series]:
    return sample(30, seed=0)


@pytest.fixture(scope="module")
def fresh() -> pd.DataFrame:
    return sample(7, seed=1)[0]


# --- scikit-learn's contract --------------------------------------------------------------------


# On pure noise nothing may be selected, and then scikit-learn's own transform warns.
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [
        NVSDRegressor(),
        NVSDRegressorCV(kernel="polynomial", **QUICK),
        NVSDRegressor(loss="huber"),
        NVSDClassifier(),
        NVSDClassifierCV(n_taus=3, cv=2, refit_nus=1e-2),
        SelectiveRegressor("eliminate", cv=2),
    ],
    expected_failed_checks=unequal_weights,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_array_api_check_in_a_process_that_allows_it():
    # scikit-learn skips this one of its checks unless SCIPY_ARRAY_API is set before any import.
    code = (
        "from sklearn.utils.estimator_checks import check_array_api_input as check\n"
        "from nvsd.estimators import *\n"
        "for e in (NVSDRegressor(), NVSDRegressorCV(n_taus=3, cv=2), SelectiveRegressor()):\n"
        "    check(type(e).__name__, e, 'numpy', expect_only_array_outputs=False)\n"
    )
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@each_estimator
def test_pandas_names_are_kept_and_checked(estimator, data, fresh):
    X, y = data
    model = clone(estimator).fit(X, y)
    assert list(model.feature_names_in_) == NAMES
    assert list(model.get_feature_names_out()) == list(np.array(NAMES)[model.support_])
    selects = isinstance(model, SelectiveRegressor)
    described = model.selection_.history if selects else model.path_
    assert list(described["feature"].values) == NAMES
    with pytest.raises(ValueError, match="feature names"):
        model.predict(fresh[NAMES[::-1]])


@each_estimator
def test_transform_keeps_the_selected_columns(estimator, data, fresh):
    X, y = data
    model = clone(estimator).fit(X, y)
    chosen = model.get_support(indices=True)
    assert len(chosen) > 0
    np.testing.assert_array_equal(model.transform(fresh), fresh.to_numpy()[:, chosen])
    model.set_output(transform="pandas")
    pd.testing.assert_frame_equal(model.transform(fresh), fresh.iloc[:, chosen])


@each_estimator
def test_pickle_and_clone(estimator, data, fresh):
    X, y = data
    model = clone(estimator).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(fresh), model.predict(fresh))
    assert str(clone(model)) == str(estimator)


@each_estimator
def test_gradient_is_that_of_the_predictions(estimator, data, fresh):
    model = clone(estimator).fit(*data)
    gradient = model.predict_gradient(fresh)
    assert gradient.shape == fresh.shape
    for a, name in enumerate(NAMES):
        step = 1e-4 * SCALE[a]
        up, down = (
            model.predict(fresh.assign(**{name: fresh[name] + way})) for way in (step, -step)
        )
        np.testing.assert_allclose(gradient[:, a] * SCALE[a], (up - down) / 2e-4, 1e-5, 1e-5)


@each_estimator
def test_units_of_the_inputs_and_origin_of_y_do_not_matter(estimator, data, fresh):
    X, y = data
    scale, shift = np.array([5.0, 0.2, 100.0, 1.0, 2.0]), np.array([1.0, -3.0, 0.0, 10.0, 0.0])
    one = clone(estimator).fit(X, y)
    two = clone(estimator).fit(X * scale + shift, y + 7)
    np.testing.assert_array_equal(one.support_, two.support_)
    np.testing.assert_allclose(
        one.predict(fresh) + 7, two.predict(fresh * scale + shift), rtol=1e-4, atol=1e-4
    )


def test_pipeline_and_grid_search(data, fresh):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), NVSDRegressor(), LinearRegression())
    grid = {
        "nvsdregressor__tau_fraction": [0.03, 0.3],
        "nvsdregressor__kernel": ["gaussian", Linear()],
    }
    found = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    selected = found.best_estimator_[:-1].get_feature_names_out()
    assert set(selected) <= set(NAMES)
    assert found.best_estimator_[-1].n_features_in_ == len(selected)
    assert found.predict(fresh).shape == (7,)
    last = GridSearchCV(NVSDRegressor(), {"debias": [True, False]}, cv=2).fit(X, y)
    assert np.isfinite(last.cv_results_["mean_test_score"]).all()


@each_estimator
def test_sparse_input_is_refused(estimator, data):
    with pytest.raises(TypeError, match="Sparse data was passed"):
        clone(estimator).fit(csr_array(data[0].to_numpy()), data[1])


# --- one τ --------------------------------------------------------------------------------------


@pytest.mark.parametrize("debias", [True, False])
def test_predictions_are_those_of_the_library(data, fresh, debias):
    X, y = data
    model = NVSDRegressor(kernel=Gaussian(2.0), nu=1e-2, tau_fraction=0.75, debias=debias)
    model.fit(X, y)
    path = nvsd.nvsd_path(
        X, y, kernel=Gaussian(2.0), nu=1e-2, taus=[model.tau_], standardize=True, progress=False
    )
    np.testing.assert_allclose(model.predict_penalized(fresh), path.nvsd.predict(fresh)[0], 1e-5)
    expected = path.nvsd.debias(X, y) if debias else path
    np.testing.assert_allclose(model.predict(fresh), expected.nvsd.predict(fresh)[0], 1e-5)
    np.testing.assert_allclose(
        model.predict_gradient(fresh), expected.nvsd.gradient(fresh)[0].T, 1e-4, 1e-5
    )
    assert list(model.support_) == RELEVANT
    np.testing.assert_array_equal(model.support_, path["support"][0])
    np.testing.assert_allclose(model.derivative_norms_, path["derivative_norm"][0], 1e-5, 1e-7)
    assert 0 <= model.gap_ <= 1e-6 * y.var(ddof=0)
    assert model.n_iter_ > 0


def test_refit_ignores_what_was_not_selected_and_uses_its_own_nu(data, fresh):
    X, y = data
    model = NVSDRegressor(tau_fraction=0.75, refit_nu=0.3).fit(X, y)
    assert model.refit_["ridge_nu"].item() == 0.3
    changed = fresh.copy()
    changed.loc[:, ~model.support_] += 1.0
    np.testing.assert_array_equal(model.predict(changed), model.predict(fresh))
    assert np.abs(model.predict_penalized(changed) - model.predict_penalized(fresh)).max() > 1e-6


@pytest.mark.parametrize("penalty", ["lasso", "elastic-net"])
def test_tau_as_a_fraction(data, penalty):
    X, y = data
    at_most = NVSDRegressor(tau_fraction=1, penalty=penalty).fit(X, y)
    assert not at_most.support_.any()
    a_third = NVSDRegressor(tau_fraction=1 / 3, penalty=penalty).fit(X, y)
    assert a_third.tau_ == pytest.approx(at_most.tau_ / 3, rel=1e-12)
    assert a_third.path_.sizes["tau"] == 1
    given = NVSDRegressor(tau=a_third.tau_, penalty=penalty).fit(X, y)
    np.testing.assert_array_equal(given.support_, a_third.support_)
    just_below = NVSDRegressor(tau=0.99 * at_most.tau_, penalty=penalty).fit(X, y)
    assert just_below.support_.any()


def test_nothing_selected(data, fresh):
    X, y = data
    model = NVSDRegressor(tau_fraction=1).fit(X, y)
    np.testing.assert_allclose(model.predict(fresh), y.mean())
    np.testing.assert_array_equal(model.predict_gradient(fresh), 0)
    with pytest.warns(UserWarning, match="No features were selected"):
        assert model.transform(fresh).shape == (7, 0)
    assert list(model.get_feature_names_out()) == []


def test_short_names_of_kernels(data):
    X, y = data
    width = neighbour_width((X - X.mean()) / X.std(ddof=0))
    for name, kernel in {
        "gaussian": Gaussian(width),
        "matern": Matern52(width),
        "polynomial": Polynomial(3, 1.0),
        "linear": Linear(),
    }.items():
        fitted = NVSDRegressor(tau_fraction=0.5, kernel=name).fit(X, y).kernel_
        assert type(fitted) is type(kernel)
        for field in vars(kernel):
            assert getattr(fitted, field) == pytest.approx(getattr(kernel, field), rel=1e-12)
    raw = NVSDRegressor(tau_fraction=0.5, standardize=False).fit(X, y)
    assert raw.kernel_ == Gaussian(neighbour_width(X))
    np.testing.assert_array_equal(raw.path_["x_scale"], 1)


def test_short_names_of_penalties(data):
    X, y = data
    groups = {"relevant": ["a", "b"], "rest": ["c", "d", "e"]}
    for name, penalty in {
        "lasso": Lasso(),
        "group": GroupLasso(groups),
        "elastic-net": ElasticNet(0.3),
        "sparse-group": SparseGroupLasso(groups, 0.3),
    }.items():
        model = NVSDRegressor(tau_fraction=0.75, penalty=name, groups=groups, mu=0.3).fit(X, y)
        assert model.penalty_ == penalty
        given = NVSDRegressor(tau_fraction=0.75, penalty=penalty).fit(X, y)
        xr.testing.assert_identical(model.path_, given.path_)
        if name == "group":
            assert list(model.support_) == RELEVANT


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "gausian"}, "'gausian' is unknown.*'gaussian', 'linear', 'matern'"),
        ({"kernel": 3}, "kernel = 3 is unknown"),
        ({"penalty": "laso"}, "'laso' is unknown(?=.*'lasso')(?=.*'group')"),
        ({"penalty": "group"}, "'group' needs groups"),
        ({"penalty": "elastic-net", "mu": [0.1, 0.9]}, "2 values of mu.*NVSDRegressorCV"),
        ({"penalty": "elastic-net", "mu": 2}, "between 0 and 1"),
        ({"penalty": "group", "groups": ["u", "v"]}, "2 group labels were given for 5"),
        ({"tau_fraction": 0}, "tau_fraction = 0 is not allowed"),
        ({"tau_fraction": 1.5}, "tau_fraction = 1.5 is not allowed"),
        ({"tau": -1.0}, "tau = -1.0 is not allowed"),
        ({"nu": -1}, "nu = -1 is not allowed"),
        ({"refit_nu": -1}, "refit_nu = -1 is not allowed"),
    ],
)
def test_wrong_parameters_of_the_regressor(data, parameters, message):
    with pytest.raises(ValueError, match=message) as error:
        NVSDRegressor(**parameters).fit(*data)
    assert str(error.value).endswith(".")
    assert ". " not in str(error.value)
