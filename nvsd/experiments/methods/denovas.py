"""Denovas: the forward-backward algorithm of Rosasco et al. (2013), from its description.

    minimise (1/n) Σ_i (y_i − f(x_i))² + τ Σ_a ‖∂_a f‖_n + ν ‖f‖²

the problem of NVSD(L). A gradient step on the smooth part is followed by the proximal step of the
penalty, f − ∇*v, where v is the projection on the product of balls ‖v_a‖_n ≤ τ/2σ. The projection
has no closed form: an inner accelerated projected gradient approximates it. Both loops stop when
the iterates change by less than a tolerance, so nothing certifies the result.

References
----------
L. Rosasco, S. Villa, S. Mosci, M. Santoro, A. Verri, Nonparametric sparsity and regularization,
Journal of Machine Learning Research 14, 2013.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.experiments.methods.base import Array, Mask, Method, Model, best_refit, lengths
from nvsd.experiments.methods.paper import N_TAUS, tau_max
from nvsd.experiments.protocol import Split
from nvsd.kernels import Kernel
from nvsd.kernels.profile import Profile
from nvsd.penalties import Lasso

TOL = 1e-3  # of the outer loop: relative change of f, in the norm of the RKHS
INNER_TOL = 1e-4  # of the inner loop: relative change of v
MAX_OUTER, MAX_INNER = 200, 20
SATURATED = 1e-3  # an input is selected if ‖v_a‖ is this close to the radius of its ball
# How far the grid goes above and below τ_max: stopped early, the algorithm is sparse far above it.
SPAN = 1e3


class DerivativeProduct:
    """L times many columns, O(n²d) each, in single precision.

    The products of `nvsd.kernels.profile.ProfileProducts`, each for all columns at once.
    """

    def __init__(self, kernel: Kernel, X: Array) -> None:
        assert isinstance(kernel, Profile)
        w, z, _, t = kernel._geometry(X, X)
        _, h1, h2 = kernel.profile(t)
        self._p, self._q = np.float32(kernel.p), np.float32(kernel.q)
        self._w, self._z, self._h1, self._h2 = _single(w, z, h1, h2)
        ones = np.ones((len(X), 1), np.float32)
        self._E = np.hstack([self._q * self._z, self._p * ones])
        self._z_and_1 = np.hstack([self._z, ones]).T.copy()

    def __call__(self, V: Array) -> Array:
        """L V, (nd, k)."""
        n, d = self._z.shape
        w = self._w[:, None, None]
        B = np.empty((d + 1, n, V.shape[1]), np.float32)
        np.divide(V.reshape(d, n, -1), w, out=B[:d])
        np.einsum("ja,ajk->jk", self._z, B[:d], out=B[d])
        W = (self._E @ B.reshape(d + 1, -1)).reshape(n, n, -1)
        W *= self._h2[:, :, None]
        S = np.matmul(self._z_and_1, W).swapaxes(0, 1)  # W z and the sums of W
        slopes = self._q * (S[:d] + np.matmul(self._h1, B[:d]))
        slopes += self._p * S[d] * self._z.T[:, :, None]
        return np.asarray((slopes / w).reshape(V.shape))


class Operators:
    """The Gram blocks, and the step sizes 1/σ of the outer and 1/η of the inner loop."""

    def __init__(self, X: Array, y: Array, kernel: Kernel, nu: float) -> None:
        self.n, self.d = X.shape
        self.y, self.nu = y - y.mean(), nu
        self.K, self.D = kernel.K(X), kernel.D(X)
        self.L = DerivativeProduct(kernel, X)
        self.sigma = float(np.linalg.eigvalsh(self.K)[-1]) / self.n + nu
        self.eta = 1.02 * self._largest_eigenvalue() / self.n

    def values(self, alpha: Array, beta: Array) -> Array:
        """f at the samples, (n, k)."""
        return np.asarray(self.K @ alpha + self.D.T @ beta)

    def squared_norm(self, alpha: Array, beta: Array) -> Array:
        """‖f‖² of each column; rounding may make it slightly negative."""
        half = np.sum(alpha * (self.values(alpha, beta) + self.D.T @ beta), axis=0)
        return np.asarray(np.maximum(half + np.sum(beta * self.L(beta), axis=0), 0.0))

    def block_norms(self, V: Array) -> Array:
        """‖v_a‖_n, (d, k)."""
        return np.asarray(np.sqrt(np.mean(V.reshape(self.d, self.n, -1) ** 2, axis=1)))

    def project(self, V: Array, radius: Array) -> Array:
        """Project each block onto its ball."""
        norms = np.maximum(self.block_norms(V), np.finfo(V.dtype).tiny)
        shrunk = V.reshape(self.d, self.n, -1) * np.minimum(1.0, radius / norms)[:, None]
        return shrunk.reshape(V.shape)

    def _largest_eigenvalue(self) -> float:
        v = np.random.default_rng(0).standard_normal((self.n * self.d, 1))
        for _ in range(50):
            v = self.L(v / np.linalg.norm(v))
        return float(np.linalg.norm(v))


class Iterate(NamedTuple):
    """f of each column, f of the previous iteration, and v."""

    alpha: Array
    beta: Array
    alpha_old: Array
    beta_old: Array
    V: Array

    def keep(self, columns: NDArray[np.bool_]) -> Iterate:
        """Some of the columns."""
        return Iterate(*(array[:, columns] for array in self))


def outer_step(op: Operators, f: Iterate, radius: Array, momentum: float) -> Iterate:
    """One accelerated forward-backward step."""
    shrink = 1 - op.nu / op.sigma
    alpha = f.alpha + momentum * (f.alpha - f.alpha_old)
    beta = f.beta + momentum * (f.beta - f.beta_old)
    residual = op.values(alpha, beta) - op.y[:, None]
    alpha, beta = shrink * alpha - residual / (op.n * op.sigma), shrink * beta
    V = inner_loop(op, op.D @ alpha + op.L(beta), f.V, radius)
    return Iterate(alpha, beta - V / op.n, f.alpha, f.beta, V)


def inner_loop(op: Operators, gradient: Array, V: Array, radius: Array) -> Array:
    """The v in the balls for which ∇*v is nearest to the function with this gradient.

    In single precision, which is far more exact than the tolerance.
    """
    gradient, V, radius = _single(gradient, V, radius)
    W = V
    for momentum, _ in zip(fista(), range(MAX_INNER), strict=False):
        new = op.project(W + (gradient - op.L(W) / op.n) / op.eta, radius)
        step = new - V
        if np.all(lengths(step) <= INNER_TOL * lengths(new)):
            return new
        V, W = new, new + momentum * step
    return V


def fista() -> Iterator[float]:
    """The momenta of Beck and Teboulle."""
    t = 1.0
    while True:
        t, old = (1 + math.sqrt(1 + 4 * t * t)) / 2, t
        yield (old - 1) / t


def denovas(op: Operators, taus: Array) -> tuple[list[Mask], Array]:
    """The selected inputs for every τ, and whether the outer loop met its tolerance."""
    k = len(taus)
    supports, converged = np.zeros((k, op.d), bool), np.zeros(k, bool)
    active, radius = np.arange(k), taus / (2 * op.sigma)
    alpha, beta = np.zeros((op.n, k)), np.zeros((op.n * op.d, k))
    f = Iterate(alpha, beta, alpha, beta, beta)
    momenta = fista()
    for iteration in range(1, MAX_OUTER + 1):
        f = outer_step(op, f, radius[active], 0.0 if iteration == 1 else next(momenta))
        change = op.squared_norm(f.alpha - f.alpha_old, f.beta - f.beta_old)
        done = change <= TOL**2 * op.squared_norm(f.alpha, f.beta)
        converged[active[done]] = True
        ends = done if iteration < MAX_OUTER else np.ones_like(done)
        if ends.any():
            norms = op.block_norms(f.V[:, ends])
            supports[active[ends]] = (norms >= (1 - SATURATED) * radius[active[ends]]).T
            active, f = active[~ends], f.keep(~ends)
        if not active.size:
            break
    return list(supports), converged


@dataclass(frozen=True)
class Denovas(Method):
    """The sets that the algorithm selects along a grid of τ, then the same debiasing."""

    def fit(self, split: Split) -> Model:
        """The grid at each width, then the refits."""
        supports: list[Mask] = []
        converged: list[Array] = []
        for width in split.base_widths:
            kernel = split.kernel_at(width)
            op = Operators(split.X, split.y, kernel, split.nu)
            grid = np.geomspace(SPAN, 1 / SPAN, N_TAUS)
            found, ended = denovas(op, tau_max(split, kernel, Lasso()) * grid)
            supports += found
            converged.append(ended)
        return best_refit(split, supports, converged=float(np.mean(converged)))


def _single(*arrays: Array) -> tuple[Any, ...]:
    return tuple(array.astype(np.float32) for array in arrays)
