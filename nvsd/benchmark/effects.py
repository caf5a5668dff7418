"""How much each true input of the unseen problems matters.

The total Sobol index of an input is the mean conditional variance of f given all other inputs, over
the variance of f.
"""

from __future__ import annotations

import numpy as np

from nvsd.benchmark.problems import Array, Rng
from nvsd.benchmark.unseen import KINDS, Kind, columns, draw
from nvsd.linalg import safe_threads

SMALLEST_EFFECT = 0.01  # of a true input: its total Sobol index; none may be below


def redrawn(kind: Kind, Z: Array, a: int, rng: Rng) -> Array:
    """The same rows with variable a drawn again given all others."""
    fresh = rng.standard_normal(len(Z))
    again = Z.copy()
    if kind.correlation is None:
        again[:, a] = fresh
    else:
        with safe_threads(Z.shape[1]):
            p = np.linalg.inv(kind.correlation(Z.shape[1]))[a]
        mean = Z[:, a] - Z @ p / p[a]
        again[:, a] = mean + fresh / np.sqrt(p[a])
    return again


def total_effects(name: str, rows: int = 20_000, seed: int = 0) -> Array:
    """The total Sobol index of each true input: half the mean squared change of f, over var f."""
    kind, rng = KINDS[name], np.random.default_rng(seed)
    Z = draw(kind, rng, rows, kind.d)
    used = slice(max(kind.true) + 1)

    def values(Z: Array) -> Array:
        return np.asarray(kind.f(columns(kind, Z[:, used])), dtype=float)

    f = values(Z)
    changes = [f - values(redrawn(kind, Z, a, rng)) for a in kind.true]
    return np.asarray([np.mean(change**2) / 2 / f.var() for change in changes])
