"""Public regression problems with known inputs, at the sizes of the articles they come from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nvsd.benchmark.problems import (
    Array,
    Kind,
    Problem,
    ar,
    as_numbers,
    drawn,
    normal,
    sd,
    snr,
    uniform,
    unit,
)

__all__ = ["KINDS", "NONE", "make", "seeded"]


def _ring(X: Array, w: float) -> NDArray[np.bool_]:
    return np.abs(np.hypot(X[:, 0], X[:, 1]) / 2 - 0.35) <= w


def _xor(X: Array, a: int, c: float) -> NDArray[np.bool_]:
    return (X[:, a] / 2) * (-X[:, a + 1] / 2) >= c


def _sum(X: Array) -> NDArray[np.bool_]:
    # Noise of the sum, in units of [0, 1]; the first number of X seeds it.
    e = np.random.default_rng(int(1e6 * abs(X[0, 0]))).standard_normal(len(X))
    return (X[:, 4] + X[:, 5] + 2) / 2 + 0.2 * e >= 1.4074


def _friedman2(X: Array) -> Array:
    a, b, c, e = 100 * X[:, 0], np.pi * (40 + 520 * X[:, 1]), X[:, 2], 1 + 10 * X[:, 3]
    return np.sqrt(a**2 + (b * c - 1 / (b * e)) ** 2)


def _friedman3(X: Array) -> Array:
    a, b, c, e = 100 * X[:, 0], np.pi * (40 + 520 * X[:, 1]), X[:, 2], 1 + 10 * X[:, 3]
    return np.arctan((b * c - 1 / (b * e)) / np.maximum(a, 1e-9))


def _friedman1(X: Array) -> Array:
    return (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20 * (X[:, 2] - 0.5) ** 2
        + 10 * X[:, 3]
        + 5 * X[:, 4]
    )


NONE = sd(0.0)
KINDS: dict[str, Kind] = {
    # Passemiers et al., Sci. Rep. 2024; inputs are fed as 2X - 1
    "ring": Kind(lambda X: as_numbers(_ring(X, 0.1151)), [0, 1], uniform, NONE, 500, 128),
    "xor": Kind(lambda X: as_numbers(_xor(X, 0, 0)), [0, 1], uniform, NONE, 500, 128),
    "ringxor": Kind(
        lambda X: as_numbers(_ring(X, 0.0704) | _xor(X, 2, 0.0337)),
        [0, 1, 2, 3],
        uniform,
        NONE,
        1000,
        32,
    ),
    "ringxorsum": Kind(
        lambda X: as_numbers(_ring(X, 0.0479) | _xor(X, 2, 0.0598) | _sum(X)),
        [0, 1, 2, 3, 4, 5],
        uniform,
        NONE,
        1000,
        32,
    ),
    # Yamada et al., on HSIC Lasso
    "yamada1": Kind(
        lambda X: -2 * np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2] + np.exp(-X[:, 3]),
        [0, 1, 2, 3],
        normal,
        sd(1),
        200,
        200,
    ),
    "yamada2": Kind(
        lambda X: X[:, 0] * np.exp(2 * X[:, 1]) + X[:, 2] ** 2, [0, 1, 2], normal, sd(1), 200, 200
    ),
    # From RFFNet, Rodeo and Chen et al.
    "jse2": Kind(lambda X: X[:, 0] ** 3 + X[:, 1] ** 3, [0, 1], ar(0.5), sd(0.1), 100, 10),
    "jse3": Kind(lambda X: X[:, 0] * X[:, 1], [0, 1], ar(0.5), sd(0.1), 100, 10),
    "rodeo1": Kind(lambda X: 5 * X[:, 0] ** 2 * X[:, 1] ** 2, [0, 1], unit, sd(0.5), 100, 10),
    "rodeo2": Kind(
        lambda X: 2 * (X[:, 0] + 1) ** 3 + 2 * np.sin(10 * X[:, 1]), [0, 1], unit, sd(1), 150, 20
    ),
    "chen": Kind(
        lambda X: 0.1 * (X[:, 0] + X[:, 1] + X[:, 2]) ** 3 + np.tanh(X[:, 0] + X[:, 2] + X[:, 4]),
        [0, 1, 2, 4],
        uniform,
        sd(0.1),
        100,
        50,
    ),
    "sine": Kind(
        lambda X: np.sin((X[:, 0] + X[:, 2]) ** 2) * np.sin(X[:, 6] * X[:, 7] * X[:, 8]),
        [0, 2, 6, 7, 8],
        normal,
        sd(0.1),
        1000,
        18,
    ),
    "logsum": Kind(
        lambda X: np.log(X[:, 10:15].sum(axis=1) ** 2),
        [10, 11, 12, 13, 14],
        normal,
        sd(0.1),
        1000,
        100,
    ),
    "quadratic": Kind(
        lambda X: X[:, 0] * X[:, 1] + X[:, 2] ** 2 + X[:, 3] + X[:, 3] * X[:, 4],
        [0, 1, 2, 3, 4],
        normal,
        sd(0.1),
        300,
        100,
    ),
    # Friedman's three
    "friedman1": Kind(_friedman1, [0, 1, 2, 3, 4], unit, sd(1), 200, 25),
    "friedman2": Kind(_friedman2, [0, 1, 2, 3], unit, snr(0.75), 200, 24),
    "friedman3": Kind(_friedman3, [0, 1, 2, 3], unit, snr(0.75), 300, 24),
}


def make(
    kind: str, seed: int, n: int | None = None, d: int | None = None, n_test: int = 1000
) -> Problem:
    """Draw one problem from a seed; n and d default to the kind's own."""
    return seeded(KINDS[kind], kind, seed, n, d, n_test)


def seeded(kind: Kind, name: str, seed: int, n: int | None, d: int | None, n_test: int) -> Problem:
    """Draw a problem of a kind from a seed and the kind's name."""
    n, d = n or kind.n, d or kind.d
    rng = np.random.default_rng([seed, sum(map(ord, name)), n, d])
    return drawn(kind, rng, n, d, n_test)
