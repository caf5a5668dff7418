"""Norms of the diagonal blocks of H = Z A⁻¹ Zᵀ and of H⁻¹: what turns a gap into intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack

from nvsd.linalg import (
    cholesky,
    eigenvalues,
    gram,
    in_pieces,
    mirror,
    pieces,
    triangular_inverse,
)

Array = NDArray[np.float64]

LARGEST_CHANGE = 0.05  # of bounds of H⁻¹ that come from the factor of another matrix


def row_sum_norm(M: Array) -> float:
    """max_i Σ_j |M_ij| ≥ ‖M‖₂ for a symmetric M; nothing of its size is formed."""
    return max(float(lapack.dlange("1", M[rows].T)) for rows in pieces(0, len(M), 8.0 * M.shape[1]))


def largest_eigenvalue(M: Array) -> float:
    """Of a symmetric matrix."""
    if len(M) == 1:
        return float(M[0, 0])
    if len(M) > in_pieces.WHOLE_EIGEN:
        return float(eigenvalues(M)[-1])
    last = len(M) - 1
    found = eigh(M, eigvals_only=True, subset_by_index=(last, last), check_finite=False)
    return float(found[0])


def block_ranges(H: Array, d: int) -> tuple[Array, Array]:
    """The least and the largest eigenvalue of each of the d diagonal blocks of equal order."""
    found = [eigenvalues(H[rows, rows])[[0, -1]] for rows in _blocks(H, d)]
    least, largest = np.transpose(found)
    return least, largest


def inverse_block_norms(H: Array, d: int, error: float) -> Array:
    """Upper bounds of ‖(H⁻¹)_aa‖₂; inf unless H is surely positive definite.

    Notes
    -----
    What is factorised is M = H − 2 error I, where ``error`` bounds the norm of the rounding errors
    of H, and those of the factorisation. If that succeeds, the exact H is at least M, and so
    (H⁻¹)_aa is at most (M⁻¹)_aa. With M = CCᵀ that is the Gram matrix of the columns a of C⁻¹.
    """
    M = np.array(H)
    M[np.diag_indices(len(M))] -= 2.0 * error
    try:
        factor = cholesky(M, repair=False)
    except np.linalg.LinAlgError:
        return np.full(d, np.inf)
    C, info = triangular_inverse(factor)
    return np.full(d, np.inf) if info else _norms_of_inverse(C, d)


def shifted_inverse_block_norms(C: Array, d: int, kappa: float, shift: float) -> Array | None:
    """Upper bounds of ‖(H⁻¹)_aa‖₂ from G = (CᵀC)⁻¹/κ ≤ H + shift I.

    None if the shift changes them by more than a twentieth: then H itself must be factorised.

    Notes
    -----
    With β ≥ ‖G⁻¹‖₂ the identity is at most βG, and so (1 − shift β) G ≤ G − shift I ≤ H. The norm
    of a positive matrix is at most the sum of the norms of its diagonal blocks: that is β.
    """
    found = kappa * _norms_of_inverse(C, d)
    change = shift * float(found.sum())
    return found / (1.0 - change) if change <= LARGEST_CHANGE else None


def _norms_of_inverse(C: Array, d: int) -> Array:
    """‖(CᵀC)_aa‖₂ of a lower triangle; what is above its diagonal is ignored."""
    found = np.empty(d)
    for a, rows in enumerate(_blocks(C, d)):
        panel = np.ascontiguousarray(C[rows.start :, rows].T)
        panel[:, : len(panel)] = np.triu(panel[:, : len(panel)])
        # By the BLAS of the other steps: two of them in turn took five times as long.
        found[a] = largest_eigenvalue(gram(panel))
    return np.where(np.isfinite(found), found, np.inf)


def inverse_of(factor: Array) -> Array:
    """A⁻¹ from its Cholesky factor."""
    if len(factor) > in_pieces.WHOLE:
        C, _ = triangular_inverse(factor.copy(order="F"))
        return gram(np.tril(C).T)
    lower, _ = lapack.dpotri(factor, lower=1)
    inverse = np.asarray(lower).T
    mirror(inverse)
    return inverse


def _blocks(H: Array, d: int) -> list[slice]:
    order = len(H) // d
    return [slice(a * order, (a + 1) * order) for a in range(d)]
