"""Many rows: conjugate gradients with a preconditioner, each step beside a dense one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nvsd
import reference
from nvsd.data.rows import ArrayRows
from nvsd.datasets import make_e3
from nvsd.kernels import Gaussian, Matern52
from nvsd.linalg import PreconditionedSystem
from nvsd.linalg.preconditioned import REDUCTION, LowRank
from nvsd.losses import SQUARED
from nvsd.penalties import ElasticNet, GroupLasso, Lasso
from nvsd.representations import DerivativeSpace, PreconditionedSpace, Request, choose
from nvsd.solvers import flat_point

KERNEL, NU, RANK = Gaussian(3.0), 1e-3, 60
DATA = make_e3(25, seed=1)  # 450 derivatives
TAUS = np.geomspace(0.3, 0.003, 8)


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    """A preconditioner that misses most of H, as with many rows."""
    monkeypatch.setattr("nvsd.representations.preconditioned.RANK", RANK)


def matrix(rng: np.random.Generator, order: int = 80) -> np.ndarray:
    """Symmetric, with eigenvalues from 10 down to 1e-6."""
    Q, _ = np.linalg.qr(rng.standard_normal((order, order)))
    return (Q * np.geomspace(10.0, 1e-6, order)) @ Q.T


def system(H: np.ndarray, rank: int = 30) -> PreconditionedSystem:
    single = H.astype(np.float32)
    return PreconditionedSystem(lambda U: U @ H, lambda U: U @ single, len(H), rank)


def path(**options):
    given = {"kernel": KERNEL, "nu": NU, "taus": TAUS, "representation": "preconditioned"}
    return nvsd.nvsd_path(DATA.X, DATA.y, **given | options)


def assert_same(found, exact) -> None:
    scale = exact.attrs["scale"]
    slack = np.maximum(found.gap, exact.gap).values + 1e-10 * scale
    np.testing.assert_array_equal(found.tau, exact.tau)
    assert (np.abs(found.objective - exact.objective).values <= slack).all()
    assert (found.gap <= found.attrs["tol"] * scale).all()


# --- the preconditioner and what it is for -------------------------------------------------------


@pytest.mark.parametrize("rank", [10, 40, 80])
def test_the_low_rank_is_nearly_the_best_one(rank: int, rng) -> None:
    H = matrix(rng)
    low_rank = LowRank(lambda U: U @ H.astype(np.float32), 80, rank)
    F = low_rank.F.astype(float)
    # A bound on the expected error by the eigenvalues beyond the k-th, for every k < rank - 1.
    tails = np.cumsum(np.geomspace(1e-6, 10.0, 80))[::-1]
    bound = min((1 + k / (rank - k - 1)) * tails[k] for k in range(rank - 1))
    assert np.linalg.norm(H - F.T @ F, 2) <= bound + 1e-4
    R = rng.standard_normal((3, 80))
    kappa = np.array([1e-2, 1.0, 1e2])
    for k, r, x in zip(kappa, R, low_rank.solve(kappa, R), strict=True):
        exact = np.linalg.solve(np.eye(80) + k * F.T @ F, r)
        np.testing.assert_allclose(x, exact, atol=1e-3 * np.abs(exact).max())


@pytest.mark.parametrize("kappa", [1e-3, 1.0, 1e3, 1e6])
def test_solutions_are_those_of_the_dense_matrix(kappa: float, rng) -> None:
    H, B, k = matrix(rng), rng.standard_normal((3, 80)), np.full(3, kappa)
    B[1] = 0.0
    ours = system(H)
    exact = np.linalg.solve(np.eye(80) + kappa * H, B.T).T
    np.testing.assert_allclose(ours.solve(k, B), exact, atol=1e-8 * np.abs(exact).max())
    for rough in (True, False):
        X, HX = ours.reduce(k, B, rough)
        np.testing.assert_allclose(HX, X @ H, atol=1e-4 * np.abs(X).max())
        left = np.linalg.norm(B - X - kappa * X @ H, axis=1)
        assert (left <= 1.5 * REDUCTION * np.linalg.norm(B, axis=1)).all()
    np.testing.assert_array_equal(ours.solve_roughly(k, B)[1], 0.0)


def test_the_inverse_is_that_of_a_regular_matrix(rng) -> None:
    H, b = matrix(rng) + 0.01 * np.eye(80), rng.standard_normal((1, 80))
    ours = system(H)
    x, Hx = ours.invert(b, 1e-10, 200)
    np.testing.assert_allclose(x, np.linalg.solve(H, b[0])[None], rtol=1e-6)
    np.testing.assert_allclose(Hx, b, atol=1e-8)
    _, short = ours.invert(b, 1e-10, 2)
    assert np.abs(short - b).max() > 1e-3


def test_nothing_is_factorised(rng) -> None:
    ours = system(matrix(rng))
    assert ours.with_diagonal(np.ones(80)) is None
    assert ours.inverse_factor(1.0) is None
    with pytest.raises(NotImplementedError):
        ours.smallest_pivot(1.0)


# --- S1 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [KERNEL, Matern52(4.0)], ids=str)
@pytest.mark.parametrize("kappa", [0.1, 10.0, 1e3])
def test_s1_is_that_of_the_dense_representation(kernel, kappa: float, low, rng) -> None:
    request = Request(ArrayRows(DATA.X), kernel, NU, SQUARED)
    y, k = DATA.y - DATA.y.mean(), np.full(2, kappa)
    dense, ours = (kind(request).problem(y) for kind in (DerivativeSpace, PreconditionedSpace))
    V = rng.standard_normal((2, *dense.shape)) * np.abs(dense.h).mean()
    C, z = dense.s1(V, k)
    close = {"rtol": 1e-6, "atol": 1e-7 * np.abs(C).max()}
    np.testing.assert_allclose(ours.s1(V, k)[0], C, **close)
    np.testing.assert_allclose(ours.curves.curve(C), dense.curves.curve(C), rtol=1e-6, atol=1e-9)
    near = V + 1e-3 * rng.standard_normal(V.shape) * np.abs(V).mean()
    step = np.linalg.norm(near - V)
    started = ours.near(C, z)
    for s1 in (started.s1, started.s1_roughly):
        found, found_z = s1(near, k)
        x, exact = found / k[:, None], dense.s1(near, k)[0] / k[:, None]
        assert np.linalg.norm(x - exact) <= 2 * REDUCTION * step
        drift = np.abs(ours.derivatives(found) - found_z).max()
        assert drift <= 1e-4 * np.abs(found_z).max()


# --- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [Lasso(), ElasticNet(0.6)], ids=str)
@pytest.mark.parametrize("tol", [1e-6, 1e-9])
def test_the_path_is_that_of_the_dense_representation(penalty, tol: float, low) -> None:
    exact = path(penalty=penalty, representation="derivative", tol=1e-11)
    found = path(penalty=penalty, tol=tol)
    assert_same(found, exact)
    assert found.attrs["representation"] == "preconditioned"
    assert found.n_iter.max() > 0
    if tol == 1e-9:
        np.testing.assert_allclose(found.fitted, exact.fitted, atol=2e-3)
    for method in ("predict", "gradient"):
        assert getattr(found.nvsd, method)(DATA.X[:3] + 0.1).notnull().all()


def test_the_reference_agrees() -> None:
    X, y = DATA.X[:8, :3], DATA.y[:8]
    given = {"kernel": Gaussian(2.0), "penalty": Lasso(), "nu": 1e-2}
    exact = reference.solve(X, y - y.mean(), tau=0.05, **given)
    found = nvsd.nvsd_path(X, y, taus=[0.05], representation="preconditioned", tol=1e-8, **given)
    assert found.objective.item() == pytest.approx(exact.objective, rel=1e-5)


@pytest.mark.parametrize("penalty", [Lasso(), GroupLasso(DATA.groups)], ids=["lasso", "groups"])
@pytest.mark.parametrize("error", [1e-5, 1e-3, 0.1])
def test_gaps_are_true_whatever_s1_does(penalty, error: float, low, monkeypatch) -> None:
    best = path(penalty=penalty, representation="derivative", tol=1e-11)
    rng, exact, calls = np.random.default_rng(0), PreconditionedSystem.reduce, [0]

    def wrong(self, kappa, B, rough):
        calls[0] += 1
        X, HX = exact(self, kappa, B, rough)
        return X * (1 + error * rng.standard_normal(X.shape)), HX

    monkeypatch.setattr(PreconditionedSystem, "reduce", wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = path(penalty=penalty, max_iter=300)
    assert calls[0] > 0
    excess = found.objective - best.objective
    slack = best.gap + 1e-12 * found.attrs["scale"]
    assert (excess <= found.gap + slack).all()
    assert (excess >= -slack).all()


# --- the upper end -------------------------------------------------------------------------------


def test_few_rows_have_the_tau_max_of_the_dense_representation() -> None:
    X, y = DATA.X[:8, :4], DATA.y[:8]
    given = {"kernel": Gaussian(1.0), "nu": NU, "n_taus": 4}
    exact = nvsd.nvsd_path(X, y, representation="derivative", **given)
    found = nvsd.nvsd_path(X, y, representation="preconditioned", **given)
    np.testing.assert_allclose(found.tau, exact.tau, rtol=1e-6)
    assert found.n_selected[0] == exact.n_selected[0] == 0


def test_where_tau_max_is_out_of_reach_the_grid_starts_below_it(monkeypatch) -> None:
    monkeypatch.setattr("nvsd.representations.preconditioned.RANK", 300)
    monkeypatch.setattr("nvsd.representations.preconditioned.FLAT_STEPS", 5)
    prepared = nvsd.prepare(DATA.X, kernel=KERNEL, representation="preconditioned")
    problem, _ = prepared.problem(DATA.y, True)
    flat = flat_point(problem, Lasso().bind(18))
    assert flat.tau_max == np.inf
    found = path(taus=None, n_taus=5)
    dense = path(taus=None, n_taus=2, representation="derivative")
    assert found.tau[0] == pytest.approx(flat.top)
    assert found.tau[0] < dense.tau[0]
    assert_same(found, path(taus=found.tau.values, representation="derivative", tol=1e-9))
    assert found.derivative_norm[0].max() < 0.5 * found.derivative_norm[-1].max()


def test_taus_above_the_automatic_grid_can_be_given(low) -> None:
    tau = float(path(taus=None, n_taus=2, representation="derivative").tau[0])
    taus = np.array([0.8, 0.5]) * tau
    found = path(taus=taus)
    assert_same(found, path(taus=taus, representation="derivative", tol=1e-9))


# --- the choice ----------------------------------------------------------------------------------


def test_too_little_memory_for_h_chooses_it() -> None:
    request = Request(ArrayRows(np.random.default_rng(0).random((400, 18))), KERNEL, NU, SQUARED)
    assert choose(request, "auto", 1e10).kind == "derivative"
    assert choose(request, "auto", 5e8).kind == "preconditioned"


@pytest.mark.slow
def test_three_hundred_rows_converge() -> None:
    """With gradient steps on the dual problem 4 of these 50 did not in 2000 iterations."""
    data = make_e3(300, seed=0)
    found = nvsd.nvsd_path(
        data.X, data.y, kernel=Gaussian(4.0), representation="preconditioned", n_taus=50
    )
    assert (found.gap <= 1e-6 * found.attrs["scale"]).all()
