"""Kernel ridge on points: against kernel ridge, normal equations, and a known direction."""

from __future__ import annotations

import numpy as np
import pytest
from path_problems import kernels

import nvsd
from nvsd.data.sources import rows_of
from nvsd.kernels import Gaussian, Polynomial
from nvsd.ridge.dense import fit_ridge
from nvsd.ridge.nystrom import derivative_metric, draw_points, fit_nystrom

NUS = np.array([1e-4, 1e-2, 1.0])


def data(n: int = 40, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(6)
    X = rng.standard_normal((n, d))
    return X, 3 + np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("chosen", [[True, True, True], [True, False, True], [False] * 3])
@pytest.mark.parametrize("kernel", kernels(3), ids=str)
def test_all_points_give_kernel_ridge(kernel, chosen) -> None:
    X, y = data()
    mask = np.array(chosen)
    fit = fit_nystrom(rows_of(X, y), X, kernel, NUS, mask)
    expected = fit_ridge(X, y, kernel, NUS, mask)
    X_new = data(7)[0] + 0.3
    for method in ("predict", "gradient"):
        mine, theirs = (getattr(f, method)(X_new) for f in (fit, expected))
        np.testing.assert_allclose(mine, theirs, atol=1e-6 * max(1, np.abs(theirs).max()))


def test_some_points_solve_the_normal_equations() -> None:
    X, y = data()
    kernel = Gaussian(1.5)
    blocks = [(X[:13], y[:13]), (X[13:], y[13:])]
    V = draw_points(rows_of(blocks), 9, random_state=2)
    fit = fit_nystrom(rows_of(blocks), V, kernel, NUS)
    K, C, target = kernel.K(V), kernel.K(X, V), y - y.mean()
    for nu, alpha in zip(NUS, fit.alpha, strict=True):
        exact = np.linalg.solve(C.T @ C + len(X) * nu * K, C.T @ target)
        np.testing.assert_allclose(C @ alpha, C @ exact, atol=1e-7)
    assert fit.mean == pytest.approx(y.mean())


def test_points_that_repeat_do_no_harm() -> None:
    X, y = data()
    V = np.vstack([X[:9], X[:9]])
    fit = fit_nystrom(rows_of(X, y), V, Gaussian(1.5), NUS)
    expected = fit_nystrom(rows_of(X, y), X[:9], Gaussian(1.5), NUS)
    np.testing.assert_allclose(fit.predict(X), expected.predict(X), atol=1e-8)


def test_a_polynomial_kernel_needs_no_more_points_than_monomials() -> None:
    X, y = data(60)
    V = draw_points(rows_of(X), 12)
    fit = fit_nystrom(rows_of(X, y), V, Polynomial(2), NUS)
    expected = fit_ridge(X, y, Polynomial(2), NUS)
    np.testing.assert_allclose(fit.predict(X), expected.predict(X), atol=1e-7)


def test_points_are_seeded_and_distinct() -> None:
    X, _ = data()
    one, two, other = (draw_points(rows_of(X), 15, seed) for seed in (0, 0, 1))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert len(np.unique(one, axis=0)) == 15
    assert len(draw_points(rows_of(X), 1000)) == 40


def test_the_metric_finds_the_direction() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 4))
    direction = np.array([1.0, 2.0, 0.0, 2.0]) / 3
    y = np.sin(X @ direction)
    mask = np.array([True, True, False, True])
    fit = fit_nystrom(rows_of(X, y), X[:100], Gaussian(2.0), [1e-6], mask)
    M = derivative_metric(fit, X)
    np.testing.assert_allclose(M, np.outer(direction, direction), atol=0.05)
    assert (M[2] == 0).all()
    np.testing.assert_array_equal(M, M.T)


@pytest.mark.parametrize("standardize", [False, True])
def test_refits_of_a_path_on_points(standardize: bool) -> None:
    X, y = data(60)
    X_val, y_val = data(30)
    path = nvsd.nvsd_path(X, y, kernel=Gaussian(1.5), n_taus=4, standardize=standardize)
    options = {"nu": [1e-4, 1e-2], "validation": (X_val, y_val)}
    exact = path.nvsd.debias(X, y, **options)
    blocks = [(X[:25], y[:25]), (X[25:], y[25:])]
    points = path.nvsd.debias(blocks, value_points=60, **options)
    np.testing.assert_allclose(points.nvsd.predict(X_val), exact.nvsd.predict(X_val), atol=1e-5)
    np.testing.assert_array_equal(points.ridge_nu, exact.ridge_nu)
    few = path.nvsd.debias(X, y, value_points=20, **options)
    assert few.sizes["sample"] == 20
    assert "fitted" not in few
    assert np.isfinite(few.nvsd.predict(X_val)).all()
