"""Kernel ridge regression: the refit after selection, and the model behind elimination.

    minimise (1/n) Σ_i (y_i − f(x_i))² + ν ‖f‖²,   f = Σ_j α_j k(x_j, ·),   (K + nνI) α = y

One eigendecomposition of K serves every ν.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from nvsd.kernels import Kernel
from nvsd.linalg import product

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """Kernel ridge on some of the inputs, for several ν.

    Attributes
    ----------
    features : (d,) bool array
        The inputs that f may use; it ignores all others.
    alpha : (k, n) array
        Coefficients, one row per ν.
    mean : float
        Mean of y, which predictions add back.
    """

    kernel: Kernel
    X: Array
    features: NDArray[np.bool_]
    nus: Array
    alpha: Array
    mean: float

    def predict(self, X_new: Array) -> Array:
        """f at new points, (k, m)."""
        if not self.features.any():
            return np.full((len(self.nus), len(X_new)), self.mean)
        K = self.kernel.K(X_new[:, self.features], self.X)
        return self.mean + product(self.alpha, K.T)

    def gradient(self, X_new: Array) -> Array:
        """∂_a f at new points, (k, d, m); zero for the inputs left out."""
        gradient = np.zeros((len(self.nus), len(self.features), len(X_new)))
        if self.features.any():
            _, inner = self.kernel.apply(X_new[:, self.features], self.X, self.alpha.T)
            assert inner is not None
            gradient[:, self.features] = np.moveaxis(inner, -1, 0)
        return gradient

    def at(self, index: int) -> RidgeFit:
        """The fit for one of the ν."""
        rows = slice(index, index + 1)
        return RidgeFit(
            self.kernel, self.X, self.features, self.nus[rows], self.alpha[rows], self.mean
        )


def default_nus(kernel: Kernel, X: Array, size: int = 19) -> Array:
    """ν from 1e-9 to 1 of the kernel's mean diagonal, evenly spaced in the logarithm."""
    diagonal = float(np.mean([kernel.K(row[None])[0, 0] for row in X[:: max(1, len(X) // 50)]]))
    return np.asarray(max(diagonal, np.finfo(float).tiny) * np.geomspace(1.0, 1e-9, size))


def fit_ridge(
    X: Array,
    y: ArrayLike,
    kernel: Kernel,
    nus: ArrayLike,
    features: NDArray[np.bool_] | None = None,
) -> RidgeFit:
    """Kernel ridge with the kernel restricted to some inputs, for all ν at once.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) array
        Centred here.
    kernel : Kernel
        On all d inputs; it is restricted.
    nus : (k,) array
        Weights of the squared norm.
    features : (d,) bool array, optional
        The inputs to use; all by default.
    """
    nus = np.atleast_1d(np.asarray(nus, dtype=float))
    target = np.asarray(y, dtype=float)
    mean = float(target.mean())
    restricted, inner, chosen = restrict(kernel, X, features)
    if not chosen.any():
        alpha = np.zeros((len(nus), len(X)))
    else:
        alpha = ridge_coefficients(restricted.K(inner), target - mean, nus)
    return RidgeFit(restricted, inner, chosen, nus, alpha, mean)


def restrict(
    kernel: Kernel, X: Array, features: NDArray[np.bool_] | None
) -> tuple[Kernel, Array, NDArray[np.bool_]]:
    """Kernel and points on some inputs, and which these are; None means all."""
    chosen = np.ones(X.shape[1], dtype=bool) if features is None else np.asarray(features, bool)
    restricted = kernel if chosen.all() or not chosen.any() else kernel.restrict(chosen)
    return restricted, np.ascontiguousarray(X[:, chosen]), chosen


def ridge_coefficients(K: Array, y: Array, nus: Array) -> Array:
    """α of (K + nνI) α = y for every ν, (k, n)."""
    eigenvalues, V = eigh(K, driver="evd", check_finite=False)
    shifted = np.maximum(eigenvalues, 0.0) + len(y) * nus[:, None]
    # With ν = 0 the directions that K does not reach get the least-norm solution.
    floor = len(y) * np.finfo(float).eps * max(float(eigenvalues[-1]), np.finfo(float).tiny)
    weights = np.divide(
        product(y[None], V), shifted, out=np.zeros_like(shifted), where=shifted > floor
    )
    return product(weights, V.T)
