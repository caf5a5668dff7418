"""Derivatives at the samples for losses that are not quadratic."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nvsd.linalg import ShiftedSystem, cholesky_solve, gram, half_solve, product
from nvsd.losses.base import QuadraticLoss
from nvsd.representations.curvature import largest_eigenvalue
from nvsd.representations.splitting import Image, Splitting

Array = NDArray[np.float64]


class Space(Protocol):
    """What is needed of `nvsd.representations.derivative.DerivativeSpace`."""

    n: int
    nu: float
    shift: float
    shape: tuple[int, int]
    loss: QuadraticLoss
    P: Array
    system: ShiftedSystem

    @property
    def curve_norms(self) -> Array: ...  # noqa: D102
    def curve(self, U: Array) -> Array: ...  # noqa: D102
    def slopes(self, alpha: Array) -> Array: ...  # noqa: D102
    def values(self, beta: Array) -> Array: ...  # noqa: D102


class DerivativeSplitting(Splitting):
    """C holds v and u of θ = θ(v, u), side by side: α = −v/(2ν), β = −u/(2ν√n)."""

    def __init__(self, representation: Space, K: Array) -> None:
        self.rep, self.K = representation, K
        self.kappa = representation.loss.curvature / representation.n

    def s1(self, T: Array, V: Array, kappa: Array) -> Image:
        """z = v + (I + κH)⁻¹(h − v) with the h of the target."""
        rep = self.rep
        Pt = cholesky_solve(rep.P, T)
        v = V.reshape(len(V), -1)
        x = rep.system.solve(kappa, rep.slopes(Pt) / np.sqrt(rep.n) - v)
        return self._image(T, Pt, kappa[:, None] * x, v + x)

    def ridge(self, T: Array) -> Image:
        """u = 0."""
        rep = self.rep
        Pt = cholesky_solve(rep.P, T)
        z = rep.slopes(Pt) / np.sqrt(rep.n)
        return self._image(T, Pt, np.zeros_like(z), z)

    def _image(self, T: Array, Pt: Array, u: Array, z: Array) -> Image:
        """From (K + shift I)α = t − Dᵀβ: residuals t − s are shift times α."""
        rep = self.rep
        beta = u / (-2.0 * rep.nu * np.sqrt(rep.n))
        alpha = Pt - cholesky_solve(rep.P, rep.values(beta)) if u.any() else Pt
        C = np.concatenate([-2.0 * rep.nu * alpha, u], axis=1)
        return Image(C, T - rep.shift * alpha, z.reshape(-1, *rep.shape))

    def image(self, C: Array) -> Image:
        """Kα + Dᵀβ and Dα + Lβ, with L = 2νnH + DPDᵀ."""
        rep, n = self.rep, self.rep.n
        alpha, beta = self._alpha_beta(C)
        of_beta = rep.values(beta)
        s = product(alpha, self.K) + of_beta
        z = 2.0 * rep.nu * n * rep.curve(beta)
        z += rep.slopes(alpha + cholesky_solve(rep.P, of_beta))
        return Image(C, s, (z / np.sqrt(n)).reshape(-1, *rep.shape))

    def _alpha_beta(self, C: Array) -> tuple[Array, Array]:
        n = self.rep.n
        scaled = C / (-2.0 * self.rep.nu)
        return np.ascontiguousarray(scaled[:, :n]), scaled[:, n:] / np.sqrt(n)

    def match(self, v: Array, u: Array) -> Array:
        """The coefficients themselves."""
        return np.concatenate([v, u.reshape(len(u), -1)], axis=1)

    def square_norm(self, C: Array) -> Array:
        """−(vᵀs + uᵀz)/(2ν)."""
        image = self.image(C)
        both = np.concatenate([image.s, image.z.reshape(len(C), -1)], axis=1)
        square = np.einsum("kp,kp->k", C, both) / (-2.0 * self.rep.nu)
        return np.asarray(np.maximum(square, 0.0))

    @cached_property
    def curve_norms(self) -> Array:
        """Those of H_aa and of D_aPD_aᵀ/(2νn), which make up L_aa/(2νn)."""
        rep, blocks = self.rep, self.rep.slopes(np.eye(self.rep.n)).reshape(-1, *self.rep.shape)
        rest = [
            largest_eigenvalue(gram(half_solve(rep.P, np.ascontiguousarray(blocks[:, a].T))))
            for a in range(rep.shape[0])
        ]
        return np.asarray(rep.curve_norms + np.array(rest) / (2.0 * rep.nu * rep.n))

    def coefficients(self, C: Array, v: Array, u: Array) -> dict[str, Array]:
        """α and β."""
        alpha, beta = self._alpha_beta(C)
        return {"alpha": alpha, "beta": beta.reshape(-1, *self.rep.shape)}
