"""Kernel ridge for many rows (Nyström): a few kernel sections, and the loss of all rows.

    minimise (1/n) Σ_i (y_i − f(x_i))² + ν ‖f‖²   over f = Σ_j α_j k(v_j, ·)

with points v_j drawn from the rows. One pass over the rows serves every ν. With all rows as points
this is kernel ridge itself. For a polynomial kernel, as many points as monomials are enough for
that.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import blas, eigh, solve_triangular

from nvsd.data.checks import check_count, check_seed
from nvsd.data.rows import ArrayRows, Rows
from nvsd.data.sums import Moments
from nvsd.kernels import Kernel, blocks
from nvsd.linalg import pivoted_cholesky, safe_threads
from nvsd.losses import SQUARED, QuadraticLoss
from nvsd.ridge.dense import Mask, RidgeFit, restrict, ridge_coefficients
from nvsd.tolerances import TINY

Array = NDArray[np.float64]


class Sections:
    """φ(x): the kernel sections k(v_j, ·) at x on some inputs, made orthonormal in the RKHS."""

    q = 0

    def __init__(self, kernel: Kernel, V: Array, features: Mask) -> None:
        self._kernel, self._features = kernel, features
        R, self.pivots = pivoted_cholesky(blocks.K(kernel, V))
        self._V, self._corner = V[self.pivots], np.asfortranarray(R[self.pivots])
        self.r = len(self.pivots)

    def features(self, X: Array) -> Array:
        """Φ with rows φ(x_i), in Fortran order."""
        C = np.asfortranarray(blocks.K(self._kernel, X[:, self._features], self._V))
        Phi = blas.dtrsm(1.0, self._corner, C, side=1, lower=1, trans_a=1, overwrite_b=1)
        return np.asarray(Phi)

    def lower(self, X: Array) -> Array:
        """No features."""
        return np.empty((len(X), 0))

    def coefficients(self, theta: Array) -> Array:
        """α on the pivots, of f = φ·θ for each row θ."""
        return np.asarray(solve_triangular(self._corner, theta.T, trans="T", lower=True).T)


class WeightedSections(Sections):
    """√w φ(x), where √w is a further input of the rows, the last one."""

    def features(self, X: Array) -> Array:
        """Φ with rows √w_i φ(x_i), in Fortran order."""
        return np.asfortranarray(super().features(X[:, :-1]) * X[:, -1:])


def draw_points(rows: Rows, size: int, random_state: int = 0) -> Array:
    """Rows drawn at random, `size` of them, or all if there are fewer."""
    size, rng = check_count("value_points", size), np.random.default_rng(check_seed(random_state))
    n = rows.count()
    return rows.take(rng.permutation(n)[: min(size, n)])


def fit_nystrom(
    rows: Rows,
    points: Array,
    kernel: Kernel,
    nus: ArrayLike,
    features: Mask | None = None,
    loss: QuadraticLoss | None = None,
    weights: Array | None = None,
) -> RidgeFit:
    """Kernel ridge on given points, with the kernel restricted to some inputs, for all ν at once.

    Parameters
    ----------
    rows : Rows
        The samples and y, from any source: `nvsd.data.sources.rows_of`.
    points : (m, d) array
        Centres of the kernel sections, for example from `draw_points`.
    kernel : Kernel
        The kernel on all d inputs; it is restricted here.
    nus : (k,) array
        Weights of the squared norm.
    features : (d,) bool array, optional
        The inputs to use; all by default.
    loss : QuadraticLoss, optional
        The squared loss by default.
    weights : (n,) array, optional
        Of the samples: positive, with mean 1; the rows are then all in memory.
    """
    loss = SQUARED if loss is None else loss
    nus = np.atleast_1d(np.asarray(nus, dtype=float))
    restricted, V, chosen = restrict(kernel, points, features)
    alpha = np.zeros((len(nus), len(points)))
    mean = None if weights is None else loss.origin(rows.target(), weights)
    if not chosen.any():
        n, total = rows.total(_count_and_sum)
        mean = float(total / n) if mean is None else mean
        return RidgeFit(restricted, V, chosen, nus, alpha, mean, loss)
    if mean is None or weights is None:
        basis = Sections(restricted, V, chosen)
        moments = rows.total(partial(Moments.of, basis))
        mean, correlation = moments.y_mean, moments.correlation
    else:
        basis = WeightedSections(restricted, V, chosen)
        moments = _times_root(rows, mean, weights).total(partial(Moments.of, basis))
        correlation, _ = moments.from_origin(0.0)
    # (ΦᵀΦ + shift I)θ = Φᵀy.
    shifts = np.array([loss.shift(moments.n, nu) for nu in nus])
    theta = ridge_coefficients(moments.gram, correlation, shifts)
    alpha[:, basis.pivots] = basis.coefficients(theta)
    return RidgeFit(restricted, V, chosen, nus, alpha, mean, loss)


def _times_root(rows: Rows, mean: float, weights: Array) -> ArrayRows:
    """The rows with √w as their last input, and √w (y − mean) as their y."""
    s = np.sqrt(weights)
    X = np.column_stack([rows.points(), s])
    return ArrayRows(X, s * (rows.target() - mean), rows.progress, checked=True)


def derivative_metric(fit: RidgeFit, X: Array) -> Array:
    """The square root of (1/n) Σ_i ∇f(x_i)∇f(x_i)ᵀ, scaled so that its largest eigenvalue is 1.

    If X is multiplied by this matrix, directions in which f varies are stretched relative to the
    others. For a refit, the kernel is then narrow in these directions, which is an advantage. The
    matrix is symmetric, and zero for the inputs that f ignores.

    Parameters
    ----------
    fit : RidgeFit
        A fit for one ν.
    X : (n, d) array
        Where to differentiate; a few thousand rows are enough.
    """
    slopes = fit.gradient(X)[0]
    with safe_threads(len(slopes)):
        eigenvalues, W = eigh(slopes @ slopes.T)
    shares = np.sqrt(np.maximum(eigenvalues, 0.0) / max(eigenvalues[-1], TINY))
    return np.asarray((W * shares) @ W.T)


def _count_and_sum(X: Array, y: Array | None) -> Array:
    assert y is not None
    return np.array([len(y), y.sum()])
