"""Roots of many increasing functions of one number at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nvsd.tolerances import EPS

Array = NDArray[np.float64]

STEPS = 100  # halving alone takes 60 from an interval to the rounding of its ends
CLOSE = 8 * EPS  # of the largest end: a shorter step is rounding


def increasing_root(
    equation: Callable[[Array], tuple[Array, Array]],
    low: Array,
    high: Array,
    start: Array | None = None,
) -> Array:
    """The root of each equation in [low, high], by Newton's method; halving where that leaves it.

    Parameters
    ----------
    equation : callable
        From arguments, shaped like low, to values that increase in them, and to their slopes.
    start : array, optional
        By default the middle.
    """
    low, high = low.copy(), high.copy()
    size = CLOSE * np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-300)
    T = 0.5 * (low + high) if start is None else start
    for _ in range(STEPS):
        value, slope = equation(T)
        np.copyto(high, T, where=value >= 0)
        np.copyto(low, T, where=value <= 0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            moved = T - value / slope
        inside = (moved >= low) & (moved <= high)
        moved = np.where(inside, moved, 0.5 * (low + high))
        if (np.abs(moved - T) <= size).all():
            return moved
        T = moved
    return T
