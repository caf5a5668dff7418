"""Which solver, and what it cannot honour is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from file_problems import refusal
from path_problems import penalties, sample

import nvsd
from nvsd.data.rows import ArrayRows
from nvsd.kernels import Gaussian, Kernel, Polynomial
from nvsd.losses import SQUARED
from nvsd.penalties import ElasticNet, Lasso
from nvsd.representations import Request, choose

X, Y = sample(4, 6, 5)
KINDS: dict[str, tuple[Kernel, dict[str, Any]]] = {
    "derivative": (Gaussian(2.0), {}),
    "factor": (Gaussian(2.0), {}),
    "monomial": (Polynomial(2), {}),
    "landmarks": (Gaussian(2.0), {"value_points": 4}),
}


def solve(representation: str = "matrix-free", **options: Any) -> xr.Dataset:
    given = {"kernel": Gaussian(2.0), "nu": 1e-2, "n_taus": 6, "tau_ratio": 1e-2} | options
    return nvsd.nvsd_path(X, Y, representation=representation, **given)


def test_an_unknown_solver_is_refused() -> None:
    said = refusal(solve, "derivative", solver="newton")
    for name in ("'newton'", "'admm'", "'dual-gradient'"):
        assert name in said
    assert "unknown" in said
    for odd in (None, 3, ["admm"]):
        assert "solver" in refusal(solve, "derivative", solver=odd)


@pytest.mark.parametrize("kind", KINDS)
def test_a_solver_says_what_it_misses(kind: str) -> None:
    kernel, options = KINDS[kind]
    said = refusal(solve, kind, solver="dual-gradient", kernel=kernel, **options)
    assert said.startswith(f"solver 'dual-gradient' needs step, which representation {kind!r}")
    assert "solver='admm'" in said
    solve(kind, kernel=kernel, solver="admm", **options)


@pytest.mark.parametrize("penalty", penalties(5), ids=str)
def test_both_solvers_find_the_same_minimum(penalty) -> None:
    usual = solve(penalty=penalty, tol=1e-8)
    other = solve(penalty=penalty, tol=1e-8, solver="admm", taus=usual.tau.values, max_iter=20_000)
    assert usual.attrs["representation"] == other.attrs["representation"] == "matrix-free"
    assert not np.array_equal(usual.n_iter, other.n_iter)  # they are two
    scale = usual.attrs["scale"]
    for path in (usual, other):
        assert (path.gap <= 1e-8 * scale).all()
    slack = np.maximum(usual.gap.values, other.gap.values) + 1e-10 * scale
    assert (np.abs(usual.objective.values - other.objective.values) <= slack).all()


@pytest.mark.parametrize(
    ("kind", "name"), [("derivative", "admm"), ("matrix-free", "dual-gradient")]
)
def test_auto_is_the_solver_of_the_representation(kind: str, name: str) -> None:
    assert solve(kind).identical(solve(kind, solver=name))


# --- what matrix-free does not do ----------------------------------------------------------------


@pytest.mark.parametrize("penalty", [Lasso(), ElasticNet(0.4)], ids=str)
def test_squares_in_s1_are_refused_without_an_s1(penalty) -> None:
    said = refusal(solve, penalty=penalty, quadratic="S1")
    assert said.startswith("solver 'dual-gradient' does not take quadratic = 'S1'; give 'S2'")
    assert "solver='admm'" in said


def test_squares_in_s1_are_possible_with_admm() -> None:
    penalty = ElasticNet(0.4)
    usual = solve(penalty=penalty)
    other = solve(penalty=penalty, quadratic="S1", solver="admm", taus=usual.tau.values)
    slack = np.maximum(usual.gap.values, other.gap.values) + 1e-10 * usual.attrs["scale"]
    assert (np.abs(usual.objective.values - other.objective.values) <= slack).all()


@pytest.mark.parametrize("s1", ["cholesky", "diagonal"])
def test_a_method_for_s1_is_refused_where_nothing_is_factorised(s1: str) -> None:
    given = {"kernel": Gaussian(2.0), "representation": "matrix-free", "s1": s1}
    for action, arguments in ((nvsd.prepare, (X,)), (nvsd.nvsd_path, (X, Y))):
        said = refusal(action, *arguments, **given)
        assert said.startswith(f"representation 'matrix-free' has no factorisation, so s1 = {s1!r}")
    nvsd.prepare(X, **given | {"s1": "auto"})


def test_a_method_for_s1_keeps_auto_from_matrix_free() -> None:
    """Where many inputs would take it by themselves."""
    wide = ArrayRows(np.random.default_rng(0).standard_normal((40, 200)))
    request = Request(wide, Gaussian(8.0), 1e-3, SQUARED)
    assert choose(request, "auto", 1e12).kind == "matrix-free"
    assert choose(replace(request, s1="cholesky"), "auto", 1e12).kind == "derivative"
