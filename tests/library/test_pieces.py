"""Factorisations in pieces are those of LAPACK in one call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import lapack

from nvsd.kernels import Gaussian
from nvsd.linalg import (
    CholeskySystem,
    cholesky_solve,
    gram,
    half_solve,
    in_pieces,
    pivoted_cholesky,
    product,
)
from nvsd.representations.curvature import (
    block_ranges,
    inverse_of,
    largest_eigenvalue,
    row_sum_norm,
)
from nvsd.ridge import dense

ORDERS = [1, 2, 3, 6, 7, 16, 33, 50]
ABOVE = 9.0  # what stands above a diagonal, to be left alone


@pytest.fixture(params=[(512, 1e10), (7, 500.0), (16, 1.0)], ids=["whole panels", "7", "16"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in pieces, however small."""
    width, flops = request.param
    changed = {"WIDTH": width, "NARROW": min(width, 5), "FLOPS": flops}
    for name, value in (changed | {"WHOLE": 0, "WHOLE_EIGEN": 0}).items():
        monkeypatch.setattr(in_pieces, name, value)


def positive(p: int, seed: int = 0) -> np.ndarray:
    B = np.random.default_rng(seed).standard_normal((p, p))
    return B @ B.T + 0.1 * np.eye(p)


def lower(M: np.ndarray) -> np.ndarray:
    """The lower triangle, in Fortran order, with something else above it."""
    return np.asfortranarray(np.tril(M) + np.triu(np.full_like(M, ABOVE), 1))


def close(found: np.ndarray, expected: np.ndarray, scale: float = 1.0) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11 * scale)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("p", ORDERS)
def test_a_factor_and_its_inverse(p: int) -> None:
    M = positive(p)
    F = lower(M)
    assert in_pieces.factorise(F) == 0
    close(F, lower(np.linalg.cholesky(M)))
    assert in_pieces.invert_lower(F) == 0
    close(F, lower(np.linalg.inv(np.linalg.cholesky(M))))
    close(inverse_of(np.asfortranarray(np.linalg.cholesky(M))), np.linalg.inv(M))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("p", ORDERS)
def test_a_packed_factor(p: int) -> None:
    M = positive(p)
    packed, expected = in_pieces.pack(M), lapack.dtrttf(M.T, uplo="L")[0]
    np.testing.assert_array_equal(packed, expected)
    np.testing.assert_array_equal(np.tril(in_pieces.unpack(packed, p)), np.tril(M))
    assert in_pieces.factorise_packed(packed, p) == 0
    close(packed, lapack.dpftrf(p, expected, uplo="L")[0])


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("share", [1, 2])
def test_a_pivoted_factor(p: int, share: int) -> None:
    B = np.random.default_rng(p).standard_normal((p, max(1, p // share)))
    M = B @ B.T
    tolerance = p * np.finfo(float).eps * M.diagonal().max()
    _, pivots, rank, _ = lapack.dpstrf(M, tol=tolerance, lower=1)
    R, found = pivoted_cholesky(M.copy())
    close(R @ R.T, M, p)
    assert abs(len(found) - rank) <= 1  # the last pivot may be rounding
    np.testing.assert_array_equal(found[: B.shape[1]], pivots[: B.shape[1]] - 1)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("rank", [0, 1, None])
def test_eigenvalues_and_vectors(p: int, rank: int | None) -> None:
    """Also of matrices with a repeated eigenvalue, and of zero."""
    B = np.random.default_rng(p).standard_normal((p, p if rank is None else rank))
    M = B @ B.T
    values, V = in_pieces.eigen(M)
    expected = np.linalg.eigvalsh(M)
    close(values, expected, p)
    close(V.T @ V, np.eye(p))
    close(V @ np.diag(values) @ V.T, M, p)
    close(in_pieces.eigenvalues(M), expected, p)
    close(largest_eigenvalue(M), expected[-1], p)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("scale", [1e-160, 1e-300, 1e150])
def test_eigenvalues_of_any_size(scale: float) -> None:
    M = positive(20)
    values, V = in_pieces.eigen(scale * M)
    close(values / scale, np.linalg.eigvalsh(M))
    close(V.T @ V, np.eye(20))


@pytest.mark.usefixtures("small")
def test_a_matrix_that_is_not_positive_definite() -> None:
    for at in (0, 20, 39):
        M = positive(40)
        M[at, at] = -1.0
        before = lower(M)
        assert in_pieces.factorise(before) > 0
        assert (before[np.triu_indices(40, 1)] == ABOVE).all()
        assert in_pieces.factorise_packed(in_pieces.pack(M), 40) > 0
    assert in_pieces.invert_lower(lower(np.zeros((40, 40)))) > 0


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("shape", [(1, 5, 3), (40, 30, 20), (8, 1, 9)])
def test_products_and_solutions(shape: tuple[int, int, int]) -> None:
    k, p, m = shape
    rng = np.random.default_rng(0)
    A, B, F = rng.standard_normal((k, p)), rng.standard_normal((p, m)), np.linalg.cholesky(spd(p))
    close(product(A, B), A @ B)
    close(product(A, np.asfortranarray(B)), A @ B)
    close(gram(A), A @ A.T)
    np.testing.assert_array_equal(gram(A), gram(A).T)
    F = np.asfortranarray(F)
    given = A.copy()
    close(cholesky_solve(F, A), np.linalg.solve(F @ F.T, A.T).T)
    close(half_solve(F, A), np.linalg.solve(F, A.T).T)
    np.testing.assert_array_equal(A, given)
    assert row_sum_norm(F) == pytest.approx(np.abs(F).sum(axis=1).max())


def spd(p: int) -> np.ndarray:
    return positive(p, 1)


@pytest.mark.usefixtures("small")
def test_ranges_of_blocks() -> None:
    M = positive(12)
    least, largest = block_ranges(M, 3)
    found = [np.linalg.eigvalsh(M[i : i + 4, i : i + 4]) for i in (0, 4, 8)]
    close(least, np.array([values[0] for values in found]))
    close(largest, np.array([values[-1] for values in found]))


@pytest.mark.parametrize("orders", [0, 10**9], ids=["factors", "eigenvectors"])
def test_ridge_for_several_shifts(orders: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways are ridge; without a shift only eigenvectors give the solution of least norm."""
    monkeypatch.setattr("nvsd.linalg.in_pieces.WHOLE_EIGEN", orders)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    K = Gaussian(1.0).K(X)
    shifts = np.array([1e-6, 1e-2, 3.0])
    found = dense.ridge_coefficients(K, y, shifts)
    for alpha, shift in zip(found, shifts, strict=True):
        np.testing.assert_allclose(K @ alpha + shift * alpha, y, atol=1e-8)
    X[15:] = X[:15]
    K = Gaussian(1.0).K(X)
    y[15:] = y[:15]
    least = np.linalg.pinv(K, hermitian=True) @ y
    alpha = dense.ridge_coefficients(K, y, np.zeros(1))[0]
    np.testing.assert_allclose(K @ alpha, K @ least, atol=1e-6)
    np.testing.assert_allclose(alpha[15:], alpha[:15], rtol=1e-3)


def test_a_signal_is_heard_between_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call is longer than the flops of a piece allow."""
    sizes: list[float] = []
    multiply: Callable = in_pieces.blas.dtrsm

    def spy(alpha: float, factor: np.ndarray, B: np.ndarray, **options: int) -> np.ndarray:
        sizes.append(float(B.size))
        return multiply(alpha, factor, B, **options)

    for name, value in {"WHOLE": 0, "WIDTH": 10, "FLOPS": 1e4}.items():
        monkeypatch.setattr(in_pieces, name, value)
    monkeypatch.setattr(in_pieces.blas, "dtrsm", spy)
    assert in_pieces.factorise(lower(positive(100))) == 0
    assert len(sizes) > 20
    assert max(sizes) <= 500


@pytest.mark.parametrize("memory", [0.0, 1e9], ids=["little memory", "much memory"])
def test_little_memory_gives_the_same_factors(memory: float) -> None:
    M, B = positive(30), np.random.default_rng(0).standard_normal((3, 30))
    system = CholeskySystem(M, memory=memory)
    for kappa in (0.1, 1.0, 7.0, 0.1):
        shifted = np.eye(30) + kappa * M
        close(system.solve(np.full(3, kappa), B), np.linalg.solve(shifted, B.T).T)
        assert len(system._factors) <= (2 if memory == 0 else 3)
        C = system.inverse_factor(kappa)
        assert C is not None
        close(np.tril(C), np.linalg.inv(np.linalg.cholesky(shifted)))
    assert system.n_factorisations == (4 if memory == 0 else 3)
