"""κ for each input: S1 and S2 with it, and paths whose weights are far apart."""

from __future__ import annotations

import numpy as np
import pytest
from path_problems import representations, sample

import nvsd
from nvsd.datasets import make_e1, make_e3
from nvsd.kernels import Gaussian, Kernel, Polynomial
from nvsd.losses import Huber
from nvsd.penalties import (
    ElasticNet,
    GroupLasso,
    Lasso,
    Penalty,
    SparseGroupLasso,
    block_norms,
)
from nvsd.solvers.balance import RANGE, UNEVEN, balance

N, D = 40, 6
GROUPS = ("a", "a", "b", "b", "b", "c")
UNIT = np.array([0.02, 3.0, 1.0, 50.0, 0.5, 0.5])
SPREAD = (0.1, 10.0, 1.0, 0.3, 4.0, 0.1)
WEIGHTED = [
    Lasso(weights=SPREAD),
    ElasticNet(mu=0.6, weights=SPREAD),
    GroupLasso(GROUPS, weights={"a": 20.0, "b": 0.2, "c": 1.0}),
    SparseGroupLasso(GROUPS, rho=0.3, weights={"a": 20.0, "b": 0.2, "c": 1.0}),
]


def cases() -> list[tuple[Kernel, str]]:
    kernels = (Gaussian(1.5), Polynomial(2))
    return [(k, kind) for k in kernels for kind in representations(k) if kind != "matrix-free"]


def problem_of(kernel: Kernel, kind: str, n: int = N):
    X, y = sample(3, n, D)
    made = nvsd.prepare(X, kernel=kernel, nu=1e-2, representation=kind)
    return made.representation.problem(y - y.mean())


@pytest.mark.parametrize(("kernel", "kind"), cases(), ids=str)
@pytest.mark.parametrize("n", [9, N])  # systems of up to 200 are diagonalised
def test_s1_minimises_with_a_kappa_for_each_input(kernel: Kernel, kind: str, n: int, rng) -> None:
    problem = problem_of(kernel, kind, n)
    balanced = problem.balanced(UNIT)
    assert balanced is not problem
    assert problem.balance is None
    kappa = balanced.system.kappa_unit * np.array([0.3, 1.0, 7.0])
    V = rng.standard_normal((3, *problem.shape))
    C, z = balanced.s1(V, kappa)
    np.testing.assert_allclose(balanced.kappas(kappa)[:, :, 0], kappa[:, None] * UNIT)
    # The gradient of E(θ) + Σ_a κ m_a/2 ‖Z_aθ − v_a‖² is 0 where θ = θ(u) with these multipliers.
    u = balanced.kappas(kappa) * (z - V)
    assert (problem.half_distance(C, u) <= 1e-10 * problem.scale).all()
    np.testing.assert_allclose(z, problem.derivatives(C), rtol=0, atol=1e-8 * np.abs(z).max())


@pytest.mark.parametrize("penalty", WEIGHTED, ids=str)
def test_the_prox_takes_a_step_for_each_input(penalty: Penalty, rng) -> None:
    bound = penalty.bind(D)
    steps = rng.uniform(0.01, 2.0, (3, D))
    if bound.group_weights.any():
        steps = steps[:, bound.labels]
    Z = rng.standard_normal((3, D, 4))
    found = bound.prox(Z, steps)
    # By parts: an input or a group has the step of its own.
    for a in range(D):
        alone = bound.prox(Z, steps[:, a])
        np.testing.assert_allclose(found[:, a], alone[:, a], rtol=1e-14)


def test_weights_far_apart_have_a_balance(rng) -> None:
    problem = problem_of(Gaussian(1.5), "derivative")
    R = block_norms(problem.ridge()[1])[0]
    for penalty in WEIGHTED:
        bound = penalty.bind(D)
        m = balance(problem, bound)
        assert m is not None
        assert np.log(m).sum() == pytest.approx(0.0, abs=1e-9)
        if bound.group_weights.any():  # S2 takes a group as a whole
            assert len(np.unique(m.round(9))) == 3
        else:
            np.testing.assert_allclose(m * R / np.array(SPREAD), (m * R / SPREAD)[0], rtol=1e-9)


def test_nearly_equal_weights_have_none() -> None:
    problem = problem_of(Gaussian(1.5), "derivative")
    nearly = (1.0, UNEVEN, 1.0, 2.0, 1.0, 1.0)
    for penalty in (Lasso(), GroupLasso(GROUPS), Lasso(weights=nearly), ElasticNet(mu=0.0)):
        assert balance(problem, penalty.bind(D)) is None
    assert problem.balanced(None) is problem


def test_a_weight_of_zero_and_a_constant_input_stay_in_range() -> None:
    X, y = sample(3, N, D)
    X[:, 2] = 1.0
    problem = nvsd.prepare(X, kernel=Gaussian(1.5), nu=1e-2).representation.problem(y - y.mean())
    m = balance(problem, Lasso(weights=(0.0, 1.0, 1.0, 1e9, 1.0, 1.0)).bind(D))
    assert m is not None
    assert m.min() >= 1 / RANGE
    assert m.max() <= RANGE


@pytest.mark.parametrize("penalty", WEIGHTED, ids=str)
@pytest.mark.parametrize(("kernel", "kind"), cases(), ids=str)
def test_paths_agree_with_one_kappa(
    kernel: Kernel, kind: str, penalty: Penalty, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = sample(3, N, D)
    found = []
    for uneven in (UNEVEN, np.inf):
        monkeypatch.setattr("nvsd.solvers.balance.UNEVEN", uneven)
        found.append(
            nvsd.nvsd_path(
                X, y, kernel=kernel, nu=1e-2, penalty=penalty, n_taus=8, representation=kind
            )
        )
    ours, plain = found
    np.testing.assert_allclose(ours.tau, plain.tau, rtol=1e-6)
    scale = ours.attrs["scale"]
    assert (ours.gap <= 1e-6 * scale).all()
    # Each objective is at most its gap above the minimum, which is below both.
    apart = np.abs(ours.objective.values - plain.objective.values)
    assert (apart <= np.maximum(ours.gap, plain.gap.values) + 1e-9 * scale).all()


@pytest.mark.parametrize(
    ("made", "kernel", "share"),
    [(make_e1(50, seed=0), Polynomial(3), 0.8), (make_e3(50, seed=0), Gaussian(4.0), 0.7)],
    ids=["E1", "E3"],
)
def test_adaptive_paths_need_fewer_iterations(
    made, kernel: Kernel, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = nvsd.prepare(made.X, kernel=kernel, nu=1e-3)
    first = nvsd.nvsd_path(prepared, made.y)
    norms = first.derivative_norm.isel(tau=15).values
    penalty = Lasso(weights=1 / (norms + 0.01 * norms.max()))
    ours = nvsd.nvsd_path(prepared, made.y, penalty=penalty)
    monkeypatch.setattr("nvsd.solvers.balance.UNEVEN", np.inf)
    plain = nvsd.nvsd_path(prepared, made.y, penalty=penalty)
    assert int(ours.n_iter.sum()) < share * int(plain.n_iter.sum())


@pytest.mark.parametrize("options", [{"loss": Huber(1.0)}, {"representation": "matrix-free"}])
def test_where_s1_cannot_there_is_one_kappa(options: dict[str, object]) -> None:
    X, y = sample(3, 20, 3)
    penalty = Lasso(weights=(0.1, 10.0, 1.0))
    path = nvsd.nvsd_path(X, y, kernel=Gaussian(1.5), penalty=penalty, n_taus=4, **options)
    assert (path.gap <= 1e-6 * path.attrs["scale"]).all()


def test_s1_with_the_squared_term_has_one_kappa() -> None:
    X, y = sample(3, N, D)
    penalty = ElasticNet(mu=0.6, weights=SPREAD)
    paths = [
        nvsd.nvsd_path(X, y, kernel=Gaussian(1.5), penalty=penalty, n_taus=5, quadratic=each)
        for each in ("S1", "S2")
    ]
    apart = np.abs(paths[0].objective - paths[1].objective)
    assert (apart <= np.maximum(paths[0].gap, paths[1].gap) + 1e-12).all()
