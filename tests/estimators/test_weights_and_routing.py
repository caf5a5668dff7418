"""`sample_weight` and `cv_groups` in `fit`, and scikit-learn's routing of both."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
import xarray as xr
from estimator_problems import unequal_weights
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import nvsd
from nvsd.kernels import Gaussian

QUICK = {"n_taus": 2, "tau_ratio": 0.1, "cv": 2, "kernel": Gaussian(2.0)}
REGRESSORS = [
    nvsd.NVSDRegressor(kernel=Gaussian(2.0)),
    nvsd.NVSDRegressor(kernel=Gaussian(2.0), loss="huber"),
    nvsd.NVSDRegressorCV(**QUICK, refit_nus=[1e-1, 1e-3]),
    nvsd.SelectiveRegressor(cv=2),
]
CLASSIFIERS = [
    nvsd.NVSDClassifier(kernel=Gaussian(2.0)),
    nvsd.NVSDClassifierCV(**QUICK, refit_nus=1e-2),
    nvsd.SelectiveClassifier(cv=2),
]
every = pytest.mark.parametrize("model", REGRESSORS + CLASSIFIERS, ids=str)


def sample(model: object, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(n)
    return X, y > 0 if model in CLASSIFIERS else y, rng.uniform(0.2, 3, n)


@every
def test_equal_weights_and_zeros(model) -> None:
    X, y, _ = sample(model)
    some = np.arange(40) % 5 > 0
    plain = clone(model).fit(X[some], y[some])
    weighted = clone(model).fit(X, y, sample_weight=np.where(some, 3.0, 0.0))
    np.testing.assert_array_equal(weighted.support_, plain.support_)
    np.testing.assert_array_equal(weighted.predict(X), plain.predict(X))


@every
def test_weights_matter_but_not_their_scale(model) -> None:
    X, y, w = sample(model)
    method = "predict_proba" if model in CLASSIFIERS else "predict"
    one, two, plain = (
        getattr(clone(model).fit(X, y, sample_weight=each), method)(X) for each in (w, 4 * w, None)
    )
    np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-7)
    assert not np.allclose(one, plain, rtol=1e-3)


@every
def test_bad_weights_are_one_sentence(model) -> None:
    X, y, _ = sample(model)
    with pytest.raises(ValueError, match=r"^sample_weight has shape [^\n]*\.$"):
        clone(model).fit(X, y, sample_weight=np.ones(3))


def test_held_out_errors_of_a_path_are_weighted_means() -> None:
    """Of the penalised f, computed again from the path on the training rows."""
    X, y, w = sample(None)
    model = nvsd.NVSDRegressorCV(**QUICK, debias=False, standardize=False)
    model.fit(X, y, sample_weight=w)
    taus = model.cv_results_.tau_value.values.ravel()
    folds = [(np.arange(20, 40), np.arange(20)), (np.arange(20), np.arange(20, 40))]
    given = {"kernel": Gaussian(2.0), "taus": taus}
    for k, (train, test) in enumerate(folds):
        path = nvsd.nvsd_path(X[train], y[train], sample_weight=w[train], **given)
        squares = (path.nvsd.predict(X[test]).values - y[test]) ** 2
        error = model.cv_results_.error.isel(fold=k).values.ravel()
        np.testing.assert_allclose(error, np.average(squares, axis=1, weights=w[test]), rtol=1e-4)


# --- rows that belong together -------------------------------------------------------------------

SEARCHES = [REGRESSORS[2], REGRESSORS[3], CLASSIFIERS[1], CLASSIFIERS[2]]


@pytest.mark.parametrize("model", SEARCHES, ids=str)
def test_groups_reach_the_splitter(model) -> None:
    X, y, _ = sample(model)
    days = np.repeat(np.arange(8), 5)
    by_splitter = clone(model).set_params(cv=GroupKFold(2)).fit(X, y, cv_groups=days)
    listed = clone(model).set_params(cv=list(GroupKFold(2).split(X, y, days))).fit(X, y)
    np.testing.assert_array_equal(by_splitter.predict(X), listed.predict(X))
    clone(model).fit(X, y, cv_groups=days)
    with pytest.raises(ValueError, match="splits by groups of rows; give cv_groups"):
        clone(model).set_params(cv=GroupKFold(2)).fit(X, y)


def test_listed_splits_are_those_of_all_rows() -> None:
    X, y, w = sample(None)
    w[::4] = 0.0
    kept = np.flatnonzero(w)
    splits = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    model = nvsd.NVSDRegressorCV(**QUICK | {"cv": splits}).fit(X, y, sample_weight=w)
    few = [(np.flatnonzero(kept < 20), np.flatnonzero(kept >= 20))]
    few.append(few[0][::-1])
    again = nvsd.NVSDRegressorCV(**QUICK | {"cv": few}).fit(X[kept], y[kept], None, w[kept])
    xr.testing.assert_allclose(model.cv_results_, again.cv_results_)


# --- routing -------------------------------------------------------------------------------------


def test_both_are_routed_through_a_search_and_a_pipeline() -> None:
    X, y, w = sample(None, 60)
    days = np.repeat(np.arange(12), 5)
    with sklearn.config_context(enable_metadata_routing=True):
        model = nvsd.SelectiveRegressor(cv=GroupKFold(2), k=1)
        model.set_fit_request(sample_weight=True, cv_groups=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, model)
        pipe.fit(X, y, sample_weight=w, cv_groups=days)
        direct = clone(model).fit(StandardScaler().fit_transform(X), y, None, w, days)
        np.testing.assert_array_equal(
            pipe.predict(X), direct.predict(StandardScaler().fit(X).transform(X))
        )
        search = GridSearchCV(
            nvsd.NVSDRegressor(kernel=Gaussian(2.0))
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True),
            {"nu": [1e-2, 1e-3]},
            cv=GroupKFold(2),
        ).fit(X, y, sample_weight=w, groups=days)
        assert search.best_estimator_.support_[0]
        scores = cross_validate(
            nvsd.NVSDRegressorCV(**QUICK)
            .set_fit_request(sample_weight=True, cv_groups=True)
            .set_score_request(sample_weight=False),
            X, y, cv=2, params={"sample_weight": w, "cv_groups": days}, error_score="raise",
        )  # fmt: skip
        assert np.isfinite(scores["test_score"]).all()


ROUTED = [
    nvsd.NVSDRegressor(kernel="linear", tau_fraction=0.5, tol=1e-3),
    *(
        pytest.param(model, marks=pytest.mark.slow)
        for model in (*REGRESSORS[2:], *CLASSIFIERS, nvsd.DerivativeElimination(cv=2))
    ),
]


@pytest.mark.filterwarnings("ignore:DerivativeElimination is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.parametrize("model", ROUTED, ids=str)
def test_scikit_learn_checks_with_routing(model) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        check_estimator(model, expected_failed_checks=unequal_weights(model), on_skip=None)
