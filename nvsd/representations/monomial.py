"""Polynomial kernels by their monomials, of order r for any n."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nvsd.data.sums import Moments
from nvsd.kernels import Kernel
from nvsd.linalg import gram, product
from nvsd.representations.base import Representation
from nvsd.representations.feature_space import FeatureSpace, SummedSpace
from nvsd.representations.feature_splitting import FeatureSplitting
from nvsd.representations.maps import MonomialMap
from nvsd.representations.monomials import Monomials, n_monomials
from nvsd.representations.request import VECTORS, Cost, Request
from nvsd.representations.splitting import Splitting
from nvsd.tolerances import EPS, MISSED_THETA, ROUNDED_VALUES

Array = NDArray[np.float64]

KEEP = 2**25  # largest size of a Φ that is kept; a larger one is summed over the samples
REFINEMENTS = 4  # of α and β computed from θ: each leaves 2ν of their error


class Monomial(Representation):
    """Shared by both below: the monomials of a polynomial kernel are its explicit features."""

    kind = "monomial"
    on_samples = False
    reads_rows = True
    splits = True

    @classmethod
    def refusal(cls, request: Request) -> str | None:
        """It needs a polynomial kernel."""
        if request.kernel.polynomial is None:
            return (
                f"representation 'monomial' needs a Linear or Polynomial kernel, not "
                f"{request.kernel!r}; give 'auto', 'derivative' or 'factor'."
            )
        if request.curvature is not None and (request.n is None or not request.nu):
            return (
                f"representation 'monomial' needs all samples in memory and nu > 0 for "
                f"{request.loss!r} or weights; give X as an array, and nu > 0."
            )
        return super().refusal(request)

    @classmethod
    def cost(cls, request: Request) -> Cost:
        """Matrices of order r, and the part of Φ that is kept."""
        assert request.kernel.polynomial is not None
        r = float(n_monomials(request.d, *request.kernel.polynomial))
        kept, vectors = 2.0 * min((request.n or np.inf) * r, KEEP), 0.0
        if request.curvature is not None:  # Φ is kept, and so are the derivatives at all samples
            n = float(request.n or 0)
            kept, vectors = 2.0 * n * r, VECTORS * n * (request.d + 1)
        return Cost((request.n or 0) * r**2 + 2 * r**3, 8 * (kept + vectors + 6 * r**2))

    @classmethod
    def make(cls, request: Request) -> Representation:
        """The representation that keeps few samples, or only sums over many."""
        assert request.kernel.polynomial is not None
        monomials = Monomials(request.d, *request.kernel.polynomial)
        few = request.n is not None and request.n * monomials.r <= KEEP
        if request.curvature is not None or (few and request.checkpoint is None):
            return MonomialSpace(request, monomials)
        return MonomialSums(request, monomials)

    @staticmethod
    def evaluate_stored(
        stored: Mapping[str, Array], kernel: Kernel, X_new: Array, gradient: bool
    ) -> tuple[Array, Array]:
        """From θ, the coefficients of the monomials."""
        if kernel.polynomial is None:
            raise ValueError(f"theta is not defined for {kernel!r}; the Dataset is damaged.")
        theta, d = stored["theta"], X_new.shape[1]
        monomials = Monomials(d, *kernel.polynomial)
        f = theta @ monomials.features(X_new).T
        if not gradient:
            return f, np.empty((len(theta), 0, len(X_new)))
        lower = (monomials.T @ theta.T).T.reshape(len(theta), d, -1)
        return f, np.asarray(lower @ monomials.lower(X_new).T)


class MonomialSpace(Monomial, FeatureSpace):
    """The samples are kept; above q samples, the cost of an iteration does not depend on n.

    ‖∂_a f‖² = θᵀT_aᵀ (ΨᵀΨ/n) T_aθ needs only the q×q matrix ΨᵀΨ of the samples, so any root of it
    can replace Ψ.
    """

    def __init__(self, request: Request, monomials: Monomials) -> None:
        n = len(request.points)
        self.Phi = monomials.features(request.points)
        Psi = monomials.lower(request.points)
        if n > monomials.q and request.curvature is None:
            Psi = np.asarray(np.linalg.qr(Psi, mode="r"), dtype=float)
        Z = MonomialMap(Psi / np.sqrt(n), monomials)
        super().__init__(request, gram(self.Phi.T), n, Z, self.Phi)

    def splitting(self) -> Splitting:
        """With θ."""
        return FeatureSplitting(self, self.Phi)

    def correlate(self, y: Array) -> Array:
        """Return Φᵀy."""
        return np.asarray(y @ self.Phi)

    def evaluate(self, theta: Array) -> Array:
        """Return Φθ."""
        return product(theta, self.Phi.T)

    def represent(self, theta: Array, residual: Array | None, U: Array) -> dict[str, Array]:
        """α = (y − f)/shift and β = −u/(2ν) from the stationarity of S1, then refined to match θ.

        With a small ν their rounding errors are large. The rest θ − Φᵀα − √nZᵀβ is distributed to
        both by (A + κB)x = rest, which leaves 2νx of it. On data far from the origin even that may
        fail; α and β would not represent f, and only θ is returned.
        """
        if residual is None or self.shape[1] != self.n or self.nu == 0.0:
            return {"theta": theta}
        root_n, c = np.sqrt(self.n), self.loss.curvature
        alpha = residual / self.loss.shift(self.n, self.nu)
        beta = U / (-2.0 * self.nu * root_n)
        kappa = np.full(len(theta), self.system.kappa_unit)
        for _ in range(REFINEMENTS):
            rest = theta - product(alpha, self.Phi) - root_n * self.Z.adjoint(beta)
            x = self.system.solve(kappa, rest)
            alpha += (c / self.n) * product(x, self.Phi.T)
            beta += (kappa[0] / root_n) * self.Z.forward(x)
        rest = theta - product(alpha, self.Phi) - root_n * self.Z.adjoint(beta)
        missed = np.abs(rest).max() / (np.abs(theta).max() or 1.0)
        # This is the size of the rounding errors of Kα.
        largest = float(np.einsum("ir,ir->i", self.Phi, self.Phi).max())
        rounding = EPS * largest * float(np.abs(alpha).sum(axis=1).max())
        values = float(np.abs(self.evaluate(theta)).max())
        if missed > MISSED_THETA or rounding > ROUNDED_VALUES * values:
            return {"theta": theta}
        return {"theta": theta, "alpha": alpha, "beta": beta}


class MonomialSums(Monomial, SummedSpace):
    """Any number of rows, in one pass; only sums over them are kept."""

    def __init__(self, request: Request, monomials: Monomials) -> None:
        moments = request.rows.total(partial(Moments.of, monomials), request.checkpoint)
        Z = MonomialMap(moments.root / np.sqrt(moments.n), monomials)
        super().__init__(request, monomials, moments, Z)
