"""Rows from whatever the user gave as X and y."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from nvsd.data.block_rows import IterableRows
from nvsd.data.cells import (
    DROP_OR_IMPUTE,
    Cells,
    faults_of,
    faults_of_target,
    read_cells,
    sentence,
)
from nvsd.data.checks import check_samples
from nvsd.data.columns import Columns, check_missing
from nvsd.data.names import is_table, oriented, refuse_misaligned, refuse_misaligned_pair
from nvsd.data.rows import ArrayRows, Rows
from nvsd.data.words import listed


def rows_of(X: Any, y: Any = None, progress: bool | None = None) -> Rows:
    """The rows of whatever the user gave as X and y; rows are returned, with y if it is given."""
    if isinstance(X, Rows):
        return X if y is None else X.with_target(y)
    X = oriented(X)
    refuse_misaligned(X, y=y)
    if isinstance(X, Mapping) or hasattr(X, "toarray"):
        way = "X.to_dataframe()" if hasattr(X, "to_dataframe") else "X.toarray() of a sparse matrix"
        raise ValueError(f"X is a {type(X).__name__}; give an array or a DataFrame, such as {way}.")
    if _is_dask(X):
        from nvsd.data.dask_rows import DaskRows

        return DaskRows(X, y, progress)
    if not _is_blocks(X):
        return ArrayRows(X, y, progress)
    if y is not None:
        raise ValueError("y was given but also comes with the blocks; leave it out.")
    return IterableRows(X, progress)


class Source(NamedTuple):
    """Samples, target and validation data of a selection, without rows that were left out.

    Attributes
    ----------
    kept : (n,) bool array or None
        The rows of X that are used; None if all are.
    """

    X: Any
    y: Any
    validation: Any = None
    kept: NDArray[np.bool_] | None = None

    def rows(self, values: Any) -> Any:
        """Of something given for each row of X, such as weights, what belongs to used rows."""
        return values if self.kept is None or values is None else _take_rows(values, self.kept)


def read_source(
    X: Any,
    y: Any,
    missing: str = "error",
    validation: Any = None,
    cv: Any = 5,
    progress: bool | None = None,
) -> Source:
    """What a selection sees of X and y: categories as numbers, missing values as NaN or left out.

    Arrays of numbers without missing values, and rows that are read in blocks, are unchanged.
    """
    missing, X = check_missing(missing), oriented(X)
    refuse_misaligned_pair(validation)
    in_memory = is_table(X) or isinstance(X, np.ndarray | list | tuple | xr.DataArray)
    if isinstance(X, np.memmap) or not in_memory or _is_dask(X) or _is_blocks(X):
        if missing != "error":
            raise ValueError(
                f"missing = {missing!r} needs all rows in memory; give X as an array or a table."
            )
        return Source(X, y, validation)
    refuse_misaligned(X, y=y)
    kind = "table" if is_table(X) else _kind(X)
    if not kind or (missing == "error" and kind in "biufcmM"):
        return Source(X, y, validation)  # checked, or refused, where it is read
    cells, kept = read_cells(X), None
    if wrong := _wrong(cells, y, missing):
        raise ValueError(wrong)
    if missing == "drop":
        kept = _complete(cells, y)
        if hasattr(cv, "__iter__") and not kept.all():
            raise ValueError(
                "missing = 'drop' changes the row numbers that cv gives; give a number of folds."
            )
        X, y = _take_rows(X, kept), None if y is None else _take_rows(y, kept)
        cells, validation = read_cells(X), _complete_pair(validation)
    return Source(_rows(cells, missing, progress), y, validation, kept)


def _rows(cells: list[Cells], missing: str, progress: bool | None) -> ArrayRows:
    """The inputs of a table; NaN where values are missing."""
    if not cells:
        raise ValueError("X has no columns; give at least one input.")
    columns = Columns.learn(cells, missing)
    matrix = columns.matrix(cells)
    check_samples(np.nan_to_num(matrix) if missing == "impute" else matrix)
    repeated = {name for name in columns.inputs if columns.inputs.count(name) > 1}
    if not columns.one_to_one and repeated:
        raise ValueError(
            f"the levels of categories would be called {listed(repeated)}, as another column is; "
            "rename that column."
        )
    rows = ArrayRows(matrix, None, progress, features=columns.inputs, checked=True)
    rows.columns = columns
    return rows


def _wrong(cells: list[Cells], y: Any, missing: str) -> str:
    """One sentence on all columns that cannot be used, and on y."""
    found = faults_of(cells, DROP_OR_IMPUTE if missing == "error" else None, None)
    advice = "leave rows without y out"
    advice += ", or give missing='drop'" if missing == "error" and not found else ""
    of_y = [] if missing == "drop" else faults_of_target(y, advice)
    return sentence("X or y" if of_y else "X", [*found, *of_y])


def _complete(cells: list[Cells], y: Any) -> NDArray[np.bool_]:
    """The rows without missing values, in y too."""
    kept = ~np.any([np.isnan(each.values) for each in cells], axis=0)
    absent = np.ravel(pd.isna(np.asarray(y, dtype=object)))
    kept = kept & ~absent if y is not None and len(absent) == len(kept) else kept
    if kept.sum() < 2:
        empty = [each.name for each in cells if np.isnan(each.values).all()]
        has = "has" if len(empty) == 1 else "have"
        because = f" because {listed(empty)} {has} no value at all" if empty else ""
        raise ValueError(
            f"X has {int(kept.sum())} rows without missing values{because}; give at least 2, or "
            "give missing='impute'."
        )
    return np.asarray(kept)


def _complete_pair(validation: Any) -> Any:
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        return validation
    X, y = validation
    kept = _complete(read_cells(oriented(X)), y)
    return _take_rows(oriented(X), kept), _take_rows(y, kept)


def _take_rows(values: Any, kept: NDArray[np.bool_]) -> Any:
    """Some of the rows of a table, an array or a list."""
    if hasattr(values, "iloc"):
        return values.iloc[np.flatnonzero(kept)]
    if is_table(values):
        return values.filter(kept if hasattr(values, "column_names") else kept.tolist())
    if isinstance(values, list):  # an array would make text of numbers beside text
        return [each for each, on in zip(values, kept, strict=True) if on]
    return np.asarray(values)[kept]


def _kind(X: Any) -> str:
    """The kind of the numbers or objects of a matrix; empty if X is none, such as ragged lists."""
    try:
        values = np.asarray(X)
    except ValueError:
        return ""
    return values.dtype.kind if values.ndim == 2 and values.size else ""


def _is_dask(X: Any) -> bool:
    return hasattr(X, "__dask_graph__") and getattr(X, "chunks", ()) is not None


def _is_blocks(X: Any) -> bool:
    """Whether X is an iterable of pairs, not an array or a list of lists of numbers."""
    if isinstance(X, (list, tuple)):
        return len(X) == 0 or (isinstance(X[0], (list, tuple)) and np.ndim(X[0][0]) == 2)
    return isinstance(X, Iterable) and not hasattr(X, "__array__")
