"""`NVSDClassifier`, `NVSDClassifierCV`, and regressors with other losses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss

import nvsd
from nvsd.kernels import Gaussian
from nvsd.losses import Huber, Logistic, Quantile

QUICK = {"n_taus": 6, "cv": 3, "refit_nus": (1e-1, 1e-3)}


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4))
    score = X[:, 0] ** 2 + X[:, 1]
    three = np.array(["low", "middle", "high"])[np.digitize(score, [0.0, 1.5])]
    return pd.DataFrame(X, columns=list("abcd")), np.where(score > 1, "in", "out"), three


def test_the_classifier_is_the_path_at_one_tau_and_its_refit(data) -> None:
    X, y, _ = data
    model = nvsd.NVSDClassifier(kernel=Gaussian(2.0), tau_fraction=0.2, debias=False).fit(X, y)
    path = nvsd.nvsd_path(
        X, y, kernel=Gaussian(2.0), loss=Logistic(), standardize=True, taus=[model.tau_]
    )
    f = path.nvsd.predict(X).values[0]
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-3)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)))
    assert list(model.classes_) == ["in", "out"]
    half = model.predict_proba(X)[:, 1] > 0.5
    np.testing.assert_array_equal(model.predict(X), np.where(half, "out", "in"))
    assert model.gap_ <= 1e-6 * model.path_.attrs["scale"]
    refitted = nvsd.NVSDClassifier(kernel=Gaussian(2.0), tau_fraction=0.2).fit(X, y)
    debiased = model.path_.nvsd.debias(X, y, nu=1e-3)
    np.testing.assert_allclose(
        refitted.decision_function(X), debiased.nvsd.predict(X).values[0], rtol=1e-6
    )
    assert log_loss(y, refitted.predict_proba(X)) < log_loss(y, model.predict_proba(X))


def test_the_refit_minimises_its_own_objective(data) -> None:
    """Against the same problem solved as a path at τ = 0 on the selected inputs."""
    X, y, _ = data
    for loss, target in (
        (Logistic(), y),
        (Huber(0.5), X["a"].to_numpy()),
        (Quantile(0.3), X["a"].to_numpy()),
    ):
        path = nvsd.nvsd_path(X, target, kernel=Gaussian(2.0), loss=loss, n_taus=2)
        mask = np.array([[True, True, False, False]] * 2)
        refit = path.nvsd.debias(X, target, nu=1e-2, support=mask)
        best = nvsd.nvsd_path(
            X[["a", "b"]], target, kernel=Gaussian(2.0), loss=loss, nu=1e-2, taus=[0.0], tol=1e-9
        )
        K = Gaussian(2.0).K(X[["a", "b"]])
        alpha = refit.alpha.values[0]
        objective = float(refit.loss[0]) + 1e-2 * alpha @ K @ alpha
        # Kinks are rounded in the refit.
        assert objective == pytest.approx(float(best.objective[0]), rel=1e-4)
        assert objective >= float(best.objective[0]) - 1e-8


def test_several_classes(data) -> None:
    X, _, y = data
    model = nvsd.NVSDClassifier().fit(X, y)
    shares = model.predict_proba(X)
    assert shares.shape == (90, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert model.decision_function(X).shape == (90, 3)
    assert model.score(X, y) > 0.8
    assert model.support_[:2].all()
    each = model.path_.support.isel(tau=0)
    np.testing.assert_array_equal(model.support_, each.any("class"))


def test_cross_validation_chooses_by_log_loss(data) -> None:
    X, y, three = data
    model = nvsd.NVSDClassifierCV(**QUICK).fit(X, y)
    results = model.cv_results_
    assert results.error.attrs["long_name"] == "log-loss on held-out data"
    assert model.support_[:2].all()
    best = results.mean_error.min().item()
    assert best < 0.5 < log_loss(y, np.full((90, 2), 0.5))
    chosen = results.isel(
        {dim: results.attrs[f"chosen_{dim}"] for dim in ("nu", "width", "mu", "tau")}
    )
    assert float(chosen.mean_error) == best
    # One fold by hand: the same splits, path, refit and log-loss.
    from sklearn.model_selection import StratifiedKFold

    train, test = next(StratifiedKFold(3).split(X, y))
    path = nvsd.nvsd_path(
        X.iloc[train], y[train], kernel=model.kernel_, loss=Logistic(), standardize=True,
        taus=model.path_.tau.values,
    )  # fmt: skip
    tau = int(results.attrs["chosen_tau"])
    refit = path.nvsd.debias(X.iloc[train], y[train], nu=float(chosen.ridge_nu))
    shares = refit.nvsd.probability(X.iloc[test]).isel(tau=tau).values.T
    expected = log_loss(y[test], shares, labels=["in", "out"])
    assert float(chosen.error.isel(fold=0)) == pytest.approx(expected, rel=1e-4)
    several = nvsd.NVSDClassifierCV(**QUICK | {"n_taus": 3}).fit(X, three)
    assert several.predict_proba(X).shape == (90, 3)


def test_a_class_that_a_fold_has_not_seen_is_refused(data) -> None:
    X, y, _ = data
    rare = np.where(np.arange(90) == 7, "rare", y)
    splits = [(np.delete(np.arange(90), 7), np.array([7, 8]))]
    model = nvsd.NVSDClassifierCV(n_taus=3, cv=splits, refit_nus=1e-2)
    with pytest.raises(ValueError, match="no training rows of the class 'rare'"):
        model.fit(X, rare)
    with pytest.raises(ValueError, match="held-out rows have the class 'rare'"):
        model.fit(X, y, validation=(X, rare))


def test_class_weights_move_the_boundary(data) -> None:
    X, _, _ = data
    y = np.where(X["a"] > 1.2, "rare", "usual")
    plain = nvsd.NVSDClassifier(debias=False).fit(X, y)
    balanced = nvsd.NVSDClassifier(debias=False, class_weight="balanced").fit(X, y)
    assert balanced.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.1


@pytest.mark.parametrize("loss", ["huber", "quantile", Huber(0.4), Quantile(0.5)])
def test_regressors_with_other_losses_shrug_off_outliers(data, loss) -> None:
    X, _, _ = data
    rng = np.random.default_rng(1)
    f = X["a"].to_numpy() ** 2 + X["b"].to_numpy()
    y = f + 0.1 * rng.standard_normal(90)
    y[:3] += 40.0
    kept = np.arange(3, 90)
    robust = nvsd.NVSDRegressor(loss=loss, tau_fraction=0.01, debias=False).fit(X, y)
    squared = nvsd.NVSDRegressor(tau_fraction=0.01, debias=False).fit(X, y)
    error = [np.sqrt(np.mean((m.predict(X) - f)[kept] ** 2)) for m in (robust, squared)]
    assert error[0] < 0.7 * error[1]
    assert nvsd.NVSDRegressorCV(loss=loss, **QUICK).fit(X, y).support_[:2].all()


def test_a_loss_of_classes_is_refused_by_regressors(data) -> None:
    X, _, _ = data
    with pytest.raises(ValueError, match="is not a loss of numbers"):
        nvsd.NVSDRegressor(loss="logistic").fit(X, X["a"])
    with pytest.raises(ValueError, match="loss = 'l2' is unknown"):
        nvsd.NVSDRegressorCV(loss="l2").fit(X, X["a"])
