from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
import xarray as xr
from estimator_problems import NAMES, QUICK, RELEVANT, sample
from joblib import parallel_config
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

import nvsd
from nvsd.estimators import NVSDRegressor, NVSDRegressorCV, SelectiveRegressor, search
from nvsd.kernels import Gaussian
from nvsd.penalties import ElasticNet


@pytest.fixture(scope="module")
def data():
    return sample(30, seed=0)


def ridge_by_hand(X, y, X_new, width, nu):
    """Gaussian kernel ridge in plain loops; the mean when there are no inputs."""
    if X.shape[1] == 0:
        return np.full(len(X_new), y.mean())
    K = np.array([[np.exp(-((p - q) ** 2).sum() / (2 * width**2)) for q in X] for p in X])
    K_new = np.array([[np.exp(-((p - q) ** 2).sum() / (2 * width**2)) for q in X] for p in X_new])
    return y.mean() + K_new @ np.linalg.solve(K + len(y) * nu * np.eye(len(y)), y - y.mean())


def errors_by_hand(X, y, X_test, y_test, settings, ridge_nus, empty):
    """Mean squared error of a fit to the training rows alone, standardised by them alone.

    One for each refit, or only that of the penalised f.
    """
    model = NVSDRegressor(debias=False, **settings).fit(X, y)
    if not ridge_nus:
        return [np.mean((model.predict(X_test) - y_test) ** 2)]
    mean, scale, used = X.mean(axis=0), X.std(axis=0), model.support_ & (not empty)
    A, B = ((points - mean)[:, used] / scale[used] for points in (X, X_test))
    width = settings["kernel"].width
    return [np.mean((ridge_by_hand(A, y, B, width, nu) - y_test) ** 2) for nu in ridge_nus]


@pytest.mark.parametrize("ridge_nus", [[1e-1, 1e-3, 1e-5], []], ids=["refit", "penalised"])
def test_choice_equals_cross_validation_by_hand(data, ridge_nus):
    X, y = data[0].to_numpy()[:24], data[1].to_numpy()[:24]
    nus, widths, mus, cv = (
        [1e-1, 1e-3],
        [0.7, 1.5],
        [0.3, 0.9],
        KFold(3, shuffle=True, random_state=1),
    )
    model = NVSDRegressorCV(
        kernel=Gaussian(2.0), penalty="elastic-net", mu=mus, nu=nus, widths=widths, cv=cv,
        n_taus=4, tau_ratio=0.03, tol=1e-9, debias=bool(ridge_nus), refit_nus=ridge_nus,
    ).fit(X, y)  # fmt: skip
    assert dict(model.cv_results_.sizes) == {"nu": 2, "width": 2, "mu": 2, "tau": 4, "fold": 3}
    least, best = np.inf, None
    for nu, factor, mu in product(nus, widths, mus):
        kernel, penalty = Gaussian(2.0 * factor), ElasticNet(mu)
        settings = {"nu": nu, "kernel": kernel, "penalty": penalty, "tol": 1e-9}
        tau_max = NVSDRegressor(tau_fraction=1, **settings).fit(X, y).tau_
        for i, tau in enumerate(np.geomspace(tau_max, 0.03 * tau_max, 4)):
            empty = not NVSDRegressor(tau, **settings).fit(X, y).support_.any()
            by_fold = []
            for a, b in cv.split(X):
                by_fold.append(
                    errors_by_hand(
                        X[a], y[a], X[b], y[b], settings | {"tau": tau}, ridge_nus, empty
                    )
                )
            means = np.mean(by_fold, axis=0)
            found = model.cv_results_.sel(nu=nu, width=factor, mu=mu).isel(tau=i)
            assert found["tau_value"].item() == pytest.approx(tau, rel=1e-12)
            assert found["mean_error"].item() == pytest.approx(means.min(), rel=1e-3)
            refit = ridge_nus.index(found["ridge_nu"].item()) if ridge_nus else 0
            np.testing.assert_allclose(found["error"], np.array(by_fold)[:, refit], rtol=1e-3)
            if means.min() < least:
                least, best = means.min(), (nu, 2.0 * factor, mu, tau)
    chosen = (model.nu_, model.kernel_.width, model.penalty_.mu, model.tau_)
    assert chosen == pytest.approx(best, rel=1e-12)


def test_validation_data_judge_but_do_not_train(data):
    X, y = data
    X_val, y_val = sample(50, seed=2)
    model = NVSDRegressorCV(n_taus=9, tau_ratio=0.1, refit_nus=[1e-2, 1e-4])
    model.fit(X, y, validation=(X_val, y_val))
    path = nvsd.nvsd_path(
        X, y, kernel=model.kernel_, n_taus=9, tau_ratio=0.1, standardize=True, progress=False
    )
    xr.testing.assert_identical(model.path_, path)
    refits = [path.nvsd.debias(X, y, nu=nu).nvsd.predict(X_val).values for nu in (1e-2, 1e-4)]
    squares = (np.array(refits) - y_val.to_numpy()) ** 2
    by_hand = squares.mean(axis=2)
    results = model.cv_results_.squeeze()
    np.testing.assert_allclose(results["mean_error"], by_hand.min(axis=0), rtol=1e-9)
    # The same inputs give the same refit: then the largest τ is taken.
    tau = int(np.argmax(by_hand.min(axis=0) <= by_hand.min() * (1 + 1e-9)))
    ridge = int(by_hand[:, tau].argmin())
    assert model.tau_ == path["tau"][tau].item()
    assert list(model.support_) == RELEVANT
    assert model.refit_["ridge_nu"].item() == [1e-2, 1e-4][ridge]
    spread = squares[ridge, tau].std(ddof=1) / np.sqrt(50)
    assert results["error_se"][tau].item() == pytest.approx(spread)


def test_one_standard_error_rule_by_hand():
    X, y = sample(30, seed=0, noise=0.5)
    nus = [1e-2, 1e-4]
    settings = {"nu": nus, "n_taus": 12, "tau_ratio": 1e-2, "cv": 4, "debias": False}
    least = NVSDRegressorCV(**settings).fit(X, y)
    sparse = NVSDRegressorCV(**settings, rule="1se").fit(X, y)
    errors = least.cv_results_["error"].values[:, 0, 0]  # nu, tau, fold
    means = errors.mean(axis=2)
    nu, tau = np.unravel_index(means.argmin(), means.shape)
    folds = errors[nu, tau]
    limit = folds.mean() + np.sqrt(((folds - folds.mean()) ** 2).sum() / 3) / 2
    taus = least.cv_results_["tau_value"].values[nu, 0, 0]
    assert least.tau_ == taus[tau]
    assert sparse.tau_ == max(taus[i] for i in range(12) if means[nu, i] <= limit)
    assert sparse.tau_ > least.tau_
    assert sparse.nu_ == least.nu_ == nus[nu]


def test_number_of_jobs_changes_nothing(data):
    X, y = data
    with threadpool_limits(1):
        one, two = (
            NVSDRegressorCV(**QUICK, nu=[1e-2, 1e-4], n_jobs=jobs).fit(X, y) for jobs in (1, 2)
        )
    xr.testing.assert_identical(one.cv_results_, two.cv_results_)
    xr.testing.assert_identical(one.path_, two.path_)
    xr.testing.assert_identical(one.refit_, two.refit_)


def test_workers_run_their_linear_algebra_on_one_thread(data, monkeypatch):
    limits = []

    def spy(job, keep_paths, threads):
        limits.append(threads)
        return run(job, keep_paths, threads)

    run = search.run
    monkeypatch.setattr(search, "run", spy)
    with parallel_config(backend="threading"):
        NVSDRegressorCV(**QUICK, n_jobs=2).fit(*data)
    # One path on all samples, which may use all cores, and three folds.
    assert limits == [None, 1, 1, 1]


def test_cv_results_can_be_saved(data, tmp_path):
    model = NVSDRegressorCV(**QUICK, penalty="elastic-net", mu=[0.5, 1.0]).fit(*data)
    model.cv_results_.to_netcdf(tmp_path / "cv.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "cv.nc", engine="h5netcdf") as again:
        xr.testing.assert_identical(again.load(), model.cv_results_)
    chosen = {dim: model.cv_results_.attrs[f"chosen_{dim}"] for dim in ("nu", "width", "mu", "tau")}
    assert model.cv_results_["tau_value"][chosen].item() == model.tau_
    assert model.cv_results_["mean_error"][chosen] == model.cv_results_["mean_error"].min()


@pytest.mark.parametrize("jobs", [1, 2])
def test_unfinished_fits_are_reported_once(data, jobs):
    model = NVSDRegressorCV(**QUICK, max_iter=1, n_jobs=jobs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*data)
    messages = [w for w in caught if issubclass(w.category, nvsd.ConvergenceWarning)]
    assert len(messages) == 1
    assert "fits have a gap above tol = 1e-06 after at most 1 iterations" in str(
        messages[0].message
    )
    assert messages[0].filename == __file__
    assert not model.cv_results_["converged"].all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rule": "2se"}, "rule = '2se' is unknown"),
        ({"widths": [1.0, -1.0]}, "a width = -1.0 is not allowed"),
        ({"widths": [1.0, 2.0], "kernel": "polynomial"}, "has no width to multiply"),
        ({"nu": [1.0, -1.0]}, "nu = -1.0 is not allowed"),
        ({"refit_nus": [-1.0]}, "a refit nu = -1.0 is not allowed"),
        ({"n_taus": 0}, "n_taus = 0 is not allowed"),
        ({"penalty": "sparse-group"}, "needs groups"),
    ],
)
def test_wrong_parameters_of_the_cross_validation(data, parameters, message):
    with pytest.raises(ValueError, match=message) as error:
        NVSDRegressorCV(**(QUICK | parameters)).fit(*data)
    assert str(error.value).endswith(".")


def test_validation_must_be_a_pair_with_the_same_inputs(data):
    X, y = data
    for estimator in (NVSDRegressorCV(**QUICK), SelectiveRegressor()):
        with pytest.raises(ValueError, match="give the pair"):
            estimator.fit(X, y, validation=X)
        with pytest.raises(ValueError, match="feature names"):
            estimator.fit(X, y, validation=(X[NAMES[::-1]], y))


def test_by_default_the_refit_predicts_and_it_predicts_better():
    (X, y), (fresh, target) = sample(60, seed=0), sample(300, seed=3)
    by_refit = NVSDRegressorCV(**QUICK).fit(X, y)
    by_path = NVSDRegressorCV(**QUICK, debias=False).fit(X, y)
    np.testing.assert_array_equal(
        by_refit.predict(fresh), by_refit.refit_.nvsd.predict(fresh).values[0]
    )
    np.testing.assert_array_equal(by_path.predict(fresh), by_path.predict_penalized(fresh))
    assert by_refit.score(fresh, target) > by_path.score(fresh, target)


def test_workers_share_the_free_memory(data, monkeypatch) -> None:
    seen = []
    original = search.run

    def spy(job, keep_paths, threads):
        seen.append(job.memory)
        return original(job, keep_paths, threads)

    monkeypatch.setattr("nvsd.estimators.search.run", spy)
    monkeypatch.setattr("nvsd.estimators.search.available_memory", lambda: 6e9)
    with parallel_config(backend="threading"):
        NVSDRegressorCV(**QUICK, n_jobs=2).fit(*data)
    assert set(seen) == {None, 3e9}  # one path on all samples, then the folds two at a time
