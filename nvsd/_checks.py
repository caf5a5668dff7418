"""Checks of what the user gave; each failure is a ValueError of one sentence."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def is_number(value: object, kind: type = Real) -> bool:
    """Whether the value is a number of this kind; True and False are none."""
    return isinstance(value, kind) and not isinstance(value, bool)


def check_positive(name: str, value: Any) -> float:
    """Return a positive finite number as float."""
    if not is_number(value) or not 0 < value < math.inf:
        raise ValueError(f"{name} = {value!r} is not allowed; give a positive finite number.")
    return float(value)


def check_points(X: ArrayLike, name: str = "X") -> Array:
    """Return points as an array (rows, inputs) of finite numbers."""
    try:
        points = np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} holds something other than numbers; give numbers.") from error
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(
            f"{name} has shape {points.shape}; give two dimensions, rows of samples by inputs."
        )
    if not np.isfinite(points).all():
        raise ValueError(f"{name} holds NaN or infinite values; give finite numbers.")
    return points


def check_pair(X: ArrayLike, Y: ArrayLike | None) -> tuple[Array, Array]:
    """Return two sets of points with the same inputs; they are one object if Y is None or X."""
    A = check_points(X)
    B = A if Y is None or Y is X else check_points(Y, "the second set of points")
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"the points have {A.shape[1]} and {B.shape[1]} inputs; give both the same inputs."
        )
    return A, B
