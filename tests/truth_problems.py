"""What a path says of its functions, computed again from the stored coefficients alone.

Nothing but the variables of the Dataset and y goes in. Kernels are written out here once more, in
the longest floating-point numbers of the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import xarray as xr

from nvsd.kernels import (
    Gaussian,
    Kernel,
    Linear,
    Matern52,
    Polynomial,
    RationalQuadratic,
    Scaled,
    Sum,
)
from nvsd.losses import Loss
from nvsd.penalties import Penalty
from reference.kernels import entry
from reference.losses import formula
from reference.penalties import terms

Long = np.longdouble
Blocks = tuple[np.ndarray, np.ndarray, np.ndarray]


@singledispatch
def gram(kernel: Kernel, S: np.ndarray, R: np.ndarray) -> Blocks:
    """k (n, m), ∂k/∂s_a (d, n, m) and ∂²k/∂s_a∂r_b (d, n, d, m), by the loops of the reference."""
    (n, d), m = S.shape, len(R)
    K, D, L = np.empty((n, m)), np.empty((d, n, m)), np.empty((d, n, d, m))
    for i in range(n):
        for j in range(m):
            K[i, j], first, second = entry(kernel, S[i].astype(float), R[j].astype(float))
            D[:, i, j], L[:, i, :, j] = first, second
    return K, D, L


def isotropic(width: Any, S: np.ndarray, R: np.ndarray, h: Any) -> Blocks:
    """h(s) and its two derivatives, s = |(x − x')/width|²/2."""
    w = np.broadcast_to(np.asarray(width, dtype=Long), S.shape[1])
    V = ((S[:, None] - R[None]) / w**2).transpose(2, 0, 1)  # (d, n, m)
    s = ((S[:, None] - R[None]) ** 2 / w**2).sum(axis=2) / 2
    k, first, second = h(s)
    L = -second[None, :, None] * V[:, :, None] * V.transpose(1, 0, 2)[None]
    for a in range(len(V)):
        L[a, :, a] -= first / w[a] ** 2
    return k, first * V, L


@gram.register
def _(kernel: Gaussian, S: np.ndarray, R: np.ndarray) -> Blocks:
    return isotropic(kernel.width, S, R, lambda s: (np.exp(-s), -np.exp(-s), np.exp(-s)))


@gram.register
def _(kernel: Matern52, S: np.ndarray, R: np.ndarray) -> Blocks:
    def h(s: np.ndarray) -> Blocks:
        q = np.sqrt(10 * s)
        e = np.exp(-q)
        return (1 + q + q * q / 3) * e, -Long(5) / 3 * (1 + q) * e, Long(25) / 3 * e

    return isotropic(kernel.width, S, R, h)


@gram.register
def _(kernel: RationalQuadratic, S: np.ndarray, R: np.ndarray) -> Blocks:
    def h(s: np.ndarray) -> Blocks:
        a, base = Long(kernel.alpha), 1 + s / Long(kernel.alpha)
        return base**-a, -(base ** (-a - 1)), (1 + 1 / a) * base ** (-a - 2)

    return isotropic(kernel.width, S, R, h)


@gram.register
def _(kernel: Linear, S: np.ndarray, R: np.ndarray) -> Blocks:
    return power(1, Long(0), S, R)


@gram.register
def _(kernel: Polynomial, S: np.ndarray, R: np.ndarray) -> Blocks:
    return power(kernel.degree, Long(kernel.offset), S, R)


def power(p: int, offset: Any, S: np.ndarray, R: np.ndarray) -> Blocks:
    t = (S[:, None] * R[None]).sum(axis=2) + offset
    first, second = p * t ** (p - 1), p * (p - 1) * t ** max(p - 2, 0)
    D = first * np.broadcast_to(R.T[:, None], (S.shape[1], *t.shape))
    L = second[None, :, None] * R.T[:, None, None] * S[None, :, :, None]
    for a in range(S.shape[1]):
        L[a, :, a] += first
    return t**p, D, L


@gram.register
def _(kernel: Scaled, S: np.ndarray, R: np.ndarray) -> Blocks:
    K, D, L = gram(kernel.kernel, S, R)
    c = Long(kernel.factor)
    return c * K, c * D, c * L


@gram.register
def _(kernel: Sum, S: np.ndarray, R: np.ndarray) -> Blocks:
    parts = [gram(part, S, R) for part in kernel.kernels]
    K, D, L = (sum(blocks) for blocks in zip(*parts, strict=True))
    return K, D, L


@dataclass
class Truth:
    """Of one function: values (m,) and slopes (d, m) at points, the parts of its objective."""

    f: np.ndarray
    slopes: np.ndarray
    loss: float
    penalty: float
    rkhs_norm: float
    objective: float
    derivative_norm: np.ndarray


class Sections:
    """f = Σ_j α_j k(v_j, ·) + Σ_aj β_aj ∂_a k(m_j, ·), from the variables of one row of a path."""

    def __init__(self, row: xr.Dataset) -> None:
        self.kernel = Kernel.from_json(str(row.kernel.item()))
        if "value_points" in row:
            self.V, self.M = (long(row[f"{name}_points"]) for name in ("value", "derivative"))
            omega = long(row.theta)
            self.alpha = omega[: len(self.V)]
            self.beta = omega[len(self.V) :].reshape(self.M.shape[1], len(self.M))
        else:
            self.V = self.M = long(row.points.transpose("sample", "feature"))
            self.alpha, self.beta = long(row.alpha), long(row.beta)

    def at(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and slopes."""
        K, D, _ = gram(self.kernel, X, self.V)
        f, slopes = K @ self.alpha, D @ self.alpha
        # ∂k(x, m)/∂m_a is the first derivative with the points exchanged.
        _, swapped, _ = gram(self.kernel, self.M, X)
        _, _, L = gram(self.kernel, X, self.M)
        f = f + np.einsum("aji,aj->i", swapped, self.beta)
        return f, slopes + np.einsum("aibj,bj->ai", L, self.beta)

    def square_norm(self) -> Any:
        """‖f‖²."""
        at_v, _ = self.at(self.V)
        _, at_m = self.at(self.M)
        return self.alpha @ at_v + (self.beta * at_m).sum()


class Powers:
    """f = Σ θ_j times the monomials, in the order of degree and of sorted inputs."""

    def __init__(self, row: xr.Dataset) -> None:
        self.kernel = Kernel.from_json(str(row.kernel.item()))
        self.theta = long(row.theta)

    def at(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and slopes."""
        from itertools import combinations_with_replacement
        from math import comb, factorial, prod

        n, d = X.shape
        p, c = getattr(self.kernel, "degree", 1), Long(getattr(self.kernel, "offset", 0.0))
        sizes = range(p + 1) if c else [p]
        lists = [m for k in sizes for m in combinations_with_replacement(range(d), k)]
        f, slopes = np.zeros(n, dtype=Long), np.zeros((d, n), dtype=Long)
        for coefficient, inputs in zip(self.theta, lists, strict=True):
            k, rest = np.array([inputs.count(a) for a in range(d)]), p - len(inputs)
            ways = comb(p, rest) * factorial(len(inputs)) // prod(map(factorial, k.tolist()))
            weight = coefficient * np.sqrt(Long(ways) * c**rest)
            f += weight * np.prod(X**k, axis=1)
            for a in set(inputs):
                lower = k - (np.arange(d) == a)
                slopes[a] += weight * k[a] * np.prod(X**lower, axis=1)
        return f, slopes

    def square_norm(self) -> Any:
        """‖θ‖²."""
        return self.theta @ self.theta


def long(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=Long)


def truth(row: xr.Dataset, X: np.ndarray, y: np.ndarray, weights: Any = None) -> Truth:
    """Of one τ (and μ) of a path, made of these samples; y as numbers, classes as −1 and 1."""
    points = (long(X) - long(row.x_mean)) / long(row.x_scale)
    sections = "value_points" in row or "theta" not in row
    held = Sections(row) if sections else Powers(row)
    f, slopes = held.at(points)
    penalised = slopes
    if "value_points" in row:
        _, penalised = held.at(held.M)
    norms = np.sqrt((penalised**2).mean(axis=1))
    penalty = Penalty.from_json(row.attrs["penalty"])
    found = terms(with_mu(penalty, row), [str(name) for name in row.feature.values])
    J = (
        sum(
            Long(w) * np.sqrt((penalised[index] ** 2).sum() / penalised.shape[1])
            for w, index in found.norms
        )
        + Long(found.ridge) * (penalised**2).sum() / penalised.shape[1]
    )
    constant = long(row.y_mean) + (long(row.intercept) if "intercept" in row else 0)
    ell = formula(bound_loss(row))
    shares = np.ones(len(y)) if weights is None else weights / np.mean(weights)
    loss = (shares * ell.values(long(y), f + constant)).mean()
    square = held.square_norm()
    tau, nu = long(row.tau), long(row.nu)
    objective = loss + tau * J + nu * square
    return Truth(f + constant, slopes, loss, J, square, objective, norms)


def with_mu(penalty: Penalty, row: xr.Dataset) -> Penalty:
    """The elastic net of this row."""
    from dataclasses import replace

    return replace(penalty, mu=float(row.mu)) if "mu" in row.coords else penalty  # type: ignore


def bound_loss(row: xr.Dataset) -> Loss:
    return Loss.from_json(row.attrs["loss"])
