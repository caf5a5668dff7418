"""The reference against itself, stated three ways, and against what can be known otherwise."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import combinations, permutations, product

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from designs import EXHAUSTIVE, covering
from sklearn.kernel_ridge import KernelRidge

import reference
from nvsd.kernels import (
    Anova,
    Gaussian,
    Kernel,
    Linear,
    Matern52,
    Polynomial,
    RationalQuadratic,
    Scaled,
    Sum,
    Warped,
)
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty, SparseGroupLasso
from reference.objective import eigen_root, objective
from reference.penalties import terms

# Units: objectives are in |y|^2/n (y centred), values and derivative norms in its root.
ROUNDING = 1e-10  # sums of squares of matrices with condition numbers up to 1e16
CERTIFIED = {
    "alpha_beta": 1e-7,  # Clarabel is asked for 1e-9, and the gap divides the dual's error by nu
    "omega": 1e-7,  # the same
    "exact": 1e-7,  # ADMM with an exact S1, stopped at residuals of 1e-9
    "literal": 1e-3,  # ADMM with steepest descent, stopped at residuals of 3e-5
}
NORMS = 1e-3  # a gap of g fixes the norms only to the order of sqrt(g)
TWO_CODINGS = 1e-12  # the same formula in another order of operations

KERNELS = [
    Linear(),
    Polynomial(degree=3, offset=1.0),
    Gaussian(width=1.5),
    Gaussian(width=(1.0, 4.0, 2.0)),
    Matern52(width=2.0),
    RationalQuadratic(alpha=1.5, width=2.0),
    Sum((Linear(), Gaussian(width=2.0))),
    Scaled(0.3, Gaussian(width=4.0)),
    Anova(Gaussian(width=1.0), order=2),
    Anova(Linear(), order=3, weights=(1.0, 0.5, 2.0)),
    Warped(Gaussian(width=2.0)),
]
PENALTIES = [
    Lasso(),
    Lasso(weights=(1.0, 0.0, 2.0)),
    GroupLasso(groups=["a", "b", "a"]),
    GroupLasso(groups={"a": ["x0", 2], "b": ["x1"]}, weights={"b": 0.5}),
    ElasticNet(mu=0.4),
    SparseGroupLasso(groups=["a", "b", "a"], rho=0.3),
]
KERNEL_IDS = [str(kernel) for kernel in KERNELS]
PENALTY_IDS = [str(penalty) for penalty in PENALTIES]


def sample(seed: int, n: int = 8, d: int = 3) -> tuple[np.ndarray, np.ndarray, float, float]:
    """X with a duplicate row, y, tau and |y|^2/n."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[1] = X[0]
    y = 3 + 2 * X[:, 0] + X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, y, 10 ** rng.uniform(-3, 0), y.var()


def concrete(base: type) -> Iterator[type]:
    for kind in base.__subclasses__():
        yield from concrete(kind)
        if not inspect.isabstract(kind) and kind.__module__.startswith("nvsd."):
            yield kind


def check_agreement(solutions: dict[str, reference.Solution], y: np.ndarray) -> None:
    """Nobody is below another's bound, every bound is close, and the functions are the same."""
    unit = y.var()
    for name, s in solutions.items():
        assert s.accuracy <= CERTIFIED[name] * unit, name
    for a, b in permutations(solutions.values(), 2):
        assert a.objective - a.accuracy <= b.objective + ROUNDING * unit
    for a, b in combinations(solutions.values(), 2):
        # The loss makes the objective strongly convex in the values: their distance to the
        # minimiser's is at most the root of the gap.
        allowed = np.sqrt(a.accuracy) + np.sqrt(b.accuracy) + np.sqrt(ROUNDING * unit)
        assert np.sqrt(np.mean((a.fitted - b.fitted) ** 2)) <= allowed


NUS = [1e-6, 1e-3, 1.0]


def stated_problems() -> list:
    """Every pair of a kernel, a penalty and a ν; exhaustive: every triple."""
    sizes = (len(KERNELS), len(PENALTIES), len(NUS))
    pairs = covering(sizes, 2)
    return [
        pytest.param(
            KERNELS[k],
            PENALTIES[p],
            NUS[i],
            id=f"{KERNEL_IDS[k]}-{PENALTY_IDS[p]}-{NUS[i]:g}",
            marks=() if (k, p, i) in pairs else EXHAUSTIVE,
        )
        for k, p, i in product(*map(range, sizes))
    ]


@pytest.mark.parametrize(("kernel", "penalty", "nu"), stated_problems())
def test_three_statements_agree(kernel: Kernel, penalty: Penalty, nu: float) -> None:
    seed = 100 * KERNELS.index(kernel) + 10 * PENALTIES.index(penalty)
    X, y, tau, unit = sample(seed)
    problem = {"kernel": kernel, "penalty": penalty, "tau": tau, "nu": nu}
    solutions = {form: reference.solve(X, y, form=form, **problem) for form in reference.FORMS}
    # At nu = 1e-6 an input without a penalty takes the paper's ADMM up to 55 000 iterations.
    solutions["exact"] = reference.paper_admm(
        X, y, tol=1e-9, max_iter=200_000, exact_s1=True, **problem
    )
    check_agreement(solutions, y)
    norms = [s.derivative_norm for s in solutions.values()]
    np.testing.assert_allclose(norms, [norms[-1]] * 3, rtol=0, atol=NORMS * np.sqrt(unit))
    for s in solutions.values():
        assert s.objective == pytest.approx(s.loss + tau * s.penalty + nu * s.rkhs_norm)


@pytest.mark.parametrize("nu", [1e-2, 1.0])
@pytest.mark.parametrize("penalty", PENALTIES, ids=PENALTY_IDS)
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(width=1.5)], ids=str)
def test_literal_admm_agrees_loosely(kernel: Kernel, penalty: Penalty, nu: float) -> None:
    X, y, tau, _ = sample(PENALTIES.index(penalty))
    problem = {"kernel": kernel, "penalty": penalty, "tau": tau, "nu": nu}
    literal = reference.paper_admm(X, y, tol=3e-5, max_iter=2000, **problem)
    assert literal.status == "optimal"
    check_agreement({"literal": literal, "omega": reference.solve(X, y, **problem)}, y)


def test_literal_admm_says_when_it_has_not_converged() -> None:
    X, y, tau, _ = sample(0)
    with pytest.warns(UserWarning, match="no convergence in 3 iterations"):
        s = reference.paper_admm(
            X, y, kernel=Gaussian(4.0), penalty=Lasso(), tau=tau, nu=1e-4, max_iter=3
        )
    assert (s.status, s.n_iter) == ("max_iter", 3)


@pytest.mark.parametrize("penalty", PENALTIES, ids=PENALTY_IDS)
def test_no_multiplier_bounds_the_minimum_from_above(
    penalty: Penalty, rng: np.random.Generator
) -> None:
    X, y, tau, _ = sample(1)
    problem = {"kernel": Gaussian(width=1.5), "penalty": penalty}
    minimum = reference.solve(X, y, tau=tau, nu=1e-2, **problem).objective
    o = objective(X, y, nu=1e-2, center=True, **problem)
    bounds = [o.lower_bound(scale * rng.standard_normal((3, 8)), tau) for scale in (0, 0.01, 1, 9)]
    assert max(bounds) < minimum
    assert (
        objective(X, y, nu=0, center=True, **problem).lower_bound(np.zeros((3, 8)), tau) == -np.inf
    )


def test_another_solver_agrees() -> None:
    X, y, tau, unit = sample(2)
    problem = {"kernel": Polynomial(degree=2), "penalty": Lasso(), "tau": tau, "nu": 1e-2}
    scs = reference.solve(X, y, solver="SCS", tol=1e-7, **problem)
    clarabel = reference.solve(X, y, **problem)
    assert scs.solver == "SCS"
    assert scs.objective == pytest.approx(clarabel.objective, abs=1e-5 * unit)
    assert scs.accuracy <= 1e-4 * unit


@pytest.mark.parametrize("c", [1e-5, 1e5])
def test_scaling_y_and_tau_scales_f(c: float) -> None:
    X, y, tau, unit = sample(3)
    problem = {"kernel": Gaussian(width=1.5), "nu": 1e-3, "penalty": Lasso()}
    one, scaled = (reference.solve(X, s * y, tau=s * tau, **problem) for s in (1.0, c))
    assert scaled.accuracy <= CERTIFIED["omega"] * c**2 * unit
    np.testing.assert_allclose(scaled.fitted / c, one.fitted, rtol=0, atol=NORMS * np.sqrt(unit))


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=KERNEL_IDS)
def test_without_penalty_it_is_kernel_ridge(kernel: Kernel, center: bool) -> None:
    X, y, _, unit = sample(4)
    n, nu, mean = len(y), 1e-2, y.mean() if center else 0.0
    s = reference.solve(X, y, kernel=kernel, penalty=Lasso(), tau=0, nu=nu, center=center)
    K = reference.gram(X, kernel)[0]
    ridge = KernelRidge(alpha=n * nu, kernel="precomputed").fit(K, y - mean)
    fitted, alpha = ridge.predict(K), ridge.dual_coef_
    best = np.mean((y - mean - fitted) ** 2) + nu * alpha @ K @ alpha
    assert s.objective == pytest.approx(best, abs=CERTIFIED["omega"] * unit)
    np.testing.assert_allclose(s.fitted, fitted + mean, rtol=0, atol=NORMS * np.sqrt(unit))


def minimum_over(basis: np.ndarray, G: np.ndarray, n: int, y: np.ndarray, tau: float, nu: float):
    """The lasso's minimum over the span of some of the functions whose Gram matrix is G.

    The first n(d + 1) functions of G are those of the sample.
    """
    R = eigen_root(G[np.ix_(basis, basis)])
    M = G[: n * 4, basis] @ (R / np.sum(R**2, axis=0))
    theta = cp.Variable(R.shape[1])
    norms = sum(cp.norm(Z @ theta) for Z in np.split(M[n:], 3)) / np.sqrt(n)
    loss = cp.sum_squares(y - M[:n] @ theta) / n
    problem = cp.Problem(cp.Minimize(loss + tau * norms + nu * cp.sum_squares(theta)))
    return problem.solve(solver="CLARABEL")


@pytest.mark.parametrize("kernel", [Gaussian(width=1.5), Polynomial(degree=3)], ids=str)
def test_proposition_1_no_function_outside_the_span_helps(
    kernel: Kernel, rng: np.random.Generator
) -> None:
    X, y, _, unit = sample(5)
    (n, d), tau, nu = X.shape, 0.3, 1e-3
    s = reference.solve(X, y, kernel=kernel, penalty=Lasso(), tau=tau, nu=nu)

    points = np.vstack([X, rng.standard_normal((5, d))])
    K, D, L = reference.gram(points, kernel)
    at_sample = np.tile(np.arange(len(points)) < n, d + 1)
    order = np.argsort(~at_sample, kind="stable")
    G = np.block([[K, D.T], [D, L]])[np.ix_(order, order)]
    extended = minimum_over(np.arange(len(G)), G, n, y - y.mean(), tau, nu)
    assert extended == pytest.approx(s.objective, abs=CERTIFIED["omega"] * unit)
    # The derivative sections, on the other hand, are needed: without them this test would be idle.
    sections_only = minimum_over(np.arange(n), G, n, y - y.mean(), tau, nu)
    assert sections_only > s.objective + 1e-3 * unit


def test_path_has_the_schema_and_is_solve_at_each_tau(tmp_path) -> None:
    X, y, _, unit = sample(6)
    problem = {"kernel": Gaussian(width=2.0), "penalty": GroupLasso(["a", "b", "a"]), "nu": 1e-3}
    path = reference.path(X, y, taus=[0.1, 100.0, 0.01], **problem)
    assert list(path.tau.values) == [100.0, 0.1, 0.01]
    assert list(path.feature.values) == ["x0", "x1", "x2"]
    assert list(path.group.values) == ["a", "b", "a"]
    assert path.beta.dims == ("tau", "feature", "sample")
    assert all(variable.attrs["long_name"] for variable in path.variables.values())
    assert not path.support.sel(tau=100.0).any()
    assert path.n_selected.sel(tau=0.01) == 3
    for tau in path.tau.values:
        s, row = reference.solve(X, y, tau=tau, **problem), path.sel(tau=tau)
        assert float(row.objective) == pytest.approx(s.objective, abs=CERTIFIED["omega"] * unit)
        assert float(row.gap) <= CERTIFIED["omega"] * unit
        total = row.loss + tau * row.penalty + row.nu * row.rkhs_norm
        assert float(row.objective) == pytest.approx(float(total))
    path.to_netcdf(tmp_path / "path.nc", engine="h5netcdf")
    assert xr.load_dataset(tmp_path / "path.nc", engine="h5netcdf").equals(path)


def test_the_columns_of_a_data_frame_name_the_features() -> None:
    X, y, _, _ = sample(6)
    frame = pd.DataFrame(X, columns=["age", "size", "mass"])
    penalty = GroupLasso({"body": ["size", "mass"], "time": ["age"]})
    path = reference.path(frame, y, kernel=Linear(), penalty=penalty, nu=1e-3, taus=[0.1])
    assert dict(zip(path.feature.values, path.group.values, strict=True)) == {
        "age": "time",
        "size": "body",
        "mass": "body",
    }


def test_path_over_several_mu() -> None:
    X, y, _, _ = sample(7)
    problem = {"kernel": Linear(), "nu": 1e-3, "taus": [1.0, 0.1]}
    both = reference.path(X, y, penalty=ElasticNet(mu=(0.2, 0.9)), **problem)
    one = reference.path(X, y, penalty=ElasticNet(mu=0.9), **problem)
    assert both.sizes["mu"] == 2
    xr.testing.assert_allclose(both.sel(mu=0.9), one)


@pytest.mark.parametrize("penalty", PENALTIES, ids=PENALTY_IDS)
def test_a_path_is_compiled_once(penalty: Penalty) -> None:
    X, y, _, _ = sample(8)
    problem = reference.Problem(X, y, kernel=Linear(), penalty=penalty, nu=1e-3)
    assert problem.problem.is_dcp(dpp=True)  # what CVXPY asks for to compile once for all tau


@pytest.mark.parametrize("kernel", KERNELS, ids=KERNEL_IDS)
def test_kernel_matrices_are_those_of_the_library(kernel: Kernel, rng: np.random.Generator) -> None:
    X = rng.standard_normal((6, 3))
    X[1] = X[0]
    for ours, theirs in zip(
        reference.gram(X, kernel), (kernel.K(X), kernel.D(X), kernel.L(X)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TWO_CODINGS * np.abs(ours).max())


def test_every_kernel_and_penalty_of_the_library_is_tested() -> None:
    assert set(concrete(Kernel)) == {type(kernel) for kernel in KERNELS}
    assert set(concrete(Penalty)) == {type(penalty) for penalty in PENALTIES}


def test_a_penalty_is_its_weighted_norms() -> None:
    features = ["u", "v", "w"]
    assert terms(Lasso(weights={"v": 3.0}), features) == ([(1, [0]), (3, [1]), (1, [2])], 0)
    assert terms(GroupLasso(["a", "b", "a"]), features) == ([(2, [0, 2]), (1, [1])], 0)
    assert terms(ElasticNet(mu=0.25), features) == ([(0.25, [0]), (0.25, [1]), (0.25, [2])], 0.75)
    groups = {"b": ["v"], "a": ["w", 0]}
    assert terms(SparseGroupLasso(groups, rho=0.5), features) == (
        [(0.5, [0]), (0.5, [1]), (0.5, [2]), (0.5, [1]), (1, [2, 0])],
        0,
    )


BAD_INPUT = {
    "y is too short": {"y": np.arange(7.0)},
    "y is a matrix": {"y": np.ones((8, 1))},
    "X is a vector": {"X": np.ones(8)},
    "X has no columns": {"X": np.ones((8, 0))},
    "X has NaN": {"X": np.full((8, 3), np.nan)},
    "y is infinite": {"y": np.full(8, np.inf)},
    "X is text": {"X": np.full((8, 3), "1")},
    "y is text": {"y": list("abcdefgh")},
    "one row": {"X": np.ones((1, 3)), "y": np.ones(1)},
    "tau is negative": {"tau": -1.0},
    "tau is NaN": {"tau": np.nan},
    "nu is negative": {"nu": -1e-3},
    "nu is infinite": {"nu": np.inf},
    "nu is text": {"nu": "small"},
    "a label is missing": {"penalty": GroupLasso(["a", "b"])},
    "groups overlap": {"penalty": GroupLasso({"a": [0, 1], "b": [1, 2]})},
    "a group names an unknown feature": {"penalty": GroupLasso({"a": [0, 1], "b": ["x7"]})},
    "too few weights": {"penalty": Lasso(weights=(1.0, 2.0))},
    "a weight has an unknown name": {"penalty": Lasso(weights={"x7": 1.0})},
    "too many widths": {"kernel": Gaussian(width=(1.0, 2.0, 3.0, 4.0))},
}


@pytest.mark.parametrize("solver", [reference.solve, reference.paper_admm])
@pytest.mark.parametrize("bad", BAD_INPUT)
def test_bad_input_is_refused_in_one_sentence(bad: str, solver) -> None:
    X, y, _, _ = sample(9)
    good = {"X": X, "y": y, "kernel": Linear(), "penalty": Lasso(), "tau": 0.1, "nu": 1e-3}
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        solver(**(good | BAD_INPUT[bad]))


@pytest.mark.parametrize(
    "settings", [{"form": "beta"}, {"solver": "abacus"}, {"taus": [0.1, -0.1]}, {"taus": []}]
)
def test_bad_settings_are_refused(settings: dict) -> None:
    X, y, _, _ = sample(9)
    good = {"kernel": Linear(), "penalty": Lasso(), "nu": 1e-3, "taus": [0.1]}
    with pytest.raises(ValueError, match=next(iter(settings)).rstrip("s")):
        reference.path(X, y, **(good | settings))


@pytest.mark.parametrize("settings", [{"kappa": 0.0}, {"max_iter": 0}])
def test_bad_settings_of_the_admm_are_refused(settings: dict) -> None:
    X, y, tau, _ = sample(9)
    problem = {"kernel": Linear(), "penalty": Lasso(), "tau": tau, "nu": 1e-3}
    with pytest.raises(ValueError, match="must be positive"):
        reference.paper_admm(X, y, **problem, **settings)


def test_new_kernels_and_penalties_are_asked_for() -> None:
    X, y, _, _ = sample(9)
    for kernel, penalty in product([Linear(), object()], [Lasso(), object()]):
        if isinstance(kernel, Linear) and isinstance(penalty, Lasso):
            continue
        with pytest.raises(ValueError, match="register one"):
            reference.solve(X, y, kernel=kernel, penalty=penalty, tau=1, nu=1)
