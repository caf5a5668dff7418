"""Designs on which the constants of `nvsd.inference` were tuned, and shares of small p-values.

    python docs/scripts/significance_tuning.py --runs 20 [--only square,chain]

These are not the designs that docs/significance.md reports on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from nvsd.selection.significance import significance

Rng = np.random.Generator
Design = tuple[np.ndarray, np.ndarray, list[int]]


def _normal(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d))


def _ar(rng: Rng, n: int, d: int, rho: float) -> np.ndarray:
    X = rng.standard_normal((n, d))
    for a in range(1, d):
        X[:, a] = rho * X[:, a - 1] + np.sqrt(1 - rho**2) * X[:, a]
    return X


def noise(rng: Rng) -> Design:
    return _normal(rng, 100, 20), rng.standard_normal(100), []


def noise_ar(rng: Rng) -> Design:
    return _ar(rng, 200, 50, 0.9), rng.standard_normal(200), []


def linear_ar(rng: Rng) -> Design:
    X = _ar(rng, 200, 20, 0.9)
    return X, X[:, 3] - X[:, 10] + rng.standard_normal(200), [3, 10]


def nonlinear_ar(rng: Rng) -> Design:
    X = _ar(rng, 200, 20, 0.8)
    return X, X[:, 3] ** 2 + np.sin(2 * X[:, 10]) + 0.5 * rng.standard_normal(200), [3, 10]


def square(rng: Rng) -> Design:
    X = _normal(rng, 200, 10)
    X[:, 1] = X[:, 0] ** 2 + 0.5 * X[:, 1]
    return X, X[:, 0] ** 2 + 0.5 * rng.standard_normal(200), [0]


def cosine(rng: Rng) -> Design:
    X = _normal(rng, 200, 10)
    X[:, 1] = X[:, 0] ** 2 + 0.5 * X[:, 1]
    return X, np.cos(2 * X[:, 0]) + 0.5 * rng.standard_normal(200), [0]


def threshold(rng: Rng) -> Design:
    X = _normal(rng, 200, 10)
    X[:, 1] = X[:, 0] + 0.5 * X[:, 1] > 0
    return X, X[:, 0] + 0.5 * rng.standard_normal(200), [0]


def scale(rng: Rng) -> Design:
    X = _normal(rng, 200, 10)
    X[:, 1] = X[:, 0] * X[:, 1]
    return X, X[:, 0] ** 2 + 0.5 * rng.standard_normal(200), [0]


def heavy(rng: Rng) -> Design:
    X = rng.standard_t(3, (200, 10)) + 0.7 * rng.standard_t(3, (200, 1))
    return X, X[:, 0] + np.abs(X[:, 1]) + rng.standard_normal(200), [0, 1]


def chain(rng: Rng) -> Design:
    """Binary, each the one before or, with probability .2, the other value."""
    flip = rng.random((200, 10)) < 0.2
    flip[:, 0] = rng.random(200) < 0.5
    X = np.cumsum(flip, axis=1) % 2
    return X.astype(float), X[:, 2] + X[:, 6] + 0.7 * rng.standard_normal(200), [2, 6]


DESIGNS: dict[str, Callable[[Rng], Design]] = {
    f.__name__: f
    for f in (
        noise, noise_ar, linear_ar, nonlinear_ar, square, cosine, threshold, scale, heavy, chain,
    )
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default=",".join(DESIGNS))
    options = parser.parse_args()
    for name in options.only.split(","):
        start, null, false, power = time.perf_counter(), [], [], []
        for seed in range(options.first, options.first + options.runs):
            X, y, true = DESIGNS[name](np.random.default_rng([seed, 77]))
            found = significance(X, y, progress=False)
            others = np.setdiff1d(np.arange(X.shape[1]), true)
            null.append(found.p_value.values[others])
            kept = np.flatnonzero(found.q_value.values <= 0.1)
            false.append(np.isin(kept, others).sum() / max(1, len(kept)))
            power.append(np.isin(true, kept).mean() if true else np.nan)
        p = np.concatenate(null)
        shares = "  ".join(f"{np.mean(p < level):.3f}" for level in (0.01, 0.05, 0.1))
        seconds = (time.perf_counter() - start) / options.runs
        print(
            f"{name:13} p < .01 .05 .1: {shares}   FDR {np.mean(false):.2f} "
            f"± {np.std(false) / np.sqrt(len(false)):.2f}   power {np.mean(power):.2f}   "
            f"{seconds:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
