"""One column of a table: as numbers, or as labels of classes."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nvsd.data.cells import DECIMAL_COMMA

Array = NDArray[np.float64]


def floats(column: Any) -> Array | None:
    """The numbers of a column, or None if it holds something else."""
    kinds = pd.api.types
    if np.iscomplexobj(column):
        return None
    if kinds.is_bool_dtype(column) or kinds.is_numeric_dtype(column):
        return np.asarray(column.to_numpy(dtype=object, na_value=np.nan).astype(float))
    if not is_number(column).all():
        return None
    numbers = pd.to_numeric(column.astype(object), errors="coerce")
    return np.asarray(numbers.to_numpy(dtype=float, na_value=np.nan))


def is_number(column: Any) -> NDArray[np.bool_]:
    """Which cells of a column of text or objects are numbers or missing; dates are not numbers."""
    cells = column.astype(object)
    numbers = pd.to_numeric(cells, errors="coerce").notna().to_numpy()
    readable = np.array([isinstance(cell, (str, Real, Decimal)) for cell in cells], dtype=bool)
    return np.asarray((numbers & readable) | column.isna().to_numpy())


def are_labels(column: Any) -> bool:
    """Whether a column is true and false, or text without a single number."""
    cells = column.dropna().astype(object)
    if all(isinstance(cell, bool | np.bool_) for cell in cells):
        return True
    if not all(isinstance(cell, str) for cell in cells) or is_number(cells).any():
        return False
    return not any(DECIMAL_COMMA.fullmatch(cell) for cell in cells)


def label_codes(column: Any) -> tuple[Any, NDArray[Any]]:
    """Numbers of the labels of a column, missing ones missing, and the labels."""
    codes, found = pd.factorize(column.to_numpy(dtype=object))
    classes = np.array(found.tolist())
    if classes.dtype.kind == "f" and (classes == np.round(classes)).all():
        classes = classes.astype(int)  # whole numbers, read beside missing ones
    return pd.Series(codes, index=column.index).where(codes >= 0).astype(float), classes
