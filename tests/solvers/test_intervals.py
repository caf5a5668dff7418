"""Intervals for the derivative norms of the exact minimiser, and what is certified on and off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from designs import combined, marked
from path_problems import Case, Twin, kernels, penalties, representations, sample

import nvsd
from nvsd.kernels import Gaussian, Kernel, Linear, Matern52, Polynomial
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty, SparseGroupLasso
from nvsd.penalties.bound import block_norms
from nvsd.solved import Grid, solve
from nvsd.solvers import Points, Settings, norm_intervals
from nvsd.solvers.certificate import certificate
from nvsd.tolerances import GAP_ROUNDING

SHAPES = [(8, 3), (12, 2)]  # nd below rank(Z) for the isotropic kernels; above it for the others
NUS = [1e-4, 1e-2, 1.0]
FRACTIONS = [0.7, 0.2, 0.02]  # of the τ that shrinks strongly
TOLERANCES = [1e-3, 1e-6, 1e-10]
EXACT = 1e-12
SINGULAR = 1e-13  # smallest over largest eigenvalue of H, of which nothing may be called off


def product_of_everything() -> list:
    factors = {d: [kernels(d), penalties(d), NUS] for _, d in SHAPES}
    cases = []
    for i, (first, *rest), marks in marked([len(SHAPES), *map(len, factors[2])]):
        shape = SHAPES[first]
        levels = zip(factors[shape[1]], rest, strict=True)
        kernel, penalty, nu = (values[level] for values, level in levels)
        name = f"{i}-{kernel}-{type(penalty).__name__}-{nu:g}-{shape}"
        cases.append(pytest.param(shape, kernel, penalty, nu, i, id=name, marks=marks))
    return cases


@pytest.mark.parametrize(("left_out", "factors"), [("slow", 1), ("exhaustive", 2)])
def test_the_cases_that_are_left_out_are_like_others(left_out: str, factors: int) -> None:
    """Of each shape there is every value without them, and every pair of values with slow ones."""
    every = product_of_everything()
    kept = [p for p in every if left_out not in {mark.name for mark in p.marks}]
    assert len(kept) < len(every)
    for shape in SHAPES:
        all_of_it, some = (
            combined([p.values[1:-1] for p in cases if p.values[0] == shape], factors)
            for cases in (every, kept)
        )
        assert some == all_of_it


def dense_H(X, y, kernel: Kernel, nu: float) -> np.ndarray:
    """Z A⁻¹ Zᵀ, from dense matrices."""
    twin = Twin(X, y, kernel, nu)
    return twin.Z @ np.linalg.solve(twin.A, twin.Z.T)


def dense_block_norms(H: np.ndarray, d: int) -> np.ndarray:
    n = len(H) // d
    return np.array([np.linalg.norm(H[a * n : a * n + n, a * n : a * n + n], 2) for a in range(d)])


@pytest.mark.parametrize(("shape", "kernel", "penalty", "nu", "seed"), product_of_everything())
def test_intervals_hold_the_reference(
    shape: tuple[int, int], kernel: Kernel, penalty: Penalty, nu: float, seed: int
) -> None:
    X, y = sample(seed, *shape)
    case = Case(X, y, kernel, penalty, nu)
    taus = [fraction * case.tau_unit for fraction in FRACTIONS]
    H = dense_H(X, y, kernel, nu)
    h, eigenvalues = dense_block_norms(H, shape[1]), np.linalg.eigvalsh(H)
    singular = eigenvalues[0] <= SINGULAR * eigenvalues[-1]
    truths = [case.truth(tau) for tau in taus]
    norms = np.array([truth.derivative_norm for truth in truths])
    # CVXPY's point is itself off by what its accuracy allows.
    blurred = np.sqrt(2 * h * np.array([[truth.accuracy] for truth in truths]))
    options = {"penalty": penalty, "taus": taus, "max_iter": 20_000}
    exact = nvsd.nvsd_path(X, y, kernel=kernel, nu=nu, tol=EXACT, **options)
    left = np.sqrt(2 * h * exact.gap.values[:, None])
    # Without the matrix, few inputs take many products.
    for kind in [*representations(kernel), *["matrix-free"] * (seed % 4 == 0)]:
        prepared = nvsd.prepare(X, kernel=kernel, nu=nu, representation=kind)
        # Of many equal rows of derivatives, which make H singular, monomials keep one.
        regular = not singular or prepared.representation.shape[1] < len(X)
        for tol in TOLERANCES if kind != "matrix-free" else TOLERANCES[:1]:
            path = nvsd.nvsd_path(prepared, y, tol=tol, solver="admm", **options)
            lower, upper = path.derivative_norm_lower.values, path.derivative_norm_upper.values
            assert (lower <= path.derivative_norm.values).all()
            assert (path.derivative_norm.values <= upper).all()
            for found, within in ((norms, blurred), (exact.derivative_norm.values, left)):
                assert (lower <= found + within).all()
                assert (found <= upper + within).all()
            check_certified(path, exact, case, regular)


def check_certified(path, exact, case: Case, regular: bool) -> None:
    on, off = path.certified_on.values, path.certified_off.values
    np.testing.assert_array_equal(on, path.derivative_norm_lower > 0)
    assert not (on & off).any()
    assert regular or not off.any()
    assert not exact.support.values[off].any()
    assert (exact.derivative_norm.values[off] <= 1e-6 * case.ridge_norm).all()
    assert exact.support.values[on].all()


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Matern52(1.0)], ids=str)
@pytest.mark.parametrize(
    "penalty",
    [Lasso(), GroupLasso(["a", "b", "a"]), ElasticNet(0.6), SparseGroupLasso(["a", "b", "a"], 0.3)],
    ids=lambda penalty: type(penalty).__name__,
)
def test_a_small_tolerance_certifies_nearly_every_input(kernel: Kernel, penalty: Penalty) -> None:
    """With a regular H every input is on, off, or about to change."""
    X, y = sample(4, 8, 3)
    path = nvsd.nvsd_path(X, y, kernel=kernel, penalty=penalty, nu=1e-2, tol=1e-11, n_taus=30)
    on, off = path.certified_on, path.certified_off
    np.testing.assert_array_equal(on, path.support)
    assert (off & path.support).sum() == 0
    assert (on | off).isel(tau=slice(1, None)).all()  # at τ_max one input is about to enter
    assert off.sum() > 1


def test_groups_are_off_as_a_whole() -> None:
    X, y = sample(4, 8, 3)
    penalty = GroupLasso(["a", "b", "a"])
    path = nvsd.nvsd_path(X, y, kernel=Gaussian(1.5), penalty=penalty, tol=1e-10, n_taus=30)
    off = path.certified_off.values
    np.testing.assert_array_equal(off[:, 0], off[:, 2])


# Where H is singular the dual point is not unique.


@pytest.mark.parametrize(
    ("kernel", "special", "n"),
    [
        (Linear(), "plain", 8),
        (Polynomial(2), "plain", 20),
        (Polynomial(3), "plain", 40),
        (Gaussian(1.5), "rows", 8),
        (Matern52(1.0), "rows", 8),
    ],
    ids=str,
)
def test_nothing_is_called_off_where_H_is_singular(kernel: Kernel, special: str, n: int) -> None:
    X, y = sample(1, n, 3, special)
    H = dense_H(X, y, kernel, 1e-2)
    assert np.linalg.matrix_rank(H, tol=1e-12 * np.linalg.norm(H, 2)) < len(H)
    for kind in representations(kernel):
        prepared = nvsd.prepare(X, kernel=kernel, nu=1e-2, representation=kind)
        if prepared.representation.shape[1] < n:
            continue  # of equal rows of derivatives one is left
        assert np.isinf(prepared.representation.curve_inverse_norms).all()
        path = nvsd.nvsd_path(prepared, y, n_taus=20, tol=1e-11)
        assert not path.certified_off.any()


def test_an_input_without_a_weight_is_never_off() -> None:
    X, y = sample(4, 8, 3)
    weights = [1.0, 0.0, 1.0]
    path = nvsd.nvsd_path(
        X, y, kernel=Gaussian(1.5), penalty=Lasso(weights=weights), taus=[10.0, 1.0], tol=1e-10
    )
    off = path.certified_off.values
    assert not off[:, 1].any()
    assert off[0, [0, 2]].all()


def test_a_gap_that_was_rounded_to_zero_still_leaves_a_width() -> None:
    X, y = sample(4, 8, 3)
    path = nvsd.nvsd_path(X, y, kernel=Gaussian(1.5), taus=[0.0], tol=1e-10)
    h = nvsd.prepare(X, kernel=Gaussian(1.5)).representation.curve_norms
    least = np.sqrt(2 * h * GAP_ROUNDING * path.attrs["scale"])
    assert (path.derivative_norm - path.derivative_norm_lower >= 0.99 * least).all()
    assert (path.derivative_norm_upper - path.derivative_norm >= 0.99 * least).all()


# The constants cannot be smaller.


def solved_point(X, y, kernel: Kernel, penalty: Penalty, tau: float, kind: str):
    """The exact solution of one τ: problem, penalty and point."""
    prepared = nvsd.prepare(X, kernel=kernel, nu=1e-2, representation=kind)
    solved = solve(prepared, y, penalty, Grid([tau]), Settings(1e-15, 20_000))
    return solved.problem, solved.bounds[0], solved.points[0]


def with_gap(problem, bound, points: Points) -> Points:
    gap = certificate(problem, bound, points.tau, points.C, points.u)
    return replace(points, gap=gap)


@pytest.mark.parametrize("penalty", [Lasso(), ElasticNet(0.3)], ids=str)
def test_the_width_is_attained(penalty: Penalty) -> None:
    """A linear f of one input: all that the gap allows goes into the norm."""
    X, y = sample(3, 10, 2)
    X = X[:, :1]
    problem, bound, exact = solved_point(X, y, Linear(), penalty, 0.5, "monomial")
    truth = block_norms(problem.derivatives(exact.C))
    for step in (0.1, -0.1):
        moved = with_gap(problem, bound, replace(exact, C=exact.C * (1 + step)))
        norms = block_norms(problem.derivatives(moved.C))
        lower, upper, _ = norm_intervals(problem, bound, moved, norms)
        assert lower <= truth <= upper
        width = float((upper - norms).item())
        # Half of it, or a root of two less, would not hold the truth.
        assert 0.99 * width <= abs(float((norms - truth).item())) <= width


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Matern52(1.0)], ids=str)
def test_points_of_the_solver_come_near_the_bound(kernel: Kernel) -> None:
    """Not only made-up points do: half the width would be wrong for some of these."""
    worst = 0.0
    for seed in range(6):
        X, y = sample(seed, 8, 3)
        case = Case(X, y, kernel, Lasso(), 1e-2)
        taus = [fraction * case.tau_unit for fraction in (0.7, 0.3, 0.1, 0.03, 0.01)]
        prepared = nvsd.prepare(X, kernel=kernel, nu=1e-2)
        exact = nvsd.nvsd_path(prepared, y, taus=taus, tol=1e-13, max_iter=20_000)
        for tol in (1e-2, 1e-3, 1e-4):
            path = nvsd.nvsd_path(prepared, y, taus=taus, tol=tol)
            h = prepared.representation.curve_norms
            width = np.sqrt(2 * h * (path.gap.values[:, None] + 1e-9 * path.attrs["scale"]))
            off_by = np.abs(path.derivative_norm - exact.derivative_norm).values
            assert (off_by <= width).all()
            worst = max(worst, float((off_by / width).max()))
    assert worst > 0.5


def test_the_bound_of_the_dual_point_is_attained() -> None:
    """An input that is on, barely, with a dual point that was drawn inwards as far as the gap."""
    X, y = sample(2, 8, 3)
    prepared = nvsd.prepare(X, kernel=Gaussian(1.5), nu=1e-2, representation="derivative")
    representation, bound = prepared.representation, Lasso().bind(3)
    problem, _ = prepared.problem(y, True)
    n, tau, t, barely = 8, 1.0, 0.05, 1e-5
    inverse = np.linalg.inv(representation.H)
    eigenvalues, vectors = np.linalg.eigh(inverse[:n, :n])
    u_exact, z_exact = np.zeros((3, n)), np.zeros((3, n))
    u_exact[0], z_exact[0] = tau * vectors[:, -1], barely * vectors[:, -1]
    problem.h = representation.H @ u_exact.ravel() + z_exact.ravel()
    step = t / eigenvalues[-1] * inverse[:, :n] @ vectors[:, -1]
    u = (u_exact.ravel() - step).reshape(1, 3, n)
    assert bound.gauge(block_norms(u))[0] < tau
    C, nothing = u_exact.reshape(1, -1), np.zeros(1)
    points = Points(np.array([tau]), C, z_exact[None], u, u, *[nothing] * 5, np.zeros(1, int))
    points = with_gap(problem, bound, points)
    norms = block_norms(problem.derivatives(C))
    assert norms[0, 0] == pytest.approx(barely)
    assert not norm_intervals(problem, bound, points, norms).off[0, 0]
    smaller = replace(points, gap=0.9**2 * points.gap)
    assert norm_intervals(problem, bound, smaller, norms).off[0, 0]


@pytest.mark.parametrize("penalty", penalties(3), ids=str)
def test_slack_is_what_the_definition_says(penalty: Penalty, rng) -> None:
    """τJ(z) + (τJ)*(u) − uᵀz ≥ s_a‖z_a‖, for u inside and outside, and for the best z nearly so."""
    bound, tau = penalty.bind(3), 0.7
    for _ in range(300):
        u = rng.standard_normal((1, 3, 4)) * rng.choice([0.05, 0.3, 1.0], 3)[:, None]
        if not bound.ridge:
            u *= tau / max(tau, float(bound.gauge(block_norms(u))[0]))
        z = rng.standard_normal((1, 3, 4)) * rng.choice([0.0, 1e-3, 0.1, 1.0], 3)[:, None]
        if rng.random() < 0.5:
            z = u * rng.choice([0.0, 1e-3, 1.0], 3)[:, None]
        R = block_norms(u)
        fenchel = tau * bound.value(block_norms(z)) + bound.conjugate(R, tau) - np.sum(u * z)
        assert (bound.slack(R, tau) * block_norms(z) <= fenchel + 1e-12).all()
