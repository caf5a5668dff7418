"""Any kernel at any n, by landmarks: points drawn from the samples that carry f and its penalty.

    f = Σ_j α_j k(v_j, ·) + Σ_aj β_aj ∂_a k(m_j, ·),     ‖∂_a f‖² = (1/m) Σ_j ∂_a f(m_j)²

with value points v and derivative points m. The loss is that of all n rows, read in one pass. What
is approximated is f, by the span of these functions, and the penalty, by m of the n points; with
all samples as landmarks the problem is the exact one.

Few derivative points make f flat there and steep elsewhere, so there are at least as many of them
as of value points unless asked for otherwise, and the norms on other rows are always reported.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, solve_triangular

from nvsd._checks import Index, check_seed, is_number
from nvsd.blocks import Rows
from nvsd.checkpoint import Checkpoint
from nvsd.features import DenseMap, SummedSpace, pivoted_cholesky
from nvsd.kernels import Kernel
from nvsd.moments import Moments

Array = NDArray[np.float64]
Points = int | Sequence[int] | NDArray[np.integer]

FUNCTIONS = 3000  # m_v + d m by default: its square fits into memory, its cube into seconds
HELD_OUT = 1000  # rows on which the derivative norms are measured once more


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Value points (m_v, d), derivative points (m, d), and rows that are neither (h, d)."""

    values: Array
    derivatives: Array
    held_out: Array

    @classmethod
    def draw(
        cls, rows: Rows, values: Points | None, derivatives: Points | None, random_state: int
    ) -> Landmarks:
        """Draw them from the rows: numbers of points, or the rows themselves.

        Of two numbers the larger set contains the smaller one.
        """
        n = rows.count()
        V, M = _checked("value_points", values, n), _checked("derivative_points", derivatives, n)
        default = min(n, max(10, FUNCTIONS // (len(rows.features) + 1)))
        given = [next(i for i in (*pair, default) if i is not None) for pair in ((V, M), (M, V))]
        named = np.concatenate(
            [i for i in given if isinstance(i, np.ndarray)] or [np.empty(0, int)]
        )
        order = np.random.default_rng(check_seed(random_state)).permutation(n)
        order = np.concatenate([named, order[~np.isin(order, named)]])
        V, M = (order[:i] if isinstance(i, int) else i for i in given)
        others = order[~np.isin(order, np.concatenate([V, M]))][:HELD_OUT]
        taken = rows.take(np.concatenate([V, M, others]))
        return cls(*np.split(taken, [len(V), len(V) + len(M)]))

    @property
    def size(self) -> int:
        """How many functions f is made of."""
        return len(self.values) + self.derivatives.size

    @property
    def digest(self) -> str:
        """Tells these landmarks from all others."""
        return hashlib.blake2b(self.values.tobytes() + self.derivatives.tobytes()).hexdigest()


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
        """The basis, and R: its lower rows are the derivatives of φ at the points m."""
        V, M = landmarks.values, landmarks.derivatives
        D = kernel.D(M, V)
        R, pivots = pivoted_cholesky(np.block([[kernel.K(V), D.T], [D, kernel.L(M)]]))
        return cls(kernel, V, M, R[pivots], pivots), R

    def features(self, X: Array) -> Array:
        """Φ with rows φ(x_i), in Fortran order."""
        m = len(self.V)
        C = np.empty((len(X), m + self.M.size), order="F")
        C[:, :m] = self.kernel.K(X, self.V)
        C[:, m:] = self.kernel.D(self.M, X).T
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
    basis: LandmarkBasis

    def __init__(
        self,
        rows: Rows,
        kernel: Kernel,
        landmarks: Landmarks,
        nu: float,
        s1: str = "auto",
        checkpoint: Checkpoint | None = None,
    ) -> None:
        m, d = landmarks.derivatives.shape
        basis, R = LandmarkBasis.make(kernel, landmarks)
        moments = rows.total(partial(Moments.of, basis), checkpoint)
        Z = DenseMap(R[len(landmarks.values) :] / np.sqrt(m), d)
        super().__init__(rows, basis, moments, Z, nu, s1)
        self.landmarks = landmarks
        self.details = {"n_value_points": len(landmarks.values), "n_derivative_points": m}

    def alpha_beta(self, theta: Array, residual: Array | None, U: Array) -> dict[str, Array]:
        """ω and its points, and what the derivatives are elsewhere."""
        omega = self.basis.coefficients(theta)
        points = self.landmarks
        found = {
            "theta": omega,
            "value_points": points.values,
            "derivative_points": points.derivatives,
        }
        if len(points.held_out):
            _, slopes = evaluate_landmarks(
                self.basis.kernel, points.held_out, points.values, points.derivatives, omega
            )
            found["derivative_norm_held_out"] = np.sqrt(np.mean(slopes**2, axis=-1))
        return found


def evaluate_landmarks(
    kernel: Kernel, X: Array, V: Array, M: Array, omega: Array, gradient: bool = True
) -> tuple[Array, Array]:
    """f (k, n) and its gradient (k, d, n) at points X, for each row of ω."""
    alpha, beta = omega[:, : len(V)], omega[:, len(V) :].reshape(-1, M.shape[1], len(M))
    f, slopes = kernel.apply(X, V, alpha.T, gradient=gradient)
    more, more_slopes = kernel.apply(X, M, None, np.moveaxis(beta, 0, -1), gradient=gradient)
    if slopes is None or more_slopes is None:
        return (f + more).T, np.empty(0)
    return (f + more).T, np.moveaxis(slopes + more_slopes, -1, 0)


def _checked(name: str, points: Points | None, n: int) -> int | Index | None:
    """A number of points, or the numbers of rows, that there can be."""
    if points is None:
        return None
    if is_number(points, Integral):
        if not 1 <= int(points) <= n:  # type: ignore[arg-type]
            raise ValueError(f"{name} = {points} is not allowed for {n} rows; give 1 to {n}.")
        return int(points)  # type: ignore[arg-type]
    index = np.asarray(points)
    whole = index.ndim == 1 and index.size > 0 and np.issubdtype(index.dtype, np.integer)
    if not whole or index.min() < 0 or index.max() >= n or len(np.unique(index)) < len(index):
        raise ValueError(
            f"{name} are no distinct numbers of rows from 0 to {n - 1}; give these, or how many."
        )
    return index.astype(np.intp)
