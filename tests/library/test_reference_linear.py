"""With the linear kernel f(x) = w.x, and others have solved that problem.

The objective is (1/n)|y - Xw|^2 + tau J(w) + nu |w|^2, twice what linear solvers usually minimise.
"""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model

import reference
from nvsd.kernels import Linear
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty

# In units of |y|'s root mean square: Clarabel's gap of 1e-9 fixes w to the order of its root.
COEFFICIENTS = 1e-4


def coefficients(X: np.ndarray, y: np.ndarray, penalty: Penalty, tau: float, nu: float):
    """w, the gradient of f, which is the same everywhere."""
    s = reference.solve(X, y, kernel=Linear(), penalty=penalty, tau=tau, nu=nu)
    return X.T @ s.alpha + s.beta.sum(axis=1)


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((12, 4))
    return X, X @ [1.0, 0.0, -0.5, 0.0] + 0.1 * rng.standard_normal(12)


def sklearn_elastic_net(X: np.ndarray, y: np.ndarray, l1: float, l2: float) -> np.ndarray:
    """argmin (1/n)|y - Xw|^2 + l1 |w|_1 + l2 |w|^2."""
    alpha = l1 / 2 + l2
    model = sklearn.linear_model.ElasticNet(
        alpha=alpha, l1_ratio=l1 / 2 / alpha, fit_intercept=False, tol=1e-12, max_iter=100_000
    )
    return model.fit(X, y - y.mean()).coef_


@pytest.mark.parametrize("nu", [1e-3, 1.0])
@pytest.mark.parametrize("tau", [0.01, 0.3, 1.0])
def test_lasso_is_the_elastic_net_of_scikit_learn(data, tau: float, nu: float) -> None:
    X, y = data
    w = coefficients(X, y, Lasso(), tau, nu)
    np.testing.assert_allclose(w, sklearn_elastic_net(X, y, tau, nu), atol=COEFFICIENTS * y.std())


@pytest.mark.parametrize("mu", [0.2, 0.9])
def test_elastic_net_is_the_elastic_net_of_scikit_learn(data, mu: float) -> None:
    X, y = data
    w, tau, nu = coefficients(X, y, ElasticNet(mu=mu), 0.3, 1e-2), 0.3, 1e-2
    expected = sklearn_elastic_net(X, y, tau * mu, tau * (1 - mu) + nu)
    np.testing.assert_allclose(w, expected, atol=COEFFICIENTS * y.std())


@pytest.mark.parametrize("nu", [1e-3, 1.0])
@pytest.mark.parametrize("tau", [0.01, 0.1, 0.5])
def test_group_lasso_is_that_of_celer(data, tau: float, nu: float) -> None:
    """Rows sqrt(n nu) e_a with y = 0 make nu |w|^2; celer divides by 2 (n + d), and p_g = 3, 1."""
    celer = pytest.importorskip("celer")
    X, y = data
    n, d = X.shape
    rows = np.vstack([X, np.sqrt(n * nu) * np.eye(d)])
    target = np.append(y - y.mean(), np.zeros(d))
    model = celer.GroupLasso(
        groups=[[0, 2, 3], [1]],
        weights=np.array([3.0, 1.0]),
        alpha=tau / 2 * n / (n + d),
        fit_intercept=False,
        tol=1e-12,
    )
    w = coefficients(X, y, GroupLasso(["a", "b", "a", "a"]), tau, nu)
    np.testing.assert_allclose(w, model.fit(rows, target).coef_, atol=COEFFICIENTS * y.std())
