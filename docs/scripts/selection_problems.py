"""Problems with known inputs: public ones (`nvsd.benchmark.public`), and kinds of our own.

The constants of `nvsd.engine` were tuned on TUNING. HELD_OUT and FRESH were looked at after
changes, and led to one each (the start weights of the scan; no squares taken out of the kernel).
LAST was run to report the first engine. Before the present one was run on it, the rankings of all
kinds, with another seed, were looked at, and two configurations that never won were dropped. Then
h_triple, sine, l_wide, e1 and e2, with other seeds, led to the scans of triples and of what a first
fit leaves, to polynomials, and to y as it came. So none of these sets is unseen.
`nvsd.benchmark.unseen` has one that was run once, at the end.
"""

from __future__ import annotations

import numpy as np

from nvsd.benchmark import public
from nvsd.benchmark.problems import (
    Array,
    Draw,
    Kind,
    Noise,
    Problem,
    Rng,
    ar,
    as_numbers,
    normal,
    sd,
    snr,
    t3,
    uniform,
)
from nvsd.benchmark.public import NONE


def lognormal(rng: Rng, n: int, d: int) -> Array:
    return np.exp(rng.standard_normal((n, d)))


def binary(rng: Rng, n: int, d: int) -> Array:
    return (rng.random((n, d)) < 0.5).astype(float)


def mixed(rng: Rng, n: int, d: int) -> Array:
    """Every second input binary, the others normal."""
    X = rng.standard_normal((n, d))
    X[:, 1::2] = X[:, 1::2] > 0.3
    return X


def factor(rng: Rng, n: int, d: int) -> Array:
    """All pairs correlated .5 through one factor."""
    return np.sqrt(0.5) * (rng.standard_normal((n, 1)) + rng.standard_normal((n, d)))


def t2(size: float) -> Noise:
    return lambda rng, f, X: size * f.std() * rng.standard_t(2, len(f))


def hetero(size: float) -> Noise:
    return lambda rng, f, X: size * f.std() * np.abs(X[:, -1] + 0.3) * rng.standard_normal(len(f))


def _cubic(X: Array) -> Array:
    p1, p2, p3 = ((X**k).sum(axis=1) for k in (1, 2, 3))
    return (p1**3 + 3 * p1 * p2 + 2 * p3) / 6


def draw_e2(rng: Rng, n: int, d: int) -> Array:
    X = rng.standard_normal((n, d))
    one = np.array([0, 1, 2, 3, 4, 5, 12, 13, 14])
    two = np.array([6, 7, 8, 9, 10, 11, 15, 16, 17])
    X[:, two] = 0.95 * X[:, one] + np.sqrt(1 - 0.95**2) * X[:, two]
    return X


def draw_e3(rng: Rng, n: int, d: int) -> Array:
    z = rng.standard_normal((n, d // 3))
    return np.hstack([np.repeat(z, 3, axis=1) + 0.1 * rng.standard_normal((n, d)), z[:, [0, 2]]])


def _e3(X: Array) -> Array:
    s = X[:, -2] ** 2 + X[:, -1] ** 2
    return 10 * s * np.exp(-2 * s)


KINDS: dict[str, Kind] = {
    **public.KINDS,
    # the paper's
    "e1": Kind(
        lambda X: _cubic(X[:, 0:3]) + _cubic(X[:, 6:9]),
        [0, 1, 2, 6, 7, 8],
        normal,
        sd(0.1),
        110,
        18,
    ),
    "e2": Kind(
        lambda X: X[:, 0:3].sum(1) ** 3 + X[:, 6:9].sum(1) ** 3,
        [0, 1, 2, 6, 7, 8],
        draw_e2,
        sd(0.1),
        110,
        18,
    ),
    "e3": Kind(_e3, [0, 1, 2, 6, 7, 8], draw_e3, sd(0.1), 110, 18),
    # Linear, additive, interactions, steps, correlated, heavy tails, weak, many inputs
    "linear": Kind(
        lambda X: X[:, :5] @ np.array([2, -1.5, 1, 1, -0.7]),
        [0, 1, 2, 3, 4],
        normal,
        sd(1),
        100,
        30,
    ),
    "linear_ar": Kind(
        lambda X: X[:, [0, 5, 10]] @ np.array([1.5, -1, 1]), [0, 5, 10], ar(0.8), sd(1), 150, 40
    ),
    "additive": Kind(
        lambda X: np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + np.abs(X[:, 2]) + X[:, 3],
        [0, 1, 2, 3],
        normal,
        sd(0.5),
        200,
        50,
    ),
    "sin4x": Kind(lambda X: np.sin(4 * X[:, 0]) + 0.5 * X[:, 1], [0, 1], normal, sd(0.3), 200, 20),
    "product": Kind(
        lambda X: X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3], [0, 1, 2, 3], normal, sd(0.5), 200, 20
    ),
    "steps": Kind(
        lambda X: as_numbers(X[:, 0] > 0) + as_numbers(X[:, 1] > 0.5) * as_numbers(X[:, 2] < 0),
        [0, 1, 2],
        normal,
        sd(0.3),
        200,
        30,
    ),
    "wide": Kind(
        lambda X: 2 * X[:, 0] + X[:, 1] ** 2 + 2 * np.sin(X[:, 2]),
        [0, 1, 2],
        normal,
        sd(0.5),
        150,
        500,
    ),
    "ar_nonlin": Kind(
        lambda X: X[:, 2] ** 2 + np.sin(2 * X[:, 8]) + X[:, 14],
        [2, 8, 14],
        ar(0.9),
        sd(0.5),
        250,
        30,
    ),
    "bin_inter": Kind(
        lambda X: 2 * X[:, 1] * X[:, 0] + X[:, 3] - X[:, 2], [0, 1, 2, 3], mixed, sd(0.5), 200, 30
    ),
    "heavy_x": Kind(
        lambda X: X[:, 0] + np.abs(X[:, 1]) + np.tanh(X[:, 2]), [0, 1, 2], t3, sd(0.5), 200, 30
    ),
    "t2_noise": Kind(
        lambda X: X[:, 0] + X[:, 1] ** 2 + np.sin(2 * X[:, 2]), [0, 1, 2], normal, t2(0.3), 250, 20
    ),
    "weak": Kind(
        lambda X: X[:, 0] + X[:, 1] ** 2 + X[:, 0] * X[:, 2], [0, 1, 2], normal, snr(0.3), 400, 20
    ),
    "threeway": Kind(
        lambda X: X[:, 0] * X[:, 1] * X[:, 2] + X[:, 3], [0, 1, 2, 3], normal, sd(0.3), 400, 15
    ),
    # held out: other kinds
    "h_logistic": Kind(
        lambda X: 3 / (1 + np.exp(-3 * (X[:, 0] + X[:, 1]))) + 0.7 * X[:, 2] ** 2,
        [0, 1, 2],
        factor,
        sd(0.4),
        200,
        40,
    ),
    "h_lognormal": Kind(
        lambda X: np.log(X[:, 0]) + np.sqrt(X[:, 1]) + 1.5 / (1 + X[:, 2]),
        [0, 1, 2],
        lognormal,
        sd(0.3),
        200,
        30,
    ),
    "h_max": Kind(
        lambda X: np.maximum(X[:, 0], X[:, 1]) + np.minimum(X[:, 2], 0),
        [0, 1, 2],
        normal,
        sd(0.4),
        200,
        40,
    ),
    "h_checker": Kind(
        lambda X: np.sign(np.sin(np.pi * 1.5 * X[:, 0])) * np.sign(X[:, 1]),
        [0, 1],
        uniform,
        sd(0.3),
        400,
        60,
    ),
    "h_ratio": Kind(
        lambda X: X[:, 0] / (0.5 + np.abs(X[:, 1])) + X[:, 2], [0, 1, 2], normal, snr(0.8), 250, 25
    ),
    "h_spikes": Kind(
        lambda X: np.exp(-8 * (X[:, 0] - 0.5) ** 2) * 3 + np.cos(3 * X[:, 1]),
        [0, 1],
        normal,
        sd(0.4),
        250,
        100,
    ),
    "h_many": Kind(
        lambda X: X[:, :10] @ np.linspace(1, 0.5, 10) + 0.5 * X[:, 0] ** 2,
        list(range(10)),
        normal,
        sd(0.7),
        300,
        60,
    ),
    "h_gauss2": Kind(
        lambda X: 3 * np.exp(-((X[:, 3] - 0.3) ** 2 + (X[:, 7] + 0.3) ** 2) * 2),
        [3, 7],
        ar(0.5),
        sd(0.3),
        300,
        200,
    ),
    "h_hetero": Kind(
        lambda X: X[:, 0] ** 2 + 2 * X[:, 1] * (X[:, 2] > 0),
        [0, 1, 2],
        normal,
        hetero(0.5),
        300,
        30,
    ),
    "h_binary": Kind(
        lambda X: (X[:, 0] != X[:, 1]) + 0.8 * X[:, 2], [0, 1, 2], binary, sd(0.4), 200, 50
    ),
    "h_triple": Kind(
        lambda X: 2 * np.sin(np.pi * X[:, 0]) * X[:, 1] + 1.5 * X[:, 2] * X[:, 3] * X[:, 4],
        [0, 1, 2, 3, 4],
        uniform,
        sd(0.2),
        600,
        20,
    ),
    "h_outliers": Kind(
        lambda X: 2 * np.cos(X[:, 0]) + X[:, 1] + X[:, 1] * X[:, 2],
        [0, 1, 2],
        normal,
        t2(0.25),
        200,
        60,
    ),
    "h_index": Kind(lambda X: np.sin(X[:, :4].sum(axis=1)), [0, 1, 2, 3], normal, sd(0.2), 400, 20),
    "h_wide2": Kind(
        lambda X: X[:, 0] * X[:, 1] + 1.5 * X[:, 2] + np.cos(2 * X[:, 3]),
        [0, 1, 2, 3],
        ar(0.3),
        sd(0.4),
        300,
        1000,
    ),
    "h_small": Kind(lambda X: X[:, 0] + X[:, 1] ** 2, [0, 1], normal, sd(0.5), 60, 15),
    "h_probit": Kind(
        lambda X: as_numbers(X[:, 0] + X[:, 1] * X[:, 2] > 0.2), [0, 1, 2], factor, NONE, 300, 30
    ),
    # fresh: written after the middle look at the held-out kinds, run once, at the end
    "f_valley": Kind(
        lambda X: -np.abs(X[:, 0] - X[:, 1]) + 0.5 * X[:, 4], [0, 1, 4], normal, sd(0.3), 250, 50
    ),
    "f_hinge": Kind(
        lambda X: (
            np.maximum(X[:, 0] - 0.3, 0) * 3 - np.maximum(-X[:, 1], 0) * 2 + X[:, 2] * (X[:, 3] > 0)
        ),
        [0, 1, 2, 3],
        uniform,
        sd(0.3),
        300,
        80,
    ),
    "f_sinprod": Kind(
        lambda X: np.sin(2 * X[:, 0] * X[:, 1]) + 0.8 * np.cos(2 * X[:, 5]),
        [0, 1, 5],
        normal,
        sd(0.2),
        400,
        60,
    ),
    "f_dose": Kind(
        lambda X: X[:, 0] / (1 + X[:, 0]) * 4 + 0.5 * np.log(1 + X[:, 1] * X[:, 2]),
        [0, 1, 2],
        lognormal,
        sd(0.3),
        250,
        40,
    ),
    "f_factor": Kind(
        lambda X: X[:, 0] - X[:, 1] + (X[:, 2] * X[:, 3]), [0, 1, 2, 3], factor, sd(0.5), 200, 60
    ),
    "f_counts": Kind(
        lambda X: 1.5 * X[:, 0] * X[:, 1] - X[:, 2] + 0.7 * X[:, 4] ** 2,
        [0, 1, 2, 4],
        mixed,
        t2(0.2),
        250,
        40,
    ),
    "f_disc": Kind(
        lambda X: as_numbers(X[:, 0] ** 2 + X[:, 1] ** 2 + X[:, 2] ** 2 < 0.9),
        [0, 1, 2],
        uniform,
        sd(0.1),
        400,
        40,
    ),
    "f_ar95": Kind(
        lambda X: 1.5 * np.tanh(2 * X[:, 3]) + X[:, 12] ** 2 - X[:, 20],
        [3, 12, 20],
        ar(0.95),
        sd(0.4),
        300,
        60,
    ),
    "f_weaklin": Kind(
        lambda X: X[:, :6] @ np.array([1, 1, 0.8, 0.8, 0.6, 0.6]),
        list(range(6)),
        normal,
        snr(0.5),
        200,
        100,
    ),
    "f_gap": Kind(
        lambda X: np.sin(3 * X[:, 0]) * (X[:, 1] > 0) + np.exp(X[:, 2]) / 2,
        [0, 1, 2],
        t3,
        sd(0.3),
        300,
        30,
    ),
    # last: written after the fresh ones had been looked at, run once
    "l_saddle": Kind(
        lambda X: X[:, 0] ** 2 - X[:, 1] ** 2 + X[:, 2] * X[:, 0],
        [0, 1, 2],
        uniform,
        sd(0.2),
        150,
        60,
    ),
    "l_sawtooth": Kind(
        lambda X: np.mod(2 * X[:, 0], 1.0) + 0.5 * (X[:, 1] > 0) * (X[:, 2] > 0),
        [0, 1, 2],
        uniform,
        sd(0.1),
        400,
        40,
    ),
    "l_poisson": Kind(
        lambda X: np.round(np.exp(0.7 * X[:, 0] + 0.5 * X[:, 1] - 0.4 * X[:, 2])),
        [0, 1, 2],
        normal,
        sd(0.5),
        250,
        60,
    ),
    "l_binmix": Kind(
        lambda X: X[:, 0] * (2 * X[:, 1] - 1) + X[:, 5] - X[:, 4],
        [0, 1, 4, 5],
        mixed,
        sd(0.4),
        150,
        30,
    ),
    "l_heavyboth": Kind(
        lambda X: np.sign(X[:, 0]) * np.sqrt(np.abs(X[:, 0])) + np.cos(X[:, 1]) * 2,
        [0, 1],
        t3,
        t2(0.2),
        250,
        60,
    ),
    "l_corr": Kind(
        lambda X: X[:, 1] * X[:, 6] + np.abs(X[:, 11]), [1, 6, 11], ar(0.8), sd(0.4), 250, 40
    ),
    "l_low": Kind(lambda X: np.sin(2 * X[:, 0]) + X[:, 1], [0, 1], normal, snr(0.3), 150, 20),
    "l_wide": Kind(
        lambda X: np.abs(X[:, 0]) * 2 + X[:, 1] - X[:, 2] ** 2 / 2,
        [0, 1, 2],
        factor,
        sd(0.5),
        200,
        800,
    ),
}
TUNING = [k for k in KINDS if k[:2] not in ("h_", "f_", "l_")]
LAST = [k for k in KINDS if k.startswith("l_")]
FRESH = [k for k in KINDS if k.startswith("f_")]
HELD_OUT = [k for k in KINDS if k.startswith("h_")]
TUNING_SEEDS, HELD_OUT_SEEDS = (0, 1, 2), (1000, 1001, 1002)


def make(
    kind: str, seed: int, n: int | None = None, d: int | None = None, n_test: int = 1000
) -> Problem:
    """Draw one problem; n and d default to the kind's own."""
    return public.seeded(KINDS[kind], kind, seed, n, d, n_test)


NOISE_DESIGNS: dict[str, Draw] = {"normal": normal, "ar9": ar(0.9), "t3": t3}


def make_noise(design: str, n: int, d: int, seed: int, y_law: str = "normal") -> Problem:
    """Inputs of one design and y that has nothing to do with them."""
    rng = np.random.default_rng([seed, n, d, sum(map(ord, design))])
    X = NOISE_DESIGNS[design](rng, n, d)
    y = rng.standard_normal(n) if y_law == "normal" else rng.standard_t(2, n)
    return Problem(X, y, [], X[:0], y[:0])
