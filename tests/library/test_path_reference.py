"""The path against CVXPY: every kernel, penalty, ν and shape, in every representation.

Objectives are in units of |y|²/n, with y centred.
"""

from __future__ import annotations

import numpy as np
import pytest
from designs import combined, marked
from path_problems import Case, kernels, penalties, representations, sample

import nvsd
from nvsd.kernels import Kernel
from nvsd.penalties import Penalty
from nvsd.solvers.status import Status

SHAPES = [(8, 3), (12, 2)]  # nd below rank(Z) for the isotropic kernels; above it for the others
SPECIAL = ["plain", "rows", "column", "both"]
NUS = [1e-4, 1e-2, 1.0]
FRACTIONS = [0.5, 0.05]  # of the τ that shrinks strongly

NORMS = 0.01  # of the largest: what a gap of 1e-12 leaves open, and CVXPY's 1e-9
# Where Z is ill-conditioned, CVXPY's dual point is inside the ball and tiny derivatives remain.
OFF = 1e-6  # of the largest norm of kernel ridge
TOLERANCES = [1e-6, 1e-10, 1e-12]
CLOSED_FORM = 1e-10  # a flat point whose gap is rounding: it is emitted as it is
ROUNDING = 1e-14  # of a sum of some ten squares


def product_of_everything() -> list:
    factors = {d: [SPECIAL, kernels(d), penalties(d), NUS] for _, d in SHAPES}
    cases = []
    for i, (first, *rest), marks in marked([len(SHAPES), *map(len, factors[2])]):
        shape = SHAPES[first]
        levels = zip(factors[shape[1]], rest, strict=True)
        special, kernel, penalty, nu = (values[level] for values, level in levels)
        name = f"{i}-{kernel}-{type(penalty).__name__}-{nu:g}-{shape}-{special}"
        cases.append(pytest.param(shape, special, kernel, penalty, nu, i, id=name, marks=marks))
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


@pytest.mark.parametrize(
    ("shape", "special", "kernel", "penalty", "nu", "seed"), product_of_everything()
)
@pytest.mark.filterwarnings("ignore:.*rounding errors keep:nvsd.ConvergenceWarning")
def test_the_path_is_the_reference(
    shape: tuple[int, int], special: str, kernel: Kernel, penalty: Penalty, nu: float, seed: int
) -> None:
    X, y = sample(seed, *shape, special)
    case = Case(X, y, kernel, penalty, nu)
    taus = [fraction * case.tau_unit for fraction in FRACTIONS]
    truths = [case.truth(tau) for tau in taus]
    for representation in representations(kernel):
        prepared = nvsd.prepare(X, kernel=kernel, nu=nu, representation=representation)
        for tol in TOLERANCES:
            path = nvsd.nvsd_path(prepared, y, penalty=penalty, taus=taus, tol=tol, max_iter=20_000)
            check_against(truths, path, case, tol)


def check_against(truths, path, case: Case, tol: float) -> None:
    assert path.attrs["scale"] == pytest.approx(case.unit)
    for i, truth in enumerate(truths):
        row = path.isel(tau=i)
        assert float(row.tau) == truth.tau
        gap, objective = float(row.gap), float(row.objective)
        # Rounding may keep the gap of a closed form above tol; then a warning says so.
        exact = int(row.status) == Status.CLOSED_FORM or (
            int(row.status) == Status.ROUNDING and int(row.n_iter) == 0
        )
        assert 0 <= gap <= (max(tol, CLOSED_FORM) if exact else tol) * case.unit
        distance = (objective - truth.minimum) / case.unit
        assert abs(distance) <= (gap + truth.accuracy) / case.unit + ROUNDING
        if tol == min(TOLERANCES):
            check_norms(truth, row, case)


def check_norms(truth, row, case: Case) -> None:
    norms, support = row.derivative_norm.values, row.support.values
    largest = max(truth.derivative_norm.max(), 0.01 * case.ridge_norm)
    np.testing.assert_allclose(norms, truth.derivative_norm, rtol=0, atol=NORMS * largest)
    assert support[truth.derivative_norm > NORMS * largest].all()
    assert (norms[truth.surely_off()] <= OFF * case.ridge_norm).all()
    # Off the support φ is zero, and Zθ is as near to it as the primal residual says.
    assert (norms[~support] <= float(row.primal_residual) + 1e-9 * case.ridge_norm).all()
