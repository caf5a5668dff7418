"""Kernel matrices from the paper's formulas, entry by entry, in plain loops.

For each kernel one function gives the three things that the paper's appendix lists for a pair of
points (s, r): the value k, the first derivatives and the mixed second derivatives,

    k = k(s, r),    first[a] = dk/ds_a,    second[a][b] = d²k/(ds_a dr_b).

Only the descriptions of the kernels (their fields) come from ``nvsd``; no numerics are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

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

Array = NDArray[np.float64]
Entry = tuple[float, list[float], list[list[float]]]


def gram(X: Array, kernel: Kernel) -> tuple[Array, Array, Array]:
    """Kernel matrices K (n, n), D (d·n, n) and L (d·n, d·n) of section 4.1 of the paper.

    Rows are variable-major: K[i, j] = k(x_i, x_j), D[a·n + i, j] = ∂k(s, x_j)/∂s_a at s = x_i and
    L[a·n + i, b·n + j] = ∂²k(s, r)/(∂s_a ∂r_b) at s = x_i, r = x_j.
    """
    n, d = X.shape
    K, D, L = np.empty((n, n)), np.empty((d * n, n)), np.empty((d * n, d * n))
    for i in range(n):
        for j in range(n):
            K[i, j], first, second = entry(kernel, X[i], X[j])
            for a in range(d):
                D[a * n + i, j] = first[a]
                for b in range(d):
                    L[a * n + i, b * n + j] = second[a][b]
    return K, D, L


@singledispatch
def entry(kernel: Kernel, s: Array, r: Array) -> Entry:
    """k, its first and its mixed second derivatives at one pair of points."""
    raise ValueError(
        f"the reference has no formula for the kernel {type(kernel).__name__}; "
        "register one with reference.kernels.entry"
    )


@entry.register
def _(kernel: Linear, s: Array, r: Array) -> Entry:
    d = range(len(s))
    return _dot(s, r), [r[a] for a in d], [[float(a == b) for b in d] for a in d]


@entry.register
def _(kernel: Polynomial, s: Array, r: Array) -> Entry:
    d, p, t = range(len(s)), kernel.degree, _dot(s, r) + kernel.offset
    slope = p * t ** (p - 1)
    bend = p * (p - 1) * t ** max(p - 2, 0)  # zero for p = 1, also where t = 0
    first = [slope * r[a] for a in d]
    second = [[bend * s[b] * r[a] + slope * (a == b) for b in d] for a in d]
    return t**p, first, second


@entry.register
def _(kernel: Gaussian, s: Array, r: Array) -> Entry:
    d, width = range(len(s)), _per_input(kernel.width, len(s))
    k = exp(-sum((s[a] - r[a]) ** 2 / (2 * width[a] ** 2) for a in d))
    v = [(r[a] - s[a]) / width[a] ** 2 for a in d]
    first = [k * v[a] for a in d]
    second = [[k * ((a == b) / width[a] ** 2 - v[a] * v[b]) for b in d] for a in d]
    return k, first, second


@entry.register
def _(kernel: Matern52, s: Array, r: Array) -> Entry:
    # d/dq (1 + q + q²/3) e^-q = -q (1 + q) e^-q / 3 and dq/ds_a = 5 (s_a - r_a) / (width_a² q):
    # q cancels, so the formulas hold at q = 0 too.
    d, width = range(len(s)), _per_input(kernel.width, len(s))
    q = sqrt(5 * sum(((s[a] - r[a]) / width[a]) ** 2 for a in d))
    v = [(r[a] - s[a]) / width[a] ** 2 for a in d]
    c = 5 / 3 * exp(-q)
    first = [c * (1 + q) * v[a] for a in d]
    second = [[c * ((1 + q) * (a == b) / width[a] ** 2 - 5 * v[a] * v[b]) for b in d] for a in d]
    return (1 + q + q**2 / 3) * exp(-q), first, second


@entry.register
def _(kernel: RationalQuadratic, s: Array, r: Array) -> Entry:
    # k = B^-alpha with B = 1 + |(s - r)/width|² / (2 alpha), hence dB/ds_a = -v_a / alpha.
    d, width, alpha = range(len(s)), _per_input(kernel.width, len(s)), kernel.alpha
    B = 1 + sum(((s[a] - r[a]) / width[a]) ** 2 for a in d) / (2 * alpha)
    v = [(r[a] - s[a]) / width[a] ** 2 for a in d]
    slope, bend = B ** (-alpha - 1), (1 + 1 / alpha) * B ** (-alpha - 2)
    first = [slope * v[a] for a in d]
    second = [[slope * (a == b) / width[a] ** 2 - bend * v[a] * v[b] for b in d] for a in d]
    return B**-alpha, first, second


@entry.register
def _(kernel: Scaled, s: Array, r: Array) -> Entry:
    c, (k, first, second) = kernel.factor, entry(kernel.kernel, s, r)
    return c * k, [c * f for f in first], [[c * f for f in row] for row in second]


@entry.register
def _(kernel: Sum, s: Array, r: Array) -> Entry:
    d = range(len(s))
    parts = [entry(part, s, r) for part in kernel.kernels]
    first = [sum(part[1][a] for part in parts) for a in d]
    second = [[sum(part[2][a][b] for part in parts) for b in d] for a in d]
    return sum(part[0] for part in parts), first, second


def _dot(s: Array, r: Array) -> float:
    return float(sum(s[a] * r[a] for a in range(len(s))))


def _per_input(width: float | Sequence[float] | None, d: int) -> Sequence[float]:
    if width is None:
        raise ValueError("the kernel has no width; give one, such as Gaussian(width=1.0)")
    widths = width if isinstance(width, Sequence) else [width] * d
    if len(widths) != d:
        raise ValueError(f"{len(widths)} widths were given for {d} inputs; give one number or {d}")
    return widths
