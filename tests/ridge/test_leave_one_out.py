"""Closed leave-one-out errors against fits that leave one row out."""

from __future__ import annotations

import numpy as np
import pytest

from nvsd.kernels import Gaussian
from nvsd.ridge.leave_one_out import best_loo_ridge, inverse_factor, loo_ridge, nystrom_loo_ridge


def problem(n: int = 15) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    return Gaussian(1.0).K(X), 5 + np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def with_mean(K: np.ndarray, y: np.ndarray, shift: float) -> tuple[np.ndarray, float]:
    """α and the mean, from the equations as they stand."""
    n = len(y)
    system = np.block(
        [[K + shift * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]]
    )
    solved = np.linalg.solve(system, np.append(y, 0.0))
    return solved[:n], float(solved[n])


@pytest.mark.parametrize("lam", [1e-3, 1e-1, 10.0])
def test_errors_are_those_of_fits_without_the_row(lam: float) -> None:
    K, y = problem()
    fit = loo_ridge(K, y, lam)
    shift = lam * np.trace(K) / len(y)
    alpha, mean = with_mean(K, y, shift)
    np.testing.assert_allclose(fit.alpha, alpha, atol=1e-9 * np.abs(alpha).max())
    assert fit.mean == pytest.approx(mean, rel=1e-9)
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        alpha, mean = with_mean(K[np.ix_(rest, rest)], y[rest], shift)
        assert fit.errors[i] == pytest.approx(y[i] - mean - K[i, rest] @ alpha, abs=1e-9)


def test_the_best_shift_has_no_better_neighbour() -> None:
    K, y = problem(40)
    best = best_loo_ridge(K, y)
    assert best.error <= loo_ridge(K, y, best.lam * 10**0.5).error
    assert best.error <= loo_ridge(K, y, best.lam / 10**0.5).error
    again = best_loo_ridge(K, y, best.lam)
    assert again.error <= best.error


def test_single_precision_is_close() -> None:
    K, y = problem(30)
    one, two = loo_ridge(K, y, 0.1), loo_ridge(K.astype(np.float32), y, 0.1)
    np.testing.assert_allclose(two.errors, one.errors, atol=1e-4)


def test_a_kernel_of_nothing_leaves_the_mean() -> None:
    y = np.array([1.0, 2.0, 6.0])
    fit = loo_ridge(np.zeros((3, 3)), y, 0.1)
    assert fit.mean == 3.0
    np.testing.assert_allclose(fit.errors, [y[i] - np.delete(y, i).mean() for i in range(3)])


@pytest.mark.parametrize("n", [1, 5, 64, 65, 150, 301])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_the_inverse_factor_is_that_of_cholesky(n: int, precision: type) -> None:
    B = np.random.default_rng(n).standard_normal((n, n))
    S = (B @ B.T / n + np.eye(n)).astype(precision)
    J = inverse_factor(S)
    expected = np.linalg.inv(np.linalg.cholesky(S.astype(float)))
    np.testing.assert_allclose(J, expected, atol=200 * np.finfo(precision).eps)
    assert J.dtype == precision


@pytest.mark.parametrize("n", [10, 200])
def test_what_is_not_positive_definite_has_no_factor(n: int) -> None:
    S = np.eye(n)
    S[-1, -1] = -1.0
    assert inverse_factor(S) is None
    fit = loo_ridge(S - 2 * np.eye(n) * S[-1, -1], np.arange(float(n)), 1e-3)
    assert np.isfinite(fit.errors).all()


def test_a_far_mean_costs_no_digits_in_single_precision() -> None:
    K, y = problem(30)
    near, far = (loo_ridge(K.astype(np.float32), y + shift, 0.1) for shift in (0.0, 1e6))
    np.testing.assert_allclose(far.errors, near.errors, atol=1e-4)
    assert far.mean == pytest.approx(near.mean + 1e6, abs=1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_errors_with_landmarks_are_those_of_fits_without_a_row(dtype) -> None:
    """Each row left out in turn, by least squares on the sections and their penalty."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(60) + 5.0
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    C, W = K[:, :15], K[:15, :15]
    found = nystrom_loo_ridge(C.astype(dtype), W.astype(dtype), y)
    lam = found.lam * np.trace(W) / 15
    left_out = []
    for i in range(60):
        rest = np.arange(60) != i
        A = np.column_stack([C[rest], np.ones(59)])
        penalty = np.zeros((16, 16))
        penalty[:15, :15] = lam * W
        beta = np.linalg.solve(A.T @ A + penalty, A.T @ y[rest])
        left_out.append(y[i] - np.append(C[i], 1) @ beta)
    tolerance = 1e-5 if dtype == np.float64 else 5e-3
    np.testing.assert_allclose(found.errors, left_out, atol=tolerance)
    fitted = found.mean + C @ found.alpha
    assert np.mean((y - fitted) ** 2) < np.mean(found.errors**2)


def test_landmarks_without_a_kernel_leave_the_mean() -> None:
    y = np.arange(8.0)
    found = nystrom_loo_ridge(np.zeros((8, 3)), np.zeros((3, 3)), y)
    np.testing.assert_allclose(found.errors, [y[i] - np.delete(y, i).mean() for i in range(8)])
