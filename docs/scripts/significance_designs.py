"""The designs on which `nvsd.significance` is judged: written down before the first run.

24 cells of a fractional design: every law of the inputs, truth, law of the noise, number of rows
and number of inputs occurs. True inputs are 0 to 3, or fewer; in the laws "square", "threshold" and
"scale" input 4 is a function of input 0 and noise, and y does not depend on it given input 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rng = np.random.Generator


class Cell(NamedTuple):
    """One design."""

    law: str
    truth: str
    noise: str
    n: int
    d: int


class Draw(NamedTuple):
    """One table, and the inputs that y depends on."""

    X: Array
    y: Array
    true: list[int]


def _normal(rng: Rng, n: int, d: int) -> Array:
    return rng.standard_normal((n, d))


def _ar(rho: float) -> Callable[[Rng, int, int], Array]:
    def draw(rng: Rng, n: int, d: int) -> Array:
        X = rng.standard_normal((n, d))
        for a in range(1, d):
            X[:, a] = rho * X[:, a - 1] + np.sqrt(1 - rho**2) * X[:, a]
        # True inputs are far from each other, with null ones between them.
        return X[:, np.argsort(np.argsort(np.arange(d) % 5, kind="stable"), kind="stable")]

    return draw


def _factor(rng: Rng, n: int, d: int) -> Array:
    return np.sqrt(0.5) * (rng.standard_normal((n, 1)) + rng.standard_normal((n, d)))


def _t3(rng: Rng, n: int, d: int) -> Array:
    return rng.standard_t(3, (n, d)) + 0.5 * rng.standard_t(3, (n, 1))


def _binary(rng: Rng, n: int, d: int) -> Array:
    """Thresholds of an autoregressive chain."""
    return (_ar(0.7)(rng, n, d) > 0).astype(float)


def _mixed(rng: Rng, n: int, d: int) -> Array:
    """Every second input of a factor model is binary, every fifth a count."""
    X = _factor(rng, n, d)
    X[:, 1::2] = X[:, 1::2] > 0.3
    X[:, 2::5] = rng.poisson(np.exp(0.5 + 0.5 * X[:, 2::5]))
    return X


def _square(rng: Rng, n: int, d: int) -> Array:
    X = _normal(rng, n, d)
    X[:, 4] = X[:, 0] ** 2 + 0.5 * X[:, 4]
    return X


def _threshold(rng: Rng, n: int, d: int) -> Array:
    X = _normal(rng, n, d)
    X[:, 4] = X[:, 0] + 0.3 * X[:, 4] > 0.2
    return X


def _scale(rng: Rng, n: int, d: int) -> Array:
    X = _normal(rng, n, d)
    X[:, 4] *= X[:, 0]
    return X


LAWS: dict[str, Callable[[Rng, int, int], Array]] = {
    "normal": _normal, "ar5": _ar(0.5), "ar9": _ar(0.9), "factor": _factor, "t3": _t3,
    "binary": _binary, "mixed": _mixed, "square": _square, "threshold": _threshold,
    "scale": _scale,
}  # fmt: skip
TRUTHS: dict[str, tuple[Callable[[Array], Array], list[int]]] = {
    "none": (lambda X: np.zeros(len(X)), []),
    "linear": (lambda X: X[:, 0] - X[:, 1] + X[:, 2] + 0.7 * X[:, 3], [0, 1, 2, 3]),
    "additive": (lambda X: X[:, 0] ** 2 + np.sin(2 * X[:, 1]) + X[:, 2], [0, 1, 2]),
    "interaction": (lambda X: X[:, 0] * X[:, 1] + X[:, 2], [0, 1, 2]),
    "step": (lambda X: 1.5 * (X[:, 0] > 0.2) + (X[:, 1] > 0.2) * (X[:, 2] > 0.2), [0, 1, 2]),
}


def _noise(law: str, rng: Rng, f: Array, X: Array) -> Array:
    spread = 0.7 * (float(f.std()) or 1.0)
    if law == "t2":
        return 0.5 * spread * rng.standard_t(2, len(f))
    e = rng.standard_normal(len(f))
    # The noise grows with an input that the mean does not depend on: y is not independent of it,
    # so that input is counted neither true nor null.
    return spread * e * (np.abs(X[:, -1]) + 0.3 if law == "hetero" else 1.0)


CELLS = [
    Cell("normal", "none", "normal", 100, 20),
    Cell("ar9", "none", "normal", 300, 100),
    Cell("t3", "none", "t2", 300, 10),
    Cell("binary", "none", "normal", 100, 10),
    Cell("mixed", "none", "t2", 100, 100),
    Cell("normal", "linear", "normal", 100, 10),
    Cell("ar5", "linear", "t2", 300, 20),
    Cell("ar9", "linear", "normal", 300, 20),
    Cell("factor", "linear", "hetero", 300, 10),
    Cell("t3", "linear", "normal", 300, 20),
    Cell("normal", "additive", "hetero", 300, 20),
    Cell("ar5", "additive", "normal", 100, 20),
    Cell("ar9", "additive", "normal", 1000, 20),
    Cell("factor", "additive", "normal", 300, 100),
    Cell("square", "additive", "normal", 300, 10),
    Cell("threshold", "linear", "normal", 300, 10),
    Cell("threshold", "step", "normal", 300, 10),
    Cell("scale", "additive", "normal", 300, 10),
    Cell("square", "interaction", "t2", 1000, 10),
    Cell("scale", "interaction", "normal", 1000, 20),
    Cell("factor", "interaction", "normal", 300, 20),
    Cell("mixed", "interaction", "hetero", 300, 20),
    Cell("binary", "step", "normal", 300, 20),
    Cell("mixed", "step", "normal", 1000, 20),
]


def draw(cell: Cell, seed: int) -> Draw:
    """One table of a design."""
    rng = np.random.default_rng([seed, CELLS.index(cell), 2026])
    X = LAWS[cell.law](rng, cell.n, cell.d)
    f, true = TRUTHS[cell.truth]
    signal = np.asarray(f(X), dtype=float)
    return Draw(X, signal + _noise(cell.noise, rng, signal, X), true)


def null_inputs(cell: Cell, true: list[int]) -> NDArray[np.intp]:
    """The inputs that y does not depend on given the others."""
    left_out = [*true, cell.d - 1] if cell.noise == "hetero" else true
    return np.setdiff1d(np.arange(cell.d), left_out)
