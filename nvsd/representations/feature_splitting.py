"""Explicit features for losses that are not quadratic."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nvsd.linalg import product
from nvsd.representations.curvature import largest_eigenvalue
from nvsd.representations.feature_space import FeatureSpace
from nvsd.representations.splitting import Image, Splitting

Array = NDArray[np.float64]


class FeatureSplitting(Splitting):
    """C is θ."""

    def __init__(self, representation: FeatureSpace, Phi: Array) -> None:
        self.rep, self.Phi = representation, Phi
        self.kappa = representation.loss.curvature / representation.n

    def s1(self, T: Array, V: Array, kappa: Array) -> Image:
        """(A + κB)θ = (c/n)Φᵀt + κZᵀv."""
        rep = self.rep
        right = self.kappa * product(T, self.Phi) + kappa[:, None] * rep.Z.adjoint(V)
        return self.image(rep.system.solve(kappa, right))

    def ridge(self, T: Array) -> Image:
        """Aθ = (c/n)Φᵀt."""
        return self.image(self.rep.quadratic.solve(self.kappa * product(T, self.Phi)))

    def image(self, C: Array) -> Image:
        """Φθ and Zθ."""
        return Image(C, product(C, self.Phi.T), self.rep.Z.forward(C))

    def match(self, v: Array, u: Array) -> Array:
        """−(Φᵀv + Zᵀu)/(2ν)."""
        return (product(v, self.Phi) + self.rep.Z.adjoint(u)) / (-2.0 * self.rep.nu)

    def square_norm(self, C: Array) -> Array:
        """The sum of squares."""
        return np.asarray(np.einsum("kp,kp->k", C, C))

    @cached_property
    def curve_norms(self) -> Array:
        """From Z_a Z_aᵀ."""
        found = [largest_eigenvalue(L) for L, _ in self.rep.Z.against(self.Phi)]
        return np.asarray(found) / (2.0 * self.rep.nu) + self.rep.omitted

    def coefficients(self, C: Array, v: Array, u: Array) -> dict[str, Array]:
        """As for a quadratic loss, whose residuals would be shift times α."""
        shift = self.rep.loss.shift(self.rep.n, self.rep.nu)
        return self.rep.represent(C, v * (-shift / (2.0 * self.rep.nu)), u)
