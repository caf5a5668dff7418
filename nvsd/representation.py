"""From a kernel and the samples to what the solver sees, and back to α and β.

With Z scaled by 1/√n once, the solver sees

    minimise ½ (θ − A⁻¹b)ᵀ A (θ − A⁻¹b) + τ J(Zθ) + const,   A = 2νI + (2/n)ΦᵀΦ,  b = (2/n)Φᵀy,

and never a kernel. `nvsd.features` works with θ itself; `DerivativeSpace` needs no features at all:
there θ stays implicit as θ(u) = A⁻¹(b − Zᵀu), and H = Z A⁻¹ Zᵀ and h = Z A⁻¹ b are computed from
the kernel. Neither depends on y until `problem(y)`; nothing in them depends on τ or the penalty.

Arrays that hold several points, one per τ, have the points first: z and u are (k, d, rows).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from nvsd._checks import refuse_rounding
from nvsd.kernels import Kernel
from nvsd.linalg import (
    ShiftedSystem,
    cholesky,
    cholesky_solve,
    half_solve,
    product,
    shifted_system,
)

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
    details : dict
        What else the result should say of it.
    """

    kind: ClassVar[str]
    details: Mapping[str, int] = MappingProxyType({})
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
    def fitted(self, C: Array) -> Array | None:
        """f at the samples, where they were kept."""

    @abstractmethod
    def coefficients(self, C: Array, U: Array) -> dict[str, Array]:
        """What represents f in the result: alpha (k, n) and beta (k, d, n), and/or theta (k, r).

        U holds the multipliers κ(Zθ − v) of S1, with which θ = θ(u).
        """


class DerivativeSpace(Representation):
    """H = (L − D P Dᵀ)/(2νn) with P = (K + nνI)⁻¹: exact for any kernel, of order nd."""

    kind = "derivative"

    def __init__(self, X: Array, kernel: Kernel, nu: float, s1: str = "auto") -> None:
        n, d = X.shape
        self.n, self.nu, self.shape = n, nu, (d, n)
        K, D, L = kernel.blocks(X)
        refuse_rounding(nu, float(K.diagonal().max()))
        K[np.diag_indices(n)] += n * nu
        self.P = cholesky(K)
        self.D = D
        E = half_solve(self.P, D)
        scale = 1.0 / (2.0 * nu * n)
        # In place of L: another array of that size would cost more than the product.
        H = blas.dgemm(-scale, E.T, E.T, beta=scale, c=L.T, trans_a=1, overwrite_c=1)
        self.H = np.asarray(H).T
        self.system = shifted_system(self.H, method=s1)

    def problem(self, y: Array) -> Problem:
        """The problem for this y."""
        return DerivativeProblem(self, y)

    def curve(self, U: Array) -> Array:
        """Hu for each row u."""
        return product(U, self.H)

    def slopes(self, alpha: Array) -> Array:
        """Dα for each row α."""
        return product(alpha, self.D.T)

    def values(self, beta: Array) -> Array:
        """Dᵀβ for each row β."""
        return product(beta, self.D)

    def size(self) -> int:
        """Order nd of I + κH."""
        return self.shape[0] * self.n

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
        self.h: Array = representation.slopes(Py)[0] / np.sqrt(len(y))

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
        return (self.h - self.representation.curve(C)).reshape(-1, *self.shape)

    def half_distance(self, C: Array, U: Array) -> Array:
        """½ (u' − u)ᵀ H (u' − u), where θ = θ(u')."""
        step = C - U.reshape(C.shape)
        quadratic = np.einsum("kp,kp->k", self.representation.curve(step), step)
        return np.asarray(0.5 * np.maximum(quadratic, 0.0))

    def _alpha_beta(self, C: Array) -> tuple[Array, Array]:
        """β = −u/(2ν) and α = P(y − Dᵀβ), for u in the scale of Z itself."""
        rep = self.representation
        beta = C / (-2.0 * rep.nu * np.sqrt(rep.n))
        return cholesky_solve(rep.P, self.y - rep.values(beta)), beta

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
