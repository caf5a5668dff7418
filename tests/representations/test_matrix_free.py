"""The matrix-free path: products against dense matrices, the path against the dense path."""

from __future__ import annotations

import logging
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from path_problems import kernels, penalties

import nvsd
from nvsd.data.rows import ArrayRows
from nvsd.kernels import Gaussian, Polynomial
from nvsd.kernels.base import Kernel
from nvsd.linalg import shifted_system
from nvsd.losses import SQUARED
from nvsd.penalties import ElasticNet, GroupLasso, Lasso
from nvsd.representations import DerivativeSpace, MatrixFreeSpace, Request, choose
from nvsd.representations.matrix_free import ConjugateGradients
from nvsd.solvers.certificate import certificate


def data(n: int = 12, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, d))
    return X, 1 + np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(n)


def request(X: np.ndarray, kernel: Kernel, nu: float) -> Request:
    return Request(ArrayRows(X), kernel, nu, SQUARED)


@dataclass(frozen=True)
class Wrapped(Kernel):
    """A kernel that is no profile."""

    kernel: Kernel

    def _accumulate(self, *given) -> None:
        self.kernel._accumulate(*given)

    def _evaluate(self, *given):
        return self.kernel._evaluate(*given)

    def restrict(self, features):
        return Wrapped(self.kernel.restrict(features))


# --- products ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", [*kernels(3), Gaussian((1.0, 2.0, 3.0)), Wrapped(Gaussian(2.0))], ids=str
)
def test_products_are_those_of_the_dense_blocks(kernel, rng) -> None:
    X, _ = data()
    X[3] = X[1]
    _, D, L = kernel.blocks(X)
    alpha, beta = rng.standard_normal((5, 12)), rng.standard_normal((5, 3, 12))
    flat, free = beta.reshape(5, -1), kernel.products(X)
    values, known = free.values(beta)
    np.testing.assert_allclose(values, flat @ D, rtol=1e-10, atol=1e-9)
    slopes, both = alpha @ D.T, alpha @ D.T + flat @ L
    np.testing.assert_allclose(free.gradient(alpha, known).reshape(5, -1), both, 1e-10, 1e-8)
    np.testing.assert_allclose(free.gradient(alpha).reshape(5, -1), slopes, rtol=1e-10, atol=1e-8)
    rough = free.single()
    values, known = rough.values(beta.astype(np.float32))
    np.testing.assert_allclose(values, flat @ D, atol=1e-5 * np.abs(flat @ D).max())
    found = rough.gradient(alpha.astype(np.float32), known).reshape(5, -1)
    np.testing.assert_allclose(found, both, atol=1e-5 * np.abs(both).max())
    asked = request(X, kernel, 1e-2)
    dense, matrix_free = DerivativeSpace(asked), MatrixFreeSpace(asked)
    U = rng.standard_normal((2, 36))
    scale = np.abs(dense.H).max()
    np.testing.assert_allclose(matrix_free.curve(U), U @ dense.H, rtol=1e-9, atol=1e-9 * scale)
    np.testing.assert_allclose(1 / matrix_free.step, np.linalg.norm(dense.H, 2), rtol=0.05)


@pytest.mark.parametrize("kappa", [1e-3, 1.0, 1e3, 1e9])
def test_conjugate_gradients_solve_the_shifted_system(kappa: float, rng) -> None:
    R = rng.standard_normal((20, 20))
    H = R @ R.T / 20
    system = ConjugateGradients(lambda U: U @ H, 1.0)
    for _ in range(2):
        B = rng.standard_normal((3, 20))
        B[1] = 0.0
        X = system.solve(np.full(3, kappa), B)
        exact = np.linalg.solve(np.eye(20) + kappa * H, B.T).T
        np.testing.assert_allclose(X, exact, rtol=1e-6, atol=1e-8 * np.abs(exact).max())


def test_conjugate_gradients_go_on_from_where_they_were_stopped(rng, monkeypatch) -> None:
    monkeypatch.setattr("nvsd.representations.matrix_free.CG_STEPS", 3)
    R = rng.standard_normal((20, 20))
    H = R @ R.T / 20
    system, B = ConjugateGradients(lambda U: U @ H, 1.0), rng.standard_normal((2, 20))
    exact = np.linalg.solve(np.eye(20) + H, B.T).T
    errors = [np.linalg.norm(system.solve(np.ones(2), B) - exact) for _ in range(30)]
    assert errors[0] > 1e-3 > 1e-9 > errors[-1]


@pytest.mark.parametrize("method", ["cholesky", "diagonal"])
def test_the_smallest_pivot_tells_a_singular_matrix_from_a_regular_one(method: str, rng) -> None:
    """Of a singular one the identity is left; a regular one stands out by κ."""
    R = rng.standard_normal((12, 4))
    singular, kappa = R @ R.T, 1e6
    assert 0.999 < shifted_system(singular, method=method).smallest_pivot(kappa) < 100
    regular = singular + 0.5 * np.eye(12)
    assert shifted_system(regular, method=method).smallest_pivot(kappa) > 0.4 * kappa


def test_conjugate_gradients_have_no_pivot_to_ask_for() -> None:
    with pytest.raises(NotImplementedError):
        ConjugateGradients(lambda U: U, 1.0).smallest_pivot(1.0)


# --- paths ---------------------------------------------------------------------------------------


def assert_same_path(path, expected) -> None:
    scale = expected.attrs["scale"]
    gaps = np.maximum(path.gap.values, expected.gap.values) + 1e-10 * scale
    np.testing.assert_allclose(path.tau, expected.tau, rtol=1e-6)
    assert (np.abs(path.objective.values - expected.objective.values) <= gaps).all()
    assert (path.gap <= path.attrs["tol"] * scale).all()
    total = path.loss + path.tau * path.penalty + path.nu * path.rkhs_norm
    np.testing.assert_allclose(path.objective, total, rtol=1e-12)


@pytest.mark.parametrize("penalty", penalties(5), ids=str)
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(3)], ids=str)
def test_the_path_is_that_of_the_dense_representation(kernel, penalty) -> None:
    X, y = data(6, 5)
    options = {"kernel": kernel, "penalty": penalty, "n_taus": 8, "tau_ratio": 1e-2, "nu": 1e-2}
    expected = nvsd.nvsd_path(X, y, representation="derivative", tol=1e-11, **options)
    path = nvsd.nvsd_path(X, y, representation="matrix-free", tol=1e-11, **options)
    assert_same_path(path, expected)
    assert path.attrs["representation"] == "matrix-free"
    assert set(path.data_vars) == set(expected.data_vars)
    np.testing.assert_allclose(path.derivative_norm, expected.derivative_norm, atol=2e-3)
    np.testing.assert_allclose(path.fitted, expected.fitted, atol=2e-3)
    X_new = data(4, 5)[0] + 0.1
    for method in ("predict", "gradient"):
        mine, theirs = (getattr(p.nvsd, method)(X_new).values for p in (path, expected))
        np.testing.assert_allclose(mine, theirs, atol=5e-3)


def test_the_certificate_holds_in_the_dense_problem() -> None:
    """The gap belongs to the α and β that are stored, judged by matrices it never saw."""
    X, y = data(15, 6)
    n, nu = len(X), 1e-2
    kernel, penalty = Gaussian(2.0), Lasso()
    path = nvsd.nvsd_path(
        X, y, kernel=kernel, nu=nu, n_taus=6, tau_ratio=0.01, representation="matrix-free"
    )
    problem = DerivativeSpace(request(X, kernel, nu)).problem(y - y.mean())
    G, bound = kernel.G(X), penalty.bind(6)
    for row in (path.isel(tau=i) for i in range(6)):
        omega = np.append(row.alpha, row.beta)
        f = G @ omega
        norms = np.linalg.norm(f[n:].reshape(6, n), axis=1) / np.sqrt(n)
        loss = np.mean((y - y.mean() - f[:n]) ** 2)
        objective = loss + row.tau.item() * bound.value(norms) + nu * omega @ G @ omega
        assert objective == pytest.approx(row.objective.item(), rel=1e-7)
        u = -2 * nu * np.sqrt(n) * row.beta.values[None]
        gap = certificate(problem, bound, np.array([row.tau.item()]), u.reshape(1, -1), u)
        assert gap[0] == pytest.approx(row.gap.item(), abs=1e-9 * path.attrs["scale"])


def test_zero_and_huge_tau_are_known_in_closed_form() -> None:
    X, y = data(10, 5)
    options = {"kernel": Gaussian(2.0), "taus": [1e3, 0.1, 0.0], "tol": 1e-8}
    path = nvsd.nvsd_path(X, y, representation="matrix-free", **options)
    expected = nvsd.nvsd_path(X, y, representation="derivative", **options)
    assert list(path.n_iter.values > 0) == [False, True, False]
    assert list(path.n_selected) == list(expected.n_selected)
    np.testing.assert_allclose(path.objective, expected.objective, rtol=1e-5)


def test_unpenalised_inputs_and_squares_alone() -> None:
    X, y = data(10, 5)
    for penalty in (Lasso(weights=[0.0, 1, 1, 1, 1]), ElasticNet(mu=0.0), ElasticNet([0.2, 0.9])):
        options = {"kernel": Gaussian(2.0), "penalty": penalty, "taus": [1.0, 0.1], "tol": 1e-8}
        path = nvsd.nvsd_path(X, y, representation="matrix-free", **options)
        expected = nvsd.nvsd_path(X, y, representation="derivative", **options)
        np.testing.assert_allclose(path.objective, expected.objective, rtol=1e-5)


def test_running_out_of_iterations_is_told() -> None:
    X, y = data(10, 5)
    with pytest.warns(nvsd.ConvergenceWarning, match="2 iterations"):
        path = nvsd.nvsd_path(
            X, y, kernel=Gaussian(2.0), representation="matrix-free", max_iter=2, n_taus=5
        )
    unfinished = path.status.values == 2
    assert unfinished.any()
    assert (path.gap.values[unfinished] > 1e-6 * path.attrs["scale"]).all()


# --- many inputs ---------------------------------------------------------------------------------


def test_many_inputs_take_this_route_by_themselves_and_little_memory(caplog) -> None:
    """The dense matrix of order nd = 12 000 would be 1.1 GB."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 300))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.standard_normal(40)
    groups = GroupLasso([str(a // 3) for a in range(300)])
    caplog.set_level(logging.INFO, "nvsd")
    tracemalloc.start()
    path = nvsd.nvsd_path(X, y, kernel=Gaussian(20.0), penalty=groups, n_taus=5, tau_ratio=0.1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.attrs["representation"] == "matrix-free"
    assert (path.gap <= 1e-6 * path.attrs["scale"]).all()
    assert peak < 50e6
    assert "'matrix-free': about 0.04" in caplog.text


@pytest.mark.parametrize(
    ("n", "d", "kernel", "kind"),
    [
        (30, 18, Gaussian(4.0), "derivative"),
        (500, 18, Gaussian(4.0), "derivative"),
        (1000, 18, Gaussian(4.0), "preconditioned"),
        (2000, 18, Gaussian(4.0), "preconditioned"),
        (200, 1000, Gaussian(30.0), "matrix-free"),
        (200, 1000, Polynomial(3), "matrix-free"),
        (200, 1000, Polynomial(1), "monomial"),
        (100_000, 18, Polynomial(3), "monomial"),
        (400, 50, Polynomial(2), "monomial"),
    ],
)
def test_the_cheapest_representation(n: int, d: int, kernel, kind: str) -> None:
    X = np.broadcast_to(np.zeros(d), (n, d))  # that of 100 000 rows is never made
    rows = ArrayRows(X, features=[str(a) for a in range(d)], checked=True)
    assert choose(Request(rows, kernel, 1e-3, SQUARED), "auto", 2e10).kind == kind


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": Gaussian(1.0)}, "landmarks .*'matrix-free'.*Polynomial kernel"),
        ({"kernel": Gaussian(1.0), "representation": "matrix-free"}, "landmarks .*fewer samples"),
        ({"kernel": Polynomial(2)}, "smaller degree, landmarks"),
        ({"kernel": Gaussian(1.0), "value_points": 5}, "fewer points"),
    ],
)
def test_too_little_memory_says_what_to_use_instead(options, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nvsd.prepare(data()[0], max_memory=1000, **options)


def test_what_matrix_free_cannot_do_is_refused() -> None:
    with pytest.raises(ValueError, match="'matrix-free' needs nu > 0"):
        nvsd.prepare(data()[0], kernel=Gaussian(1.0), nu=0.0, representation="matrix-free")
    with pytest.raises(ValueError, match="leave out the checkpoint"):
        nvsd.prepare(
            data()[0], kernel=Gaussian(1.0), representation="matrix-free", checkpoint="a.npz"
        )


@pytest.mark.filterwarnings("ignore::nvsd.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(4))
def test_a_path_cut_short_is_no_worse_than_the_flat_function(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((7, 3)), rng.standard_normal(7) + 2
    penalty = Lasso(10.0 ** rng.uniform(-4, 3, 3))
    given = {"kernel": Gaussian(1.0), "penalty": penalty, "n_taus": 8}
    path = nvsd.nvsd_path(X, y, representation="matrix-free", max_iter=10, **given)
    exact = nvsd.nvsd_path(X, y, representation="derivative", tol=1e-10, **given)
    assert (path.objective <= path.attrs["scale"]).all()
    excess = path.objective.values - exact.objective.values
    assert (excess <= path.gap.values + 1e-10 * path.attrs["scale"]).all()
    np.testing.assert_allclose(path.fitted, path.nvsd.predict(X), atol=1e-9)


@pytest.mark.filterwarnings("ignore::nvsd.ConvergenceWarning")
@pytest.mark.parametrize("times", [1e4, 1e7, 1e10])
def test_far_beyond_tau_max_the_function_is_flat(times: float) -> None:
    X, y = data()
    tau_max = float(nvsd.nvsd_path(X, y, kernel=Gaussian(2.0), n_taus=2).tau[0])
    given = {"kernel": Gaussian(2.0), "taus": [times * tau_max]}
    path = nvsd.nvsd_path(X, y, representation="matrix-free", **given)
    exact = nvsd.nvsd_path(X, y, representation="derivative", **given)
    assert path.n_selected.item() == 0
    assert path.objective.item() <= 1.01 * exact.objective.item()
    np.testing.assert_allclose(path.fitted, exact.fitted, atol=1e-6 * np.abs(y).max())
