"""Any kernel at any n, by landmarks: samples drawn as the points that carry f and its penalty.

    f = Σ_j α_j k(v_j, ·) + Σ_aj β_aj ∂_a k(m_j, ·),     ‖∂_a f‖² = (1/m) Σ_j ∂_a f(m_j)²

with value points v and derivative points m. The loss is that of all n rows, read in one pass. Two
things are approximated: f by the span of these functions, and the penalty by m of the n points.
With all samples as landmarks the problem is exact.

With few derivative points f would be flat there and steep elsewhere. So by default there are at
least as many derivative points as value points, and the norms on other rows are always reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, solve_triangular

from nvsd.data.checks import Index
from nvsd.data.landmarks import Landmarks
from nvsd.data.sums import Moments
from nvsd.kernels import Kernel, blocks
from nvsd.linalg import in_pieces, pieces, pivoted_cholesky, product
from nvsd.representations.base import Representation
from nvsd.representations.feature_space import SummedSpace
from nvsd.representations.maps import DenseMap
from nvsd.representations.request import Cost, Request
from nvsd.representations.returned import Back, Solution
from nvsd.tolerances import EPS

Array = NDArray[np.float64]


class LandmarkBasis:
    """φ(x): the functions k(v_j, ·) and ∂_a k(m_j, ·) at x, made orthonormal in the RKHS.

    Their Gram matrix G = RRᵀ has a regular triangle R₁ on the pivots, so φ(x) = R₁⁻¹ c(x), where c
    are the functions on the pivots.
    """

    q = 0  # the derivatives need no features of their own

    def __init__(self, kernel: Kernel, V: Array, M: Array, corner: Array, pivots: Index) -> None:
        self.kernel, self.V, self.M = kernel, V, M
        self._corner, self._pivots = np.asfortranarray(corner), pivots
        self.r = len(pivots)

    @classmethod
    def make(cls, kernel: Kernel, landmarks: Landmarks) -> tuple[LandmarkBasis, Array]:
        """The basis, and R, whose lower rows are the derivatives of φ at the points m."""
        V, M = landmarks.values, landmarks.derivatives
        m, D, L = len(V), blocks.D(kernel, M, V), blocks.L(kernel, M)
        G = np.empty((m + M.size, m + M.size))
        G[:m, :m], G[m:, :m], G[:m, m:] = blocks.K(kernel, V), D, D.T
        for rows in pieces(0, len(L), in_pieces.NEW * len(L)):
            G[m:][rows, m:] = L[rows]
        R, pivots = pivoted_cholesky(G)
        return cls(kernel, V, M, R[pivots], pivots), R

    def features(self, X: Array) -> Array:
        """Φ with rows φ(x_i), in Fortran order."""
        m = len(self.V)
        C = np.empty((len(X), m + self.M.size), order="F")
        C[:, :m] = blocks.K(self.kernel, X, self.V)
        C[:, m:] = blocks.D(self.kernel, self.M, X).T
        C = np.asfortranarray(C[:, self._pivots])
        Phi = blas.dtrsm(1.0, self._corner, C, side=1, lower=1, trans_a=1, overwrite_b=1)
        return np.asarray(Phi)

    def lower(self, X: Array) -> Array:
        """No features."""
        return np.empty((len(X), 0))

    def coefficients(self, theta: Array) -> Array:
        """ω = (α, β) of f = φ·θ, one row for each θ."""
        omega = np.zeros((len(theta), len(self.V) + self.M.size))
        omega[:, self._pivots] = solve_triangular(
            self._corner, theta.T, trans="T", lower=True, check_finite=False
        ).T
        return omega


class LandmarkSpace(SummedSpace):
    """Landmarks of any kernel, with sums over the rows."""

    kind = "landmarks"
    on_samples = False
    basis: LandmarkBasis

    def __init__(self, request: Request) -> None:
        landmarks = request.landmarks
        assert landmarks is not None
        m, d = landmarks.derivatives.shape
        basis, R = LandmarkBasis.make(request.kernel, landmarks)
        moments = request.rows.total(partial(Moments.of, basis), request.checkpoint)
        Z = DenseMap(R[len(landmarks.values) :] / np.sqrt(m), d)
        super().__init__(request, basis, moments, Z)
        self.landmarks = landmarks
        self.details = {"n_value_points": len(landmarks.values), "n_derivative_points": m}

    @classmethod
    def refusal(cls, request: Request) -> str | None:
        """It needs points."""
        if request.landmarks is None:
            return "representation 'landmarks' needs points; give value_points=...."
        return super().refusal(request)

    @classmethod
    def cost(cls, request: Request) -> Cost:
        """A pass over the rows, and a factorisation whose order is the number of functions."""
        assert request.landmarks is not None
        r = float(request.landmarks.size)
        return Cost(2 * (request.n or 0) * r**2 + 2 * r**3, 8 * 8 * r**2)

    @classmethod
    def make(cls, request: Request) -> Representation:
        """The representation with the landmarks of the request."""
        return cls(request)

    @classmethod
    def smaller(cls, possible: set[str]) -> str:
        """What to do when there is too little memory for it."""
        return "use fewer points"

    def represent(self, theta: Array, residual: Array | None, U: Array) -> dict[str, Array]:
        """ω with its points, and the derivative norms on other rows."""
        omega = self.basis.coefficients(theta)
        points = self.landmarks
        found = {
            "theta": omega,
            "value_points": points.values,
            "derivative_points": points.derivatives,
        }
        if len(points.held_out):
            _, slopes = self.evaluate_stored(found, self.basis.kernel, points.held_out, True)
            found["derivative_norm_held_out"] = np.sqrt(np.mean(slopes**2, axis=-1))
        return found

    def returned(self, theta: Array, found: Solution) -> Back:
        """From ω: on landmarks that are nearly dependent, it loses digits of θ.

        The values of f are compared on the landmarks and the rows that were held out. What rounding
        may have added to values, derivatives and norm on the way is bounded.
        """
        back = super().returned(theta, found)
        points, kernel, stored = self.landmarks, self.basis.kernel, found.coefficients
        _, slopes = self.evaluate_stored(stored, kernel, points.derivatives, True)
        rows = np.concatenate([points.values, points.derivatives, points.held_out])
        f, _ = self.evaluate_stored(stored, kernel, rows, False)
        off = np.mean((f - product(theta, self.basis.features(rows).T)) ** 2, axis=1)
        m = len(points.values)
        at_landmarks = np.concatenate([f[:, :m], slopes.reshape(len(f), -1)], axis=1)
        norm = np.einsum("kp,kp->k", stored["theta"], at_landmarks)
        z = slopes / np.sqrt(slopes.shape[2])
        f_error, z_error, norm_error = self._rounding(stored["theta"])
        # The loss is that of θ. Its slope is at most √(2c) times its root.
        c, moved = self.loss.curvature, np.sqrt(off) + f_error
        apart = back.apart + np.sqrt(0.5 * c) * moved
        error = back.error + self.nu * norm_error + np.sqrt(2.0 * c * found.loss) * moved
        return Back(z, apart, norm, error, z_error)

    def _rounding(self, omega: Array) -> tuple[Array, Array, Array]:
        """Errors of values (k,), derivatives (k, d, 1) and ‖f‖² (k,).

        Those of terms are taken to be independent. No entry of G exceeds the roots of its two
        diagonal entries.
        """
        points, kernel = self.landmarks, self.basis.kernel
        value, _ = blocks.largest_diagonal(kernel, points.values)
        _, steepness = blocks.largest_diagonal(kernel, points.derivatives)
        m, k, d = len(points.values), len(omega), len(steepness)
        alpha, beta = value * omega[:, :m], steepness[:, None] * omega[:, m:].reshape(k, d, -1)
        terms = np.concatenate([alpha, beta.reshape(k, -1)], axis=1)
        error = kernel.roundings * EPS * np.sqrt(np.einsum("kp,kp->k", terms, terms))
        z_error = (error[:, None] * steepness)[:, :, None]
        return error * value, z_error, error * np.abs(terms).sum(axis=1)

    @staticmethod
    def evaluate_stored(
        stored: Mapping[str, Array], kernel: Kernel, X_new: Array, gradient: bool
    ) -> tuple[Array, Array]:
        """f (k, m) and its gradient (k, d, m), for each row of ω."""
        V, M, omega = (stored[name] for name in ("value_points", "derivative_points", "theta"))
        alpha, beta = omega[:, : len(V)], omega[:, len(V) :].reshape(-1, M.shape[1], len(M))
        f, slopes = blocks.rows_first(kernel, X_new, V, alpha, gradient=gradient)
        more, more_slopes = blocks.rows_first(kernel, X_new, M, None, beta, gradient=gradient)
        return f + more, slopes + more_slopes
