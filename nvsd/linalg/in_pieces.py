"""Factorisations that hear Ctrl-C.

Python looks for signals only between two calls of BLAS or LAPACK, and one call of large order takes
minutes. Up to order `WHOLE` these functions are one call of LAPACK; above, they do the same work in
pieces of a fraction of a second each. Small orders also keep clear of a fault of OpenBLAS: with two
threads its Cholesky factor of order 16 000 ends the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, eigh, eigh_tridiagonal, eigvalsh_tridiagonal, lapack

from nvsd.tolerances import TINY

Array = NDArray[np.float64]

FLOPS = 5e9  # of one piece: 0.15 seconds of one core at the 35 Gflop/s measured
NEW = 1e3  # flops in the time of one number in new memory, on a machine that is busy
WHOLE = 4000  # order of a factorisation in one call: 0.6 seconds of one core
WHOLE_EIGEN = 1500  # order of an eigenproblem in one call: at most a second on one core
WIDTH = 512  # columns of a panel: within 5 % of LAPACK's speed at order 14 000
NARROW = 64  # columns of a panel of which each needs the ones before, as in LAPACK


def pieces(start: int, stop: int, flops: float) -> Iterator[slice]:
    """Slices of start..stop, each of about FLOPS operations, if one row takes `flops`."""
    step = max(1, int(FLOPS / max(flops, 1.0)))
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))


def panels(n: int, width: int) -> Iterator[slice]:
    """Slices of 0..n of equal width, but for the last."""
    for start in range(0, n, width):
        yield slice(start, min(start + width, n))


def factorise(F: Array) -> int:
    """Overwrite a lower triangle by its Cholesky factor; LAPACK's info.

    The array is in Fortran order. What is above the diagonal is not touched.
    """
    if len(F) <= WHOLE:
        return int(lapack.dpotrf(F, lower=1, clean=0, overwrite_a=1)[1])
    return _factorise(F)


def _factorise(A: Array, before: Array | None = None) -> int:
    """Overwrite the lower triangle of A − before beforeᵀ by its Cholesky factor.

    Parameters
    ----------
    A : (m, p) array, m ≥ p
        A view of any strides. The rows below the first p become A L⁻ᵀ, as in the factor of a larger
        matrix. What is above the diagonal is not touched.
    before : (m, k) array, optional

    Returns
    -------
    int
        0, or LAPACK's info of the panel that is not positive definite.
    """
    m, p = A.shape
    known = 0 if before is None else before.shape[1]
    for columns in panels(p, WIDTH):
        corner, width = A[columns, : columns.start], columns.stop - columns.start

        def rest(rows: slice, columns: slice = columns, corner: Array = corner) -> Array:
            out = A[rows, columns] - (corner @ A[rows, : columns.start].T).T
            if before is not None:
                out -= (before[columns] @ before[rows].T).T
            return out

        factor, info = lapack.dpotrf(rest(columns), lower=1)
        if info:
            return int(info)
        A[columns, columns] = factor + np.triu(A[columns, columns], 1)
        flops = 2.0 * width * (columns.start + known + width)
        for rows in pieces(columns.stop, m, flops):
            A[rows, columns] = blas.dtrsm(1.0, factor, rest(rows), side=1, lower=1, trans_a=1)
    return 0


def packed_parts(packed: Array, p: int) -> tuple[Array, Array]:
    """Views of a triangle in rectangular full packed format.

    The first is the (p, p − p//2) trapezoid of its first columns, the second the triangle of the
    others, both lower. Each keeps above its diagonal what belongs to the other.
    """
    even, half = 1 - p % 2, p // 2
    Q = packed.reshape((p + even, p - half), order="F")
    return Q[even:], Q[:half, 1 - even : 1 - even + half].T


def pack(M: Array) -> Array:
    """The lower triangle of a symmetric matrix in rectangular full packed format."""
    p = len(M)
    if p <= WHOLE:
        return np.asarray(lapack.dtrttf(M.T, uplo="L")[0])
    packed = np.empty(p * (p + 1) // 2)
    first, second = packed_parts(packed, p)
    for part, source in ((first, M.T), (second, M[p - p // 2 :, p - p // 2 :])):
        for columns in panels(part.shape[1], WIDTH):
            square = part[columns, columns]
            np.copyto(square, source[columns, columns], where=np.tri(len(square), dtype=bool))
            part[columns.stop :, columns] = source[columns.stop : len(part), columns]
    return packed


def unpack(packed: Array, p: int) -> Array:
    """The lower triangle of a packed one, in Fortran order."""
    if p <= WHOLE:
        return np.asarray(lapack.dtfttr(p, packed, uplo="L")[0])
    out = np.zeros((p, p), order="F")
    first, second = packed_parts(packed, p)
    half = first.shape[1]
    for columns in panels(half, WIDTH):
        out[columns.start :, columns] = first[columns.start :, columns]
    for columns in panels(p - half, WIDTH):
        at = slice(half + columns.start, half + columns.stop)
        out[at.start :, at] = second[columns.start :, columns]
    return out


def factorise_packed(packed: Array, p: int) -> int:
    """Overwrite a packed triangle by its Cholesky factor; LAPACK's info."""
    if p <= WHOLE:
        return int(lapack.dpftrf(p, packed, uplo="L", overwrite_a=1)[1])
    first, second = packed_parts(packed, p)
    return _factorise(first) or _factorise(second, first[first.shape[1] :])


def invert_lower(F: Array) -> int:
    """Overwrite a lower triangle in Fortran order by its inverse; LAPACK's info.

    What is above the diagonal is not touched.
    """
    p = len(F)
    if p <= WHOLE:
        return int(lapack.dtrtri(F, lower=1, overwrite_c=1)[1])
    for columns in reversed(list(panels(p, WIDTH))):
        inverse, info = lapack.dtrtri(np.tril(F[columns, columns]), lower=1)
        if info:
            return int(info)
        below = F[columns.stop :, columns] @ inverse
        for panel in panels(len(below), WIDTH):
            rows = slice(columns.stop + panel.start, columns.stop + panel.stop)
            out = F[rows, columns.stop : rows.start] @ below[: panel.start]
            F[rows, columns] = -out - np.tril(F[rows, rows]) @ below[panel]
        F[columns, columns] = np.tril(inverse) + np.triu(F[columns, columns], 1)
    return 0


def factorise_pivoted(A: Array, tolerance: float) -> tuple[NDArray[np.intp], int]:
    """Overwrite a lower triangle by its pivoted Cholesky factor; the order of rows, and the rank.

    The array is in Fortran order. The largest diagonal entry that is left comes next, until none
    exceeds the tolerance.
    """
    p = len(A)
    if p <= WHOLE:
        _, pivots, rank, _ = lapack.dpstrf(A, tol=tolerance, lower=1, overwrite_a=1)
        return pivots - 1, int(rank)
    order, diagonal = np.arange(p), A.diagonal().copy()
    for columns in panels(p, NARROW):
        for j in range(columns.start, columns.stop):
            q = j + int(np.argmax(diagonal[j:]))
            if not diagonal[q] > tolerance:
                return order, j
            _swap(A, j, q)
            for values in (order, diagonal):
                values[[j, q]] = values[[q, j]]
            A[j, j] = np.sqrt(diagonal[j])
            A[j + 1 :, j] -= A[j + 1 :, columns.start : j] @ A[j, columns.start : j]
            A[j + 1 :, j] /= A[j, j]
            diagonal[j + 1 :] -= A[j + 1 :, j] ** 2
        for later in panels(p - columns.stop, WIDTH):
            at = slice(columns.stop + later.start, columns.stop + later.stop)
            A[at.start :, at] -= (A[at, columns] @ A[at.start :, columns].T).T
    return order, p


def _swap(A: Array, j: int, q: int) -> None:
    """Exchange rows and columns j ≤ q of a symmetric matrix, of which the lower triangle is kept.

    Its diagonal is kept elsewhere.
    """
    if j == q:
        return
    A[[j, q], :j] = A[[q, j], :j]
    between = A[j + 1 : q, j].copy()
    A[j + 1 : q, j], A[q, j + 1 : q] = A[q, j + 1 : q], between
    A[q + 1 :, [j, q]] = A[q + 1 :, [q, j]]


def eigenvalues(M: Array) -> Array:
    """Eigenvalues of a symmetric matrix, ascending."""
    if len(M) <= WHOLE_EIGEN:
        return np.asarray(eigh(M, eigvals_only=True, driver="evd", check_finite=False))
    diagonal, beside, _ = tridiagonal(M)
    return np.asarray(eigvalsh_tridiagonal(diagonal, beside, check_finite=False))


def eigen(M: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix."""
    if len(M) <= WHOLE_EIGEN:
        values, V = eigh(M, driver="evd", check_finite=False)
        return values, V
    diagonal, beside, reflections = tridiagonal(M)
    driver = "stevd" if hasattr(lapack, "dstevd") else "stemr"
    values, V = eigh_tridiagonal(diagonal, beside, lapack_driver=driver, check_finite=False)
    Vt = np.ascontiguousarray(V.T)
    for start, U in reversed(reflections):
        # (I − u₁u₁ᵀ)(I − u₂u₂ᵀ)… = I − U T Uᵀ, where T is upper and T⁻¹ + T⁻ᵀ = UᵀU.
        inverse = np.triu(U.T @ U, 1) + np.diag(np.einsum("ij,ij->j", U, U) / 2)
        unused = np.flatnonzero(inverse.diagonal() == 0)  # where u = 0
        inverse[unused, unused] = 1.0
        T, _ = lapack.dtrtri(inverse)
        for rows in pieces(0, len(Vt), 4.0 * U.size):
            Vt[rows, start:] -= (Vt[rows, start:] @ U) @ T.T @ U.T
    return values, Vt.T


def tridiagonal(M: Array) -> tuple[Array, Array, list[tuple[int, Array]]]:
    """Diagonal and subdiagonal of QᵀMQ, and Q as panels of reflections I − uuᵀ with |u|² = 2.

    A reflection zeroes what is below the subdiagonal of one column. Within a panel, the other
    columns are updated only when their turn comes (LAPACK's dlatrd), so that half of the work is
    products of matrices.
    """
    n = len(M)
    A = np.array(M, order="F")
    diagonal, beside, found = np.empty(n), np.empty(max(n - 1, 0)), []
    for panel in panels(n, NARROW):
        m, width = len(A), panel.stop - panel.start
        U, W = np.zeros((m, width), order="F"), np.zeros((m, width), order="F")
        for j in range(width):
            column = A[j:, j] - U[j:, :j] @ W[j, :j] - W[j:, :j] @ U[j, :j]
            diagonal[panel.start + j] = column[0]
            if j + 1 == m:
                break
            u, beside[panel.start + j] = _reflection(column[1:])
            U[j + 1 :, j] = u
            w = blas.dsymv(1.0, A, U[:, j], lower=1) - U @ (W.T @ U[:, j]) - W @ (U.T @ U[:, j])
            W[j + 1 :, j] = w[j + 1 :] - (w[j + 1 :] @ u) / 2 * u
        found.append((panel.start, U))
        A = blas.dsyr2k(-1.0, U, W, beta=1.0, c=A, lower=1, overwrite_c=1)
        A = np.asfortranarray(A[width:, width:])
    return diagonal, beside, found


def _reflection(x: Array) -> tuple[Array, float]:
    """The u, |u|² = 2 or u = 0, and s with (I − uuᵀ) x = (s, 0, …, 0)."""
    scale = float(np.abs(x).max())
    if scale <= TINY or not x[1:].any():
        return np.zeros_like(x), float(x[0])
    u = x / scale
    s = -np.copysign(np.linalg.norm(u), u[0])
    u[0] -= s
    return u * (np.sqrt(2) / np.linalg.norm(u)), float(s * scale)
