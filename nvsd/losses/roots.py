"""Roots of many increasing functions of one number at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nvsd.tolerances import EPS

Array = NDArray[np.float64]

STEPS = 60  # halving alone takes as many from an interval to the rounding of its ends
CLOSE = 8 * EPS  # of the largest end: a shorter step is rounding


def increasing_root(
    equation: Callable[[Array], tuple[Array, Array]],
    low: Array,
    high: Array,
    start: Array | None = None,
    noise: float = 0.0,
) -> Array:
    """The root of each equation in [low, high], by Newton's method; halving where that leaves it.

    Parameters
    ----------
    equation : callable
        From arguments, shaped like low, to values that increase in them, and to their slopes.
    start : array, optional
        By default the middle.
    noise : float
        Values no larger than this count as zero.
    """
    low, high = low.copy(), high.copy()
    size = CLOSE * np.maximum(np.abs(low), np.abs(high))
    T = 0.5 * (low + high) if start is None else np.clip(start, low, high)
    last, done = np.full(T.shape, np.inf), np.zeros(T.shape, dtype=bool)
    for _ in range(STEPS):
        value, slope = equation(T)
        np.copyto(high, T, where=value >= 0)
        np.copyto(low, T, where=value <= 0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            moved = T - value / slope
        # Newton's steps shrink by half at least where they converge.
        good = (moved >= low) & (moved <= high) & (np.abs(moved - T) <= 0.5 * last)
        moved = np.where(good, moved, 0.5 * (low + high))
        last = np.abs(moved - T)
        done |= ~(last > size) | (np.abs(value) <= noise)  # also where there is no number
        if done.all():
            break
        T = np.where(done, T, moved)
    return T
