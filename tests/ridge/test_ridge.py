"""Kernel ridge against scikit-learn's KernelRidge and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from path_problems import kernels, sample
from sklearn.kernel_ridge import KernelRidge

from nvsd.kernels import Gaussian, Kernel, Linear, Polynomial
from nvsd.ridge.dense import default_nus, fit_ridge

N, D = 12, 3
NUS = np.array([1e-4, 1e-2, 1.0])
every_kernel = pytest.mark.parametrize("kernel", kernels(D), ids=str)


def sklearn_ridge(kernel: Kernel, X, y, nu: float, X_new) -> np.ndarray:
    """(K + nνI) α = y − mean, by scikit-learn on a precomputed kernel."""
    model = KernelRidge(alpha=len(y) * nu, kernel="precomputed").fit(kernel.K(X), y - y.mean())
    return y.mean() + model.predict(kernel.K(X_new, X))


@every_kernel
def test_all_nu_at_once_are_those_of_scikit_learn(kernel: Kernel, rng) -> None:
    X, y = sample(0, N, D, "both")
    X_new = rng.standard_normal((7, D))
    fit = fit_ridge(X, y, kernel, NUS)
    expected = [sklearn_ridge(kernel, X, y, nu, X_new) for nu in NUS]
    assert fit.alpha.shape == (3, N)
    np.testing.assert_allclose(fit.predict(X_new), expected, rtol=1e-8, atol=1e-8)


@every_kernel
def test_a_subset_of_inputs_is_a_fit_without_the_others(kernel: Kernel, rng) -> None:
    X, y = sample(1, N, D)
    X_new, chosen = rng.standard_normal((5, D)), np.array([True, False, True])
    fit = fit_ridge(X, y, kernel, NUS, chosen)
    inner = kernel.restrict(chosen)
    expected = [sklearn_ridge(inner, X[:, chosen], y, nu, X_new[:, chosen]) for nu in NUS]
    np.testing.assert_allclose(fit.predict(X_new), expected, rtol=1e-8, atol=1e-8)
    X_new[:, 1] = 1e3  # an input that was left out does not matter
    np.testing.assert_allclose(fit.predict(X_new), expected, rtol=1e-8, atol=1e-8)


@every_kernel
def test_gradient_is_that_of_the_prediction(kernel: Kernel, rng) -> None:
    X, y = sample(2, N, D)
    X_new, chosen, step = rng.standard_normal((4, D)), np.array([True, True, False]), 1e-5
    fit = fit_ridge(X, y, kernel, NUS, chosen)
    gradient = fit.gradient(X_new)
    assert gradient.shape == (3, D, 4)
    for a in range(D):
        shift = step * np.eye(D)[a]
        difference = (fit.predict(X_new + shift) - fit.predict(X_new - shift)) / (2 * step)
        np.testing.assert_allclose(gradient[:, a], difference, rtol=1e-5, atol=1e-6)
    assert not gradient[:, 2].any()


def test_no_inputs_predict_the_mean(rng) -> None:
    X, y = sample(3, N, D)
    fit = fit_ridge(X, y, Gaussian(4.0), NUS, np.zeros(D, dtype=bool))
    np.testing.assert_allclose(fit.predict(rng.standard_normal((4, D))), y.mean())
    assert not fit.gradient(X).any()


def test_without_nu_it_interpolates_or_takes_the_least_norm() -> None:
    X, y = sample(4, N, D)
    np.testing.assert_allclose(fit_ridge(X, y, Gaussian(1.0), 0.0).predict(X)[0], y, rtol=1e-6)
    fit = fit_ridge(X, y, Linear(), 0.0)  # K has rank 3
    w = np.linalg.lstsq(X, y - y.mean())[0]
    np.testing.assert_allclose(fit.predict(X)[0], y.mean() + X @ w, atol=1e-10)


def test_one_of_several_nu() -> None:
    X, y = sample(5, N, D)
    fit = fit_ridge(X, y, Polynomial(2), NUS)
    one = fit.at(1)
    np.testing.assert_array_equal(one.nus, NUS[1:2])
    np.testing.assert_allclose(one.predict(X), fit.predict(X)[1:2], rtol=1e-12, atol=1e-12)


def test_default_nus_span_from_one_to_a_billionth_of_the_kernel() -> None:
    X, _ = sample(6, N, D)
    nus = default_nus(3.0 * Gaussian(4.0), X)
    assert nus[0] == pytest.approx(3.0)
    assert nus[-1] == pytest.approx(3e-9)
    np.testing.assert_allclose(np.diff(np.log(nus)), np.log(nus[1] / nus[0]), rtol=1e-9)
    assert default_nus(Linear(), 2.0 * X)[0] == pytest.approx(4 * default_nus(Linear(), X)[0])
