"""Solve (M0 + κ M1) x = b for many right-hand sides and many κ, from one set-up.

Vectors are rows, as in `nvsd.linalg.factors`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack, solve_triangular

from nvsd.linalg import in_pieces
from nvsd.linalg.factors import (
    COLUMN_BY_COLUMN,
    cholesky,
    half_solve,
    product,
    safe_threads,
    triangular_inverse,
)
from nvsd.linalg.in_pieces import pack, unpack
from nvsd.tolerances import JITTERS, TINY

Array = NDArray[np.float64]

# One diagonalisation costs as much as 14 to 25 Cholesky factorisations (measured at p = 2000 and
# 500) and serves every κ at once; a path needs about six, so only tiny systems are diagonalised.
DIAGONALISE_BELOW = 200

KEPT_BYTES = 2e9  # memory for the factors of different κ


class ShiftedSystem(Protocol):
    """What S1 needs: (M0 + κ M1)⁻¹ applied to rows, with one κ per row.

    Attributes
    ----------
    any_kappa : bool
        Whether different κ in one call cost nothing extra.
    kappa_unit : float
        The κ at which M0 and κ M1 are of the same size.
    """

    any_kappa: bool
    kappa_unit: float

    def solve(self, kappa: Array, B: Array) -> Array:
        """Rows x_j with (M0 + κ_j M1) x_j = b_j."""
        ...

    def solve_roughly(self, kappa: Array, B: Array) -> Array:
        """The same with errors of single precision, if that is faster."""
        ...

    def with_diagonal(self, diagonal: Array) -> ShiftedSystem | None:
        """The system with this diagonal in place of the identity; None if M0 is another matrix."""
        ...

    def smallest_pivot(self, kappa: float) -> float:
        """A pivot of M0 + κ M1; if M1 is singular, it is as small as a pivot of M0 alone."""
        ...

    def inverse_factor(self, kappa: float) -> Array | None:
        """C⁻¹ with M0 + κ M1 = C Cᵀ, lower, if its factor is at hand."""
        ...


def shifted_system(M1: Array, M0: Array | None = None, method: str = "auto") -> ShiftedSystem:
    """Choose between one Cholesky factor per κ and one diagonalisation for all κ.

    Parameters
    ----------
    M1 : (p, p) array, symmetric positive semi-definite
    M0 : (p, p) array, symmetric positive definite, optional
        The identity when left out.
    method : {"auto", "cholesky", "diagonal"}
        "auto" diagonalises small systems, where the set-up is negligible, and keeps Cholesky
        factors for large ones.
    """
    check_method(method)
    if method == "diagonal" or (method == "auto" and len(M1) <= DIAGONALISE_BELOW):
        return DiagonalSystem(M1, M0)
    return CholeskySystem(M1, M0)


def check_method(method: str) -> None:
    """Refuse a method that `shifted_system` does not have."""
    if method not in ("auto", "cholesky", "diagonal"):
        raise ValueError(f"s1 = {method!r} is unknown; give 'auto', 'cholesky' or 'diagonal'.")


class CholeskySystem:
    """One Cholesky factor of M0 + κ M1 per κ, p³/3 flops each; the latest few are kept.

    Matrices and factors are in LAPACK's rectangular full packed format. It takes half the memory at
    the same speed, and touching new memory costs as much time as the flops.
    """

    any_kappa = False

    def __init__(self, M1: Array, M0: Array | None = None, memory: float = KEPT_BYTES) -> None:
        self._order, self._diagonal = len(M1), packed_diagonal(len(M1))
        self._added: float | Array = 1.0  # to the diagonal, if there is no M0
        # Few factors fit: then a packed copy of what the caller keeps would be a fifth of all.
        self._large = M0 is None and 8.0 * M1.size > memory
        self._M1 = M1 if self._large else pack(M1)
        self._M0 = None if M0 is None else pack(M0)
        self.kappa_unit = _unit(M1, M0)
        self._keep = max(2, int(memory / (4 * M1.size)))
        # Factors in single precision are kept by −κ; large orders do without them, for the memory.
        self._factors: OrderedDict[float, Any] = OrderedDict()
        self._rough = M0 is None and not self._large and len(M1) <= in_pieces.WHOLE
        self._full = (M1 if M1.flags.c_contiguous else M1.T) if self._rough else M1[:0]
        self.n_factorisations = 0

    def with_diagonal(self, diagonal: Array) -> CholeskySystem | None:
        """It shares M1, and has factors of its own: one fewer, as this one may keep one."""
        if self._M0 is not None:
            return None
        other = copy(self)
        other._keep = max(1, self._keep - 1)
        other._added, other._factors, other.n_factorisations = diagonal, OrderedDict(), 0
        other.kappa_unit = self.kappa_unit * float(np.mean(diagonal))
        return other

    def solve(self, kappa: Array, B: Array) -> Array:
        """Rows x_j with (M0 + κ_j M1) x_j = b_j."""
        return _for_each(kappa, B, self._solve)

    def solve_roughly(self, kappa: Array, B: Array) -> Array:
        """The same by factors in single precision, if M0 is the identity."""
        return _for_each(kappa, B, self._solve_roughly if self._rough else self._solve)

    def _solve(self, kappa: float, B: Array) -> Array:
        factor, X = self._factor(kappa), np.array(B, order="C")
        for rows in in_pieces.pieces(0, len(X), 2.0 * self._order**2):
            lapack.dpftrs(self._order, factor, X[rows].T, uplo="L", overwrite_b=1)
        return X

    def _solve_roughly(self, kappa: float, B: Array) -> Array:
        """The same in single precision, scaled so that it does not overflow."""
        factor = self._kept(-kappa, self._factorise_roughly)
        if factor is None:
            return self._solve(kappa, B)
        sizes = np.maximum(np.abs(B).max(axis=1, keepdims=True), TINY)
        X = (B / sizes).astype(np.float32)
        if len(X) <= COLUMN_BY_COLUMN:
            for x in X:
                half = blas.strsv(factor, x, lower=1, overwrite_x=1)
                blas.strsv(factor, half, lower=1, trans=1, overwrite_x=1)
        else:
            X = lapack.spotrs(factor, X.T, lower=1, overwrite_b=1)[0].T
        return np.asarray(X * sizes)

    def _factorise_roughly(self, kappa: float) -> NDArray[np.float32] | None:
        """A factor in single precision, None if rounding has made the matrix indefinite."""
        M = np.empty(self._full.shape, dtype=np.float32, order="F")
        np.multiply(self._full.T, -kappa, out=M, casting="same_kind")
        M[np.diag_indices(self._order)] += np.asarray(self._added, dtype=np.float32)
        with safe_threads(self._order):
            factor, info = lapack.spotrf(M, lower=1, clean=0, overwrite_a=1)
        return None if info else factor

    def smallest_pivot(self, kappa: float) -> float:
        """Smallest squared diagonal entry of the Cholesky factor."""
        return float(np.min(self._factor(kappa)[self._diagonal] ** 2))

    def inverse_factor(self, kappa: float) -> Array | None:
        """C⁻¹ as a lower triangle, if the factor C of M0 + κ M1 is among those kept."""
        factor = self._factors.get(kappa)
        if self._large:  # an inverse, here or by the caller, takes the memory of two factors
            self._factors.clear()
        if factor is None:
            return None
        inverse, info = triangular_inverse(unpack(factor, self._order))
        return None if info else inverse

    def _factor(self, kappa: float) -> Array:
        return np.asarray(self._kept(kappa, self._factorise))

    def _kept(self, kappa: float, factorise: Callable[[float], Any]) -> Any:
        # Threads may share this: a thread keeps its factor even if another one drops it here.
        known = kappa in self._factors
        factor = self._factors.pop(kappa, None)
        with suppress(KeyError):
            while len(self._factors) >= self._keep:
                self._factors.popitem(last=False)
        if factor is None and not known:
            factor = factorise(kappa)
            self.n_factorisations += 1
        self._factors[kappa] = factor
        return factor

    def _factorise(self, kappa: float) -> Array:
        for jitter in JITTERS:
            M1 = pack(self._M1) if self._large else self._M1
            M = M1 if self._large else np.empty_like(M1)
            for part in in_pieces.pieces(0, len(M), in_pieces.NEW):
                np.multiply(M1[part], kappa, out=M[part])
                if self._M0 is not None:
                    M[part] += self._M0[part]
            if self._M0 is None:
                M[self._diagonal] += self._added
            M[self._diagonal] += jitter * M[self._diagonal].max()
            if in_pieces.factorise_packed(M, self._order) == 0:
                return M
        raise np.linalg.LinAlgError("the matrix is not positive definite")


def _for_each(kappa: Array, B: Array, solve: Callable[[float, Array], Array]) -> Array:
    """Solve for all rows with the same κ at once."""
    if (kappa == kappa[:1]).all():
        return solve(float(kappa[0]), B)
    X = np.empty_like(B)
    for value in np.unique(kappa):
        rows = kappa == value
        X[rows] = solve(float(value), B[rows])
    return X


def packed_diagonal(p: int) -> NDArray[np.intp]:
    """Where `pack` puts the diagonal.

    The packed array is a matrix of p or p + 1 rows, stored by columns. Below its diagonal is the
    first half of the triangle; above it is the second half, transposed.
    """
    half = p // 2
    rows, first = (p, p - half) if p % 2 else (p + 1, half)
    i, j = np.arange(first), np.arange(half)
    shift = p % 2
    return np.concatenate([i + 1 - shift + i * rows, j + (j + shift) * rows])


class DiagonalSystem:
    """W with Wᵀ M0 W = I and Wᵀ M1 W = Λ, so that every κ is an elementwise division."""

    any_kappa = True

    def __init__(self, M1: Array, M0: Array | None = None) -> None:
        self.kappa_unit = _unit(M1, M0)
        self._M1 = M1 if M0 is None else None
        if M0 is None:
            eigenvalues, self._W = in_pieces.eigen(M1)
        else:
            # M0 = LLᵀ, L⁻¹ M1 L⁻ᵀ = VΛVᵀ, W = L⁻ᵀV.
            factor = cholesky(M0.copy())
            whitened = half_solve(factor, half_solve(factor, M1).T)
            eigenvalues, V = in_pieces.eigen(whitened)
            self._W = solve_triangular(factor, V, lower=True, trans="T", check_finite=False)
        self._lambda = np.maximum(eigenvalues, 0.0)

    def solve(self, kappa: Array, B: Array) -> Array:
        """Rows x_j with (M0 + κ_j M1) x_j = b_j."""
        return product(product(B, self._W) / (1.0 + kappa[:, None] * self._lambda), self._W.T)

    def with_diagonal(self, diagonal: Array) -> DiagonalSystem | None:
        """Another decomposition."""
        return None if self._M1 is None else DiagonalSystem(self._M1, np.diag(diagonal))

    def solve_roughly(self, kappa: Array, B: Array) -> Array:
        """The same: small systems gain nothing."""
        return self.solve(kappa, B)

    def inverse_factor(self, kappa: float) -> None:
        """None: it has no factors."""

    def smallest_pivot(self, kappa: float) -> float:
        """Smallest eigenvalue of M0⁻¹(M0 + κ M1)."""
        return 1.0 + kappa * float(self._lambda.min())


def _unit(M1: Array, M0: Array | None) -> float:
    """The κ at which both terms have the same trace."""
    trace = float(np.trace(M1))
    return (len(M1) if M0 is None else float(np.trace(M0))) / trace if trace > 0 else 1.0
