"""Solvers for (M0 + κ M1) x = b against numpy's dense solve, inverse and eigenvalues."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvsd.linalg import (
    COLUMN_BY_COLUMN,
    CholeskySystem,
    DiagonalSystem,
    cholesky,
    cholesky_solve,
    gram,
    half_solve,
    packed_diagonal,
    product,
    shifted_system,
    symmetric_product,
)
from nvsd.linalg.in_pieces import pack
from nvsd.machine import available_memory

METHODS = ["cholesky", "diagonal"]
KAPPAS = np.array([1e-8, 1e-2, 1.0, 1.0, 30.0, 1e5])


def spd(p: int, seed: int, condition: float = 1e3) -> np.ndarray:
    """A symmetric positive definite matrix with eigenvalues from 1/condition to 1."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((p, p)))[0]
    M = Q @ np.diag(np.geomspace(1 / condition, 1, p)) @ Q.T
    return (M + M.T) / 2


def low_rank(p: int, rank: int, seed: int) -> np.ndarray:
    R = np.random.default_rng(seed).standard_normal((p, rank))
    return R @ R.T


def naive(M1: np.ndarray, M0: np.ndarray, kappa: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.array([np.linalg.solve(M0 + k * M1, b) for k, b in zip(kappa, B, strict=True)])


def backward_error(M1, M0, kappa, B, X) -> float:
    """|Mx − b| relative to |M||x| + |b|: small for a stable solver, whatever the condition."""
    worst = 0.0
    for k, b, x in zip(kappa, B, X, strict=True):
        M = M0 + k * M1
        size = np.linalg.norm(M) * np.linalg.norm(x) + np.linalg.norm(b)
        worst = max(worst, np.linalg.norm(M @ x - b) / size)
    return worst


@pytest.mark.parametrize("p", range(1, 9))
def test_the_diagonal_of_a_packed_matrix(p: int) -> None:
    packed = pack(np.diag(np.arange(1.0, p + 1)))
    assert packed.shape == (p * (p + 1) // 2,)
    np.testing.assert_array_equal(packed[packed_diagonal(p)], np.arange(1.0, p + 1))


@pytest.mark.parametrize("transposed", [True, False])
def test_products_are_those_of_numpy(transposed: bool, rng) -> None:
    A, B = rng.standard_normal((3, 5)), rng.standard_normal((5, 4))
    B = np.ascontiguousarray(B.T).T if transposed else B
    np.testing.assert_allclose(product(A, B), A @ B, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(product(A[::2], B), A[::2] @ B, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("rank", [1, 4, 9])
@pytest.mark.parametrize("identity", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_every_row_has_its_own_kappa(method: str, identity: bool, rank: int, rng) -> None:
    p = 9
    M1, M0 = low_rank(p, rank, 1), np.eye(p) if identity else spd(p, 2)
    B = rng.standard_normal((len(KAPPAS), p))
    before = M1.copy(), M0.copy(), B.copy()
    system = shifted_system(M1, None if identity else M0, method=method)
    X = system.solve(KAPPAS, B)
    expected = naive(M1, M0, KAPPAS, B)
    for kappa, x, exact in zip(KAPPAS, X, expected, strict=True):
        allowed = 1e-15 * np.linalg.cond(M0 + kappa * M1) * np.linalg.norm(exact)
        assert np.linalg.norm(x - exact) <= 20 * allowed
    for given_, kept in zip((M1, M0, B), before, strict=True):
        np.testing.assert_array_equal(given_, kept)


@pytest.mark.parametrize("method", METHODS)
@given(
    seed=st.integers(0, 10**6),
    p=st.integers(1, 12),
    log_kappa=st.floats(-12, 12),
    log_condition=st.floats(0, 10),
)
def test_solutions_are_backward_stable(method, seed, p, log_kappa, log_condition) -> None:
    rng = np.random.default_rng(seed)
    M1 = low_rank(p, int(rng.integers(1, p + 1)), seed)
    M0 = spd(p, seed + 1, 10**log_condition)
    kappa, B = np.full(3, 10**log_kappa), rng.standard_normal((3, p))
    X = shifted_system(M1, M0, method=method).solve(kappa, B)
    # The generalised eigenvectors are orthogonal in M0 only: its condition enters there.
    limit = 1e-13 if method == "cholesky" else 1e-14 * max(10**log_condition, 10)
    assert backward_error(M1, M0, kappa, B, X) < limit


@pytest.mark.parametrize("method", METHODS)
def test_zero_matrix_leaves_the_other_term(method: str, rng) -> None:
    M0, B = spd(5, 3), rng.standard_normal((2, 5))
    system = shifted_system(np.zeros((5, 5)), M0, method=method)
    X = system.solve(np.array([1.0, 1e9]), B)
    np.testing.assert_allclose(X, np.linalg.solve(M0, B.T).T, rtol=1e-9)
    assert system.kappa_unit > 0


@pytest.mark.parametrize("identity", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_the_unit_of_kappa_gives_both_terms_the_same_trace(method: str, identity: bool) -> None:
    M1, M0 = low_rank(6, 3, 4), np.eye(6) if identity else spd(6, 5)
    system = shifted_system(M1, None if identity else M0, method=method)
    assert system.kappa_unit * np.trace(M1) == pytest.approx(np.trace(M0))


@pytest.mark.parametrize("method", METHODS)
def test_another_diagonal_in_place_of_the_identity(method: str, rng) -> None:
    p = 9
    M1, B, diagonal = low_rank(p, 4, 1), rng.standard_normal((3, p)), 10 ** rng.uniform(-2, 2, p)
    system = shifted_system(M1, method=method)
    kappas = system.kappa_unit * np.array([0.1, 1.0, 1.0])
    before = system.solve(kappas, B)
    other = system.with_diagonal(diagonal)
    assert other is not None
    for solve, share in ((other.solve, 1e-10), (other.solve_roughly, 1e-2)):
        expected = naive(M1, np.diag(diagonal), kappas, B)
        np.testing.assert_allclose(solve(kappas, B), expected, atol=share * abs(expected).max())
    assert other.kappa_unit * np.trace(M1) == pytest.approx(diagonal.sum())
    np.testing.assert_array_equal(system.solve(kappas, B), before)


@pytest.mark.parametrize("method", METHODS)
def test_only_the_identity_has_a_diagonal_to_replace(method: str) -> None:
    system = shifted_system(low_rank(5, 2, 1), spd(5, 2), method=method)
    assert system.with_diagonal(np.ones(5)) is None


def test_auto_diagonalises_small_systems_and_factorises_large_ones() -> None:
    assert isinstance(shifted_system(np.eye(3)), DiagonalSystem)
    assert isinstance(shifted_system(np.eye(3), method="cholesky"), CholeskySystem)
    assert isinstance(shifted_system(np.eye(1000), method="auto"), CholeskySystem)


def test_what_any_kappa_promises() -> None:
    assert shifted_system(np.eye(3), method="diagonal").any_kappa
    assert not shifted_system(np.eye(3), method="cholesky").any_kappa


@pytest.mark.parametrize("method", ["", "qr", None])
def test_unknown_methods_are_refused(method) -> None:
    with pytest.raises(ValueError, match=r"^s1 = .* is unknown; give 'auto'.*\.$"):
        shifted_system(np.eye(2), method=method)


def test_factors_are_reused_and_the_oldest_forgotten(rng) -> None:
    p = 4
    M1, B = low_rank(p, 2, 6), rng.standard_normal((1, p))
    system = CholeskySystem(M1, memory=2 * pack(M1).nbytes)
    one, two, three = (np.array([k]) for k in (1.0, 2.0, 3.0))
    for kappa, factorisations in [(one, 1), (one, 1), (two, 2), (one, 2), (three, 3), (one, 3)]:
        X = system.solve(kappa, B)
        assert system.n_factorisations == factorisations
        np.testing.assert_allclose(X, naive(M1, np.eye(p), kappa, B), rtol=1e-10)
    system.solve(two, B)  # was dropped for three, being the one unused for longest
    assert system.n_factorisations == 4


def test_cholesky_is_the_lower_factor() -> None:
    M = spd(7, 7)
    L = np.tril(cholesky(M.copy()))
    np.testing.assert_allclose(L @ L.T, M, atol=1e-14)
    np.testing.assert_allclose(L, np.linalg.cholesky(M), atol=1e-12)


def test_rows_are_solved_with_the_whole_and_with_half_the_factor(rng) -> None:
    M, B = spd(7, 8), rng.standard_normal((4, 7))
    factor = cholesky(M.copy())
    inverse = np.linalg.inv(M)
    np.testing.assert_allclose(cholesky_solve(factor, B), B @ inverse, rtol=1e-9, atol=1e-9)
    half = half_solve(factor, B)
    quadratic = [b @ inverse @ b for b in B]
    np.testing.assert_allclose(np.sum(half**2, axis=1), quadratic, rtol=1e-10)


def test_rounding_on_a_singular_matrix_is_repaired() -> None:
    """A Gram matrix with repeated rows: positive semi-definite, its last pivots are noise."""
    R = np.random.default_rng(9).standard_normal((8, 3))
    M = np.vstack([R, R]) @ np.vstack([R, R]).T
    L = np.tril(cholesky(M.copy()))
    assert np.isfinite(L).all()
    np.testing.assert_allclose(L @ L.T, M, atol=1e-10 * np.abs(M).max())


def test_rounding_of_a_shifted_system_is_repaired() -> None:
    system = CholeskySystem(np.zeros((3, 3)), np.diag([1.0, 2.0, -1e-14]))
    X = system.solve(np.ones(1), np.array([[1.0, 2.0, 0.0]]))
    np.testing.assert_allclose(X, [[1.0, 1.0, 0.0]], rtol=1e-12)


def test_an_indefinite_matrix_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        cholesky(np.diag([1.0, -1e-3]))
    system = CholeskySystem(np.diag([1.0, 0.0]), np.diag([1.0, -1e-3]))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        system.solve(np.ones(1), np.ones((1, 2)))


@pytest.mark.parametrize(("m", "p", "n"), [(0, 3, 2), (2, 0, 3), (3, 2, 0)])
def test_a_product_of_nothing_is_numpy_s(m: int, p: int, n: int) -> None:
    A, B = np.ones((m, p)), np.ones((p, n))
    np.testing.assert_array_equal(product(A, B), A @ B)


@pytest.mark.parametrize("n", [1, 7, 300])
def test_a_gram_matrix_is_symmetric_to_the_last_bit(n: int) -> None:
    X = np.random.default_rng(0).standard_normal((n, 5))
    np.testing.assert_array_equal(gram(X), gram(X).T)
    np.testing.assert_allclose(gram(X), X @ X.T, rtol=1e-13, atol=1e-13)


@pytest.mark.slow
@pytest.mark.skipif(available_memory() < 8 * 2**30, reason="needs 8 GiB of free memory")
def test_a_factor_of_large_order_does_not_end_the_interpreter() -> None:
    """With two threads OpenBLAS's dpotrf of order 16 500 is a segmentation fault."""
    code = """
import numpy as np
from nvsd.linalg import cholesky
n = 16_500
M = np.full((n, n), 0.5)
M[np.diag_indices(n)] = n
factor = cholesky(M)
assert abs(factor[0, 0] ** 2 - n) < 1e-6 * n
print("alive")
"""
    threads = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | threads, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, "alive"), ran.stderr[-500:]


@pytest.mark.parametrize("rows", [0, 1, COLUMN_BY_COLUMN, COLUMN_BY_COLUMN + 1])
def test_products_with_a_symmetric_matrix_are_those_of_numpy(rows: int, rng) -> None:
    A, M = rng.standard_normal((rows, 7)), spd(7, 3)
    for matrix in (M, np.asfortranarray(M)):
        np.testing.assert_allclose(symmetric_product(A, matrix), A @ M, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("rows", [1, COLUMN_BY_COLUMN, COLUMN_BY_COLUMN + 3])
@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("identity", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_rough_solutions_have_errors_of_single_precision(
    method: str, identity: bool, size: float, rows: int, rng
) -> None:
    p = 30
    M1, M0 = spd(p, 4), None if identity else spd(p, 5)
    kappa, B = np.full(rows, 20.0), size * rng.standard_normal((rows, p))
    kappa[-1] = 0.5
    B[0] *= 1e-3
    kept, system = B.copy(), shifted_system(M1, M0, method=method)
    rough, exact = system.solve_roughly(kappa, B), system.solve(kappa, B)
    error = np.linalg.norm(rough - exact, axis=1) / np.linalg.norm(exact, axis=1)
    assert (error <= 1e-5).all()
    assert np.isfinite(rough).all()
    np.testing.assert_array_equal(B, kept)
    if method == "cholesky" and identity:
        assert (error > 1e-10).any()  # it is another factor
    np.testing.assert_array_equal(system.solve_roughly(kappa, np.zeros_like(B)), 0.0)


def test_a_rough_solution_is_exact_where_single_precision_has_no_factor(rng) -> None:
    system = CholeskySystem(-np.eye(5))
    kappa, B = np.array([1.0 - 1e-9]), rng.standard_normal((1, 5))
    np.testing.assert_array_equal(system.solve_roughly(kappa, B), system.solve(kappa, B))
