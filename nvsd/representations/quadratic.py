"""A = 2νI + (c/n)ΦᵀΦ and its inverse, from a factor of A itself or from one of the samples' kernel.

With fewer samples than features the second is much cheaper, by Woodbury's formula

    2νA⁻¹ = I − ΦᵀPΦ,    P = (ΦΦᵀ + shift I)⁻¹,    shift = 2νn/c,

and with 2ν rᵀA⁻¹r = min_a ‖r − Φᵀa‖² + shift‖a‖², where nothing cancels.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nvsd.data.checks import refuse_rounding
from nvsd.linalg import cholesky, cholesky_solve, gram, half_solve, product
from nvsd.representations.curvature import inverse_of, largest_eigenvalue, row_sum_norm
from nvsd.representations.maps import DerivativeMap
from nvsd.tolerances import EPS, ROUNDED_SUMS, SINGULAR, TINY

Array = NDArray[np.float64]

# Features for each sample, from which on A is inverted by way of the samples: then the products
# with Φ cost less than those with A.
FEW_SAMPLES = 2


class Quadratic(Protocol):
    """What the certificate and kernel ridge need of A; points θ are rows."""

    def times(self, theta: Array) -> Array:
        """Aθ for each row θ."""
        ...

    def solve(self, R: Array) -> Array:
        """A⁻¹r for each row r."""
        ...

    def half_square(self, R: Array) -> Array:
        """½ rᵀA⁻¹r for each row r."""
        ...

    def inverse_trace(self) -> float:
        """The trace of A⁻¹."""
        ...

    def curve_norms(self, Z: DerivativeMap) -> Array:
        """Upper bounds of ‖Z_a A⁻¹ Z_aᵀ‖₂, (d,)."""
        ...


class DenseQuadratic:
    """By the Cholesky factor of A."""

    def __init__(self, A: Array, factor: Array, nu: float) -> None:
        self.A, self.factor, self.nu = A, factor, nu

    def times(self, theta: Array) -> Array:
        """Aθ for each row θ."""
        return product(theta, self.A)

    def solve(self, R: Array) -> Array:
        """A⁻¹r for each row r."""
        return cholesky_solve(self.factor, R)

    def half_square(self, R: Array) -> Array:
        """½ rᵀA⁻¹r for each row r."""
        step = half_solve(self.factor, R)
        return np.asarray(0.5 * np.einsum("kp,kp->k", step, step))

    def inverse_trace(self) -> float:
        """The trace of A⁻¹."""
        return float(np.trace(inverse_of(self.factor)))

    def curve_norms(self, Z: DerivativeMap) -> Array:
        """From Z_a A⁻¹ Z_aᵀ."""
        inverse = inverse_of(self.factor)
        if Z.picked is not None:
            columns, factors = Z.picked
            found = list(factors**2 * inverse.diagonal()[columns])
        else:
            found = [largest_eigenvalue(each) for each in Z.sandwiches(inverse)]
        rounding = rounding_of_inverse(self.A, self.nu, float(np.trace(inverse)))
        return np.asarray(found) * (1.0 + rounding)


class SampleQuadratic:
    """By the Cholesky factor of ΦΦᵀ + shift I; needs ν > 0."""

    def __init__(self, Phi: Array, nu: float, shift: float) -> None:
        self.Phi, self.nu, self.shift = Phi, nu, shift
        K = gram(Phi)
        self._rounding = ROUNDED_SUMS * EPS * (len(K) + row_sum_norm(K) / shift)
        K[np.diag_indices(len(K))] += shift
        self.P = cholesky(K)

    def times(self, theta: Array) -> Array:
        """Aθ for each row θ."""
        scale = 2.0 * self.nu
        inner = (scale / self.shift) * product(theta, self.Phi.T)
        return np.asarray(scale * theta + product(inner, self.Phi))

    def _matched(self, R: Array) -> tuple[Array, Array]:
        """The best a for each row r, and r − Φᵀa."""
        a = cholesky_solve(self.P, product(R, self.Phi.T))
        return a, R - product(a, self.Phi)

    def solve(self, R: Array) -> Array:
        """A⁻¹r for each row r."""
        return self._matched(R)[1] / (2.0 * self.nu)

    def half_square(self, R: Array) -> Array:
        """½ rᵀA⁻¹r for each row r."""
        a, rest = self._matched(R)
        square = np.einsum("kp,kp->k", rest, rest) + self.shift * np.einsum("ki,ki->k", a, a)
        return np.asarray(square / (4.0 * self.nu))

    def inverse_trace(self) -> float:
        """The trace of A⁻¹."""
        n, r = self.Phi.shape
        trace = float(np.trace(inverse_of(self.P)))
        return float((r - n + self.shift * trace) / (2.0 * self.nu))

    def curve_norms(self, Z: DerivativeMap) -> Array:
        """From (Z_aZ_aᵀ − Z_aΦᵀPΦZ_aᵀ)/(2ν); the errors are relative to the first term."""
        found = []
        if Z.picked is not None:
            columns, factors = Z.picked
            E = half_solve(self.P, np.ascontiguousarray((factors * self.Phi[:, columns]).T))
            rest = factors**2 * (1.0 + self._rounding) - np.einsum("ai,ai->a", E, E)
            return np.asarray(rest / (2.0 * self.nu))
        for L, D in Z.against(self.Phi):
            E = half_solve(self.P, D)
            found.append(largest_eigenvalue(L - gram(E)) + self._rounding * row_sum_norm(L))
        return np.asarray(found) / (2.0 * self.nu)


def rounding_of_inverse(A: Array, nu: float, inverse_trace: float) -> float:
    """Of A⁻¹, relative to it: rounding errors of A beside its least eigenvalue."""
    largest = row_sum_norm(A) * min(inverse_trace, 0.5 / max(nu, TINY))
    return ROUNDED_SUMS * EPS * (len(A) + largest)


def quadratic_of(
    A: Array, Phi: Array | None, nu: float, shift: float, n: int, largest: float
) -> Quadratic:
    """A and its inverse; largest is roughly the kernel's largest value."""
    if not np.isfinite(largest):
        refuse_rounding(nu, largest)
    if Phi is not None and FEW_SAMPLES * len(Phi) <= len(A) and nu > 0:
        if 2.0 * nu <= SINGULAR * A.diagonal().max():
            refuse_rounding(nu, largest)
        return SampleQuadratic(Phi, nu, shift)
    return DenseQuadratic(A, _factorised(A, nu, n, largest), nu)


def _factorised(A: Array, nu: float, n: int, largest: float) -> Array:
    """The Cholesky factor of A.

    If ΦᵀΦ itself is well conditioned, any ν is allowed. Otherwise ν must be above the rounding
    errors.
    """
    if nu > 0:
        factor = cholesky(A.copy())
        if np.min(factor.diagonal() ** 2) <= SINGULAR * A.diagonal().max():
            refuse_rounding(nu, largest)
        return factor
    try:
        factor = cholesky(A.copy(), repair=False)
        # No column may be nearly a combination of those before it, whatever their scales.
        if (factor.diagonal() ** 2 > SINGULAR * A.diagonal()).all():
            return factor
    except np.linalg.LinAlgError:
        pass
    raise ValueError(
        f"nu = 0 leaves the least-squares part singular: {n} samples do not determine "
        f"{len(A)} features; give nu > 0 or more samples."
    )
