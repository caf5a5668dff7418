"""Inputs of the unseen problems: laws of one input each, correlations, and noise.

Each input is a function of a normal variable of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats
from scipy.special import ndtr

from nvsd.benchmark.problems import Array, Rng

Column = Callable[[Array], Array]
Noise = Callable[[Rng, Array], Array]


def normal(z: Array) -> Array:
    """Standard normal."""
    return z


def uniform(low: float, high: float) -> Column:
    """Uniform between two numbers."""
    return lambda z: low + (high - low) * ndtr(z)


def lognormal(sd: float, median: float = 1.0) -> Column:
    """Lognormal, with a median."""
    return lambda z: median * np.exp(sd * z)


def student(df: float) -> Column:
    """Student's t."""
    return lambda z: stats.t.ppf(ndtr(z), df)


def integers(low: int, high: int) -> Column:
    """All integers from low to high, equally often."""
    return lambda z: np.minimum(low + np.floor((high - low + 1) * ndtr(z)), high)


def counts(mean: float) -> Column:
    """Poisson counts."""
    return lambda z: stats.poisson.ppf(ndtr(z), mean)


def yes(share: float) -> Column:
    """1 in a share of the rows, otherwise 0."""
    return lambda z: (ndtr(z) < share).astype(float)


def chain(rho: float) -> Callable[[int], Array]:
    """Neighbours correlated rho, their neighbours rho², …."""
    return lambda d: rho ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))


def blocks(size: int, rho: float) -> Callable[[int], Array]:
    """Inputs of one block correlated rho."""

    def matrix(d: int) -> Array:
        same = np.equal.outer(np.arange(d) // size, np.arange(d) // size)
        return np.where(same, rho, 0.0) + (1 - rho) * np.eye(d)

    return matrix


def share(r2: float) -> Noise:
    """Normal noise of which f leaves a share r2 of the variance to explain."""
    return lambda rng, f: f + f.std() * np.sqrt(1 / r2 - 1) * rng.standard_normal(len(f))


def heavy(df: float, part: float) -> Noise:
    """Student's t as noise, as a part of the spread of f."""
    return lambda rng, f: f + part * f.std() * rng.standard_t(df, len(f))


def times(sd: float) -> Noise:
    """Lognormal noise of mean 1 that multiplies."""
    return lambda rng, f: f * np.exp(sd * rng.standard_normal(len(f)) - sd**2 / 2)


def rounded(r2: float, step: float, low: float, high: float) -> Noise:
    """A scale with few answers."""
    noisy = share(r2)
    return lambda rng, f: np.clip(step * np.round(noisy(rng, f) / step), low, high)
