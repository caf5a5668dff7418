"""Kernel ridge regression: the refit after selection, and the model behind elimination.

    minimise (1/n) Σ_i ℓ(y_i, f(x_i)) + ν ‖f‖²,   f = Σ_j α_j k(x_j, ·),   (K + shift I) α = y

with a quadratic loss ℓ. For the squared loss, shift = nν. One eigendecomposition of K serves all ν.
With weights w of the rows, (1/Σw) Σ_i w_i ℓ(y_i, f(x_i)), it is the same problem in √w times K, y
and α.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvsd import machine
from nvsd.kernels import Kernel, blocks
from nvsd.linalg import cholesky, cholesky_solve, in_pieces, product
from nvsd.losses import SQUARED, QuadraticLoss
from nvsd.tolerances import EPS, TINY

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

KIND = "ridge"  # marks a Dataset whose functions are kernel ridge on some inputs
SMALLEST_NU = 1e-9  # least ν of the default grid, over the mean diagonal: rounding dominates below
REGULAR = 10.0  # shift, over the rounding errors of K, from which its Cholesky factor is safe
FACTORS = 20  # Cholesky factors that take less time than the eigenvectors, at orders above 1500
MATRICES = 4  # n by n matrices in memory at once: K, its eigenvectors, their workspace


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """Kernel ridge on some of the inputs, for several ν.

    Attributes
    ----------
    kernel : Kernel
        The kernel on the inputs that f uses.
    X : (n, s) array
        The samples, only with these inputs.
    features : (d,) bool array
        The inputs that f may use; it ignores all others.
    alpha : (k, n) array
        Coefficients, one row per ν.
    mean : float
        Mean of y, which predictions add back.
    weights : (n,) array or None
        Of the samples, if they differ.
    """

    kernel: Kernel
    X: Array
    features: Mask
    nus: Array
    alpha: Array
    mean: float
    loss: QuadraticLoss = SQUARED
    weights: Array | None = None

    def predict(self, X_new: Array) -> Array:
        """f at new points, (k, m)."""
        if not self.features.any():
            return np.full((len(self.nus), len(X_new)), self.mean)
        K = blocks.K(self.kernel, X_new[:, self.features], self.X)
        return self.mean + product(self.alpha, K.T)

    def gradient(self, X_new: Array) -> Array:
        """∂_a f at new points, (k, d, m); zero for the inputs left out."""
        gradient = np.zeros((len(self.nus), len(self.features), len(X_new)))
        if self.features.any():
            _, inner = blocks.rows_first(self.kernel, X_new[:, self.features], self.X, self.alpha)
            gradient[:, self.features] = inner
        return gradient

    def fitted(self, y: Array) -> Array:
        """f at the samples, (k, n), if it was fitted to y: the residuals are shift times α / w."""
        if not self.features.any():
            return np.full((len(self.nus), len(y)), self.mean)
        shifts = np.array([self.loss.shift(len(y), nu) for nu in self.nus])
        alpha = self.alpha if self.weights is None else self.alpha / self.weights
        return np.asarray(y - shifts[:, None] * alpha)

    def at(self, index: int) -> RidgeFit:
        """The fit for one of the ν."""
        rows = slice(index, index + 1)
        return replace(self, nus=self.nus[rows], alpha=self.alpha[rows])


def default_nus(kernel: Kernel, X: Array, size: int = 19) -> Array:
    """ν from 1e-9 to 1 of the kernel's mean diagonal, evenly spaced in the logarithm."""
    some = X[:: max(1, len(X) // 50)]
    diagonal = float(np.mean([blocks.K(kernel, row[None])[0, 0] for row in some]))
    return np.asarray(max(diagonal, TINY) * np.geomspace(1.0, SMALLEST_NU, size))


def fit_ridge(
    X: Array,
    y: ArrayLike,
    kernel: Kernel,
    nus: ArrayLike,
    features: Mask | None = None,
    loss: QuadraticLoss | None = None,
    weights: Array | None = None,
) -> RidgeFit:
    """Kernel ridge with the kernel restricted to some inputs, for all ν at once.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) array
        The target; it is centred here.
    kernel : Kernel
        The kernel on all d inputs; it is restricted here.
    nus : (k,) array
        Weights of the squared norm.
    features : (d,) bool array, optional
        The inputs to use; all by default.
    loss : QuadraticLoss, optional
        The squared loss by default.
    weights : (n,) array, optional
        Of the samples: positive, with mean 1.
    """
    loss = SQUARED if loss is None else loss
    nus = np.atleast_1d(np.asarray(nus, dtype=float))
    target = np.asarray(y, dtype=float)
    mean = loss.origin(target, weights)
    restricted, inner, chosen = restrict(kernel, X, features)
    if not chosen.any():
        alpha = np.zeros((len(nus), len(X)))
    else:
        shifts = np.array([loss.shift(len(X), nu) for nu in nus])
        K, s = blocks.K(restricted, inner), np.sqrt(1.0 if weights is None else weights)
        K = K if weights is None else K * np.outer(s, s)
        alpha = s * ridge_coefficients(K, s * (target - mean), shifts)
    return RidgeFit(restricted, inner, chosen, nus, alpha, mean, loss, weights)


def restrict(kernel: Kernel, X: Array, features: Mask | None) -> tuple[Kernel, Array, Mask]:
    """Kernel and points on some inputs, and the mask of these inputs; None means all."""
    chosen = np.ones(X.shape[1], dtype=bool) if features is None else np.asarray(features, bool)
    restricted = kernel if chosen.all() or not chosen.any() else kernel.restrict(chosen)
    return restricted, np.ascontiguousarray(X[:, chosen]), chosen


def ridge_coefficients(K: Array, y: Array, shifts: Array) -> Array:
    """α of (K + shift I) α = y for every shift, (k, n)."""
    regular = shifts.min() > REGULAR * len(y) * EPS * np.trace(K)
    if regular and len(y) > in_pieces.WHOLE_EIGEN and len(shifts) <= FACTORS:
        shifted = (K + np.diag(np.full(len(K), shift)) for shift in shifts)
        return np.concatenate([cholesky_solve(cholesky(M), y[None]) for M in shifted])
    eigenvalues, V = in_pieces.eigen(K)
    sums = np.maximum(eigenvalues, 0.0) + shifts[:, None]
    # With ν = 0 the directions that K does not reach get the least-norm solution.
    floor = len(y) * EPS * max(float(eigenvalues[-1]), TINY)
    weights = np.divide(product(y[None], V), sums, out=np.zeros_like(sums), where=sums > floor)
    return product(weights, V.T)


def ridge_norms(X: Array, y: Array, kernel: Kernel, nu: float, loss: QuadraticLoss) -> Array:
    """‖∂_a f‖ over the samples, where f is kernel ridge for one ν: O(n² d) once α is known."""
    K = blocks.K(kernel, X)
    K[np.diag_indices(len(K))] += loss.shift(len(K), nu)
    alpha = cholesky_solve(cholesky(K), (y - loss.origin(y))[None])
    _, gradient = blocks.rows_first(kernel, X, X, alpha)
    return np.asarray(np.sqrt(np.mean(gradient[0] ** 2, axis=1)))


def refuse_large_ridge(n: int) -> None:
    """Refuse kernel ridge if its matrices do not fit in memory."""
    needed, limit = MATRICES * 8.0 * n**2, machine.available_memory()
    if needed > limit:
        raise ValueError(
            f"kernel ridge on {n} rows would need {needed / 2**30:.1f} GiB but only "
            f"{limit / 2**30:.1f} GiB are free; give value_points=1000, or fewer rows."
        )


def evaluate_stored(
    stored: Mapping[str, Array], kernel: Kernel, X_new: Array, gradient: bool
) -> tuple[Array, Array]:
    """f (k, m) and its gradient (k, d, m): kernel ridge on the inputs in each row of `support`."""
    points, alpha, masks = stored["points"], stored["alpha"], stored["support"].astype(bool)
    f = np.zeros((len(masks), len(X_new)))
    slopes = np.zeros((len(masks), X_new.shape[1], len(X_new)))
    for mask in np.unique(masks[masks.any(axis=1)], axis=0):
        rows = np.flatnonzero((masks == mask).all(axis=1))
        f[rows], inner = blocks.rows_first(
            kernel.restrict(mask), X_new[:, mask], points[:, mask], alpha[rows], gradient=gradient
        )
        if gradient:
            slopes[np.ix_(rows, np.flatnonzero(mask))] = inner
    return f, slopes
