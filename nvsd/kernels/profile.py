"""Kernels that are a scalar function of one number: their geometry and the chain rule."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import ClassVar

import numpy as np

from nvsd.kernels.base import Kernel
from nvsd.kernels.blocks import Array, Block
from nvsd.kernels.products import Products, norm_bound
from nvsd.linalg import panels, product

COLUMNS = 2**14  # numbers of a slab of `_evaluate`, which should stay in the nearest caches
SLAB, ROWS = 2**17, 16  # numbers of a slab of `ProfileProducts`, and the fewest points in it


class Profile(Kernel):
    """k(x, x') = h(t), a scalar function of one number t(x, x').

    Half a squared distance (`Isotropic`) and x.x' (`DotProduct`) share one geometry; with
    z = x / width it is::

        t = p (|z|^2 + |z'|^2) / 2 + q z.z'      isotropic p = 1, q = -1; dot product p = 0, q = 1
        dt/dx_a = (p z_a + q z'_a) / width_a     d^2 t / (dx_a dx'_b) = q 1[a = b] / width_a^2

    and the chain rule gives the rest.
    """

    p: ClassVar[float]
    q: ClassVar[float]

    @abstractmethod
    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """Return h(t), h'(t) and h''(t), each shaped like t."""

    @abstractmethod
    def _geometry(self, X: Array, Y: Array) -> tuple[Array, Array, Array, Array]:
        """Return width (d,), z (n, d), z' (m, d) and t (n, m)."""

    def products(self, X: Array, factor: float = 1.0) -> Products:
        """Products that keep the geometry and h', h''."""
        return ProfileProducts(self, X, factor)

    def _accumulate(self, c: float, X: Array, Y: Array, K: Block, D: Block, L: Block) -> None:
        w, U, V, t = self._geometry(X, Y)
        h, h1, h2 = self.profile(t) if c == 1.0 else (c * values for values in self.profile(t))
        if K is not None:
            K += h
        if L is not None:
            T = (self.q * U[:, :, None] + self.p * V.T) / w[:, None]  # dt/dy_b, (n, d, m)
            slab = np.empty_like(T)
        for a in range(0 if D is None and L is None else len(w)):
            S = (self.p * U[:, a, None] + self.q * V[:, a]) / w[a]  # dt/dx_a, (n, m)
            if D is not None:
                D[a] += h1 * S
            if L is not None:
                # L is exactly symmetric only if h'' is the last factor.
                np.multiply(S[:, None], T, out=slab)
                slab *= h2[:, None]
                L[a] += slab
                L[a, :, a] += self.q / w[a] ** 2 * h1

    def _evaluate(
        self, X_new: Array, X: Array, alpha: Array, beta: Block, gradient: bool
    ) -> tuple[Array, Array]:
        (m, d), (n, k) = X_new.shape, alpha.shape
        w, U, V, t = self._geometry(X_new, X)
        h, h1, h2 = self.profile(t)
        f: Array = product(h, alpha)
        grad = np.zeros((d if gradient else 0, m, k))
        if beta is not None:
            # sum_a beta_aj dt/dx_ja = (q U, p)_i . (B_j, V_j.B_j): one product for all i and j.
            E = np.column_stack([self.q * U, np.full(m, self.p)])
            B = np.empty((n, d + 1, k))
            np.divide(beta.swapaxes(0, 1), w[:, None], out=B[:, :d])
            np.einsum("ja,jak->jk", V, B[:, :d], out=B[:, d])
            HB = product(h1, B.reshape(n, -1)).reshape(m, d + 1, k)
            f += np.einsum("ia,iak->ik", E, HB)
            grad += self.q * HB[:, : len(grad)].swapaxes(0, 1)
        # Several functions at a time: one product for all of them, with few numbers in between.
        step = max(1, COLUMNS // (m * n))
        for start in range(0, k if gradient else 0, step):
            some = slice(start, start + step)
            W = h1[:, None] * alpha[:, some].T  # (m, functions, n)
            if beta is not None:
                along = B[:, :, some].transpose(1, 2, 0).reshape(d + 1, -1)
                W += h2[:, None] * product(E, along).reshape(W.shape)
            slopes = self.q * product(W.reshape(-1, n), V).reshape(m, -1, d)
            if self.p:
                slopes += self.p * W.sum(axis=2)[:, :, None] * U[:, None]
            grad[:, :, some] += slopes.transpose(2, 0, 1)
        return f, grad / w[: len(grad), None, None]


class ProfileProducts:
    """Products for k = h(t): the geometry and h', h'' are kept, and the rest is matrix products.

    With E_i = (q z_i, p) and B_j = (β_j, z_j·β_j), β and z divided by the width, the derivative of
    t(x_i, x_j) along β_j is E_i·B_j. Both f and its gradient use h'B. The n² numbers of a gradient
    are made for a few points at a time, which stay in the caches.
    """

    def __init__(self, kernel: Profile, X: Array, factor: float) -> None:
        self._p, self._q = kernel.p, kernel.q
        w, self._z, _, t = kernel._geometry(X, X)
        self._w = w[:, None]
        _, self._h1, self._h2 = (factor * values for values in kernel.profile(t))
        self._E = np.column_stack([self._q * self._z, np.full(len(X), self._p)])

    def single(self) -> ProfileProducts:
        """The same in single precision."""
        other = copy(self)
        for name in ("_w", "_z", "_h1", "_h2", "_E"):
            setattr(other, name, getattr(self, name).astype(np.float32))
        return other

    def values(self, beta: Array) -> tuple[Array, tuple[Array, Array]]:
        """Dᵀβ, and B with h'B, (d + 1, k, n)."""
        (k, d, n), z = beta.shape, self._z
        B = np.empty((d + 1, k, n), dtype=z.dtype)
        np.divide(beta.swapaxes(0, 1), self._w[:, None], out=B[:-1])
        np.einsum("jb,bkj->kj", z, B[:-1], out=B[-1])
        HB = product(B.reshape(-1, n), self._h1).reshape(B.shape)
        return np.einsum("ib,bki->ki", self._E, HB), (B, HB)

    def gradient(self, alpha: Array, of_beta: tuple[Array, Array] | None = None) -> Array:
        """Dα + Lβ, or Dα alone."""
        (k, n), d, z = alpha.shape, len(self._w), self._z
        out, one = np.empty((k, d + 1, n), dtype=z.dtype), np.ones_like(z[:, :1])
        ends = np.column_stack([z, one])
        functions = max(1, SLAB // (ROWS * n))
        for first in range(0, k, functions):
            some = slice(first, first + functions)
            along = None if of_beta is None else of_beta[0][:, some].reshape(d + 1, -1)
            for rows in panels(n, max(ROWS, SLAB // (n * len(alpha[some])))):
                W = self._h1[rows, None] * alpha[some]
                if along is not None:
                    W += self._h2[rows, None] * product(self._E[rows], along).reshape(W.shape)
                found = product(W.reshape(-1, n), ends).reshape(*W.shape[:2], d + 1)
                out[some, :, rows] = found.transpose(1, 2, 0)
        slopes = self._q * out[:, :-1]
        if self._p:
            slopes += self._p * z.T * out[:, -1:]
        if of_beta is not None:
            slopes += self._q * of_beta[1][:-1].swapaxes(0, 1)
        return np.asarray(slopes / self._w)

    def slope_norms(self) -> Array:
        """From the blocks themselves, one after another."""
        p, q, bounds = self._p, self._q, np.empty(len(self._w))
        for a, (z, w) in enumerate(zip(self._z.T, self._w[:, 0], strict=True)):
            L = (p * z[:, None] + q * z) * (q * z[:, None] + p * z)
            L *= self._h2
            L += q * self._h1
            bounds[a] = norm_bound(L) / w**2
        return bounds
