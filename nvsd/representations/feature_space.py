"""Representations with explicit features Φ: θ itself is the unknown, of order r for any n.

From the n rows the solver needs only the sums ΦᵀΦ, Φᵀy and ‖y‖²; Z can have fewer than n rows.
`FeatureSpace` holds these; its subclasses make them from a kernel.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from nvsd.data.sums import Basis, Moments
from nvsd.linalg import ShiftedSystem, cholesky, gram, half_solve, shifted_system
from nvsd.representations.base import Problem, Representation
from nvsd.representations.curvature import (
    inverse_block_norms,
    row_sum_norm,
)
from nvsd.representations.maps import DerivativeMap
from nvsd.representations.quadratic import quadratic_of, rounding_of_inverse
from nvsd.representations.request import Request
from nvsd.representations.returned import Back, Solution
from nvsd.representations.scalars import Scalars
from nvsd.tolerances import EPS, LARGEST_ROUNDING, MEAN_ROUNDING, ROUNDED_SUMS, SINGULAR

Array = NDArray[np.float64]


class FeatureSpace(Representation):
    """A, B = ZᵀZ and the map Z for explicit features.

    Parameters
    ----------
    request : Request
        Only ν, the loss and s1 are read here.
    gram : (r, r) array
        ΦᵀΦ; it is overwritten.
    n : int
        Number of samples in the sum.
    Z : DerivativeMap
        From θ to the derivatives.
    Phi : (n, r) array, optional
        The features, if they were kept.

    Attributes
    ----------
    omitted : float
        Norm of what H misses since features were left out.

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.representations import FeatureSpace
    >>> kernel = nvsd.kernels.Polynomial(2)
    >>> made = nvsd.prepare(nvsd.datasets.make_e1(300, seed=0).X, kernel=kernel).representation
    >>> isinstance(made, FeatureSpace), made.size()  # all monomials of 18 inputs up to degree 2
    (True, 190)
    """

    omitted: float = 0.0

    def __init__(
        self, request: Request, gram: Array, n: int, Z: DerivativeMap, Phi: Array | None = None
    ) -> None:
        self.n, self.nu, self.loss, self.Z, self.shape = n, request.nu, request.parabola, Z, Z.shape
        largest = float(gram.diagonal().max()) / n
        gram *= self.loss.curvature / n
        self.A = gram
        self.A[np.diag_indices(len(self.A))] += 2.0 * self.nu
        shift = self.loss.shift(n, self.nu) if self.nu else 0.0
        self.quadratic = quadratic_of(self.A, Phi, self.nu, shift, n, largest)
        self.s1 = request.s1

    @cached_property
    def system(self) -> ShiftedSystem:  # type: ignore[override]
        """Only made for solvers that have an S1."""
        return shifted_system(self.Z.gram(), self.A, method=self.s1)

    @cached_property
    def scalars(self) -> Scalars | None:
        """The problem in the derivatives alone, if each is one number and s1 was left open."""
        picked = self.Z.picked if self.s1 == "auto" else None
        return None if picked is None else Scalars(self.A, *picked)

    def problem(self, y: Array) -> Problem:
        """The problem for this y."""
        b = (self.loss.curvature / self.n) * self.correlate(y)
        return FeatureProblem(self, b, float(self.loss.value(y, np.zeros_like(y))), y)

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
        """Else unknown without another factorisation, and rare where features are cheaper."""
        return self.scalars is not None

    @cached_property
    def curve_norms(self) -> Array:
        """From Z_a A⁻¹ Z_aᵀ."""
        return self.quadratic.curve_norms(self.Z) + self.omitted

    @cached_property
    def curve_inverse_norms(self) -> Array:
        """From a Cholesky factor of H, if its order is at most r: else it is singular."""
        if self.scalars is not None:
            return self.scalars.inverse_norms
        d, rows = self.shape
        p = d * rows
        rounding = rounding_of_inverse(self.A, self.nu, np.inf)
        if p > len(self.A) or rounding > LARGEST_ROUNDING:
            return np.full(d, np.inf)
        E = half_solve(cholesky(self.A.copy()), self.Z.adjoint(np.eye(p).reshape(p, d, rows)))
        H = gram(E)
        error = ROUNDED_SUMS * EPS * len(self.A) * row_sum_norm(H) + self.omitted
        return inverse_block_norms(H, d, error) / (1.0 - rounding)

    def represent(self, theta: Array, residual: Array | None, U: Array) -> dict[str, Array]:
        """Coefficients of f at the samples, if θ can be written so; otherwise θ itself."""
        return {"theta": theta}

    def returned(self, theta: Array, found: Solution) -> Back:
        """What is returned is θ itself, but A has the rounding errors of its sums.

        An entry of A errs by no more than a few eps of the roots of its two diagonal entries.
        """
        roots = np.sqrt(self.A.diagonal())
        gradient = ROUNDED_SUMS * EPS * float(np.linalg.norm(roots)) * (np.abs(theta) @ roots)
        norm = np.einsum("kp,kp->k", theta, theta)
        return Back(self.Z.forward(theta), gradient * np.sqrt(0.5 / self._least), norm)

    @cached_property
    def _least(self) -> float:
        """A lower bound of the least eigenvalue of A."""
        if 2.0 * self.nu > SINGULAR * float(np.trace(self.A)):
            return 2.0 * self.nu
        return 1.0 / self.quadratic.inverse_trace()


class SummedSpace(FeatureSpace):
    """Explicit features, keeping only sums over the rows; the rows come from any source.

    Attributes
    ----------
    moments : Moments
        The sums, with those of y if y came with the rows.
    """

    on_samples = False
    reads_rows = True

    def __init__(self, request: Request, basis: Basis, moments: Moments, Z: DerivativeMap) -> None:
        if moments.n < 2:
            raise ValueError(f"there is {moments.n} row; give at least 2 samples.")
        super().__init__(request, moments.gram, moments.n, Z)
        self.rows, self.basis = request.rows, basis
        self.moments = replace(moments, gram=np.empty((0, 0)))  # now part of A

    def own_problem(self, center: bool) -> tuple[Problem, float] | None:
        """The problem for the y that came with the rows, and the mean subtracted from it."""
        moments = self.moments
        if not moments.correlation.size:
            return None
        origin = moments.y_mean if center else 0.0
        if moments.y_square <= self.n * (MEAN_ROUNDING * moments.y_mean) ** 2:
            # y is constant: what remains is the rounding error of its mean.
            zero = np.zeros_like(moments.correlation)
            moments = replace(moments, correlation=zero, y_square=0.0)
        correlation, square = moments.from_origin(origin)
        c = self.loss.curvature
        return FeatureProblem(self, (c / self.n) * correlation, 0.5 * c * square / self.n), origin

    def correlate(self, y: Array) -> Array:
        """Φᵀy, from one more pass over the rows."""
        rows = self.rows.with_target(y)
        moments = rows.total(partial(Moments.of, self.basis, gram=False))
        return moments.from_origin(0.0)[0]

    def returned(self, theta: Array, found: Solution) -> Back:
        """The loss comes from the sums too, as a difference of larger terms."""
        size = np.abs(theta) @ np.sqrt(self.A.diagonal())
        error = ROUNDED_SUMS * EPS * size**2
        return super().returned(theta, found)._replace(error=error)

    def evaluate(self, theta: Array) -> Array | None:
        """None: the samples were not kept."""
        return None


class FeatureProblem(Problem):
    """min_θ ½θᵀAθ − bᵀθ + τJ(Zθ); C is θ."""

    representation: FeatureSpace
    _own: ShiftedSystem | None = None  # if balanced

    def __init__(
        self, representation: FeatureSpace, b: Array, scale: float, y: Array | None = None
    ) -> None:
        self.representation, self.b, self.scale, self.y = representation, b, scale, y

    @property
    def system(self) -> ShiftedSystem:
        """That of the representation, if no input has a κ of its own."""
        return self.representation.system if self._own is None else self._own

    def balanced(self, balance: Array | None) -> FeatureProblem:
        """With κ_a = κ m_a, S1 has Σ_a m_a Z_aᵀZ_a in place of B."""
        if balance is None:
            return self
        rep, other = self.representation, copy(self)
        other.balance = balance[:, None]
        other._own = shifted_system(rep.Z.gram(balance), rep.A, method=rep.s1)
        return other

    def s1(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """(A + κB)θ = b + κZᵀMv; M is I, or has the m_a."""
        Z, weighed = self.representation.Z, V if self.balance is None else self.balance * V
        theta = self.system.solve(kappa, self.b + kappa[:, None] * Z.adjoint(weighed))
        return theta, Z.forward(theta)

    @property
    def scalars(self) -> Scalars | None:
        """The problem in the derivatives alone, if each is one number."""
        return self.representation.scalars

    def flat(self) -> tuple[Array, Array, Array]:
        """In closed form if each derivative is one number: z = 0 and u = g."""
        if self.scalars is None:
            return super().flat()
        z = np.zeros((1, *self.shape))
        u = self.scalars.slope(self.b).reshape(z.shape)
        return self.scalars.theta(z[:, :, 0], self.b), z, u

    def ridge(self) -> tuple[Array, Array]:
        """θ = A⁻¹b."""
        theta = self.representation.quadratic.solve(self.b[None])
        return theta, self.derivatives(theta)

    def derivatives(self, C: Array) -> Array:
        """Return Zθ."""
        return self.representation.Z.forward(C)

    def half_distance(self, C: Array, U: Array) -> Array:
        """½ rᵀA⁻¹r with r = Aθ − b + Zᵀu."""
        rep = self.representation
        return rep.quadratic.half_square(rep.quadratic.times(C) - self.b + rep.Z.adjoint(U))

    def solution(self, C: Array, U: Array) -> Solution:
        """The loss from the residuals, or from the sums over the rows, and ‖θ‖²."""
        rep = self.representation
        norm = np.einsum("kp,kp->k", C, C)
        fitted = rep.evaluate(C)
        if fitted is None or self.y is None:
            curvature = 0.5 * np.einsum("kp,kp->k", rep.quadratic.times(C), C) - rep.nu * norm
            loss = np.maximum(self.scale - C @ self.b + curvature, 0.0)
            return Solution(loss, norm, fitted, rep.represent(C, None, U))
        residual = self.y - fitted
        loss = rep.loss.of_residuals(residual)
        return Solution(loss, norm, fitted, rep.represent(C, residual, U))

    def returned(self, C: Array, found: Solution) -> Back:
        """As the representation knows."""
        return self.representation.returned(C, found)
