"""ANOVA and warped kernels, set by set: the sum over all sets of units, in plain loops.

Registers their entries with `reference.kernels.entry`. Only the standard normal law of the inputs
is defined by its numerics: 100 points of Gauss-Hermite quadrature.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import cosh, prod, tanh
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.kernels import Anova, Kernel, Warped
from reference.kernels import Entry, entry

Array = NDArray[np.float64]


class Unit(NamedTuple):
    """κ of a unit at one pair of points: value, first derivatives, mixed second ones, by input."""

    value: float
    left: dict[int, float]
    right: dict[int, float]
    mixed: dict[tuple[int, int], float]


@cache
def _nodes() -> tuple[list[float], list[float]]:
    t, w = np.polynomial.hermite_e.hermegauss(100)
    return t.tolist(), (w / w.sum()).tolist()


def _pair(base: Kernel, x: float, y: float) -> tuple[float, float, float, float]:
    """Base kernel of one input: k, dk/dx, dk/dy and d²k/(dx dy)."""
    k, (left,), ((mixed,),) = entry(base, np.array([x]), np.array([y]))
    (right,) = entry(base, np.array([y]), np.array([x]))[1]
    return k, left, right, mixed


@cache
def _mean(base: Kernel, x: float) -> tuple[float, float]:
    """m(x) and m'(x)."""
    rows = [(w, *_pair(base, x, t)[:2]) for t, w in zip(*_nodes(), strict=True)]
    return sum(w * k for w, k, _ in rows), sum(w * slope for w, _, slope in rows)


@cache
def _law(base: Kernel) -> tuple[float, float, float]:
    """∫m, ∫k(x, x) and ∫m²."""
    rows = [(w, _mean(base, t)[0], _pair(base, t, t)[0]) for t, w in zip(*_nodes(), strict=True)]
    return (
        sum(w * m for w, m, _ in rows),
        sum(w * k for w, _, k in rows),
        sum(w * m * m for w, m, _ in rows),
    )


def _category(a: int, levels: int, s: Array, r: Array) -> Unit:
    value = (float(s[a] == r[a]) - 1 / levels) / (1 - 1 / levels)
    return Unit(value, {a: 0.0}, {a: 0.0}, {(a, a): 0.0})


def _unit(base: Kernel, inputs: list[int], s: Array, r: Array) -> Unit:
    """[Π k_a − Π m(s_a) m(r_a) / g] / c, with its derivatives."""
    mean, diagonal, square = (number ** len(inputs) for number in _law(base))
    full = {a: _pair(base, float(s[a]), float(r[a])) for a in inputs}
    ones = {a: (*_mean(base, float(s[a])), *_mean(base, float(r[a]))) for a in inputs}
    flat = {a: (m * n, dm * n, m * dn, dm * dn) for a, (m, dm, n, dn) in ones.items()}
    centred = mean > 2.3e-16 * diagonal
    c = diagonal - square / mean if centred else diagonal
    parts = [(full, 1 / c)] + ([(flat, -1 / (c * mean))] if centred else [])

    def total(which: dict[int, int]) -> float:
        return sum(f * prod(part[a][which.get(a, 0)] for a in inputs) for part, f in parts)

    return Unit(
        total({}),
        {a: total({a: 1}) for a in inputs},
        {a: total({a: 2}) for a in inputs},
        {(a, b): total({a: 3} if a == b else {a: 1, b: 2}) for a in inputs for b in inputs},
    )


@entry.register
def _(kernel: Anova, s: Array, r: Array) -> Entry:
    d = range(len(s))
    labels = [str(a) for a in d] if kernel.units is None else list(kernel.units)
    names = list(dict.fromkeys(labels))
    weights = [1.0] * len(names) if kernel.weights is None else list(kernel.weights)
    units = []
    for weight, name in zip(weights, names, strict=True):
        inputs = [a for a in d if labels[a] == name]
        levels = 0 if kernel.levels is None else kernel.levels[inputs[0]]
        known = _category(inputs[0], levels, s, r) if levels else _unit(kernel.base, inputs, s, r)
        units.append((weight, known))
    value, first = 0.0, [0.0 for _ in d]
    second = [[0.0 for _ in d] for _ in d]
    for size in range(1, kernel.order + 1):
        for chosen in combinations(units, size):
            scale = prod(weight for weight, _ in chosen)
            value += scale * prod(unit.value for _, unit in chosen)
            for i, (_, one) in enumerate(chosen):
                others = [unit for j, (_, unit) in enumerate(chosen) if j != i]
                rest = scale * prod(unit.value for unit in others)
                for a, slope in one.left.items():
                    first[a] += rest * slope
                for (a, b), bend in one.mixed.items():
                    second[a][b] += rest * bend
                for other in others:
                    rest = scale * prod(unit.value for unit in others if unit is not other)
                    for a, left in one.left.items():
                        for b, right in other.right.items():
                            second[a][b] += rest * left * right
    return value, first, second


@entry.register
def _(kernel: Warped, s: Array, r: Array) -> Entry:
    k, first, second = entry(kernel.kernel, *(np.array([_bent(x) for x in p]) for p in (s, r)))
    left, right = ([_slope(x) for x in p] for p in (s, r))
    d = range(len(s))
    return (
        k,
        [left[a] * first[a] for a in d],
        [[left[a] * right[b] * second[a][b] for b in d] for a in d],
    )


def _bent(x: float) -> float:
    size = abs(x)
    bent = size if size <= 2.5 else 2.5 + 1.5 * tanh((size - 2.5) / 1.5)
    return bent if x >= 0 else -bent


def _slope(x: float) -> float:
    return 1.0 if abs(x) <= 2.5 else cosh((abs(x) - 2.5) / 1.5) ** -2
