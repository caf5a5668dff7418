"""Kernel ridge's counterpart for other losses, with leave-one-out predictions.

    minimise (1/n) Σ_i ω_i ℓ(y_i, f_i) + ν ‖θ‖²,    f = Φθ + c

ΦΦᵀ is the kernel between the rows, or its part of a few kernel sections, so that ‖θ‖² is the
squared norm of f without its constant c. Newton's method has slopes g and curvatures h of ω ℓ,
C = Φ with the h-weighted mean taken off each column, and

    step = −S⁻¹(Cᵀg + 2nν θ),    S = CᵀHC + 2nνI,       halved until the objective falls.

Losses that are straight somewhere give the curvature of a parabola above them: squares are
reweighted. One step with their own curvature tells, nearly, what f_i would be without its own row:

    f_i + g_i v_i / (1 − h_i v_i),     v_i = c_iᵀS⁻¹c_i + 1/Σh
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from nvsd.linalg import cholesky, cholesky_solve, half_solve, pivoted_cholesky
from nvsd.losses import Loss
from nvsd.ridge.dense import RidgeFit
from nvsd.tolerances import TINY

Array = NDArray[np.float64]
Index = NDArray[np.intp]

STEPS = 100  # Newton takes 4 to 8; reweighting converges linearly
HALVINGS = 40
DESCENT = 1e-4  # of the fall that the slope promises: less is not enough of a step
CLOSE = 1e-9  # promised fall, in losses of the best constant, at which a fit is done
ROUNDED = 1e-3  # share of the spread of y within which kinks are rounded
FLATTEST = 1e-9  # of the usual curvature: where a loss is straight, h is not quite 0
LEAST_LEFT = 1e-4  # of 1 − h v: a row that decides its own prediction says little without itself
WALK, FLAT = 8, 0.001  # half decades that λ may walk, and the share of the loss not worth a walk
LOWEST, HIGHEST = 1e-7, 1e3  # of λ; below, a fit repeats the labels; above, it is a constant


@dataclass(frozen=True, eq=False)
class Features:
    """Features of the rows, and how to get from them to kernel sections.

    Attributes
    ----------
    Phi : (n, r) array
    pivots : (r,) int array
        The points whose sections f is made of.
    corner : (r, r) array
        Φ at these points: the kernel between them is corner cornerᵀ, and it is lower triangular.
    """

    Phi: Array
    pivots: Index
    corner: Array

    @classmethod
    def of_kernel(cls, K: Array, most: int | None = None) -> Features:
        """From the kernel between all rows: all of it, or the `most` sections that say most."""
        R, pivots = pivoted_cholesky(np.array(K, dtype=float, order="C"))
        R, pivots = R[:, :most], pivots[:most]
        return cls(R, pivots, R[pivots])

    @classmethod
    def of_sections(cls, C: Array, W: Array, most: int | None = None) -> Features:
        """From the kernel between rows and points, and between points."""
        points = cls.of_kernel(W, most)
        corner, C = points.corner, C[:, points.pivots].T.astype(float)
        Phi = solve_triangular(corner, C, lower=True).T if len(corner) else C.T
        return cls(np.ascontiguousarray(Phi), points.pivots, corner)

    def coefficients(self, theta: Array, size: int) -> Array:
        """α of f − c = Σ_j α_j k(x_j, ·) over `size` points; 0 beside the pivots."""
        alpha = np.zeros(size)
        if len(self.pivots):
            alpha[self.pivots] = solve_triangular(self.corner, theta, trans="T", lower=True)
        return alpha


@dataclass(frozen=True, eq=False)
class SeveralFits(RidgeFit):
    """Several functions of one kernel and the same points, a constant each; `mean` is 0."""

    constants: Array = field(default_factory=lambda: np.zeros(1))

    def predict(self, X_new: Array) -> Array:
        """All of them at new points, (c, m)."""
        return super().predict(X_new) + self.constants[:, None]

    def of(self, k: int) -> RidgeFit:
        """One of them."""
        alpha, mean = self.alpha[k : k + 1], float(self.constants[k])
        return RidgeFit(self.kernel, self.X, self.features, self.nus[k : k + 1], alpha, mean)


@dataclass(frozen=True, eq=False)
class LossFit:
    """One fit.

    Attributes
    ----------
    theta, constant, nu
    fitted : (n,) array
        f, the constant included.
    left_out : (n,) array
        What f_i would be without row i, nearly.
    costs : (n,) array
        ω_i ℓ(y_i, left_out_i).
    objective : float
    """

    theta: Array
    constant: float
    nu: float
    fitted: Array
    left_out: Array
    costs: Array
    objective: float

    @property
    def error(self) -> float:
        """The mean leave-one-out loss."""
        return float(self.costs.mean())


@dataclass(frozen=True, eq=False)
class LossProblem:
    """Rows, y and the loss, for any ν.

    Attributes
    ----------
    Phi : (n, r) array
    y : (n,) array
        −1 and 1 for a loss of classes.
    loss : Loss
        With all of its constants known.
    weights : (n,) array, optional
        ω, with mean 1; ones by default.
    tol : float
        Promised fall of the objective, in losses of the best constant, at which a fit is done.
    rounded : float
        Kinks of the loss are rounded within this share of the spread of y; less takes more steps.
    """

    Phi: Array
    y: Array
    loss: Loss
    weights: Array | None = None
    tol: float = CLOSE
    rounded: float = ROUNDED

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @cached_property
    def origin(self) -> float:
        """The constant of least loss."""
        return self.loss.origin(self.y, np.broadcast_to(self._omega, self.y.shape))

    @cached_property
    def scale(self) -> float:
        """The mean loss of that constant."""
        return max(float(self._mean(np.full(self.n, self.origin))), TINY)

    @cached_property
    def _omega(self) -> Array:
        return np.ones(1) if self.weights is None else self.weights

    @cached_property
    def _width(self) -> float:
        return self.rounded * float(self.y.std())

    def _mean(self, f: Array) -> float:
        return float(np.mean(self._omega * self.loss.pointwise(self.y, f)))

    def fit(self, nu: float, start: LossFit | None = None) -> LossFit:
        """The fit for one ν, from that for another one."""
        theta = np.zeros(self.Phi.shape[1]) if start is None else start.theta
        c = self.origin if start is None else start.constant
        f = self.Phi @ theta + c
        objective = self._mean(f) + nu * float(theta @ theta)
        for _ in range(STEPS):
            near = self._near(nu, *self.loss.parabola(self.y, f, self._width))
            move, shift, fall = near.step(2 * self.n * nu * theta)
            if fall <= self.tol * self.n * self.scale:
                break
            along = self.Phi @ move + shift
            for part in 0.5 ** np.arange(HALVINGS):
                there = theta + part * move
                value = self._mean(f + part * along) + nu * float(there @ there)
                if value <= objective - DESCENT * part * fall / self.n:
                    break
            else:  # rounding, or a rounded kink, is all that is left
                break
            theta, c, f, objective = there, c + part * shift, f + part * along, value
        g, _ = self.loss.parabola(self.y, f, self._width)
        h = self.loss.rounded_curvature(self.y, f, self._width)
        left_out = self._near(nu, g, h).left_out(f)
        costs = self._omega * self.loss.pointwise(self.y, left_out)
        return LossFit(theta, float(c), nu, f, left_out, costs, objective)

    def _near(self, nu: float, g: Array, h: Array) -> _Near:
        """What a step needs, from slopes and curvatures of ℓ."""
        least = FLATTEST * self.loss.typical_curvature(self.y)
        g, h = self._omega * g, np.maximum(self._omega * h, least)
        centre = h @ self.Phi / h.sum()
        C = self.Phi - centre
        B = np.sqrt(h)[:, None] * C
        S = B.T @ B
        S[np.diag_indices(len(S))] += 2 * self.n * nu
        return _Near(g, h, centre, C, cholesky(S) if len(S) else S)

    def path(self, nus: Array) -> list[LossFit]:
        """Fits for several ν, each from the one before in descending order of ν."""
        found: dict[float, LossFit] = {}
        last: LossFit | None = None
        for nu in sorted(set(nus.tolist()), reverse=True):
            last = found[nu] = self.fit(nu, last)
        return [found[nu] for nu in nus.tolist()]

    def nu(self, lam: float) -> float:
        """ν from λ, its counterpart in units of the kernel's diagonal and the usual curvature."""
        unit = float(np.einsum("ij,ij->", self.Phi, self.Phi)) / self.n
        curvature = self.loss.typical_curvature(self.y) * float(np.mean(self._omega))
        return max(lam * unit * curvature / (2 * self.n), TINY)

    def best(self, lam: float = 1.0) -> tuple[float, LossFit]:
        """λ of least leave-one-out loss, by a walk in half decades; and its fit."""
        seen: dict[int, LossFit] = {}

        def at(step: int, start: LossFit | None = None) -> LossFit:
            if step not in seen:
                seen[step] = self.fit(self.nu(10.0 ** (step / 2)), start)
            return seen[step]

        bottom, top = round(2 * np.log10(LOWEST)), round(2 * np.log10(HIGHEST))
        best = int(np.clip(round(2 * np.log10(lam)), bottom, top))
        for direction in (-1, 1):
            start = best
            for _ in range(WALK):
                step = best + direction
                if not bottom <= step <= top:
                    break
                if at(step, at(best)).error >= (1 - FLAT) * at(best).error:
                    break
                best = step
            if best != start:
                break
        return 10.0 ** (best / 2), at(best)


class _Near(NamedTuple):
    """Slopes g, curvatures h, the mean of Φ weighted by h, C = Φ less that, and the factor of S."""

    g: Array
    h: Array
    centre: Array
    C: Array
    factor: Array

    def step(self, pull: Array) -> tuple[Array, float, float]:
        """Steps of θ and c, and the fall of n times the objective that they promise."""
        total, push = float(self.h.sum()), float(self.g.sum())
        slope = self.C.T @ self.g + pull
        move = cholesky_solve(self.factor, -slope[None])[0] if len(pull) else slope
        shift = -push / total - float(self.centre @ move)
        return move, shift, -float(slope @ move) + push**2 / total

    def left_out(self, f: Array) -> Array:
        """What each f_i would be without its own row."""
        v = np.full(len(f), 1 / float(self.h.sum()))
        if len(self.factor):
            v += np.square(half_solve(self.factor, self.C)).sum(axis=1)
        return np.asarray(f + self.g * v / np.maximum(1 - self.h * v, LEAST_LEFT))
