"""Kernel fits of other losses against general solvers, and left-out predictions against refits."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from nvsd.kernels import Gaussian, Linear
from nvsd.losses import SQUARED, Huber, Logistic, Loss, Quantile
from nvsd.ridge.leave_one_out import loo_ridge
from nvsd.ridge.newton import Features, LossFit, LossProblem

LOSSES = [Logistic(), Huber(0.3), Quantile(0.7), SQUARED]
NUS = [1e-4, 1e-2, 1.0]


def problem(loss: Loss, n: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The kernel between rows, and y with outliers, or two classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    f = 1.5 * np.sin(2 * X[:, 0])
    y = f + 0.3 * rng.standard_t(1.5, n)
    if loss.of_classes:
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * f)), 1.0, -1.0)
    return Gaussian(1.0).K(X), y


def fit(K: np.ndarray, y: np.ndarray, loss: Loss, nu: float, **options: object) -> LossFit:
    return LossProblem(Features.of_kernel(K).Phi, y, loss, tol=1e-13, **options).fit(nu)


def stated(loss: Loss, y: np.ndarray, f: cp.Expression) -> cp.Expression:
    """The losses as CVXPY has them."""
    if isinstance(loss, Logistic):
        return cp.logistic(-cp.multiply(y, f))
    if isinstance(loss, Huber):
        return cp.huber(y - f, loss.delta)
    if isinstance(loss, Quantile):
        return cp.maximum(loss.q * (y - f), (loss.q - 1) * (y - f))
    return cp.square(y - f)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nu", NUS)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_the_objective_is_that_of_cvxpy(loss: Loss, nu: float, weighted: bool) -> None:
    K, y = problem(loss)
    n = len(y)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, n) if weighted else np.ones(n)
    found = fit(K, y, loss, nu, weights=weights)
    Phi = Features.of_kernel(K).Phi
    theta, c = cp.Variable(Phi.shape[1]), cp.Variable()
    objective = weights @ stated(loss, y, Phi @ theta + c) / n + nu * cp.sum_squares(theta)
    best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    # The kink of the quantile loss is rounded within a thousandth of the spread of y.
    room = 1e-3 * y.std() if isinstance(loss, Quantile) else 1e-7
    assert found.objective == pytest.approx(best, abs=room)
    of_fit = np.mean(weights * loss.pointwise(y, found.fitted)) + nu * found.theta @ found.theta
    assert found.objective == pytest.approx(of_fit, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES[:2], ids=lambda loss: type(loss).__name__)
def test_no_general_descent_finds_less(loss: Loss) -> None:
    K, y = problem(loss)
    found, Phi = fit(K, y, loss, 1e-3), Features.of_kernel(K).Phi

    def objective(z: np.ndarray) -> float:
        return float(np.mean(loss.pointwise(y, Phi @ z[:-1] + z[-1])) + 1e-3 * z[:-1] @ z[:-1])

    best = minimize(objective, np.append(found.theta, found.constant) + 0.1, method="BFGS").fun
    assert found.objective <= best + 1e-9


def test_a_linear_kernel_is_logistic_regression() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 4))
    y = np.where(X @ [1.0, -2.0, 0.0, 0.5] + rng.logistic(size=80) > 0.5, 1.0, -1.0)
    K = Linear().K(X)
    for nu in (1e-3, 0.1):
        found = fit(K, y, Logistic(), nu)
        # C Σ log(1 + e^{−yf}) + ½‖w‖², so C = 1/(2nν).
        known = LogisticRegression(C=1 / (2 * 80 * nu), tol=1e-10, max_iter=1000).fit(X, y)
        np.testing.assert_allclose(found.fitted, known.decision_function(X), atol=1e-5)
        assert found.constant == pytest.approx(known.intercept_[0], abs=1e-5)


def test_squares_are_kernel_ridge_and_its_exact_left_out_predictions() -> None:
    K, y = problem(SQUARED)
    found, unit = fit(K, y, SQUARED, 1e-2), float(np.trace(K)) / len(y)
    known = loo_ridge(K, y, 1e-2 * len(y) / unit)
    np.testing.assert_allclose(found.fitted, known.mean + K @ known.alpha, atol=1e-9)
    np.testing.assert_allclose(found.left_out, y - known.errors, atol=1e-8)
    features = Features.of_kernel(K)
    again = features.coefficients(found.theta, len(y))
    np.testing.assert_allclose(found.constant + K @ again, found.fitted, atol=1e-8)


def test_huber_with_a_large_delta_is_squares() -> None:
    K, y = problem(SQUARED)
    one, two = fit(K, y, Huber(1e6), 1e-2), fit(K, y, SQUARED, 1e-2)
    np.testing.assert_allclose(one.fitted, two.fitted, atol=1e-9)
    np.testing.assert_allclose(one.left_out, two.left_out, atol=1e-9)


@pytest.mark.parametrize("nu", [1e-3, 1e-2, 1e-1])
@pytest.mark.parametrize(
    ("loss", "room", "alike"),
    [(Logistic(), 0.08, 0.999), (Huber(0.3), 0.02, 0.99), (Quantile(0.7), 0.25, 0.93)],
)
def test_left_out_predictions_are_those_of_refits(
    loss: Loss, room: float, alike: float, nu: float
) -> None:
    """One step is rough where the loss has a kink, and good elsewhere."""
    K, y = problem(loss)
    n, Phi = len(y), Features.of_kernel(K).Phi
    found = LossProblem(Phi, y, loss, tol=1e-13).fit(nu)
    refits = []
    for i in range(n):
        rest = np.arange(n) != i
        one = LossProblem(Phi[rest], y[rest], loss, tol=1e-13).fit(nu * n / (n - 1))
        refits.append(Phi[i] @ one.theta + one.constant)
    assert np.corrcoef(refits, found.left_out)[0, 1] > alike
    brute = float(np.mean(loss.pointwise(y, np.array(refits))))
    assert found.error == pytest.approx(brute, rel=room)
    # The loss at the rows themselves would be far off, at least where the fit is free.
    if nu == 1e-3:
        assert np.mean(loss.pointwise(y, found.fitted)) < 0.8 * brute


@pytest.mark.parametrize("loss", [Huber(0.3), Quantile(0.7)], ids=lambda loss: type(loss).__name__)
def test_squares_that_are_reweighted_lie_above_the_loss(loss: Loss) -> None:
    """They touch it where they are made, so that a step cannot raise the objective."""
    y, grid = np.zeros(1), np.linspace(-3, 3, 61)
    for at in (-2.0, -0.2, 0.1, 1.5):
        g, h = (float(part[0]) for part in loss.parabola(y, np.array([at]), 1e-9))
        value = float(loss.pointwise(y, np.array([at]))[0])
        parabola = value + g * (grid - at) + 0.5 * h * (grid - at) ** 2
        assert (parabola >= loss.pointwise(y, grid) - 1e-12).all()
        assert g == pytest.approx(float(loss.gradient(y, np.array([at]))[0]), abs=1e-6)
    _, h = loss.parabola(y, np.zeros(1), 0.1)
    assert np.isfinite(h).all()


def test_several_nu_are_the_fits_one_by_one() -> None:
    K, y = problem(Logistic())
    whole = LossProblem(Features.of_kernel(K).Phi, y, Logistic(), tol=1e-13)
    nus = np.array([1e-3, 1.0, 1e-2])
    for nu, found in zip(nus, whole.path(nus), strict=True):
        assert found.nu == nu
        np.testing.assert_allclose(found.fitted, whole.fit(nu).fitted, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES[:3], ids=lambda loss: type(loss).__name__)
def test_the_best_lambda_has_no_better_neighbour(loss: Loss) -> None:
    K, y = problem(loss, 60)
    whole = LossProblem(Features.of_kernel(K).Phi, y, loss)
    lam, best = whole.best()
    for near in (lam * 10**0.5, lam / 10**0.5):
        assert best.error <= 1.002 * whole.fit(whole.nu(near)).error


def test_sections_at_all_points_are_all_of_the_kernel() -> None:
    K, y = problem(Logistic())
    features = Features.of_sections(K, K)
    found = LossProblem(features.Phi, y, Logistic(), tol=1e-13).fit(1e-2)
    np.testing.assert_allclose(found.fitted, fit(K, y, Logistic(), 1e-2).fitted, atol=1e-6)
    few = Features.of_kernel(K, 8)
    assert few.Phi.shape == (30, 8)
    alpha = few.coefficients(np.ones(8), 30)
    np.testing.assert_allclose(K @ alpha, few.Phi @ np.ones(8), atol=1e-8)


@pytest.mark.parametrize("nu", [1e-12, 1e-6, 1e6])
@pytest.mark.parametrize("case", ["separable", "duplicated", "constant", "unbalanced"])
def test_hard_samples_give_finite_fits(case: str, nu: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    if case == "duplicated":
        X = np.repeat(X[:10], 4, axis=0)
        y = np.where(rng.random(40) < 0.5, 1.0, -1.0)
    if case == "unbalanced":
        y = np.where(np.arange(40) == 3, 1.0, -1.0)
    K = np.zeros((40, 40)) if case == "constant" else Gaussian(1.0).K(X)
    found = LossProblem(Features.of_kernel(K).Phi, y, Logistic()).fit(nu)
    for part in (found.theta, found.fitted, found.left_out, found.costs):
        assert np.isfinite(part).all()
    share = np.mean(y > 0)
    if case == "constant" or nu == 1e6:
        np.testing.assert_allclose(found.fitted, np.log(share / (1 - share)), atol=1e-4)
    if case == "separable" and nu == 1e-12:
        assert (np.sign(found.fitted) == y).all()


def test_the_best_fit_of_separable_classes_is_not_absurd() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 1))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    whole = LossProblem(Features.of_kernel(Gaussian(1.0).K(X)).Phi, y, Logistic())
    _, best = whole.best()
    assert best.error < 0.15
    assert np.abs(best.fitted).max() < 200


def test_one_class_is_refused() -> None:
    K, _ = problem(Logistic())
    with pytest.raises(ValueError, match="one class only"):
        fit(K, np.ones(30), Logistic(), 1.0)
