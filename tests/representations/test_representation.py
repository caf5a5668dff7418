"""What the solver sees against dense matrices in coordinates of their own.

The twin has the reference's G = RRᵀ by eigenvectors. Coordinates differ, so functions are compared:
values and derivatives at the samples, norms, distances.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
from path_problems import Twin, kernels, representations, sample
from sklearn.kernel_ridge import KernelRidge

import nvsd
from nvsd.kernels import Gaussian, Kernel, Linear, Polynomial

N, D = 8, 3
NUS = [1e-2, 1.0]
# Relative to the largest number, at condition numbers up to 1e9 (the twin squares nothing).
CLOSE = 1e-6


def lower_monomials(kernel: Linear | Polynomial) -> int:
    """How many monomials of degree p − 1 there are, or up to it if the offset is not 0."""
    degree, offset = getattr(kernel, "degree", 1), getattr(kernel, "offset", 0.0)
    return math.comb(D + degree - (1 if offset else 2), degree - 1)


every_problem = pytest.mark.parametrize(
    ("kernel", "kind", "special", "nu"),
    [
        pytest.param(kernel, kind, special, nu, id=f"{kernel}-{kind}-{special}-{nu:g}")
        for kernel, special, nu in product(kernels(D), ["plain", "both"], NUS)
        for kind in representations(kernel)
        if kind != "monomial" or lower_monomials(kernel) >= N  # the others have tests below
    ],
)


@cache
def build(kernel: Kernel, kind: str, special: str, nu: float, n: int = N):
    X, y = sample(7, n, D, special)
    prepared = nvsd.prepare(X, kernel=kernel, nu=nu, representation=kind)
    return prepared.representation.problem(y - y.mean()), Twin(X, y, kernel, nu)


def assert_close(actual, expected) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=CLOSE * np.abs(expected).max())


def directions(problem, k: int) -> np.ndarray:
    return np.random.default_rng(8).standard_normal((k, *problem.shape))


@every_problem
def test_s1_minimises_with_a_kappa_for_each_row(kernel, kind, special, nu) -> None:
    problem, twin = build(kernel, kind, special, nu)
    V = directions(problem, 3)
    kappas = problem.representation.system.kappa_unit * np.array([0.1, 1.0, 100.0])
    C, z = problem.s1(V, kappas)
    thetas = [twin.s1(v.ravel(), kappa) for v, kappa in zip(V, kappas, strict=True)]
    assert_close(z.reshape(3, -1), [twin.Z @ theta for theta in thetas])
    assert_close(problem.derivatives(C), z)
    found = problem.solution(C, kappas[:, None, None] * (z - V))
    assert_close(found.fitted, [twin.Phi @ theta for theta in thetas])
    assert_close(found.loss, [np.mean((twin.o.y - twin.Phi @ theta) ** 2) for theta in thetas])
    assert_close(found.rkhs_norm, [theta @ theta for theta in thetas])


@every_problem
def test_distance_to_the_point_of_a_multiplier(kernel, kind, special, nu) -> None:
    problem, twin = build(kernel, kind, special, nu)
    V, kappa = directions(problem, 2), problem.representation.system.kappa_unit
    C, _ = problem.s1(V[:1], np.array([kappa]))
    theta = twin.s1(V[0].ravel(), kappa)
    for U in (kappa * V[1:], np.zeros_like(V[1:])):
        step = theta - twin.at(U.ravel())
        assert_close(problem.half_distance(C, U), [step @ twin.A @ step / 2])


@every_problem
def test_distance_to_its_own_multiplier_is_zero(kernel, kind, special, nu) -> None:
    problem, twin = build(kernel, kind, special, nu)
    V, kappa = directions(problem, 1), np.array([problem.representation.system.kappa_unit])
    C, z = problem.s1(V, kappa)
    distance = problem.half_distance(C, kappa * (z - V))
    assert 0 <= distance[0] <= 1e-12 * problem.half_distance(C, np.zeros_like(V))[0]
    assert twin.o.n == problem.representation.n


@every_problem
def test_without_penalty_it_is_kernel_ridge(kernel, kind, special, nu) -> None:
    problem, twin = build(kernel, kind, special, nu)
    C, z = problem.ridge()
    o = twin.o
    ridge = KernelRidge(alpha=o.n * nu, kernel="precomputed").fit(o.K, o.y)
    found = problem.solution(C, np.zeros_like(z))
    assert_close(found.fitted[0], ridge.predict(o.K))
    assert_close(z.ravel() * np.sqrt(o.n), o.D @ ridge.dual_coef_)


@every_problem
def test_alpha_and_beta_are_the_same_function(kernel, kind, special, nu) -> None:
    problem, twin = build(kernel, kind, special, nu)
    V, kappa = directions(problem, 2), np.full(2, problem.representation.system.kappa_unit)
    C, z = problem.s1(V, kappa)
    solution = problem.solution(C, kappa[:, None, None] * (z - V))
    found = solution.coefficients
    if kind == "monomial":
        assert found["theta"].shape == (2, problem.representation.size())
    assert found["alpha"].shape == (2, N)
    assert found["beta"].shape == (2, D, N)
    for j in range(2):
        omega = np.append(found["alpha"][j], found["beta"][j])
        assert_close(twin.o.values(omega), solution.fitted[j])
        assert_close(twin.o.derivatives(omega) / np.sqrt(N), z[j])
        assert_close(omega @ twin.o.G @ omega, solution.rkhs_norm[j])


@pytest.mark.filterwarnings("ignore::nvsd.ConvergenceWarning")
@pytest.mark.parametrize("shift", [0.0, 3.0, 10.0, 30.0, 100.0])
@pytest.mark.parametrize("nu", [1e-6, 1.0, 1e3])
def test_alpha_and_beta_are_left_out_where_they_would_not_be_f(shift: float, nu: float) -> None:
    if shift == 100 and nu < 1:
        pytest.skip("refused")
    X, y = sample(0, N, D)
    kernel = Polynomial(3)
    path = nvsd.nvsd_path(X + shift, y, kernel=kernel, nu=nu, n_taus=5)
    assert path.attrs["representation"] == "monomial"
    assert ("alpha" in path) == ("beta" in path)
    if shift < 10 or nu == 1e3:
        assert "alpha" in path
    if (shift, nu) in ((30.0, 1e-6), (100.0, 1.0)):
        assert "alpha" not in path
    if "alpha" in path:
        row = path.isel(tau=-1)
        f, _ = kernel.apply(X + shift, X + shift, row.alpha.values, row.beta.values)
        fitted = row.fitted.values - float(path.y_mean)
        np.testing.assert_allclose(f, fitted, atol=1e-3 * np.abs(fitted).max())


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Polynomial(3, 0.0)], ids=str)
def test_above_q_samples_n_leaves_the_iteration(kernel: Kernel) -> None:
    n = 40
    problem, twin = build(kernel, "monomial", "plain", 1e-2, n)
    assert problem.shape == (D, lower_monomials(kernel))
    assert problem.shape[1] < n
    kappa = problem.representation.system.kappa_unit
    C, z = problem.s1(np.zeros((1, *problem.shape)), np.array([kappa]))
    theta = twin.s1(np.zeros(n * D), kappa)
    assert_close(problem.solution(C, kappa * z).fitted[0], twin.Phi @ theta)
    blocks = (twin.Z @ theta).reshape(D, n)
    assert_close(np.linalg.norm(z[0], axis=1), np.linalg.norm(blocks, axis=1))


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Polynomial(3)], ids=str)
def test_features_need_not_be_kept(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, _ = build(kernel, "monomial", "plain", 1e-2, n=50)
    monkeypatch.setattr("nvsd.representations.monomial.KEEP", 0)
    streamed, _ = build.__wrapped__(kernel, "monomial", "plain", 1e-2, n=50)
    C, z = kept.ridge()
    C_streamed, z_streamed = streamed.ridge()
    one, other = kept.solution(C, np.zeros_like(z)), streamed.solution(C, np.zeros_like(z_streamed))
    assert other.fitted is None
    assert_close(C_streamed, C)
    assert_close(np.linalg.norm(z_streamed, axis=2), np.linalg.norm(z, axis=2))
    np.testing.assert_allclose(other.loss, one.loss, rtol=1e-9)
    np.testing.assert_allclose(other.rkhs_norm, one.rkhs_norm, rtol=1e-9)


@pytest.mark.parametrize("s1", ["cholesky", "diagonal"])
@pytest.mark.parametrize(
    ("kernel", "special", "full"),
    [
        (Gaussian(0.7), "plain", True),
        (Gaussian(0.7), "rows", False),  # two rows repeat
        (Linear(), "plain", False),  # Z has rank d
        (Polynomial(2), "plain", False),  # nd = 24, but 9 monomials have a derivative
    ],
    ids=str,
)
def test_full_row_rank_is_noticed(kernel: Kernel, special: str, full: bool, s1: str) -> None:
    X, y = sample(9, N, D, special)
    Z = Twin(X, y, kernel, 1e-2).Z
    assert (np.linalg.matrix_rank(Z, rtol=1e-6) == len(Z)) == full  # the test knows what it says
    made = nvsd.prepare(X, kernel=kernel, nu=1e-2, s1=s1, representation="derivative")
    assert made.representation.full_row_rank() == full


def test_the_cheapest_representation_is_taken_and_can_be_forced(rng) -> None:
    def kind(n: int, d: int, kernel: Kernel, **options) -> str:
        made = nvsd.prepare(rng.standard_normal((n, d)), kernel=kernel, **options)
        return made.representation.kind

    assert kind(20, 2, Gaussian(4.0)) == "derivative"
    assert kind(200, 3, Polynomial(2)) == "monomial"
    assert kind(200, 3, Linear()) == "monomial"
    assert kind(4, 12, Polynomial(4)) == "derivative"  # 48 derivatives against 1820 monomials
    assert kind(20, 2, Gaussian(4.0), representation="factor") == "factor"
    assert kind(20, 2, Linear(), representation="derivative") == "derivative"


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ({"kernel": Gaussian(4.0)}, N * D),
        ({"kernel": Polynomial(2), "representation": "monomial"}, 10),
        ({"kernel": Polynomial(2), "representation": "factor"}, 10),
        ({"kernel": Gaussian(0.7), "representation": "factor"}, N * (D + 1)),
    ],
    ids=str,
)
def test_orders(given: dict, order: int) -> None:
    X, _ = sample(10, 20 if isinstance(given["kernel"], Polynomial) else N, D)
    assert nvsd.prepare(X, **given).representation.size() == order


@every_problem
def test_what_a_certificate_compares_is_the_derivatives_and_the_distance(
    kernel, kind, special, nu
) -> None:
    problem, _ = build(kernel, kind, special, nu)
    V, kappa = directions(problem, 4), np.full(2, problem.representation.system.kappa_unit)
    C, _ = problem.s1(V[:2], kappa)
    z, half = problem.compared(C, V[2:])
    assert_close(z, problem.derivatives(C))
    assert_close(half, problem.half_distance(C, V[2:]))


@every_problem
def test_a_refined_rough_s1_is_nearer_to_the_exact_one(kernel, kind, special, nu) -> None:
    problem, _ = build(kernel, kind, special, nu)
    V, kappa = directions(problem, 2), np.full(2, 10.0 * problem.representation.system.kappa_unit)
    C, z = problem.s1_roughly(V, kappa)
    exact, exact_z = problem.s1(V, kappa)
    np.testing.assert_allclose(z, exact_z, rtol=0, atol=1e-4 * np.abs(exact_z).max())
    before = np.abs(C - exact).max()
    after = np.abs(problem.refined(C, z, kappa) - exact).max()
    assert after <= 1e-2 * before + 1e-10 * np.abs(exact).max()
