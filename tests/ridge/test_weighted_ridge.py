"""Weights of rows in kernel ridge: oracles that share no code, and repeated rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from nvsd.data.rows import ArrayRows
from nvsd.data.weights import of_mean_one
from nvsd.kernels import Gaussian, blocks
from nvsd.losses import Huber, Logistic, LossTerm, Squared
from nvsd.ridge.by_loss import fit_by_loss
from nvsd.ridge.dense import fit_ridge
from nvsd.ridge.leave_one_out import best_loo_ridge, loo_ridge, nystrom_loo_ridge, quick_loo_ridge
from nvsd.ridge.newton import Features, LossProblem
from nvsd.ridge.nystrom import fit_nystrom

KERNEL = Gaussian(1.5)
TIMES = np.array([1, 3, 2, 1, 1, 4, 1, 2, 1, 1, 2, 1])


def sample(n: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = 5 + np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
    return X, y, of_mean_one(rng.uniform(0.1, 3, n))


def direct(K: np.ndarray, y: np.ndarray, w: np.ndarray, penalty: float) -> np.ndarray:
    """α and the mean that minimise Σ w (y − mean − Kα)² + penalty αᵀKα, by least squares."""
    n = len(y)
    L = np.linalg.cholesky(K + 1e-13 * np.eye(n))
    top = np.sqrt(w)[:, None] * np.column_stack([L, np.ones(n)])
    bottom = np.column_stack([np.sqrt(penalty) * np.eye(n), np.zeros(n)])
    theta = np.linalg.lstsq(
        np.vstack([top, bottom]), np.concatenate([np.sqrt(w) * y, np.zeros(n)]), rcond=None
    )[0]
    return np.append(np.linalg.solve(L.T, theta[:-1]), theta[-1])


# --- dense and Nyström ---------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [1e-1, 1e-3])
def test_weighted_ridge_is_that_of_scikit_learn(nu: float) -> None:
    X, y, w = sample()
    fit = fit_ridge(X, y, KERNEL, nu, weights=w)
    mean = np.average(y, weights=w)
    peer = KernelRidge(alpha=nu * len(y), kernel="precomputed")
    peer.fit(KERNEL.K(X, X), y - mean, sample_weight=w)
    assert fit.mean == pytest.approx(mean)
    new = np.random.default_rng(1).standard_normal((5, 2))
    np.testing.assert_allclose(fit.predict(new)[0], mean + peer.predict(KERNEL.K(new, X)), 1e-9)
    np.testing.assert_allclose(fit.fitted(y)[0], fit.predict(X)[0], rtol=1e-9)


def test_integer_weights_of_ridge_are_repeated_rows() -> None:
    X, y, _ = sample()
    fit = fit_ridge(X, y, KERNEL, [1e-1, 1e-3], weights=of_mean_one(TIMES))
    again = fit_ridge(np.repeat(X, TIMES, axis=0), np.repeat(y, TIMES), KERNEL, [1e-1, 1e-3])
    np.testing.assert_allclose(fit.predict(X), again.predict(X), rtol=1e-8)


@pytest.mark.parametrize("inputs", [(True, True), (True, False), (False, False)])
def test_weighted_nystrom_on_all_points_is_weighted_ridge(inputs: tuple[bool, bool]) -> None:
    X, y, w = sample()
    mask = np.array(inputs)
    rows = ArrayRows(X, y, False)
    dense = fit_ridge(X, y, KERNEL, [1e-1, 1e-3], mask, weights=w)
    summed = fit_nystrom(rows, X, KERNEL, [1e-1, 1e-3], mask, weights=w)
    np.testing.assert_allclose(summed.predict(X), dense.predict(X), rtol=1e-6)
    few = fit_nystrom(rows, X[:5], KERNEL, 1e-2, mask, weights=w)
    assert np.mean((few.predict(X) - dense.predict(X)) ** 2) < 2


def test_weighted_nystrom_of_repeated_rows() -> None:
    X, y, _ = sample()
    weighted = fit_nystrom(ArrayRows(X, y), X[:5], KERNEL, 1e-2, weights=of_mean_one(TIMES))
    rows = ArrayRows(np.repeat(X, TIMES, axis=0), np.repeat(y, TIMES))
    np.testing.assert_allclose(
        weighted.predict(X), fit_nystrom(rows, X[:5], KERNEL, 1e-2).predict(X), rtol=1e-8
    )


# --- leave-one-out -------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [1e-2, 1.0])
def test_weighted_leave_one_out_by_brute_force(lam: float) -> None:
    X, y, w = sample()
    K, n = blocks.K(KERNEL, X), len(y)
    fit = loo_ridge(K, y, lam, w)
    penalty = lam * (w @ K.diagonal()) / n
    whole = direct(K, y, w, penalty)
    np.testing.assert_allclose(K @ fit.alpha + fit.mean, K @ whole[:-1] + whole[-1], rtol=1e-7)
    errors = []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        found = direct(K[np.ix_(rest, rest)], y[rest], w[rest], penalty)
        errors.append(y[i] - K[i, rest] @ found[:-1] - found[-1])
    np.testing.assert_allclose(fit.errors, errors, rtol=1e-6, atol=1e-9)
    assert fit.error == pytest.approx(np.average(np.square(errors), weights=w))


def test_weighted_leave_one_out_in_single_precision() -> None:
    X, y, w = sample()
    K = blocks.K(KERNEL, X)
    one, two = loo_ridge(K, y, 0.1, w), loo_ridge(K.astype(np.float32), y, 0.1, w)
    np.testing.assert_allclose(two.errors, one.errors, rtol=1e-3)
    best = best_loo_ridge(K, y, weights=w)
    assert best.error <= loo_ridge(K, y, 10 * best.lam, w).error
    assert quick_loo_ridge(K, y, weights=w).lam == pytest.approx(best.lam, rel=4)


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_weighted_landmarks_by_brute_force(dtype: type) -> None:
    """All rows as landmarks: the same fit and leave-one-out errors as without landmarks."""
    X, y, w = sample(30, 1)
    K = blocks.K(KERNEL, X)
    found = nystrom_loo_ridge(K.astype(dtype), K.astype(dtype), y, w)
    # λ is a share of the landmarks' mean diagonal, which is 1, and so is that of all rows.
    known = loo_ridge(K, y, found.lam, w)
    loose = 1e-4 if dtype is float else 5e-2  # landmarks have a small ridge of their own
    np.testing.assert_allclose(found.errors, known.errors, rtol=loose, atol=loose / 10)
    assert found.mean + K[0] @ found.alpha == pytest.approx(known.mean + K[0] @ known.alpha, 1e-3)


def test_the_mean_alone_has_known_errors() -> None:
    _, y, w = sample()
    fit = loo_ridge(np.zeros((12, 12)), y, 0.1, w)
    rest = [np.average(np.delete(y, i), weights=np.delete(w, i)) for i in range(12)]
    np.testing.assert_allclose(fit.errors, y - rest, rtol=1e-12)
    marks = nystrom_loo_ridge(np.zeros((12, 3)), np.zeros((3, 3)), y, w)
    np.testing.assert_allclose(marks.errors, fit.errors, rtol=1e-12)


# --- other losses --------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Logistic(), Huber(), Huber(0.3), Squared()], ids=str)
def test_integer_weights_of_a_refit_are_repeated_rows(loss) -> None:
    X, y, _ = sample()
    y = np.where(y > 5, 1.0, -1.0) if loss.of_classes else y
    nus = np.array([1e-2])
    weights = of_mean_one(TIMES)
    many = np.repeat(y, TIMES)
    assert loss.bound(y, weights) == loss.bound(many)
    one = fit_by_loss(X, LossTerm(loss.bound(y, weights), y, weights, True), KERNEL, nus)
    term = LossTerm(loss.bound(many), many, np.ones(len(many)), True)
    two = fit_by_loss(np.repeat(X, TIMES, axis=0), term, KERNEL, nus)
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-4)


def test_weighted_squares_by_newton_are_those_of_ridge() -> None:
    """Two ways that share no code: fitted values, left-out predictions, and the mean loss."""
    X, y, w = sample()
    K = blocks.K(KERNEL, X)
    unit = (w @ K.diagonal()) / len(y)
    known = loo_ridge(K, y, 1e-2 * len(y) / unit, w)
    found = LossProblem(Features.of_kernel(K).Phi, y, Squared(), w).fit(1e-2)
    np.testing.assert_allclose(found.fitted, known.mean + K @ known.alpha, atol=1e-8)
    np.testing.assert_allclose(found.left_out, y - known.errors, atol=1e-7)
    assert found.error == pytest.approx(known.error)


def test_weighted_left_out_log_odds_by_brute_force() -> None:
    """One step tells nearly what a fit without the row would."""
    X, y, w = sample(30, 2)
    y = np.where(y > 5, 1.0, -1.0)
    Phi = Features.of_kernel(blocks.K(KERNEL, X)).Phi
    nu, n = 5e-2, len(y)
    found = LossProblem(Phi, y, Logistic(), w).fit(nu)
    alone = []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        # ν has the same weight beside the sum of the other rows as beside that of all.
        scale = w[rest].sum() / n
        part = LossProblem(Phi[rest], y[rest], Logistic(), of_mean_one(w[rest])).fit(nu / scale)
        alone.append(Phi[i] @ part.theta + part.constant)
    assert np.corrcoef(found.left_out, alone)[0, 1] > 0.999
    np.testing.assert_allclose(found.left_out, alone, atol=0.05)
    assert np.abs(found.fitted - alone).max() > 0.05
