"""Rows from whatever the user gave as X and y."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from nvsd.data.block_rows import IterableRows
from nvsd.data.rows import ArrayRows, Rows


def rows_of(X: Any, y: Any = None, progress: bool | None = None) -> Rows:
    """The rows of whatever the user gave as X and y; rows are returned, with y if it is given."""
    if isinstance(X, Rows):
        return X if y is None else X.with_target(y)
    if isinstance(X, Mapping) or hasattr(X, "toarray"):
        raise ValueError(
            f"X is a {type(X).__name__}; give an array or a DataFrame, such as X.toarray() of a "
            "sparse matrix."
        )
    if hasattr(X, "__dask_graph__") and (not isinstance(X, xr.DataArray) or X.chunks is not None):
        from nvsd.data.dask_rows import DaskRows

        return DaskRows(X, y, progress)
    if not _is_blocks(X):
        return ArrayRows(X, y, progress)
    if y is not None:
        raise ValueError("y was given but also comes with the blocks; leave it out.")
    return IterableRows(X, progress)


def _is_blocks(X: Any) -> bool:
    """Whether X is an iterable of pairs, not an array or a list of lists of numbers."""
    if isinstance(X, (list, tuple)):
        return len(X) == 0 or (isinstance(X[0], (list, tuple)) and np.ndim(X[0][0]) == 2)
    return isinstance(X, Iterable) and not hasattr(X, "__array__")
