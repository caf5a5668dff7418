"""Paths of every loss against CVXPY: kernels, penalties, ν, shapes, weights, odd samples.

Objectives are in units of the loss of the best constant.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from designs import EXHAUSTIVE, combined, covering
from loss_problems import LOSSES, SPECIAL, LossCase, sample
from path_problems import kernels, penalties, representations

import nvsd
from nvsd.descriptions import concrete
from nvsd.kernels import Kernel
from nvsd.losses import Loss, QuadraticLoss
from nvsd.penalties import Penalty
from nvsd.solvers.status import Status

SHAPES = [(8, 3), (12, 2)]  # nd below rank(Z) for the isotropic kernels; above it for the others
NUS = [1e-4, 1e-2, 1.0]
FRACTIONS = [0.5, 0.05]  # of the τ that shrinks strongly
WEIGHTED = [(False, True), (True, True), (False, False), (True, False)]  # weights, center
TOLERANCES = [1e-6, 1e-9]
ENDS = 1e-9  # of an end of the path: it is iterated to this gap, and emitted as it is
ROUNDING = 1e-12  # of a sum of some ten terms
QUICK, SLOW = 24, 126
STRIDE, STRIDES = 797, 244  # prime to all the factors: it visits every level of every factor


def rows_of_levels(sizes: list[int]) -> list[tuple[int, ...]]:
    """Every level, then every pair of levels, then every triple, then more."""
    places = [k * STRIDE % np.prod(sizes) for k in range(STRIDES)]
    strided = [tuple(map(int, np.unravel_index(place, sizes))) for place in places]
    pairs = covering(sizes, 2, strided[:QUICK])
    assert len(pairs) < QUICK + SLOW
    return list(dict.fromkeys([*covering(sizes, 3, pairs), *strided]))


def some_of_everything() -> list:
    factors = {
        shape: [LOSSES, SPECIAL, WEIGHTED, kernels(shape[1]), penalties(shape[1]), NUS]
        for shape in SHAPES
    }
    sizes = [len(SHAPES), *map(len, factors[SHAPES[0]])]
    cases = []
    for k, levels in enumerate(rows_of_levels(sizes)):
        shape, i = SHAPES[levels[0]], int(np.ravel_multi_index(levels, sizes))
        values = [f[level] for f, level in zip(factors[shape], levels[1:], strict=True)]
        name = f"{i}-{values[0]}-{values[3]}-{type(values[4]).__name__}-{values[1]}"
        marks = () if k < QUICK else pytest.mark.slow if k < QUICK + SLOW else EXHAUSTIVE
        cases.append(pytest.param(shape, *values, i, id=name, marks=marks))
    return cases


def test_the_quick_selection_leaves_nothing_out() -> None:
    quick = [p.values for p in some_of_everything() if not p.marks]
    assert {values[0] for values in quick} == set(SHAPES)
    assert {values[1] for values in quick} == set(LOSSES)
    assert {values[2] for values in quick} == set(SPECIAL)
    assert {values[3] for values in quick} == set(WEIGHTED)
    assert {type(values[4]) for values in quick} == {type(k) for k in kernels(3)}
    assert {type(values[5]) for values in quick} == {type(p) for p in penalties(3)}
    assert {values[6] for values in quick} == set(NUS)


def test_every_two_meet_without_the_exhaustive_cases() -> None:
    rows = [p.values for p in some_of_everything() if len(p.marks) < len(EXHAUSTIVE)]
    assert len(rows) == QUICK + SLOW
    kinds = [(*row[:4], type(row[4]), type(row[5]), row[6]) for row in rows]
    levels = [{kind[f] for kind in kinds} for f in range(7)]
    possible = combined(product(*levels), 2)
    assert combined(kinds, 2) == possible


def test_every_loss_of_the_library_is_here() -> None:
    own = {kind for kind in concrete(Loss) if kind.__module__.startswith("nvsd.")}
    assert {kind for kind in own if not issubclass(kind, QuadraticLoss)} == {*map(type, LOSSES)}


@pytest.mark.parametrize(
    ("shape", "loss", "special", "weighted", "kernel", "penalty", "nu", "seed"),
    some_of_everything(),
)
def test_the_path_is_the_reference(
    shape: tuple[int, int],
    loss: Loss,
    special: str,
    weighted: tuple[bool, bool],
    kernel: Kernel,
    penalty: Penalty,
    nu: float,
    seed: int,
) -> None:
    X, y = sample(seed, *shape, loss, special)
    weights = 10 ** np.random.default_rng(seed).uniform(-1, 1, len(X)) if weighted[0] else None
    case = LossCase(X, y, kernel, penalty, nu, loss, weights, center=weighted[1])
    taus = [fraction * case.tau_unit for fraction in FRACTIONS]
    truths = [case.truth(tau) for tau in taus]
    for representation in representations(kernel):
        prepared = nvsd.prepare(X, y=y, representation=representation, **case.prepared)
        for tol in TOLERANCES:
            path = nvsd.nvsd_path(
                prepared, penalty=penalty, taus=taus, tol=tol, max_iter=20_000, center=case.center
            )
            check_against(truths, path, case, tol)


def check_against(truths, path, case: LossCase, tol: float) -> None:
    unit = case.unit
    assert path.attrs["scale"] == pytest.approx(unit, rel=1e-8)
    np.testing.assert_allclose(path.nvsd.predict(case.X), path.fitted, rtol=1e-9, atol=1e-7)
    for i, truth in enumerate(truths):
        row = path.isel(tau=i)
        gap, objective = float(row.gap), float(row.objective)
        exact = int(row.status) == Status.CLOSED_FORM
        assert 0 <= gap <= (max(tol, ENDS) if exact else tol) * path.attrs["scale"]
        distance = (objective - truth.minimum) / unit
        assert -truth.accuracy / unit - ROUNDING <= distance
        assert distance <= (gap + truth.accuracy) / unit + ROUNDING
        check_parts(row, case)
        lower, upper = row.derivative_norm_lower.values, row.derivative_norm_upper.values
        assert (lower <= truth.derivative_norm + truth.blur).all()
        assert (truth.derivative_norm - truth.blur <= upper).all()


def check_parts(row, case: LossCase) -> None:
    """The stored coefficients alone give the stored parts of the objective."""
    parts = case.dense_parts(row)
    np.testing.assert_allclose(row.fitted, parts["fitted"], rtol=1e-9, atol=1e-7)
    for name, error in (
        ("loss", parts["loss_error"]),
        ("penalty", parts["penalty_error"]),
        ("rkhs_norm", parts["norm_error"]),
    ):
        assert float(row[name]) == pytest.approx(parts[name], rel=1e-6, abs=error + 1e-9)
    total = row.loss + row.tau * row.penalty + row.nu * row.rkhs_norm
    assert float(row.objective) == pytest.approx(float(total), rel=1e-12)
