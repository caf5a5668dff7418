"""Representations with explicit features Φ: θ itself is the unknown, of order r for any n.

What the solver needs of the n rows is ΦᵀΦ, Φᵀy and ‖y‖², sums over the rows; the rows of Z can be
fewer than n. `FeatureSpace` holds these; its subclasses make them from a kernel.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from nvsd._checks import ROUNDING, refuse_rounding
from nvsd.blocks import Rows
from nvsd.checkpoint import Checkpoint
from nvsd.kernels import Kernel
from nvsd.linalg import cholesky, cholesky_solve, half_solve, product, shifted_system
from nvsd.moments import Basis, Moments
from nvsd.monomials import Monomials
from nvsd.representation import Problem, Representation

Array = NDArray[np.float64]

SINGULAR = 1e-11  # what is left of a pivot of a singular matrix after rounding
REFINEMENTS = 4  # of α and β that are made from θ
REPRESENTS = 1e-6  # of the largest coefficient: what α and β may miss of θ
ROUNDED = 1e-3  # of the largest value: rounding errors that sums with α and β may have


class DerivativeMap(Protocol):
    """Z, scaled by 1/√n: from θ to the derivatives."""

    shape: tuple[int, int]

    def forward(self, theta: Array) -> Array:
        """Zθ for each row θ."""
        ...

    def adjoint(self, V: Array) -> Array:
        """Zᵀv for each v."""
        ...

    def gram(self) -> Array:
        """B = ZᵀZ."""
        ...


class DenseMap:
    """Z as an array (d*rows, r)."""

    def __init__(self, Z: Array, d: int) -> None:
        self._Z, self.shape = Z, (d, len(Z) // d)

    def forward(self, theta: Array) -> Array:
        """Zθ for each row θ."""
        return product(theta, self._Z.T).reshape(-1, *self.shape)

    def adjoint(self, V: Array) -> Array:
        """Zᵀv for each v."""
        return product(V.reshape(len(V), -1), self._Z)

    def gram(self) -> Array:
        """B = ZᵀZ."""
        return np.asarray(self._Z.T @ self._Z)


class MonomialMap:
    """Z_a = Ψ T_a: one small dense matrix for all inputs, and sparse maps with one entry a row."""

    def __init__(self, Psi: Array, monomials: Monomials) -> None:
        self._Psi, self._T = Psi, monomials.T
        self._T_transposed = monomials.T.T.tocsr()
        self.shape = (monomials.d, len(Psi))

    def forward(self, theta: Array) -> Array:
        """Zθ for each row θ."""
        lower = (self._T @ theta.T).T
        blocks = np.ascontiguousarray(lower).reshape(len(theta) * self.shape[0], -1)
        return product(blocks, self._Psi.T).reshape(-1, *self.shape)

    def adjoint(self, V: Array) -> Array:
        """Zᵀv for each v."""
        lower = product(V.reshape(-1, self.shape[1]), self._Psi).reshape(len(V), -1)
        return np.ascontiguousarray((self._T_transposed @ lower.T).T)

    def gram(self) -> Array:
        """B = Σ_a T_aᵀ ΨᵀΨ T_a, each summand on the few columns that ∂_a reaches."""
        (d, _), q = self.shape, self._Psi.shape[1]
        B = np.zeros((self._T.shape[1],) * 2)
        inner = self._Psi.T @ self._Psi
        columns = self._T.indices.reshape(d, q)
        values = self._T.data.reshape(d, q)
        for column, value in zip(columns, values, strict=True):
            B[np.ix_(column, column)] += np.outer(value, value) * inner
        return B


def _is_regular(A: Array, factor: Array) -> bool:
    """Whether no column is all but a combination of those before it, whatever their scales."""
    return bool((factor.diagonal() ** 2 > SINGULAR * A.diagonal()).all())


class FeatureSpace(Representation):
    """A, B = ZᵀZ and the map Z for explicit features."""

    def __init__(self, gram: Array, n: int, Z: DerivativeMap, nu: float, s1: str) -> None:
        self.n, self.nu, self.Z, self.shape = n, nu, Z, Z.shape
        self.A = gram * (2.0 / n)
        self.A[np.diag_indices(len(self.A))] += 2.0 * nu
        self.A_factor = self._factorised(float(gram.diagonal().max()) / n)
        self.system = shifted_system(Z.gram(), self.A, method=s1)

    def _factorised(self, largest: float) -> Array:
        """The Cholesky factor of A; largest is the kernel's largest value, about.

        Where ΦᵀΦ itself is well conditioned any ν will do; elsewhere it must stand out from the
        rounding errors.
        """
        if not np.isfinite(largest):
            refuse_rounding(self.nu, largest)
        if self.nu > 0:
            factor = cholesky(self.A.copy())
            if np.min(factor.diagonal() ** 2) <= SINGULAR * self.A.diagonal().max():
                refuse_rounding(self.nu, largest)
            return factor
        try:
            factor = cholesky(self.A.copy(), repair=False)
            if _is_regular(self.A, factor):
                return factor
        except np.linalg.LinAlgError:
            pass
        raise ValueError(
            f"nu = 0 leaves the least-squares part singular: {self.n} samples do not determine "
            f"{len(self.A)} features; give nu > 0 or more samples."
        )

    def problem(self, y: Array) -> Problem:
        """The problem for this y."""
        return FeatureProblem(self, (2.0 / self.n) * self.correlate(y), float(y @ y) / self.n, y)

    @abstractmethod
    def correlate(self, y: Array) -> Array:
        """Return Φᵀy."""

    @abstractmethod
    def evaluate(self, theta: Array) -> Array | None:
        """Φθ for each row θ, or None where the samples were not kept."""

    def size(self) -> int:
        """Order r of A + κB."""
        return len(self.A)

    def full_row_rank(self) -> bool:
        """Not known without another factorisation, and seldom so where features pay."""
        return False

    def alpha_beta(self, theta: Array, residual: Array | None, U: Array) -> dict[str, Array]:
        """The same f on the samples, where θ lives there; otherwise θ itself."""
        return {"theta": theta}


class MonomialSpace(FeatureSpace):
    """Polynomial kernels by their monomials; above q samples, n leaves the iteration.

    ‖∂_a f‖² = θᵀT_aᵀ (ΨᵀΨ/n) T_aθ needs of the samples only the q×q matrix ΨᵀΨ, so any root of it
    can stand for Ψ.
    """

    kind = "monomial"
    KEEP = 2**25  # numbers of Φ that are kept; with more, the samples are summed

    def __init__(self, X: Array, monomials: Monomials, nu: float, s1: str = "auto") -> None:
        n = len(X)
        self.Phi = monomials.features(X)
        Psi = monomials.lower(X)
        if n > monomials.q:
            Psi = np.asarray(np.linalg.qr(Psi, mode="r"), dtype=float)
        Z = MonomialMap(Psi / np.sqrt(n), monomials)
        super().__init__(self.Phi.T @ self.Phi, n, Z, nu, s1)

    def correlate(self, y: Array) -> Array:
        """Return Φᵀy."""
        return np.asarray(y @ self.Phi)

    def evaluate(self, theta: Array) -> Array | None:
        """Return Φθ."""
        return product(theta, self.Phi.T)

    def alpha_beta(self, theta: Array, residual: Array | None, U: Array) -> dict[str, Array]:
        """α = (y − f)/(nν) and β = −u/(2ν) from the stationarity of S1, and made to fit θ.

        With a small ν their rounding errors are large: what is left of θ − Φᵀα − √nZᵀβ is given to
        both by (A + κB)x = rest, which leaves 2νx of it. Where even that does not do, on data far
        from the origin, they would not be f: only θ is returned.
        """
        if residual is None or self.shape[1] != self.n or self.nu == 0.0:
            return {"theta": theta}
        root_n = np.sqrt(self.n)
        alpha = residual / (self.n * self.nu)
        beta = U / (-2.0 * self.nu * root_n)
        kappa = np.full(len(theta), self.system.kappa_unit)
        for _ in range(REFINEMENTS):
            rest = theta - product(alpha, self.Phi) - root_n * self.Z.adjoint(beta)
            x = self.system.solve(kappa, rest)
            alpha += (2.0 / self.n) * product(x, self.Phi.T)
            beta += (kappa[0] / root_n) * self.Z.forward(x)
        rest = theta - product(alpha, self.Phi) - root_n * self.Z.adjoint(beta)
        missed = np.abs(rest).max() / (np.abs(theta).max() or 1.0)
        # Kα has rounding errors of this size.
        largest = float(np.einsum("ir,ir->i", self.Phi, self.Phi).max())
        rounding = np.finfo(float).eps * largest * float(np.abs(alpha).sum(axis=1).max())
        values = float(np.abs(self.evaluate(theta)).max())  # type: ignore[arg-type]
        if missed > REPRESENTS or rounding > ROUNDED * values:
            return {"theta": theta}
        return {"theta": theta, "alpha": alpha, "beta": beta}


class SummedSpace(FeatureSpace):
    """Features of which only sums over the rows are kept; the rows come from anywhere.

    Attributes
    ----------
    moments : Moments
        The sums, with those of y if y came with the rows.
    """

    def __init__(
        self, rows: Rows, basis: Basis, moments: Moments, Z: DerivativeMap, nu: float, s1: str
    ) -> None:
        if moments.n < 2:
            raise ValueError(f"there is {moments.n} row; give at least 2 samples.")
        super().__init__(moments.gram, moments.n, Z, nu, s1)
        self.rows, self.basis = rows, basis
        self.moments = replace(moments, gram=np.empty((0, 0)))  # now part of A

    def own_problem(self, origin: float) -> Problem:
        """The problem for the y that came with the rows, measured from the origin."""
        moments = self.moments
        if moments.y_square <= self.n * (ROUNDING * moments.y_mean) ** 2:
            # A constant whose mean was rounded.
            zero = np.zeros_like(moments.correlation)
            moments = replace(moments, correlation=zero, y_square=0.0)
        correlation, square = moments.from_origin(origin)
        return FeatureProblem(self, (2.0 / self.n) * correlation, square / self.n)

    def correlate(self, y: Array) -> Array:
        """Φᵀy, by one more pass over the rows."""
        rows = self.rows.with_target(y)
        moments = rows.total(partial(Moments.of, self.basis, gram=False))
        return moments.from_origin(0.0)[0]

    def evaluate(self, theta: Array) -> Array | None:
        """The fit is not made for so many samples."""
        return None


class MonomialSums(SummedSpace):
    """`MonomialSpace` for any number of rows, in one pass."""

    kind = "monomial"

    def __init__(
        self,
        rows: Rows,
        monomials: Monomials,
        nu: float,
        s1: str = "auto",
        checkpoint: Checkpoint | None = None,
    ) -> None:
        moments = rows.total(partial(Moments.of, monomials), checkpoint)
        Z = MonomialMap(moments.root / np.sqrt(moments.n), monomials)
        super().__init__(rows, monomials, moments, Z, nu, s1)


class FactorSpace(FeatureSpace):
    """G = RRᵀ by pivoted Cholesky: exact for any kernel, of order rank(G)."""

    kind = "factor"

    def __init__(self, X: Array, kernel: Kernel, nu: float, s1: str = "auto") -> None:
        n, d = X.shape
        R, self._pivots = pivoted_cholesky(kernel.G(X))
        self._corner = R[self._pivots]
        self.Phi = np.ascontiguousarray(R[:n])
        Z = DenseMap(R[n:] / np.sqrt(n), d)
        super().__init__(self.Phi.T @ self.Phi, n, Z, nu, s1)

    def correlate(self, y: Array) -> Array:
        """Return Φᵀy."""
        return np.asarray(y @ self.Phi)

    def evaluate(self, theta: Array) -> Array | None:
        """Return Φθ."""
        return product(theta, self.Phi.T)

    def alpha_beta(self, theta: Array, residual: Array | None, U: Array) -> dict[str, Array]:
        """Solve Rᵀω = θ on the rows that the pivoting chose."""
        omega = np.zeros((len(theta), self.n * (self.shape[0] + 1)))
        omega[:, self._pivots] = solve_triangular(
            self._corner, theta.T, trans="T", lower=True, check_finite=False
        ).T
        return {"alpha": omega[:, : self.n], "beta": omega[:, self.n :].reshape(-1, *self.shape)}


def pivoted_cholesky(G: Array) -> tuple[Array, NDArray[np.intp]]:
    """R (N, r) with G = RRᵀ, and the r rows of it that form a lower triangle; G is overwritten."""
    tolerance = len(G) * np.finfo(float).eps * G.diagonal().max()
    factor, pivots, rank, _ = lapack.dpstrf(G.T, tol=tolerance, lower=1, overwrite_a=1)
    R = np.empty((len(G), rank))
    R[pivots - 1] = np.tril(factor[:, :rank])
    return R, pivots[:rank] - 1


class FeatureProblem(Problem):
    """min_θ ½θᵀAθ − bᵀθ + τJ(Zθ); C is θ."""

    representation: FeatureSpace

    def __init__(
        self, representation: FeatureSpace, b: Array, scale: float, y: Array | None = None
    ) -> None:
        self.representation, self.b, self.scale, self.y = representation, b, scale, y

    def s1(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """(A + κB)θ = b + κZᵀv."""
        rep = self.representation
        theta = rep.system.solve(kappa, self.b + kappa[:, None] * rep.Z.adjoint(V))
        return theta, rep.Z.forward(theta)

    def ridge(self) -> tuple[Array, Array]:
        """θ = A⁻¹b."""
        theta = cholesky_solve(self.representation.A_factor, self.b[None])
        return theta, self.derivatives(theta)

    def derivatives(self, C: Array) -> Array:
        """Return Zθ."""
        return self.representation.Z.forward(C)

    def half_distance(self, C: Array, U: Array) -> Array:
        """½ rᵀA⁻¹r with r = Aθ − b + Zᵀu."""
        rep = self.representation
        step = half_solve(rep.A_factor, product(C, rep.A) - self.b + rep.Z.adjoint(U))
        return np.asarray(0.5 * np.einsum("kp,kp->k", step, step))

    def parts(self, C: Array) -> tuple[Array, Array]:
        """The loss from the residuals, or from the sums over the rows, and ‖θ‖²."""
        rep = self.representation
        norm = np.einsum("kp,kp->k", C, C)
        residual = self._residual(C)
        if residual is not None:
            return np.einsum("ki,ki->k", residual, residual) / rep.n, norm
        curvature = 0.5 * np.einsum("kp,kp->k", product(C, rep.A), C) - rep.nu * norm
        return np.maximum(self.scale - C @ self.b + curvature, 0.0), norm

    def _residual(self, C: Array) -> Array | None:
        fitted = self.fitted(C)
        return None if fitted is None or self.y is None else self.y - fitted

    def fitted(self, C: Array) -> Array | None:
        """Φθ, where the samples were kept."""
        return self.representation.evaluate(C)

    def coefficients(self, C: Array, U: Array) -> dict[str, Array]:
        """What the representation has to offer."""
        return self.representation.alpha_beta(C, self._residual(C), U)
