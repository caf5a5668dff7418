"""From a kernel and the samples to what the solver sees, and back to α and β.

With Z scaled by 1/√n once, the solver sees

    minimise ½ (θ − A⁻¹b)ᵀ A (θ − A⁻¹b) + τ J(Zθ) + const,   A = 2νI + (2/n)ΦᵀΦ,  b = (2/n)Φᵀy,

and never a kernel. `FeatureSpace` works with θ itself; `DerivativeSpace` needs no features at all:
there θ stays implicit as θ(u) = A⁻¹(b − Zᵀu), and H = Z A⁻¹ Zᵀ and h = Z A⁻¹ b are computed from
the kernel. Neither depends on y until `problem(y)`; nothing in them depends on τ or the penalty.

Arrays that hold several points, one per τ, have the points first: z and u are (k, d, rows).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from nvsd.kernels import Kernel
from nvsd.linalg import ShiftedSystem, cholesky, cholesky_solve, half_solve, shifted_system
from nvsd.monomials import Monomials

Array = NDArray[np.float64]

FLAT_KAPPA = 1e9  # times the system's unit: so large that S1 all but enforces Zθ = v


class Representation(ABC):
    """What is known of the problem before y: n, d, the factorisations, and the way back.

    Attributes
    ----------
    shape : (int, int)
        d blocks of derivatives and the rows in each.
    system : ShiftedSystem
        Solves the linear system of S1 for every κ.
    """

    kind: ClassVar[str]
    n: int
    nu: float
    shape: tuple[int, int]
    system: ShiftedSystem

    @abstractmethod
    def problem(self, y: Array) -> Problem:
        """The problem for this y, sharing all factorisations."""

    @abstractmethod
    def size(self) -> int:
        """Order of the system that S1 factorises."""

    @abstractmethod
    def full_row_rank(self) -> bool:
        """Whether the rows of Z are surely independent: then Zᵀu determines u."""


class Problem(ABC):
    """A representation with its y. Points θ are held by coefficients C, one row each.

    Attributes
    ----------
    scale : float
        (1/n)‖y‖², the objective at f = 0.
    """

    representation: Representation
    scale: float

    @property
    def shape(self) -> tuple[int, int]:
        """d blocks of derivatives and the rows in each."""
        return self.representation.shape

    @abstractmethod
    def s1(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """C and Zθ for the θ that minimises E(θ) + κ/2 ‖Zθ − v‖², for each row v of V."""

    @abstractmethod
    def ridge(self) -> tuple[Array, Array]:
        """C and Zθ at τ = 0."""

    @abstractmethod
    def derivatives(self, C: Array) -> Array:
        """Zθ, from the definition and not from any factorisation of S1."""

    @abstractmethod
    def half_distance(self, C: Array, U: Array) -> Array:
        """½‖θ − θ(u)‖²_A, the first term of the duality gap."""

    @abstractmethod
    def parts(self, C: Array) -> tuple[Array, Array]:
        """The loss (1/n)‖y − f‖² and the squared norm ‖f‖² at each θ."""

    @abstractmethod
    def fitted(self, C: Array) -> Array:
        """f at the samples."""

    @abstractmethod
    def coefficients(self, C: Array, U: Array) -> dict[str, Array]:
        """What represents f in the result: alpha (k, n) and beta (k, d, n), and/or theta (k, r).

        U holds the multipliers κ(Zθ − v) of S1, with which θ = θ(u).
        """


# --- θ implicit: any kernel, ν > 0 ----------------------------------------------------------


class DerivativeSpace(Representation):
    """H = (L − D P Dᵀ)/(2νn) with P = (K + nνI)⁻¹: exact for any kernel, of order nd."""

    kind = "derivative"

    def __init__(self, X: Array, kernel: Kernel, nu: float, s1: str = "auto") -> None:
        n, d = X.shape
        self.n, self.nu, self.shape = n, nu, (d, n)
        K, D, L = kernel.blocks(X)
        K[np.diag_indices(n)] += n * nu
        self.P = cholesky(K)
        self.D = D
        E = half_solve(self.P, D)
        H = E @ E.T
        np.subtract(L, H, out=H)
        H *= 1.0 / (2.0 * nu * n)
        self.H = H
        self.system = shifted_system(H, method=s1)

    def problem(self, y: Array) -> Problem:
        """The problem for this y."""
        return DerivativeProblem(self, y)

    def size(self) -> int:
        """Order nd of I + κH."""
        return len(self.H)

    def full_row_rank(self) -> bool:
        """H = Z A⁻¹ Zᵀ is regular: its smallest pivot stands out from that of the identity."""
        return self.system.smallest_pivot(FLAT_KAPPA * self.system.kappa_unit) > 100.0


class DerivativeProblem(Problem):
    """min_z ½ (z − h)ᵀ H⁺ (z − h) + τ J(z); C is the multiplier u with z = h − Hu."""

    representation: DerivativeSpace

    def __init__(self, representation: DerivativeSpace, y: Array) -> None:
        self.representation, self.y = representation, y
        self.scale = float(y @ y) / len(y)
        Py = cholesky_solve(representation.P, y[None])
        self.h: Array = (Py @ representation.D.T)[0] / np.sqrt(len(y))

    def s1(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """z = v + (I + κH)⁻¹(h − v), and u = κ(z − v)."""
        v = V.reshape(len(V), -1)
        x = self.representation.system.solve(kappa, self.h - v)
        return kappa[:, None] * x, (v + x).reshape(V.shape)

    def ridge(self) -> tuple[Array, Array]:
        """u = 0 and z = h."""
        return np.zeros((1, self.h.size)), self.h.reshape(1, *self.shape).copy()

    def derivatives(self, C: Array) -> Array:
        """z = h − Hu."""
        return (self.h - C @ self.representation.H).reshape(-1, *self.shape)

    def half_distance(self, C: Array, U: Array) -> Array:
        """½ (u' − u)ᵀ H (u' − u), where θ = θ(u')."""
        step = C - U.reshape(C.shape)
        quadratic = np.einsum("kp,kp->k", step @ self.representation.H, step)
        return np.asarray(0.5 * np.maximum(quadratic, 0.0))

    def _alpha_beta(self, C: Array) -> tuple[Array, Array]:
        """β = −u/(2ν) and α = P(y − Dᵀβ), for u in the scale of Z itself."""
        rep = self.representation
        beta = C / (-2.0 * rep.nu * np.sqrt(rep.n))
        return cholesky_solve(rep.P, self.y - beta @ rep.D), beta

    def parts(self, C: Array) -> tuple[Array, Array]:
        """(K + nνI)α = y − Dᵀβ says that the residuals are nνα."""
        rep = self.representation
        alpha, beta = self._alpha_beta(C)
        residual = rep.n * rep.nu * alpha
        z = self.derivatives(C).reshape(C.shape) * np.sqrt(rep.n)
        norm = np.einsum("ki,ki->k", alpha, self.y - residual) + np.einsum("kp,kp->k", beta, z)
        return np.einsum("ki,ki->k", residual, residual) / rep.n, np.maximum(norm, 0.0)

    def fitted(self, C: Array) -> Array:
        """y minus the residuals nνα."""
        rep = self.representation
        return self.y - rep.n * rep.nu * self._alpha_beta(C)[0]

    def coefficients(self, C: Array, U: Array) -> dict[str, Array]:
        """Return alpha and beta of the paper's Proposition 1."""
        alpha, beta = self._alpha_beta(C)
        return {"alpha": alpha, "beta": beta.reshape(-1, *self.shape)}


# --- θ explicit: features Φ and derivative maps Z --------------------------------------------


class DenseMap:
    """Z as an array (d*rows, r)."""

    def __init__(self, Z: Array, d: int) -> None:
        self._Z, self.shape = Z, (d, len(Z) // d)

    def forward(self, theta: Array) -> Array:
        """Zθ for each row θ."""
        return (theta @ self._Z.T).reshape(-1, *self.shape)

    def adjoint(self, V: Array) -> Array:
        """Zᵀv for each v."""
        return np.asarray(V.reshape(len(V), -1) @ self._Z)

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
        return np.asarray(lower.reshape(len(theta), self.shape[0], -1) @ self._Psi.T)

    def adjoint(self, V: Array) -> Array:
        """Zᵀv for each v."""
        lower = (V @ self._Psi).reshape(len(V), -1)
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


class FeatureSpace(Representation):
    """A, B = ZᵀZ and the map Z for explicit features; of order r, however large n is."""

    def __init__(self, Phi: Array, Z: DenseMap | MonomialMap, nu: float, s1: str = "auto") -> None:
        self.n, self.nu, self.Phi, self.Z, self.shape = len(Phi), nu, Phi, Z, Z.shape
        self.A = (2.0 / self.n) * (Phi.T @ Phi)
        self.A[np.diag_indices(len(self.A))] += 2.0 * nu
        try:
            self.A_factor = cholesky(self.A.copy())
        except np.linalg.LinAlgError:
            raise ValueError(
                f"nu = {nu:g} leaves the least-squares part singular: {self.n} samples do not "
                f"determine {len(self.A)} features; give nu > 0 or more samples."
            ) from None
        self.system = shifted_system(Z.gram(), self.A, method=s1)

    def problem(self, y: Array) -> Problem:
        """The problem for this y."""
        return FeatureProblem(self, y)

    def size(self) -> int:
        """Order r of A + κB."""
        return len(self.A)

    def full_row_rank(self) -> bool:
        """Not known without another factorisation, and seldom so where features pay."""
        return False

    def alpha_beta(self, theta: Array, residual: Array, U: Array) -> dict[str, Array]:
        """The same f on the samples; empty where θ does not live there."""
        return {}


class MonomialSpace(FeatureSpace):
    """Polynomial kernels by their monomials; above q samples, n leaves the iteration by a QR."""

    kind = "monomial"

    def __init__(self, X: Array, monomials: Monomials, nu: float, s1: str = "auto") -> None:
        Psi = monomials.lower(X) / np.sqrt(len(X))
        self.compressed = len(X) > monomials.q
        if self.compressed:
            Psi = np.linalg.qr(Psi, mode="r")
        super().__init__(monomials.features(X), MonomialMap(Psi, monomials), nu, s1)

    def alpha_beta(self, theta: Array, residual: Array, U: Array) -> dict[str, Array]:
        """α = (y − f)/(nν) and β = −u/(2ν) from the stationarity of S1."""
        if self.compressed or self.nu == 0.0:
            return {"theta": theta}
        beta = U / (-2.0 * self.nu * np.sqrt(self.n))
        return {"theta": theta, "alpha": residual / (self.n * self.nu), "beta": beta}


class FactorSpace(FeatureSpace):
    """G = RRᵀ by pivoted Cholesky: exact for any kernel, of order rank(G)."""

    kind = "factor"

    def __init__(self, X: Array, kernel: Kernel, nu: float, s1: str = "auto") -> None:
        n, d = X.shape
        G = kernel.G(X)
        tolerance = len(G) * np.finfo(float).eps * G.diagonal().max()
        factor, pivots, rank, _ = lapack.dpstrf(G.T, tol=tolerance, lower=1, overwrite_a=1)
        self._pivots = pivots[:rank] - 1
        self._corner = factor[:rank, :rank]
        R = np.empty((len(G), rank))
        R[pivots - 1] = np.tril(factor[:, :rank])
        super().__init__(np.ascontiguousarray(R[:n]), DenseMap(R[n:] / np.sqrt(n), d), nu, s1)

    def alpha_beta(self, theta: Array, residual: Array, U: Array) -> dict[str, Array]:
        """Solve Rᵀω = θ on the rows that the pivoting chose."""
        omega = np.zeros((len(theta), self.n * (self.shape[0] + 1)))
        omega[:, self._pivots] = solve_triangular(
            self._corner, theta.T, trans="T", lower=True, check_finite=False
        ).T
        return {"alpha": omega[:, : self.n], "beta": omega[:, self.n :].reshape(-1, *self.shape)}


class FeatureProblem(Problem):
    """min_θ ½θᵀAθ − bᵀθ + τJ(Zθ); C is θ."""

    representation: FeatureSpace

    def __init__(self, representation: FeatureSpace, y: Array) -> None:
        self.representation, self.y = representation, y
        self.scale = float(y @ y) / len(y)
        self.b: Array = (2.0 / len(y)) * (y @ representation.Phi)

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
        step = half_solve(rep.A_factor, C @ rep.A - self.b + rep.Z.adjoint(U))
        return np.asarray(0.5 * np.einsum("kp,kp->k", step, step))

    def parts(self, C: Array) -> tuple[Array, Array]:
        """The loss from the residuals, and ‖θ‖²."""
        residual = self.y - self.fitted(C)
        loss = np.einsum("ki,ki->k", residual, residual) / len(self.y)
        return loss, np.einsum("kp,kp->k", C, C)

    def fitted(self, C: Array) -> Array:
        """Return Φθ."""
        return np.asarray(C @ self.representation.Phi.T)

    def coefficients(self, C: Array, U: Array) -> dict[str, Array]:
        """What the representation has to offer."""
        return self.representation.alpha_beta(C, self.y - self.fitted(C), U)
