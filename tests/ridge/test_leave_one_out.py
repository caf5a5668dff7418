"""Closed leave-one-out errors against fits that leave one row out."""

from __future__ import annotations

import numpy as np
import pytest

from nvsd.kernels import Gaussian
from nvsd.ridge.leave_one_out import best_loo_ridge, loo_ridge


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
