"""Numbers as short JSON, rounded to visible precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

LEVELS = 999  # of a quantised value: one level is a third of a pixel on the largest chart


def digits(values: ArrayLike, count: int = 4) -> list[Any]:
    """Numbers rounded to significant digits; values that are not finite become None."""
    return [
        (float(f"{value:.{count}g}") if value else 0) if np.isfinite(value) else None
        for value in np.asarray(values, dtype=float).tolist()
    ]


def ragged(values: Array, count: int = 4) -> list[Any]:
    """The same for an array of any dimension."""
    if values.ndim == 1:
        return digits(values, count)
    return [ragged(row, count) for row in values]


def bits(flags: NDArray[np.bool_]) -> str:
    """Flags as a text of 0 and 1."""
    return "".join("1" if flag else "0" for flag in flags)


def limits(*arrays: Array) -> tuple[float, float]:
    """Smallest and largest of all values, never equal."""
    low = min(float(a.min()) for a in arrays)
    high = max(float(a.max()) for a in arrays)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def quantised(values: Array, low: float, high: float) -> list[Any]:
    """Positions between low and high as integers from 0 to LEVELS; values outside are clipped."""
    levels = np.rint((values - low) / (high - low) * LEVELS)
    whole: list[Any] = np.clip(levels, 0, LEVELS).astype(int).tolist()
    return whole


def some(count: int, most: int) -> NDArray[np.intp]:
    """Indices of at most `most` rows, drawn with a fixed seed and in order."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))
