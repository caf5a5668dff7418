"""Active sets for kernels of degree 1, against brute force, other solvers and other programs."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
import sklearn.linear_model
import xarray as xr
from file_problems import refusal
from path_problems import Case, sample

import nvsd
from nvsd import ConvergenceWarning
from nvsd.kernels import Kernel, Linear, Polynomial
from nvsd.losses import Huber
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty, SparseGroupLasso
from nvsd.solvers import Status, active_set
from nvsd.solvers.active_set import Scalar

N, D, NU = 12, 4, 1e-2
AFFINE = Polynomial(1, 1.0)
ROUNDING = 1e-11  # of |y|²/n
PENALTIES: list[Penalty] = [
    Lasso(),
    Lasso(weights=[1.0, 0.01, 100.0, 2.0]),
    Lasso(weights=[1.0, 0.0, 2.0, 1.0]),  # one input has no penalty
    ElasticNet(0.4),
    ElasticNet(0.7, weights=[1.0, 0.5, 3.0, 2.0]),
    GroupLasso(["a", "b", "c", "d"]),
    SparseGroupLasso(["a", "b", "c", "d"], rho=0.3),
]
SPECIAL = ("plain", "rows", "column", "twins", "wide")
every_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=str)


def data(special: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Repeated rows, a constant input, two equal inputs, or fewer samples than inputs."""
    X, y = sample(seed, 3 if special == "wide" else N, D, "plain" if special == "wide" else special)
    if special == "twins":
        X[:, 1] = X[:, 0]
    return X, y


def solve(X, y, penalty: Penalty, kernel: Kernel | None = None, **options) -> xr.Dataset:
    given = {"nu": NU, "taus": np.geomspace(10, 1e-4, 12), "tol": 1e-9} | options
    return nvsd.nvsd_path(X, y, kernel=kernel or Linear(), penalty=penalty, **given)


def is_active_set(path: xr.Dataset) -> bool:
    """Only ADMM has a κ."""
    iterated = path.status.values != Status.CLOSED_FORM
    assert iterated.any()
    return not path.kappa.values[iterated].any()


def scalar(rng: np.random.Generator, d: int, weights: np.ndarray, ridge: float = 0.0) -> Scalar:
    X = rng.standard_normal((d + 1, d)) @ rng.standard_normal((d, d))
    return Scalar(X.T @ X / d + 0.1 * np.eye(d), rng.standard_normal(d), weights, ridge, 1000)


def objective(of: Scalar, z: np.ndarray, tau: float) -> float:
    square = 0.5 * z @ of.M @ z - of.g @ z
    return float(square + tau * (of.w @ np.abs(z) + of.ridge * z @ z))


def brute_force(of: Scalar, tau: float) -> np.ndarray:
    """The best of the minimisers for all signs that keep their signs."""
    best = np.zeros(len(of.g))
    for signs in product([-1.0, 0.0, 1.0], repeat=len(of.g)):
        s = np.array(signs)
        on = np.flatnonzero(s)
        M = of.M[np.ix_(on, on)] + 2 * tau * of.ridge * np.eye(len(on))
        z = np.zeros_like(s)
        z[on] = np.linalg.solve(M, of.g[on] - tau * of.w[on] * s[on])
        if (z * s >= 0).all() and objective(of, z, tau) < objective(of, best, tau):
            best = z
    return best


@pytest.mark.parametrize("tries", [0, active_set.TRIES], ids=["careful", "usual"])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_brute_force_finds_the_same(seed: int, ridge: float, tries: int, monkeypatch) -> None:
    monkeypatch.setattr(active_set, "TRIES", tries)
    rng = np.random.default_rng(seed)
    of = scalar(rng, 4, rng.uniform(0.1, 3.0, 4), ridge)
    taus = np.geomspace(1.1 * np.abs(of.g / of.w).max(), 1e-4, 30)
    z, _, found = of.path(taus)
    assert found.all()
    for row, tau in zip(z, taus, strict=True):
        np.testing.assert_allclose(row, brute_force(of, tau), atol=1e-9 * np.abs(z).max())


@pytest.mark.parametrize("tries", [0, 1, active_set.TRIES])
def test_many_correlated_inputs(tries: int, rng, monkeypatch) -> None:
    """Inputs leave, and come back with the other sign: the conditions of optimality hold."""
    monkeypatch.setattr(active_set, "TRIES", tries)
    of = scalar(rng, 60, np.ones(60))
    taus = np.geomspace(np.abs(of.g).max(), 1e-5, 40)
    z, tries_made, found = of.path(taus)
    assert found.all()
    u = of.g - z @ of.M
    assert (np.abs(u) <= taus[:, None] + 1e-10).all()
    np.testing.assert_allclose(np.where(z, u - taus[:, None] * np.sign(z), 0.0), 0.0, atol=1e-10)
    sign = np.sign(z)
    assert (np.diff(np.abs(sign), axis=0) < 0).any()  # the problem has what the test is about
    assert (tries_made >= 1).all()


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("kernel", [Linear(), AFFINE], ids=str)
@every_penalty
def test_admm_finds_the_same(kernel: Kernel, penalty: Penalty, special: str) -> None:
    X, y = data(special)
    path = solve(X, y, penalty, kernel, representation="monomial")
    other = solve(X, y, penalty, kernel, representation="monomial", solver="admm")
    assert is_active_set(path)
    assert not is_active_set(other)
    scale = path.attrs["scale"]
    assert (path.gap <= ROUNDING * scale).all()
    assert (path.objective <= other.objective + ROUNDING * scale).all()
    assert (other.objective <= path.objective + other.gap + ROUNDING * scale).all()


@pytest.mark.parametrize("kernel", [Linear(), AFFINE], ids=str)
@pytest.mark.parametrize("penalty", PENALTIES[:4], ids=str)
def test_the_reference_finds_the_same(kernel: Kernel, penalty: Penalty) -> None:
    X, y = data("plain", 1)
    case = Case(X, y, kernel, penalty, NU)
    taus = [0.5, 0.05]
    path = solve(X, y, penalty, kernel, taus=taus, representation="monomial")
    for row, tau in enumerate(path.tau.values):
        truth = case.truth(float(tau))
        assert abs(float(path.objective[row]) - truth.minimum) <= truth.accuracy
        lower, upper = path.derivative_norm_lower[row], path.derivative_norm_upper[row]
        slack = 1e-4 * np.sqrt(path.attrs["scale"])
        assert (lower.values <= truth.derivative_norm + slack).all()
        assert (truth.derivative_norm <= upper.values + slack).all()


@pytest.mark.parametrize("n", [15, 60])
def test_scikit_learn_finds_the_same(n: int, rng) -> None:
    X = rng.standard_normal((n, 20))
    y = X[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(n)
    path = solve(X, y, Lasso(), n_taus=20, taus=None)
    assert is_active_set(path)
    w = path.theta.values
    for row, tau in enumerate(path.tau.values[1:], start=1):
        alpha = tau / 2 + NU
        model = sklearn.linear_model.ElasticNet(
            alpha=alpha, l1_ratio=tau / 2 / alpha, fit_intercept=False, tol=1e-14, max_iter=10**6
        ).fit(X, y - y.mean())
        np.testing.assert_allclose(w[row], model.coef_, atol=1e-6)
        np.testing.assert_array_equal(path.support[row], np.abs(model.coef_) > 1e-8)


@pytest.mark.parametrize("peer", ["celer", "skglm"])
def test_programs_for_the_lasso_find_the_same(peer: str, rng) -> None:
    module = pytest.importorskip(peer)
    X = rng.standard_normal((40, 10))
    y = X[:, :2] @ [2.0, -1.0] + rng.standard_normal(40)
    path = solve(X, y, Lasso(), nu=0.0, taus=[1.0, 0.1, 0.01])
    for w, tau in zip(path.theta.values, path.tau.values, strict=True):
        model = module.Lasso(alpha=tau / 2, fit_intercept=False, tol=1e-12).fit(X, y - y.mean())
        np.testing.assert_allclose(w, model.coef_, atol=1e-6)


def test_inputs_that_are_off_are_certified(rng) -> None:
    """The dual point is unique and the gap tiny: what is off is surely off."""
    X = rng.standard_normal((50, 8))
    path = solve(X, X[:, 0] + 0.1 * rng.standard_normal(50), Lasso(), taus=None, n_taus=10)
    assert path.support.values.any()
    # At τ_max itself an input is on the edge.
    np.testing.assert_array_equal(path.certified_off[1:], ~path.support[1:])
    np.testing.assert_array_equal(path.certified_on, path.support)


def test_rows_in_blocks(rng) -> None:
    X, y = data("plain", 2)
    blocks = [(X[:5], y[:5]), (X[5:], y[5:])]
    path = nvsd.nvsd_path(blocks, kernel=Linear(), nu=NU, n_taus=6)
    other = nvsd.nvsd_path(X, y, kernel=Linear(), nu=NU, n_taus=6)
    assert is_active_set(path)
    np.testing.assert_allclose(path.objective, other.objective, rtol=1e-10)


def test_the_history_has_one_row_for_each_tau() -> None:
    path = solve(*data("plain"), Lasso(), history=True)
    assert path.sizes["step"] == int((path.status != Status.CLOSED_FORM).sum())
    assert (path.history_gap <= ROUNDING * path.attrs["scale"]).all()


# --- what goes wrong, and what is refused --------------------------------------------------------


@pytest.mark.parametrize("kernel", [Linear(), AFFINE], ids=str)
def test_a_wrong_solution_has_an_honest_gap(kernel: Kernel, monkeypatch) -> None:
    X, y = data("plain", 3)
    right = solve(X, y, Lasso(), kernel, representation="monomial")
    path = Scalar.path

    def wrong(self, taus):
        z, tries, found = path(self, taus)
        return z * 1.1 + 0.01, tries, found

    monkeypatch.setattr(Scalar, "path", wrong)
    with pytest.warns(ConvergenceWarning):
        moved = solve(X, y, Lasso(), kernel, taus=right.tau, representation="monomial")
    excess = moved.objective.values - right.objective.values
    assert (excess <= moved.gap.values + ROUNDING * right.attrs["scale"]).all()
    assert excess.max() > 1e-6 * right.attrs["scale"]


def test_too_few_sets_are_said(rng, monkeypatch) -> None:
    X, y = data("plain", 4)
    right = solve(X, y, Lasso(), taus=[1e-3])
    monkeypatch.setattr(Scalar, "_wrong", lambda self, Z, *more: np.ones(Z.shape, dtype=bool))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = solve(X, y, Lasso(), taus=[1e-3], max_iter=1)
    excess = float(path.objective[0] - right.objective[0])
    assert excess <= float(path.gap[0]) + ROUNDING * right.attrs["scale"]
    assert excess > 0
    assert int(path.status[0]) == Status.MAX_ITER


@pytest.mark.parametrize(
    "options",
    [
        {"penalty": GroupLasso(["a", "a", "b", "b"])},
        {"penalty": SparseGroupLasso(["a", "a", "b", "b"])},
        {"penalty": ElasticNet(0.4), "quadratic": "S1"},
        {"s1": "diagonal"},
        {"kernel": Polynomial(2)},
        {"representation": "derivative"},
        {"loss": Huber(1.0)},
        {"sample_weight": np.linspace(1, 2, N)},
    ],
    ids=str,
)
def test_what_it_cannot_do_is_refused_and_left_to_admm(options) -> None:
    X, y = data("plain")
    given = {"penalty": Lasso(), "tol": 1e-6, "taus": [1.0, 0.1]} | options
    said = refusal(solve, X, y, solver="active-set", **given)
    assert said.startswith("solver 'active-set'")
    assert "solver='admm'" in said
    assert not is_active_set(solve(X, y, **given))


def test_many_inputs_are_left_to_admm(monkeypatch) -> None:
    monkeypatch.setattr(active_set, "MOST_INPUTS", D - 1)
    assert not is_active_set(solve(*data("plain"), Lasso(), tol=1e-6))
    assert is_active_set(solve(*data("plain"), Lasso(), solver="active-set"))
