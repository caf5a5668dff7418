"""The certificate against dense primal and dual values, and a solver that is made to go wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np
import pytest
from path_problems import Case, Twin, dense_parts, penalties, representations, sample

import nvsd
from nvsd.kernels import Gaussian, Kernel, Linear, Matern52, Polynomial, Sum
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty, SparseGroupLasso, block_norms
from nvsd.representations.base import Problem
from nvsd.solvers import (
    ADMM,
    Points,
    Settings,
    Status,
    admm,
    flat_point,
    solve_path,
    solver_named,
)
from nvsd.solvers.certificate import certificate
from reference.penalties import terms

N, D = 8, 3
ROUNDING = 1e-10  # of |y|²/n, for sums and differences of numbers of that size

KERNELS = [Gaussian(1.5), Polynomial(3)]
EVERYTHING = [
    pytest.param(kernel, kind, penalty, id=f"{kernel}-{kind}-{penalty}")
    for kernel, penalty in product(KERNELS, penalties(D))
    for kind in representations(kernel)
]
every_problem = pytest.mark.parametrize(("kernel", "kind", "penalty"), EVERYTHING)


@cache
def case(kernel: Kernel, penalty: Penalty, nu: float = 1e-2) -> Case:
    return Case(*sample(3, N, D, "rows"), kernel, penalty, nu)


@cache
def truth(kernel: Kernel, penalty: Penalty, fraction: float):
    problem = case(kernel, penalty)
    return problem.truth(fraction * problem.tau_unit)


def build(kernel: Kernel, kind: str, nu: float = 1e-2, **options) -> Problem:
    X, y = sample(3, N, D, "rows")
    made = nvsd.prepare(X, kernel=kernel, nu=nu, representation=kind, **options)
    return made.representation.problem(y - y.mean())


def run(problem: Problem, penalty: Penalty, taus, **settings) -> Points:
    bound, chosen = penalty.bind(problem.shape[0]), Settings(**settings)
    solver = solver_named("auto", problem, chosen)
    return solve_path(solver(problem, bound, flat_point(problem, bound), chosen), np.asarray(taus))


def true_objective(problem: Problem, points: Points, row: int, of: Case) -> tuple[float, float]:
    """The objective of what is returned, recomputed from dense matrices, and its rounding."""
    found = problem.solution(points.C, points.multiplier).coefficients
    if "theta" in found:  # then alpha and beta are a courtesy: predictions come from theta
        found = {"theta": found["theta"]}
    parts = dense_parts(of, {name: values[row] for name, values in found.items()})
    value = parts["loss"] + points.tau[row] * parts["penalty"] + of.nu * parts["rkhs_norm"]
    slope = sum(w * np.sqrt(len(index)) for w, index in of.objective.terms.norms)
    return value, parts["rounding"] + points.tau[row] * slope * parts["error"]


# The certificate is primal minus dual.


def dual_value(twin: Twin, u: np.ndarray, tau: float, penalty: Penalty) -> float:
    """q − ½ (b − Zᵀu)ᵀA⁻¹(b − Zᵀu) − (τJ)*(u), u in the ball where J has no squares."""
    slope = twin.b - twin.Z.T @ u.ravel()
    value = np.mean(twin.o.y**2) - slope @ np.linalg.solve(twin.A, slope) / 2
    t = terms(penalty, twin.o.features)
    if t.ridge:
        excess = [max(np.linalg.norm(u[a]) - tau * w, 0) for w, (a,) in t.norms]
        value -= np.sum(np.square(excess)) / (4 * tau * t.ridge)
    return float(value)


def primal_value(twin: Twin, theta: np.ndarray, tau: float, penalty: Penalty) -> float:
    z, t = (twin.Z @ theta).reshape(D, N), terms(penalty, twin.o.features)
    J = sum(w * np.linalg.norm(z[index]) for w, index in t.norms) + t.ridge * np.sum(z**2)
    loss = np.mean((twin.o.y - twin.Phi @ theta) ** 2)
    return float(loss + tau * J + twin.o.nu * theta @ theta)


@every_problem
def test_the_certificate_is_primal_minus_dual(kernel, kind, penalty, rng) -> None:
    problem, bound = build(kernel, kind), penalty.bind(D)
    twin = Twin(*sample(3, N, D, "rows"), kernel, 1e-2)
    kappa = problem.representation.system.kappa_unit
    for tau, size in product([0.05, 2.0], [0.0, 0.5, 1.0]):
        V = rng.standard_normal((1, D, N))
        u = kappa * rng.standard_normal((1, D, N))
        if not bound.ridge:
            u *= size * tau / bound.gauge(block_norms(u))
        C, _ = problem.s1(V, np.array([kappa]))
        gap = certificate(problem, bound, np.array([tau]), C, u)[0]
        primal = primal_value(twin, twin.s1(V.ravel(), kappa), tau, penalty)
        dual = dual_value(twin, u[0], tau, penalty)
        assert gap == pytest.approx(primal - dual, abs=1e-8 * (abs(primal) + abs(dual)))


@pytest.mark.parametrize("penalty", [p for p in penalties(D) if not isinstance(p, ElasticNet)])
def test_an_infeasible_dual_point_proves_nothing(penalty, rng) -> None:
    problem, bound = build(Gaussian(1.5), "derivative"), penalty.bind(D)
    C, _ = problem.ridge()
    u = rng.standard_normal((1, D, N))
    tau = 0.99 * bound.gauge(block_norms(u))
    assert certificate(problem, bound, tau, C, u)[0] == np.inf


# Whatever is returned, the gap bounds its true distance to the minimum.


def assert_honest(problem: Problem, points: Points, of: Case, truths: dict) -> None:
    assert (points.gap >= 0).all()
    for row, tau in enumerate(points.tau):
        value, rounding = true_objective(problem, points, row, of)
        known = truths[float(tau)]
        allowed = points.gap[row] + known.accuracy + rounding + ROUNDING * of.unit
        assert value - known.minimum <= allowed


def setting(kernel: Kernel, penalty: Penalty) -> tuple[Case, dict]:
    known = [truth(kernel, penalty, fraction) for fraction in (0.4, 0.02)]
    return case(kernel, penalty), {t.tau: t for t in known}


@every_problem
@pytest.mark.parametrize("max_iter", [1, 2, 7])
def test_a_solver_stopped_early_says_how_bad_it_is(kernel, kind, penalty, max_iter) -> None:
    of, truths = setting(kernel, penalty)
    problem = build(kernel, kind)
    points = run(problem, penalty, list(truths), max_iter=max_iter, tol=1e-14)
    assert_honest(problem, points, of, truths)
    unfinished = points.gap > 1e-14 * problem.scale
    np.testing.assert_array_equal(points.status == Status.MAX_ITER, unfinished)
    assert unfinished.any()


def noisy_factor(problem: Problem, rng: np.random.Generator) -> None:
    system = problem.representation.system
    solve, mix = system.solve, rng.standard_normal((problem.representation.size(),) * 2)
    mix *= 0.02 / np.linalg.norm(mix, 2)
    system.solve = lambda kappa, B: solve(kappa, B + B @ mix)  # type: ignore[method-assign]


def wrong_kappa(problem: Problem, rng: np.random.Generator) -> None:
    s1 = problem.s1
    problem.s1 = lambda V, kappa: s1(V, 1.3 * kappa)  # type: ignore[method-assign]


def wrong_multiplier(problem: Problem, rng: np.random.Generator) -> None:
    s1 = problem.s1

    def scaled(V, kappa):
        C, z = s1(V, kappa)
        return 0.9 * C, z

    problem.s1 = scaled  # type: ignore[method-assign]


def wrong_derivatives(problem: Problem, rng: np.random.Generator) -> None:
    s1, shift = problem.s1, 0.1 * rng.standard_normal(problem.shape)

    def shifted(V, kappa):
        C, z = s1(V, kappa)
        return C, z + shift

    problem.s1 = shifted  # type: ignore[method-assign]


def shifted_target(problem: Problem, rng: np.random.Generator) -> None:
    """S1 solves for another h (or b) than the problem has."""
    s1, name = problem.s1, "h" if hasattr(problem, "h") else "b"
    right = getattr(problem, name)
    wrong = right + 0.1 * np.abs(right).max() * rng.standard_normal(right.shape)

    def s1_of_another(V, kappa):
        setattr(problem, name, wrong)
        try:
            return s1(V, kappa)
        finally:
            setattr(problem, name, right)

    problem.s1 = s1_of_another  # type: ignore[method-assign]


SABOTAGE: list[Callable] = [
    noisy_factor,
    wrong_kappa,
    wrong_multiplier,
    wrong_derivatives,
    shifted_target,
]


@every_problem
@pytest.mark.parametrize("sabotage", SABOTAGE)
def test_a_solver_that_goes_wrong_cannot_lie(kernel, kind, penalty, sabotage, rng) -> None:
    of, truths = setting(kernel, penalty)
    problem = build(kernel, kind)
    honest = run(problem, penalty, list(truths), tol=1e-9).gap.max()
    sabotage(problem, rng)
    points = run(problem, penalty, list(truths), max_iter=60, tol=1e-9)
    assert_honest(problem, points, of, truths)
    if sabotage is not wrong_kappa:  # S1 with another κ still converges
        assert points.gap.max() > 1e3 * honest  # it did go wrong


# Constants of the iteration change the way, not the end.

VARIANTS: dict[str, tuple[object, str, float]] = {
    "no acceleration": (admm, "MEMORY", 0),
    "short memory": (admm, "MEMORY", 2),
    "no relaxation": (admm, "RELAXATION", 1.0),
    "fixed kappa": (ADMM, "adapt_every", 10**9),
}


@pytest.mark.parametrize("variant", [*VARIANTS, "squares in S1"])
@every_problem
def test_every_variant_ends_at_the_same_point(kernel, kind, penalty, variant, monkeypatch) -> None:
    of, truths = setting(kernel, penalty)
    problem, tol, options = build(kernel, kind), 1e-9, {}
    usual = run(problem, penalty, list(truths), tol=tol)
    if variant in VARIANTS:
        monkeypatch.setattr(*VARIANTS[variant])
    else:
        options["quadratic"] = "S1"
    other = run(problem, penalty, list(truths), tol=tol, max_iter=50_000, **options)
    if variant in VARIANTS:  # the constant is read
        assert not np.array_equal(other.C, usual.C) or variant == "fixed kappa"
    for points in (usual, other):
        assert (points.gap <= tol * problem.scale).all()
        assert_honest(problem, points, of, truths)
    # ν|θ − θ'|² is at most the gap, and |Z| is of order one: norms agree to the root of tol/ν.
    np.testing.assert_allclose(
        block_norms(other.phi), block_norms(usual.phi), atol=1e-3 * of.ridge_norm, rtol=0
    )


# Repeated rows and a constant column: without the safeguard of the extrapolation these take 1400
# iterations or more, most of them for ever.

AFFINE = Sum((Linear(), Gaussian(2.0)))
STUBBORN = [
    (440, ElasticNet(0.4), 1e-2, 3.0),
    (434, Lasso(), 1e-2, 0.5),
    (436, GroupLasso(["a", "b"]), 1e-4, 0.1),
    (443, SparseGroupLasso(["a", "b"], 0.3), 1e-2, 0.2),
    (443, SparseGroupLasso(["a", "b"], 0.3), 1e-2, 0.02),
]


@pytest.mark.parametrize(("seed", "penalty", "nu", "fraction"), STUBBORN, ids=str)
def test_extrapolation_is_watched_over(seed, penalty, nu, fraction) -> None:
    of = Case(*sample(seed, 12, 2, "both"), AFFINE, penalty, nu)
    tau = fraction * of.tau_unit
    path = nvsd.nvsd_path(of.X, of.y, taus=[tau], tol=1e-9, max_iter=1400, **of.arguments)
    assert int(path.status[0]) == Status.CONVERGED
    assert float(path.gap[0]) <= 1e-9 * of.unit


def test_points_are_joined_in_descending_order(rng) -> None:
    problem = build(Gaussian(1.5), "derivative")
    points = run(problem, Lasso(), [0.1, 3.0, 0.01, 0.5], tol=1e-4)
    np.testing.assert_array_equal(points.tau, [3.0, 0.5, 0.1, 0.01])
    for row, tau in enumerate(points.tau):
        alone = run(problem, Lasso(), [tau], tol=1e-4)
        assert abs(alone.phi[0] - points.phi[row]).max() < 0.1  # the rows were not mixed up


def test_progress_is_told_for_every_tau() -> None:
    problem, bound = build(Matern52(2.0), "derivative"), GroupLasso(["a", "b", "a"]).bind(D)
    flat = flat_point(problem, bound)
    taus = np.append(np.geomspace(1e-3, 2, 9) * flat.tau_max, 0.0)
    told: list[int] = []
    solve_path(ADMM(problem, bound, flat, Settings()), taus, told.append)
    assert sum(told) == len(taus)
