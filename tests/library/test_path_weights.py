"""Weights of samples in a path and its refit."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from sklearn.kernel_ridge import KernelRidge

import nvsd
from nvsd.kernels import Gaussian
from nvsd.losses import Huber, Logistic, Loss, Quantile, Squared

KERNEL = Gaussian(1.5)
TIMES = np.array([1, 2, 1, 3, 1, 1, 2, 1, 1, 2])
every_loss = pytest.mark.parametrize(
    "loss", [Squared(), Huber(), Logistic(), Quantile(0.4)], ids=str
)


def sample(loss: Loss, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n)
    return X, np.where(y > 0, "b", "a") if loss.of_classes else y


@every_loss
def test_weight_zero_leaves_a_row_out(loss: Loss) -> None:
    X, y = sample(loss)
    given = {"kernel": KERNEL, "loss": loss, "taus": [0.05, 0.01]}
    weights = np.array([0.0, 2, 1, 0, 1, 3, 1, 1, 2, 1])
    some = weights > 0
    few = nvsd.nvsd_path(X[some], y[some], sample_weight=weights[some], **given)
    path = nvsd.nvsd_path(X, y, sample_weight=weights, **given)
    xr.testing.assert_identical(path, few)
    prepared = nvsd.prepare(X, kernel=KERNEL, loss=loss, sample_weight=weights)
    again = nvsd.nvsd_path(prepared, y, taus=[0.05, 0.01])
    np.testing.assert_allclose(again.fitted, path.fitted, atol=1e-4)
    with pytest.raises(ValueError, match="y has shape"):
        nvsd.nvsd_path(prepared, y[:-1])
    refit = path.nvsd.debias(X, y, sample_weight=weights)
    xr.testing.assert_identical(
        refit, few.nvsd.debias(X[some], y[some], sample_weight=weights[some])
    )


@every_loss
def test_integer_weights_of_a_refit_are_repeated_rows(loss: Loss) -> None:
    X, y = sample(loss)
    path = nvsd.nvsd_path(X, y, kernel=KERNEL, loss=loss, taus=[0.02])
    weighted = path.nvsd.debias(X, y, nu=1e-2, sample_weight=TIMES)
    many = path.nvsd.debias(np.repeat(X, TIMES, axis=0), np.repeat(y, TIMES), nu=1e-2)
    np.testing.assert_allclose(weighted.nvsd.predict(X), many.nvsd.predict(X), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weighted.loss, many.loss, rtol=1e-4)


def test_three_classes_and_a_row_of_weight_zero() -> None:
    X, _ = sample(Squared(), 12)
    y = np.resize(["a", "b", "c"], 12)
    weights = np.r_[0.0, np.linspace(1, 2, 11)]
    given = {"kernel": KERNEL, "loss": Logistic(), "n_taus": 2}
    path = nvsd.nvsd_path(X, y, sample_weight=weights, class_weight="balanced", **given)
    few = nvsd.nvsd_path(X[1:], y[1:], sample_weight=weights[1:], class_weight="balanced", **given)
    xr.testing.assert_identical(path, few)
    refit = path.nvsd.debias(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        refit.nvsd.predict(X),
        few.nvsd.debias(X[1:], y[1:], sample_weight=weights[1:]).nvsd.predict(X),
    )


def test_the_refit_by_squares_is_that_of_scikit_learn() -> None:
    X, y = sample(Squared())
    w = np.linspace(0.2, 2, 10)
    path = nvsd.nvsd_path(X, y, kernel=KERNEL, taus=[0.02])
    everything = np.ones((1, 3), dtype=bool)
    refit = path.nvsd.debias(X, y, nu=1e-2, sample_weight=w, support=everything)
    mean = np.average(y, weights=w)
    peer = KernelRidge(alpha=1e-2 * w.sum(), kernel="precomputed")
    peer.fit(KERNEL.K(X, X), y - mean, sample_weight=w)
    f = mean + peer.predict(KERNEL.K(X, X))
    np.testing.assert_allclose(refit.fitted[0], f, rtol=1e-8)
    np.testing.assert_allclose(refit.loss[0], np.average((y - f) ** 2, weights=w))
    marks = path.nvsd.debias(
        X, y, nu=1e-2, sample_weight=w, support=everything, value_points=10, rng=1
    )
    np.testing.assert_allclose(marks.nvsd.predict(X)[0], f, rtol=1e-5)
    with pytest.raises(ValueError, match="is not a loss of classes"):
        path.nvsd.debias(X, y, class_weight="balanced")


def test_rng_in_the_place_of_random_state() -> None:
    X, y = sample(Squared(), 40)
    given = {"kernel": KERNEL, "value_points": 8, "derivative_points": 8, "n_taus": 2}
    one = nvsd.nvsd_path(X, y, random_state=4, **given)
    xr.testing.assert_identical(one, nvsd.nvsd_path(X, y, rng=4, **given))
    assert not one.equals(nvsd.nvsd_path(X, y, rng=np.random.default_rng(4), **given))
    with pytest.raises(ValueError, match="both given"):
        nvsd.prepare(X, rng=1, random_state=1)
