"""The certificate cannot lie: break the solver, and the gap that is reported tells.

Every mutation is put into the library itself while `nvsd_path` runs. Whatever comes out, the true
distance to the minimum (CVXPY's) is at most the gap; and where the mutation did harm, the gap is
above the tolerance and there is a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import xarray as xr
from path_problems import Case, Truth, dense_parts, sample
from reliability_record import Record, recorder

import nvsd
from nvsd import ConvergenceWarning, solved
from nvsd.kernels import Gaussian, Kernel, Polynomial
from nvsd.linalg import CholeskySystem, DiagonalSystem, PreconditionedSystem
from nvsd.penalties import BoundPenalty, ElasticNet, GroupLasso, Lasso, Penalty
from nvsd.representations.derivative import DerivativeProblem
from nvsd.representations.feature_space import FeatureProblem
from nvsd.representations.matrix_free import ConjugateGradients
from nvsd.representations.preconditioned import PreconditionedProblem
from nvsd.solvers import ADMM, DualGradient, FlatPoint, is_certified
from nvsd.solvers.anderson import Anderson
from nvsd.solvers.base import State

N, D, NU, TOL = 8, 3, 1e-2, 1e-9
FRACTIONS = (0.4, 0.02, 0.0)
PENALTIES: list[Penalty] = [Lasso(), GroupLasso(["a", "b", "a"]), ElasticNet(0.4)]
KERNELS: dict[str, Kernel] = {
    "derivative": Gaussian(1.5),
    "monomial": Polynomial(3),
    "factor": Gaussian(1.5),
    "matrix-free": Gaussian(1.5),
    "preconditioned": Gaussian(1.5),
}
ROUGH_SYSTEMS = (CholeskySystem, PreconditionedSystem)
ROUGH_PROBLEMS = (DerivativeProblem, PreconditionedProblem)
ROUNDING = 1e-11  # of |y|²/n

Mutation = Callable[[pytest.MonkeyPatch], None]


@cache
def truth(kind: str, number: int) -> tuple[Case, list[Truth]]:
    case = Case(*sample(3, N, D, "rows"), KERNELS[kind], PENALTIES[number], NU)
    return case, [case.truth(fraction * case.tau_unit) for fraction in FRACTIONS]


# --- what goes wrong -----------------------------------------------------------------------------


def before(owner: Any, name: str, change: Callable[..., tuple]) -> Mutation:
    """Change the arguments of a function (without self)."""

    def mutate(patch: pytest.MonkeyPatch) -> None:
        right = getattr(owner, name)
        if isinstance(owner, type):
            patch.setattr(owner, name, lambda self, *a: right(self, *change(*a)))
        else:
            patch.setattr(owner, name, lambda *a: right(*change(*a)))

    return mutate


def after(owner: Any, name: str, change: Callable[[Any], Any]) -> Mutation:
    """Change what a function returns."""

    def mutate(patch: pytest.MonkeyPatch) -> None:
        right = getattr(owner, name)
        patch.setattr(owner, name, lambda *a, **k: change(right(*a, **k)))

    return mutate


def both(*mutations: Mutation) -> Mutation:
    def mutate(patch: pytest.MonkeyPatch) -> None:
        for mutation in mutations:
            mutation(patch)

    return mutate


def noise(array: np.ndarray, size: float) -> np.ndarray:
    rng = np.random.default_rng(array.size)
    return array * (1.0 + size * rng.standard_normal(array.shape))


def systems(name: str, how: Callable[..., Mutation], change: Callable) -> Mutation:
    kinds = (DiagonalSystem, CholeskySystem, ConjugateGradients, PreconditionedSystem)
    roughly = both(*(how(kind, f"{name}_roughly", change) for kind in ROUGH_SYSTEMS))
    return both(roughly, *(how(kind, name, change) for kind in kinds))


def problems(name: str, how: Callable[..., Mutation], change: Callable) -> Mutation:
    kinds = (DerivativeProblem, FeatureProblem, PreconditionedProblem)
    return both(*(how(kind, name, change) for kind in kinds if name in vars(kind)))


def first_steps(how: Callable[..., Mutation], change: Callable) -> Mutation:
    """Change S1, and where it is another, the rough one too."""
    rough = both(*(how(kind, "s1_roughly", change) for kind in ROUGH_PROBLEMS))
    return both(problems("s1", how, change), rough)


def stop_at_once(patch: pytest.MonkeyPatch) -> None:
    """Every row is said to have converged after one step."""
    for solver in (ADMM, DualGradient):
        patch.setattr(solver, "look", lambda self, state, i: _claim(state))


def _claim(state: State) -> np.ndarray:
    state.gap = np.full(len(state.tau), np.inf)  # not computed: `points` must do so
    return np.ones(len(state.tau), dtype=bool)


MUTATIONS: dict[str, Mutation] = {
    "stops at once": stop_at_once,
    "S1 with 1.3 kappa": first_steps(before, lambda V, kappa: (V, 1.3 * kappa)),
    "S1 with kappa squared": first_steps(before, lambda V, kappa: (V, kappa**2)),
    "S1 with another v": first_steps(before, lambda V, kappa: (noise(V, 0.1), kappa)),
    "S1's theta is off": first_steps(after, lambda r: (noise(r[0], 0.01), r[1])),
    "S1's derivatives are off": first_steps(after, lambda r: (r[0], noise(r[1], 0.01))),
    "perturbed factor": systems("solve", after, lambda x: noise(x, 0.01)),
    "factor of another matrix": systems("solve", before, lambda kappa, B: (3.0 * kappa, B)),
    "transposed right-hand sides": systems("solve", before, lambda kappa, B: (kappa, B[:, ::-1])),
    "prox of half the step": before(BoundPenalty, "shrinkage", lambda R, t: (R, 0.5 * t)),
    "prox of twice the step": before(BoundPenalty, "shrinkage", lambda R, t: (R, 2.0 * t)),
    "prox that never shrinks": after(BoundPenalty, "shrinkage", np.ones_like),
    "prox that always shrinks": after(BoundPenalty, "shrinkage", np.zeros_like),
    "wild extrapolation": after(Anderson, "_correction", lambda x: 3.0 * x + 0.01),
    "extrapolation backwards": after(Anderson, "_correction", lambda x: -0.3 * x),
    "kappa far too large": after(ADMM, "_start_kappa", lambda k: 1e6 * k),
    "kappa far too small": after(ADMM, "_start_kappa", lambda k: 1e-6 * k),
    "a wrong flat point": after(solved, "flat_point", lambda flat: _lower(flat)),
    "dual point off the ball": after(BoundPenalty, "feasible", lambda u: 1.5 * u),
    "wrong ridge solution": problems("ridge", after, lambda r: (noise(r[0], 0.1), r[1])),
}
# The way is another, the end is the same: nothing goes wrong.
HARMLESS = {"S1 with 1.3 kappa", "kappa far too large", "kappa far too small"}


def _lower(flat: FlatPoint) -> FlatPoint:
    """The flat point is said to be optimal at a hundredth of τ_max already."""
    flat.tau_max *= 0.01
    return flat


# --- what is reported ----------------------------------------------------------------------------


def run(
    kind: str, number: int, mutation: Mutation | None, patch: pytest.MonkeyPatch
) -> tuple[xr.Dataset, bool]:
    """The path, and whether it warned."""
    case, truths = truth(kind, number)
    if mutation is not None:
        mutation(patch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = nvsd.nvsd_path(
            case.X, case.y, taus=[t.tau for t in truths], tol=TOL, max_iter=100,
            representation=kind, **case.arguments,
        )  # fmt: skip
    patch.undo()
    return path, any(issubclass(w.category, ConvergenceWarning) for w in caught)


def excess(path: xr.Dataset, kind: str, number: int) -> np.ndarray:
    """True distance to the minimum minus the gap, in units of |y|²/n."""
    case, truths = truth(kind, number)
    found = []
    for i, known in enumerate(truths):
        row = path.isel(tau=i)
        names = ["theta"] if "theta" in row else ["alpha", "beta"]
        parts = dense_parts(case, {name: row[name].values for name in names})
        value = parts["loss"] + known.tau * parts["penalty"] + NU * parts["rkhs_norm"]
        slack = known.accuracy + parts["rounding"] + known.tau * D * parts["error"]
        found.append((value - known.minimum - slack - float(row.gap)) / case.unit)
    return np.array(found)


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("name", MUTATIONS)
def test_the_gap_tells(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch, record_property: Callable
) -> None:
    record: Record = recorder(record_property, "mutated solvers")
    for number in range(len(PENALTIES)):
        path, warned = run(kind, number, MUTATIONS[name], monkeypatch)
        case, _ = truth(kind, number)
        unfinished = path.gap.values > TOL * case.unit
        assert (excess(path, kind, number) <= ROUNDING).all()
        np.testing.assert_array_equal(~is_certified(path.status.values), unfinished)
        assert warned == unfinished.any()
        record(warned=1) if warned else record(certified=1)


@pytest.mark.parametrize("kind", KERNELS)
def test_the_solver_as_it_is_converges(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the mutations would show nothing."""
    for number in range(len(PENALTIES)):
        path, warned = run(kind, number, None, monkeypatch)
        assert not warned
        assert (excess(path, kind, number) <= ROUNDING).all()


@pytest.mark.parametrize("name", sorted(set(MUTATIONS) - HARMLESS))
def test_the_mutations_do_harm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them is noticed in at least one representation."""
    assert any(run(kind, 0, MUTATIONS[name], monkeypatch)[1] for kind in KERNELS)
