"""Warnings about data from which a selection can learn little."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from nvsd.data.columns import Columns
from nvsd.data.names import feature_names
from nvsd.data.rows import ArrayRows, Rows
from nvsd.data.sources import Source, read_source
from nvsd.data.units import DataWarning
from nvsd.data.words import joined, listed, quoted
from nvsd.selection.task import Array

FEW_ROWS = 10  # with fewer, five folds hold out a single row each, or hardly more
MOST_CLASSES = 5  # so few different whole numbers may be labels of classes


def read_warily(X: Any, y: Any, loss: Any, *given: Any) -> Source:
    """`read_source`, with a warning for each thing that is odd; estimators pass rows, unwarned."""
    source = read_source(X, y, *given)
    if not isinstance(X, Rows):
        for text in (*_of_target(source.y, loss), *_of_inputs(source.X)):
            warnings.warn(text, DataWarning, stacklevel=3)
    return source


def _of_target(y: Any, loss: Any) -> list[str]:
    """What is odd about y."""
    values = np.ravel(np.asarray(y)) if y is not None and np.ndim(y) else np.empty(0)
    if values.dtype.kind not in "iuf" or not len(values) or not np.isfinite(values).all():
        return []
    found = np.unique(values)
    if len(found) == 1:
        return [f"y is {found[0]:g} in every row, so there is nothing to explain."]
    whole = loss is None and bool((found == np.round(found)).all())
    if whole and len(found) <= min(MOST_CLASSES, len(values) // 4):
        text = f"y has {len(found)} different values, all whole numbers, and is taken as a number"
        return [f"{text}; give loss='logistic' if they are classes, or loss='squared' if not."]
    return []


def _of_inputs(X: Any) -> list[str]:
    """What is odd about X."""
    points = _points(X)
    if points is None:
        return []
    found = []
    if len(points) < FEW_ROWS:
        found.append(
            f"X has {len(points)} rows, from which sets of inputs can hardly be judged; give at "
            f"least {FEW_ROWS}, or take the ranking as a guess."
        )
    known = X.features if isinstance(X, ArrayRows) else feature_names(X, points.shape[1])
    columns = X.columns if isinstance(X, ArrayRows) else None
    columns = columns or Columns.of_numbers(known)
    return [*found, *_of_columns(columns, points)]


def _of_columns(columns: Columns, points: Array) -> list[str]:
    """Columns that have no value, are constant, or repeat another."""
    first: dict[tuple[int, bytes], str] = {}
    empty, constant, repeats = [], [], []
    for a, name in enumerate(columns.names):
        inputs = points[:, columns.inputs_of(a)]
        if np.isnan(inputs[:, 0]).all():
            empty.append(name)
            continue
        if (inputs == inputs[0]).all():
            constant.append(name)
            continue
        one = first.setdefault((inputs.shape[1], inputs.tobytes()), name)
        if one != name:
            repeats.append(f"{quoted(name)} repeats {quoted(one)}")
    found = []
    if empty:
        has, them = ("has", "it") if len(empty) == 1 else ("have", "them")
        found.append(
            f"{listed(empty)} {has} no value in any row, so nothing can be learnt about {them}; "
            f"leave {them} out."
        )
    if constant:
        has, them = ("has", "it") if len(constant) == 1 else ("have", "them")
        found.append(
            f"{listed(constant)} {has} the same value in every row, so nothing can be learnt about "
            f"{them}; leave {them} out."
        )
    if repeats:
        found.append(
            f"{joined(repeats)}, so the data cannot tell them apart; leave one of them out, or "
            "put them in a group."
        )
    return found


def _points(X: Any) -> Array | None:
    """The numbers of X, if it is in memory and will be accepted."""
    if isinstance(X, ArrayRows):
        return None if X.lazy else X.points()
    if not isinstance(X, np.ndarray) or isinstance(X, np.memmap) or X.dtype.kind not in "biuf":
        return None
    return X if X.ndim == 2 and X.size and np.isfinite(X).all() else None
