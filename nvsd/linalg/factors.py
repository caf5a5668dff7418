"""Products, Cholesky factors and solutions, by one BLAS and in pieces that hear Ctrl-C.

Vectors are rows: an array (k, p) holds k right-hand sides contiguously, which is the Fortran
layout LAPACK wants for its (p, k) argument, so nothing is copied.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack
from threadpoolctl import threadpool_limits

from nvsd.linalg import in_pieces
from nvsd.tolerances import EPS, JITTERS

Array = NDArray[np.float64]

# Allocating and freeing this much once, untouched, makes glibc keep freed memory up to that size.
# Otherwise it returns every temporary of a megabyte to the system and fetches it again, page by
# page, which took half the time of an elimination.
np.empty(3 * 2**20)

# With two threads OpenBLAS crashes in dpotrf of order 16 000 and more, but not of order 12 000.
LARGEST_THREADED = 12_000

# Up to this many rows OpenBLAS is faster with one after another: it copies the matrix for products
# and solves of several. Measured at orders 540 to 1980 on one thread.
COLUMN_BY_COLUMN = 5

STRIP = 256  # rows that are mirrored at a time
LOWER = np.tri(STRIP, k=-1, dtype=bool)


def product(A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    """A B for rows A, by the same BLAS that solves the systems; in single precision if A is.

    numpy and scipy each have their own BLAS, whose threads wait actively for more work. In a loop
    that calls both in turn they compete for the cores and take twice the time of one thread.
    """
    if not (A.size and B.size):
        return np.zeros((len(A), B.shape[1]), dtype=A.dtype)
    gemm = blas.sgemm if A.dtype == np.float32 else blas.dgemm
    left, transposed = (B.T, 0) if B.flags.c_contiguous else (B, 1)
    if 2.0 * len(A) * B.size <= in_pieces.FLOPS:
        return np.asarray(gemm(1.0, left, A.T, trans_a=transposed).T)
    out = np.empty((len(A), B.shape[1]), dtype=A.dtype)
    for rows in in_pieces.pieces(0, len(A), 2.0 * B.size):
        out[rows] = gemm(1.0, left, A[rows].T, trans_a=transposed).T
    return out


def symmetric_product(A: Array, M: Array) -> Array:
    """A M for rows A and a symmetric matrix M."""
    if len(A) > COLUMN_BY_COLUMN or not A.size:
        return product(A, M)
    F = M if M.flags.f_contiguous else M.T
    return np.array([blas.dsymv(1.0, F, row, lower=1) for row in A])


def gram(X: Array) -> Array:
    """X Xᵀ, exactly symmetric, by the same BLAS."""
    G = np.zeros((len(X), len(X)))
    if X.size and float(len(X)) * X.size <= in_pieces.FLOPS:
        G = np.asarray(blas.dsyrk(1.0, X.T, trans=1))
    elif X.size:
        for rows in in_pieces.pieces(0, len(X), 2.0 * X.size):
            G[rows, rows.start :] = product(X[rows], X[rows.start :].T)
    mirror(G)
    return G


def mirror(G: Array) -> None:
    """Copy the upper triangle to the lower one, a strip at a time."""
    for start in range(0, len(G), STRIP):
        rows = slice(start, start + STRIP)
        square = G[rows, rows]
        np.copyto(square, square.T.copy(), where=LOWER[: len(square), : len(square)])
        G[start + STRIP :, rows] = G[rows, start + STRIP :].T


def safe_threads(order: int) -> AbstractContextManager[object]:
    """One BLAS thread for a Cholesky factor of large order, where two crash the interpreter."""
    return threadpool_limits(1) if order > LARGEST_THREADED else nullcontext()


def cholesky(M: Array, repair: bool = True) -> Array:
    """Factor a symmetric matrix in place and return it as a Fortran-ordered lower triangle.

    Rounding can give a positive definite matrix a tiny negative pivot. To repair it, the smallest
    sufficient multiple of its largest entry is added to the diagonal, a change of the size of the
    rounding in the entries. The duality gap does not use the factors of S1, so it would show any
    effect of the change.
    """
    F = np.asfortranarray(M.T)
    diagonal = F.diagonal().copy()
    for jitter in JITTERS if repair else JITTERS[:1]:
        if jitter:
            # A failed factorisation leaves the other triangle unchanged.
            F[...] = np.triu(F, 1) + np.triu(F, 1).T
            np.fill_diagonal(F, diagonal + jitter * diagonal.max())
        if in_pieces.factorise(F) == 0:
            return F
    raise np.linalg.LinAlgError("the matrix is not positive definite")


def triangular_inverse(factor: Array) -> tuple[Array, int]:
    """The inverse of a factor of `cholesky`, which is overwritten, and LAPACK's info."""
    factor = np.asfortranarray(factor)
    return factor, in_pieces.invert_lower(factor)


def cholesky_solve(factor: Array, B: Array) -> Array:
    """Rows x_j with L Lᵀ x_j = b_j for a factor of `cholesky`."""
    X = np.empty(B.shape)
    for rows in in_pieces.pieces(0, len(X), 2.0 * factor.size):
        X[rows] = B[rows]
        lapack.dpotrs(factor, X[rows].T, lower=1, overwrite_b=1)
    return X


def half_solve(factor: Array, B: Array) -> Array:
    """Rows x_j with L x_j = b_j for a factor of `cholesky`: |x_j|² = b_jᵀ (L Lᵀ)⁻¹ b_j."""
    X = np.empty(B.shape)
    for rows in in_pieces.pieces(0, len(X), 1.0 * factor.size):
        X[rows] = B[rows]
        lapack.dtrtrs(factor, X[rows].T, lower=1, overwrite_b=1)
    return X


def pivoted_cholesky(G: Array) -> tuple[Array, NDArray[np.intp]]:
    """R (N, r) with G = RRᵀ, and the r rows of it that form a lower triangle; G is overwritten."""
    tolerance = len(G) * EPS * G.diagonal().max()
    factor = np.asfortranarray(G.T)
    order, rank = in_pieces.factorise_pivoted(factor, tolerance)
    R = np.empty((len(G), rank))
    R[order] = np.tril(factor[:, :rank])
    return R, order[:rank]
