"""Any kernel by a pivoted Cholesky factor of its joint Gram matrix."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from nvsd.kernels import Kernel, blocks
from nvsd.linalg import gram, pivoted_cholesky, product
from nvsd.representations.base import Representation
from nvsd.representations.feature_space import FeatureSpace
from nvsd.representations.feature_splitting import FeatureSplitting
from nvsd.representations.maps import DenseMap
from nvsd.representations.request import Cost, Request
from nvsd.representations.splitting import Splitting
from nvsd.tolerances import EPS

Array = NDArray[np.float64]


class FactorSpace(FeatureSpace):
    """G = RRᵀ by pivoted Cholesky: exact for any kernel, of order rank(G)."""

    kind = "factor"
    on_samples = True
    splits = True
    automatic = False  # "derivative" takes a third of the time

    def __init__(self, request: Request) -> None:
        n, d = request.points.shape
        G = blocks.G(request.kernel, request.points)
        if request.nu:
            # The trace of what the pivots leave: each is below the tolerance of the factorisation.
            self.omitted = len(G) ** 2 * EPS * G.diagonal().max() / (2.0 * request.nu * n)
        R, self._pivots = pivoted_cholesky(G)
        self._corner = R[self._pivots]
        self.Phi = np.ascontiguousarray(R[:n])
        Z = DenseMap(R[n:] / np.sqrt(n), d)
        super().__init__(request, gram(self.Phi.T), n, Z, self.Phi)

    @classmethod
    def refusal(cls, request: Request) -> str | None:
        """It needs all samples."""
        if request.n is None:
            return (
                f"representation {cls.kind!r} needs all samples in memory, but they come in "
                "blocks; give X as an array, or leave out the representation."
            )
        return super().refusal(request)

    @classmethod
    def cost(cls, request: Request) -> Cost:
        """Matrices of order n(d+1)."""
        N = float((request.n or 0) * (request.d + 1))
        return Cost(3 * N**3, 8 * 4 * N**2)

    @classmethod
    def make(cls, request: Request) -> Representation:
        """The representation of all samples."""
        return cls(request)

    def splitting(self) -> Splitting:
        """With θ."""
        return FeatureSplitting(self, self.Phi)

    def correlate(self, y: Array) -> Array:
        """Return Φᵀy."""
        return np.asarray(y @ self.Phi)

    def evaluate(self, theta: Array) -> Array | None:
        """Return Φθ."""
        return product(theta, self.Phi.T)

    def represent(self, theta: Array, residual: Array | None, U: Array) -> dict[str, Array]:
        """Solve Rᵀω = θ on the rows that the pivoting chose."""
        omega = np.zeros((len(theta), self.n * (self.shape[0] + 1)))
        omega[:, self._pivots] = solve_triangular(
            self._corner, theta.T, trans="T", lower=True, check_finite=False
        ).T
        return {"alpha": omega[:, : self.n], "beta": omega[:, self.n :].reshape(-1, *self.shape)}

    @staticmethod
    def evaluate_stored(
        stored: Mapping[str, Array], kernel: Kernel, X_new: Array, gradient: bool
    ) -> tuple[Array, Array]:
        """From α and β at the samples."""
        coefficients = stored["alpha"], stored["beta"]
        return blocks.rows_first(kernel, X_new, stored["points"], *coefficients, gradient=gradient)
