"""Names of inputs: where they come from, and how columns are found by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr


def feature_names(X: object, d: int) -> tuple[str, ...]:
    """The names of the columns, as strings, or x0, x1, ... if they have none."""
    names = column_names(X)
    if names is None:
        return tuple(f"x{a}" for a in range(d))
    _refuse_repeated(names, names)
    return names


def column_names(X: object) -> tuple[str, ...] | None:
    """The names of the columns of a DataFrame or DataArray, as strings; None if it has none."""
    columns: Iterable[object] | None = getattr(X, "columns", None)
    if isinstance(X, xr.DataArray):
        columns = X.indexes.get(X.dims[-1]) if X.dims else None
    return None if columns is None else tuple(str(name) for name in columns)


def take_columns(X: Any, features: Sequence[str], name: str = "X") -> Any:
    """X with these columns in this order; an X without names is returned unchanged."""
    names = column_names(X)
    if names is None or np.ndim(X) != 2:  # a reader of blocks may have column names too
        return X
    missing = [feature for feature in features if feature not in names]
    if missing:
        plain = tuple(features) == feature_names(None, len(features))
        what = f"{name} without names, as in the fit" if plain else "all inputs of the fit"
        raise ValueError(f"the columns of {name} lack {missing[0]!r}; give {what}.")
    _refuse_repeated(names, features)
    order = [names.index(feature) for feature in features]
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


def _refuse_repeated(names: Sequence[str], features: Sequence[str]) -> None:
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
