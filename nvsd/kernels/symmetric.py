"""Elementary symmetric polynomials of matrices, entry by entry, with or without one of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nvsd.kernels.blocks import Array

Polynomials = list[Array]  # e_0 … e_m between two sets of points


def elementary(values: Iterable[Array], q: int, shape: tuple[int, int]) -> Polynomials:
    """e_0 … e_q of the z_u, by E_s ← E_s + z_u E_{s−1}."""
    e = [np.ones(shape)] + [np.zeros(shape) for _ in range(q)]
    for z in values:
        for s in range(q, 0, -1):
            e[s] += z * e[s - 1]
    return e


def without(e: Polynomials, z: Array) -> Polynomials:
    """e_s(−u) = e_s − z_u e_{s−1}(−u)."""
    rest = [e[0]]
    for each in e[1:]:
        rest.append(each - z * rest[-1])
    return rest


def without_one(Q: Polynomials, B: Array, rest: Polynomials, z: Array) -> Polynomials:
    """R_s = Σ_{u≠v} B_u e_s(−u, −v), from Q_s = R_s + z_v R_{s−1} + B_v e_s(−v)."""
    found: Polynomials = []
    for s, each in enumerate(Q):
        now = each - B * rest[s]
        found.append(now - z * found[-1] if found else now)
    return found
