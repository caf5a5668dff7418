"""Names of inputs: where they come from, and how columns are found by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr


def feature_names(X: object, d: int) -> tuple[str, ...]:
    """The names of the columns, as strings, or x0, x1, ... if they have none."""
    names = column_names(X)
    if names is None:
        return tuple(f"x{a}" for a in range(d))
    refuse_repeated(names, names)
    return names


def column_names(X: object) -> tuple[str, ...] | None:
    """The names of the columns of a table or DataArray, as strings; None if it has none."""
    # A table of pyarrow has its columns themselves as `columns`.
    columns: Iterable[object] | None = getattr(X, "column_names", getattr(X, "columns", None))
    if isinstance(X, xr.DataArray):
        columns = X.indexes.get(oriented(X).dims[-1]) if X.dims else None
    return None if columns is None else tuple(str(name) for name in columns)


def oriented(X: Any) -> Any:
    """X with samples along its rows: a DataArray whose dimensions say otherwise is transposed."""
    if isinstance(X, xr.DataArray) and X.ndim == 2:
        return X.T if X.dims[0] == "feature" or X.dims[1] == "sample" else X
    return X


def row_labels(X: Any) -> pd.Index | None:
    """The labels of the rows of a pandas object or a DataArray; None if they have none."""
    if isinstance(X, pd.DataFrame | pd.Series):
        return X.index
    if isinstance(X, xr.DataArray) and X.ndim:
        return X.indexes.get(oriented(X).dims[0])
    return None


def name_of(*targets: Any) -> str:
    """The name of y, if it is a column with a name."""
    for target in targets:
        name = getattr(target, "name", None)
        key = hasattr(target, "chunksize")  # a Dask array has the name of a task
        if isinstance(name, str) and name.strip() and not key:
            return name
    return "y"


def refuse_misaligned(X: Any, **given: Any) -> None:
    """Refuse a y, or weights, whose row labels are not those of X, or are in another order."""
    of_x = row_labels(X)
    for name, values in given.items():
        labels = row_labels(values)
        if of_x is None or labels is None or len(of_x) != len(labels) or of_x.equals(labels):
            continue
        same = len(of_x.difference(labels)) == 0 and len(labels.difference(of_x)) == 0
        what = "has the labels of X in another order" if same else "differs from the index of X"
        how = (
            f"align them first, as in {name}.loc[X.index]" if same else "give both the same labels"
        )
        raise ValueError(f"the index of {name} {what}; {how}, or give {name} without labels.")


def refuse_misaligned_pair(validation: Any) -> None:
    """The same for held-out rows, if they are a pair (X, y)."""
    if isinstance(validation, tuple | list) and len(validation) == 2:
        refuse_misaligned(validation[0], y_val=validation[1])


def is_table(X: Any) -> bool:
    """Whether X is a table of pandas, polars, pyarrow or the like, in memory."""
    if isinstance(X, np.ndarray | list | tuple | xr.DataArray) or not hasattr(X, "columns"):
        return False
    from narwhals.dependencies import is_into_dataframe  # arrays never need it

    return bool(is_into_dataframe(X))


def take_columns(X: Any, features: Sequence[str], name: str = "X") -> Any:
    """X with these columns in this order; an X without names is returned unchanged."""
    names, X = column_names(X), oriented(X)
    if names is None or not (is_table(X) or np.ndim(X) == 2):  # blocks may have names too
        return X
    missing = [feature for feature in features if feature not in names]
    if missing:
        plain = tuple(features) == feature_names(None, len(features))
        what = f"{name} without names, as in the fit" if plain else "all inputs of the fit"
        raise ValueError(f"the columns of {name} lack {missing[0]!r}; give {what}.")
    refuse_repeated(names, features)
    order = [names.index(feature) for feature in features]
    if hasattr(X, "column_names"):  # pyarrow
        return X.select(order)
    return X.iloc[:, order] if hasattr(X, "iloc") else X[:, order]


def find_column(given: Any, names: Sequence[str], from_end: bool = False) -> int | None:
    """Position of a column that is given by name or number; None if it does not exist."""
    name, d = str(given), len(names)
    named = names.index(name) if name in names else None
    if not isinstance(given, int | np.integer) or not (-d if from_end else 0) <= given < d:
        return named
    place = int(given) % d
    if named not in (None, place):
        raise ValueError(
            f"{given} is the number of input {names[place]!r} and the name of another input; give "
            f"{name!r} for the name."
        )
    return place


def refuse_repeated(names: Sequence[str], features: Sequence[str]) -> None:
    """Refuse features whose name several columns have."""
    times = Counter(names)
    repeated = [feature for feature in features if times[feature] > 1]
    if repeated:
        raise ValueError(
            f"several inputs are called {repeated[0]!r}; give each column its own name."
        )


def find_columns(what: str, names: Iterable[Any], features: tuple[str, ...]) -> list[int]:
    """The places of several inputs; `what` is the argument that names them."""
    places = []
    for name in names:
        place = find_column(name, features)
        if place is None:
            raise ValueError(f"{what} names {name!r}, which is not an input; give names of inputs.")
        places.append(place)
    return places
