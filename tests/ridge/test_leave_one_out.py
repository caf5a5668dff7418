"""Closed leave-one-out errors against fits that leave one row out."""

from __future__ import annotations

import numpy as np
import pytest

from nvsd.kernels import Gaussian
from nvsd.ridge import leave_one_out
from nvsd.ridge.leave_one_out import (
    HIGHEST,
    LooFit,
    best_loo_ridge,
    inverse_factor,
    loo_ridge,
    nystrom_loo_ridge,
)


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


class Told:
    """In the place of fits: errors of half decades of λ that are told, and 9 for all others."""

    def __init__(self, errors: dict[int, float]) -> None:
        self.errors, self.asked = errors, list[int]()

    def __call__(self, *_: object) -> Told:
        return self

    def fit(self, lam: float) -> LooFit:
        step = round(2 * np.log10(lam))
        self.asked.append(step)
        return LooFit(np.zeros(1), 0.0, lam, np.sqrt([self.errors.get(step, 9.0)]))


@pytest.mark.parametrize(
    ("errors", "found", "asked"),
    [
        ({0: 1.0, -1: 0.5, -2: 0.4}, -2, {0, -1, -2, -3}),  # smaller ones are better
        ({0: 1.0, -1: 1.002, 1: 0.5}, 0, {0, -1}),  # as good: larger ones are not tried
        ({0: 1.0, -1: 0.998, 1: 0.5}, 0, {0, -1}),  # too little better to move
        ({0: 1.0, -1: 1.1, 1: 0.5, 2: 0.4}, 2, {0, -1, 1, 2, 3}),  # clearly worse: they are
        ({0: 1.0, -1: 1.1, 1: 0.998}, 0, {0, -1, 1}),
        ({-k: 0.5**k for k in range(12)}, -6, set(range(-6, 1))),  # no more than WALK
        ({k: 0.5**k for k in range(12)}, 6, set(range(-1, 7))),
    ],
)
def test_smaller_shifts_come_first(monkeypatch, errors: dict, found: int, asked: set) -> None:
    told = Told(errors)
    monkeypatch.setattr(leave_one_out, "LooRidge", told)
    fit = best_loo_ridge(np.eye(2), np.zeros(2), 1.0)
    assert fit.lam == pytest.approx(10 ** (found / 2))
    assert set(told.asked) == asked
    assert len(told.asked) == len(asked)


@pytest.mark.parametrize(("last", "found"), [(1e-9, -12), (1e9, 6)])
def test_shifts_stay_within_their_limits(monkeypatch, last: float, found: int) -> None:
    told = Told({k: 2.0 - k / np.sign(np.log(last)) / 100 for k in range(-40, 40)})
    monkeypatch.setattr(leave_one_out, "LooRidge", told)
    assert best_loo_ridge(np.eye(2), np.zeros(2), last).lam == pytest.approx(10 ** (found / 2))
    assert -12 <= min(told.asked) <= max(told.asked) <= 6


def test_noise_has_the_largest_shift_with_landmarks() -> None:
    """So large that f is the mean."""
    K, _ = problem(30)
    y = (-1.0) ** np.arange(30)
    assert nystrom_loo_ridge(K[:, :8], K[:8, :8], y).lam == HIGHEST


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
