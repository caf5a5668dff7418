"""The refit after selection with any loss: kernel ridge, or its counterpart by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nvsd.kernels import Kernel, blocks
from nvsd.linalg import product
from nvsd.losses import LossTerm
from nvsd.ridge.dense import Mask, restrict
from nvsd.ridge.newton import Features, LossProblem, SeveralFits

Array = NDArray[np.float64]

TOL = 1e-12  # promised fall of the objective at which a refit is done, in losses of the constant
ROUNDED = 1e-6  # of the spread of y: within it a kink of the loss is rounded


@dataclass(frozen=True, eq=False)
class LossRefit(SeveralFits):
    """The fits for several ν; each has a constant of its own."""

    def fitted(self, y: Array) -> Array:
        """f at the samples, (k, n); y is not needed."""
        if not self.features.any():
            return np.broadcast_to(self.constants[:, None], (len(self.nus), len(self.X)))
        return product(self.alpha, blocks.K(self.kernel, self.X)) + self.constants[:, None]

    def at(self, index: int) -> LossRefit:
        """The fit for one of the ν."""
        rows = slice(index, index + 1)
        return replace(
            self, nus=self.nus[rows], alpha=self.alpha[rows], constants=self.constants[rows]
        )


def fit_by_loss(
    X: Array, term: LossTerm, kernel: Kernel, nus: Array, features: Mask | None = None
) -> LossRefit:
    """The fits with the kernel restricted to some inputs, for all ν.

        minimise (1/n) Σ_i ω_i ℓ(y_i, f(x_i) + c) + ν ‖f‖²

    Parameters
    ----------
    X : (n, d) array
    term : LossTerm
        y, the loss and the weights; the constant is free.
    kernel : Kernel
        On all d inputs; it is restricted.
    nus : (k,) array
    features : (d,) bool array, optional
        The inputs to use; all by default.
    """
    restricted, inner, chosen = restrict(kernel, X, features)
    alpha, constants = np.zeros((len(nus), len(X))), np.full(len(nus), term.origin)
    if chosen.any():
        made = Features.of_kernel(blocks.K(restricted, inner))
        problem = LossProblem(made.Phi, term.y, term.loss, term.weights, TOL, ROUNDED)
        fits = problem.path(nus)
        alpha = np.array([made.coefficients(fit.theta, len(X)) for fit in fits])
        constants = np.array([fit.constant for fit in fits])
    return LossRefit(restricted, inner, chosen, nus, alpha, 0.0, constants=constants)
