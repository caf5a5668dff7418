"""One kernel κ per unit: on one input, on a group of inputs, or on the levels of a category.

Every κ is orthogonal to constants and has mean diagonal 1, both under independent standard normal
inputs (levels: under the uniform law). So weights of units are comparable, and f splits uniquely
into main effects and interactions (Durrande et al. 2013, ANOVA kernels and RKHS of zero mean
functions):

    κ(x, x') = [ κ₀(x, x') − m(x) m(x') / g ] / c,     m(x) = ∫ κ₀(x, ·) dμ,   g = ∫ m dμ,

with κ₀ the product of the base kernel over the inputs of the unit and c = ∫ κ₀(x, x) − m(x)²/g dμ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import mul
from typing import NamedTuple

import numpy as np

from nvsd.kernels import blocks
from nvsd.kernels.base import Kernel
from nvsd.kernels.blocks import Array
from nvsd.kernels.normal import quadrature
from nvsd.tolerances import EPS


class Parts(NamedTuple):
    """A kernel between two sets of points, and its derivatives by each of the unit's inputs.

    Attributes
    ----------
    value : (n, m) array
    left, right : lists of (n, m) arrays
        ∂κ/∂x_a and ∂κ/∂x'_a; empty if they were not requested.
    mixed : list of lists of (n, m) arrays
        ∂²κ/(∂x_a ∂x'_b).
    """

    value: Array
    left: list[Array]
    right: list[Array]
    mixed: list[list[Array]]


class Law(NamedTuple):
    """∫m, ∫κ₀(x, x) and ∫m² of a base kernel of one input, under the standard normal law."""

    mean: float
    diagonal: float
    square: float


@lru_cache(maxsize=64)
def normal_law(base: Kernel) -> Law:
    """The integrals of this base."""
    t, w = quadrature()
    m, _ = base.normal_mean(t)
    diagonal = [blocks.K(base, np.array([[x]]))[0, 0] for x in t]
    return Law(float(w @ m), float(w @ diagonal), float(w @ m**2))


@dataclass(frozen=True)
class Unit:
    """The inputs of a unit, and its number of levels if it is a category (else 0)."""

    inputs: tuple[int, ...]
    levels: int = 0

    def parts(self, base: Kernel, X: Array, Y: Array, derivatives: bool) -> Parts:
        """κ between the points, with its derivatives if requested."""
        if self.levels:
            return self._category(X, Y, derivatives)
        law, p = normal_law(base), len(self.inputs)
        full = _product([_axis(base, X[:, [a]], Y[:, [a]], derivatives) for a in self.inputs])
        c, g = law.diagonal**p, law.mean**p
        if g <= EPS * c:  # already orthogonal to constants, like a linear kernel
            return _combined(full, full, 1.0 / c, 0.0)
        mean = _product([_mean(base, X[:, a], Y[:, a], derivatives) for a in self.inputs])
        c -= law.square**p / g
        return _combined(full, mean, 1.0 / c, -1.0 / (c * g))

    def _category(self, X: Array, Y: Array, derivatives: bool) -> Parts:
        """1 on equal levels, made orthogonal to constants; its derivatives are 0."""
        a, share = self.inputs[0], 1.0 / self.levels
        value = ((X[:, a, None] == Y[:, a]) - share) / (1.0 - share)
        none = [np.zeros_like(value)] if derivatives else []
        return Parts(value, none, none, [none] if derivatives else [])


def _axis(base: Kernel, x: Array, y: Array, derivatives: bool) -> Parts:
    """The base kernel on one input."""
    if not derivatives:
        return Parts(blocks.K(base, x, y), [], [], [])
    n, m = len(x), len(y)
    K, D, L = np.zeros((n, m)), np.zeros((1, n, m)), np.zeros((1, n, 1, m))
    base._accumulate(1.0, x, y, K, D, L)
    return Parts(K, [D[0]], [blocks.D(base, y, x).T], [[L[0, :, 0]]])


def _mean(base: Kernel, x: Array, y: Array, derivatives: bool) -> Parts:
    """m(x) m(x') on one input."""
    (mx, dx), (my, dy) = base.normal_mean(x), base.normal_mean(y)
    value = np.outer(mx, my)
    if not derivatives:
        return Parts(value, [], [], [])
    return Parts(value, [np.outer(dx, my)], [np.outer(mx, dy)], [[np.outer(dx, dy)]])


def _product(axes: list[Parts]) -> Parts:
    """The product over the inputs of a unit, by the product rule."""
    if len(axes) == 1:
        return axes[0]
    values = [axis.value for axis in axes]

    def others(*left_out: int) -> Array:
        kept = [value for i, value in enumerate(values) if i not in left_out]
        return reduce(mul, kept) if kept else np.ones_like(values[0])

    if not axes[0].left:
        return Parts(others(), [], [], [])
    ids = range(len(axes))
    left = [axes[a].left[0] * others(a) for a in ids]
    right = [axes[a].right[0] * others(a) for a in ids]
    mixed = [
        [
            axes[a].mixed[0][0] * others(a)
            if a == b
            else axes[a].left[0] * axes[b].right[0] * others(a, b)
            for b in ids
        ]
        for a in ids
    ]
    return Parts(others(), left, right, mixed)


def _combined(one: Parts, other: Parts, s: float, t: float) -> Parts:
    """s times one kernel plus t times the other."""

    def add(a: Array, b: Array) -> Array:
        return s * a + t * b if t else s * a

    return Parts(
        add(one.value, other.value),
        [add(a, b) for a, b in zip(one.left, other.left, strict=True)],
        [add(a, b) for a, b in zip(one.right, other.right, strict=True)],
        [
            [add(a, b) for a, b in zip(row, rest, strict=True)]
            for row, rest in zip(one.mixed, other.mixed, strict=True)
        ],
    )
