"""Checks of user input; each failure is a ValueError of one sentence."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from nvsd.data.cells import CODE_ADVICE, NUMBERS_ONLY, complaint, read_cells
from nvsd.data.names import feature_names, is_table, oriented
from nvsd.data.words import count
from nvsd.tolerances import EPS, LARGEST_SAMPLE

Array = NDArray[np.float64]


Index = NDArray[np.intp]


def is_number(value: object, kind: type = Real) -> bool:
    """Whether the value is a number of this kind; True and False are not."""
    return isinstance(value, kind) and not isinstance(value, bool)


def check_positive(name: str, value: Any) -> float:
    """Return a positive finite number as float."""
    if not is_number(value) or not 0 < value < math.inf:
        raise ValueError(f"{name} = {value!r} is not allowed; give a positive finite number.")
    return float(value)


def check_count(name: str, value: object) -> int:
    """Return a positive integer."""
    if not is_number(value, Integral) or value < 1:  # type: ignore[operator]
        raise ValueError(f"{name} = {value!r} is not allowed; give a positive integer.")
    return int(value)  # type: ignore[call-overload, no-any-return]


def check_seed(value: object, name: str = "random_state") -> int:
    """Return an integer that can seed random numbers."""
    if not is_number(value, Integral) or value < 0:  # type: ignore[operator]
        raise ValueError(f"{name} = {value!r} is not a seed; give an integer >= 0.")
    return int(value)  # type: ignore[call-overload, no-any-return]


def check_flag(name: str, value: object) -> bool:
    """Return True or False; text such as "no" is refused."""
    if not isinstance(value, bool | np.bool_ | Integral) or value not in (0, 1):
        raise ValueError(f"{name} = {value!r} is not allowed; give True or False.")
    return bool(value)


def _real(values: ArrayLike, name: str) -> Array:
    """Return an array of real numbers."""
    try:
        array = np.asanyarray(values)
        # Casting would drop the imaginary part, and make a number of a date.
        if array.dtype.kind in "cmM":
            raise TypeError("complex or dates")
        if isinstance(array, np.ma.MaskedArray):
            array = np.ma.filled(array.astype(float), np.nan)
        return np.asarray(array, dtype=float)
    except (TypeError, ValueError) as error:
        if hasattr(values, "isna") and np.any(values.isna()):
            raise ValueError(f"{name} holds NaN or infinite values; give finite numbers.") from None
        classes = ", or a classifier if y is a class" if name == "y" else ""
        what = f"{name} holds something other than numbers; give numbers{classes}."
        raise ValueError(what) from error


def check_points(X: ArrayLike, name: str = "X") -> Array:
    """Return points as an array (rows, inputs) of finite numbers."""
    X = oriented(X)
    try:
        points = _real(X, name)
    except ValueError:
        refuse_cells(X, name)
        raise
    if points.ndim != 2:
        raise ValueError(
            f"{name} has shape {points.shape}; give two dimensions, rows of samples by inputs."
        )
    if 0 in points.shape:
        raise ValueError(f"{name} has shape {points.shape}; give at least one row and one column.")
    if not np.isfinite(points).all():
        names = feature_names(X, points.shape[1])
        refuse_cells(X if is_table(X) else pd.DataFrame(points, columns=names), name)
    return points


def refuse_cells(X: Any, name: str) -> None:
    """Raise with all columns that are not finite numbers."""
    if is_table(X) or (type(X) is np.ndarray and X.ndim == 2):
        found = complaint(read_cells(X), name, NUMBERS_ONLY, CODE_ADVICE)
        if found:
            raise ValueError(found)


def check_pair(X: ArrayLike, Y: ArrayLike | None) -> tuple[Array, Array]:
    """Return two sets of points with the same inputs; one and the same if Y is None or X."""
    A = check_points(X)
    B = A if Y is None or Y is X else check_points(Y, "the second set of points")
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"the points have {A.shape[1]} and {B.shape[1]} inputs; give both the same inputs."
        )
    return A, B


def check_samples(X: ArrayLike) -> Array:
    """Return the samples as a contiguous array of at least two rows."""
    points = check_points(X)
    if len(points) < 2:
        raise ValueError(f"X has {len(points)} row; give at least 2 samples.")
    if max(points.max(), -points.min()) > LARGEST_SAMPLE:
        raise ValueError(
            f"X holds values beyond {LARGEST_SAMPLE:g}, whose squares leave the range of "
            "floating-point numbers; give X in other units."
        )
    return np.ascontiguousarray(points)


def check_non_negative(name: str, value: object) -> float:
    """Return a finite number that is not negative."""
    if not is_number(value) or not 0 <= value < math.inf:  # type: ignore[operator]
        raise ValueError(f"{name} = {value!r} is not allowed; give a finite number >= 0.")
    return float(value)  # type: ignore[arg-type]


def check_target(y: ArrayLike, n: int, name: str = "y") -> Array:
    """Return y, or something else of this name, as n finite numbers."""
    target = _real(y, name)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.shape != (n,):
        raise ValueError(
            f"{name} has shape {target.shape} for {n} rows of X; give one number per row."
        )
    if not (finite := np.isfinite(target)).all():
        odd, first = int(np.sum(~finite)), int(np.argmin(finite))
        raise ValueError(
            f"{name} holds NaN or infinite values in {count(odd, 'row')} (first in row {first}); "
            "give finite numbers, or leave such rows out."
        )
    return target


def check_splits(cv: Any, n: int) -> list[tuple[Index, Index]]:
    """Return folds (train, test) of n rows as row indices."""
    try:
        folds = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"cv = {cv!r} is not allowed; give a number of folds, a splitter, or pairs of indices."
        ) from error
    if not folds:
        raise ValueError("cv has no folds; give at least one, and not an iterator already used.")
    checked = []
    for number, (train, test) in enumerate(folds):
        train, test = (
            np.flatnonzero(part) if part.dtype == bool and part.shape == (n,) else part
            for part in (train, test)
        )
        for part, kind, least in ((train, "training", 2), (test, "test", 1)):
            if part.ndim != 1:
                raise ValueError(
                    f"fold {number} of cv has {kind} rows with {part.ndim} dimensions; give a list "
                    "of row indices."
                )
            if len(part) < least:
                raise ValueError(
                    f"fold {number} of cv has {part.size} {kind} rows but needs at least {least}; "
                    "give other folds, or more samples."
                )
            if part.dtype.kind not in "iu" or part.min() < -n or part.max() >= n:
                raise ValueError(
                    f"fold {number} of cv has {kind} rows that are not indices below {n}; "
                    "give row indices."
                )
        checked.append((train, test))
    return checked


def refuse_rounding(nu: float, largest: float) -> None:
    """Refuse a ν below the rounding errors of the kernel, which would hide it."""
    if not math.isfinite(largest):
        raise ValueError(
            "the values of the kernel are too large for floating-point numbers; standardize X."
        )
    rounding = EPS * largest
    if 0 < nu < rounding:
        raise ValueError(
            f"nu = {nu:g} is lost in the rounding errors of the kernel, whose values are up to "
            f"{largest:.0e}; standardize X, or give nu >= {rounding:.0e}."
        )


def check_coefficients(
    alpha: ArrayLike | None, beta: ArrayLike | None, n: int, d: int
) -> tuple[Array, Array | None, tuple[int, ...]]:
    """Return alpha (n, k), beta (d, n, k) or None, and the trailing shape given: () or (k,)."""
    B: Array | None = None if beta is None else np.asarray(beta, dtype=float)
    if alpha is not None:
        A = np.asarray(alpha, dtype=float)
    elif B is not None:
        A = np.zeros(B.shape[1:])
    else:
        raise ValueError("neither alpha nor beta is given; give at least one of them.")
    columns = A.shape[1:]
    fits = A.shape == (n, *columns) and (B is None or B.shape == (d, n, *columns))
    if not fits or len(columns) > 1:
        raise ValueError(
            f"the shapes of alpha {A.shape} and beta {None if B is None else B.shape} do not fit; "
            f"give ({n},) and ({d}, {n}), or ({n}, k) and ({d}, {n}, k)."
        )
    k = math.prod(columns)
    return A.reshape(n, k), None if B is None else B.reshape(d, n, k), columns
