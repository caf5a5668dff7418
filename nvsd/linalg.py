"""Solve (M0 + κ M1) x = b for many right-hand sides and many κ, from one set-up.

Vectors are rows: an array (k, p) holds k right-hand sides contiguously, which is the Fortran
layout LAPACK wants for its (p, k) argument, so nothing is copied.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, lapack, solve_triangular

Array = NDArray[np.float64]

# One diagonalisation costs as much as 14 to 25 Cholesky factorisations (measured at p = 2000 and
# 500) and serves every κ at once; a path needs about six, so only tiny systems are diagonalised.
DIAGONALISE_BELOW = 200


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

    def smallest_pivot(self, kappa: float) -> float:
        """A pivot of M0 + κ M1 that is as small as M0 alone would give, if M1 is singular."""
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
    if method not in ("auto", "cholesky", "diagonal"):
        raise ValueError(f"s1 = {method!r} is unknown; give 'auto', 'cholesky' or 'diagonal'.")
    if method == "diagonal" or (method == "auto" and len(M1) <= DIAGONALISE_BELOW):
        return DiagonalSystem(M1, M0)
    return CholeskySystem(M1, M0)


class CholeskySystem:
    """One Cholesky factor of M0 + κ M1 per κ, p³/3 flops each; the latest few are kept."""

    any_kappa = False

    def __init__(self, M1: Array, M0: Array | None = None, memory: float = 2e9) -> None:
        self._M1, self._M0 = M1, M0
        self.kappa_unit = _unit(M1, M0)
        self._keep = max(2, int(memory / M1.nbytes))
        self._factors: OrderedDict[float, Array] = OrderedDict()
        self.n_factorisations = 0

    def solve(self, kappa: Array, B: Array) -> Array:
        """Rows x_j with (M0 + κ_j M1) x_j = b_j."""
        values = np.unique(kappa)
        if len(values) == 1:
            return cholesky_solve(self._factor(float(values[0])), B)
        X = np.empty_like(B)
        for value in values:
            rows = kappa == value
            X[rows] = cholesky_solve(self._factor(float(value)), B[rows])
        return X

    def smallest_pivot(self, kappa: float) -> float:
        """Smallest squared diagonal entry of the Cholesky factor."""
        return float(np.min(self._factor(kappa).diagonal() ** 2))

    def _factor(self, kappa: float) -> Array:
        if kappa in self._factors:
            self._factors.move_to_end(kappa)
        else:
            while len(self._factors) >= self._keep:
                self._factors.popitem(last=False)
            M = kappa * self._M1
            if self._M0 is None:
                np.einsum("ii->i", M)[...] += 1.0
            else:
                M += self._M0
            self._factors[kappa] = cholesky(M)
            self.n_factorisations += 1
        return self._factors[kappa]


class DiagonalSystem:
    """W with Wᵀ M0 W = I and Wᵀ M1 W = Λ, so that every κ is an elementwise division."""

    any_kappa = True

    def __init__(self, M1: Array, M0: Array | None = None) -> None:
        self.kappa_unit = _unit(M1, M0)
        if M0 is None:
            eigenvalues, self._W = eigh(M1, driver="evd", check_finite=False)
        else:
            # M0 = LLᵀ, L⁻¹ M1 L⁻ᵀ = VΛVᵀ, W = L⁻ᵀV.
            factor = cholesky(M0.copy())
            whitened = half_solve(factor, half_solve(factor, M1).T)
            eigenvalues, V = eigh(whitened, driver="evd", check_finite=False)
            self._W = solve_triangular(factor, V, lower=True, trans="T", check_finite=False)
        self._lambda = np.maximum(eigenvalues, 0.0)

    def solve(self, kappa: Array, B: Array) -> Array:
        """Rows x_j with (M0 + κ_j M1) x_j = b_j."""
        X: Array = ((B @ self._W) / (1.0 + kappa[:, None] * self._lambda)) @ self._W.T
        return X

    def smallest_pivot(self, kappa: float) -> float:
        """Smallest eigenvalue of M0⁻¹(M0 + κ M1)."""
        return 1.0 + kappa * float(self._lambda.min())


def _unit(M1: Array, M0: Array | None) -> float:
    """The κ at which both terms have the same trace."""
    trace = float(np.trace(M1))
    return (len(M1) if M0 is None else float(np.trace(M0))) / trace if trace > 0 else 1.0


def cholesky(M: Array, repair: bool = True) -> Array:
    """Factor a symmetric matrix in place and return it as a Fortran-ordered lower triangle.

    Rounding can leave a matrix that is positive definite on paper with a tiny negative pivot;
    to repair it, the smallest of a few multiples of its largest entry is added to the diagonal. The
    duality gap is computed without this factor: it would show if that changed the solution.
    """
    F = M.T
    diagonal = F.diagonal().copy()
    for jitter in (0.0, 1e-15, 1e-13, 1e-11) if repair else (0.0,):
        if jitter:
            # A failed factorisation leaves the other triangle as it was.
            F[...] = np.triu(F, 1) + np.triu(F, 1).T
            np.fill_diagonal(F, diagonal + jitter * diagonal.max())
        factor, info = lapack.dpotrf(F, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            return np.asarray(factor)
    raise np.linalg.LinAlgError("the matrix is not positive definite")


def cholesky_solve(factor: Array, B: Array) -> Array:
    """Rows x_j with L Lᵀ x_j = b_j for a factor of `cholesky`."""
    X, _ = lapack.dpotrs(factor, B.T, lower=1)
    return np.ascontiguousarray(X.T)


def half_solve(factor: Array, B: Array) -> Array:
    """Rows x_j with L x_j = b_j for a factor of `cholesky`: |x_j|² = b_jᵀ (L Lᵀ)⁻¹ b_j."""
    X, _ = lapack.dtrtrs(factor, B.T, lower=1)
    return np.ascontiguousarray(X.T)
