"""What a kind of Dataset is: its variables with their dimensions, long names and units."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from xarray.indexes import PandasIndex


class Variable(NamedTuple):
    """Dimensions, what it is, and the units: of y, of the inputs x as the kernel sees them."""

    dims: tuple[str, ...]
    long_name: str
    units: str = ""

    def attrs(self) -> dict[str, str]:
        """As attributes of a variable."""
        named = {"long_name": self.long_name}
        return named | {"units": self.units} if self.units else named


@dataclass(frozen=True)
class Schema:
    """One kind of Dataset.

    Attributes
    ----------
    title : str
        The attribute that tells it from the others.
    variables : mapping
        All that it may have.
    coordinates : mapping
        Their long names.
    """

    title: str
    variables: Mapping[str, Variable]
    coordinates: Mapping[str, str] = field(default_factory=dict)

    def make(
        self,
        data: Mapping[str, Any],
        coords: Mapping[str, Any],
        attrs: Mapping[str, Any],
        leading: tuple[str, ...] | None = None,
    ) -> xr.Dataset:
        """Give every variable its dimensions and attributes.

        Parameters
        ----------
        data, coords, attrs : mappings
            Values by name; attributes are text and numbers, so that files can hold them.
        leading : tuple of str, optional
            What takes the place of a variable's first dimension.
        """
        variables = {}
        for name, values in data.items():
            known = self.variables[name]
            dims = known.dims if leading is None else (*leading, *known.dims[1:])
            variables[name] = _variable(dims, values, known.attrs())
        made = _coordinates(coords)
        dataset = xr.Dataset(variables, coords=made, attrs={"title": self.title, **attrs})
        for name, long_name in self.coordinates.items():
            if name in dataset.coords:
                dataset.variables[name].attrs["long_name"] = long_name
        return dataset


def _coordinates(coords: Mapping[str, Any]) -> Mapping[Any, Any]:
    """As xarray makes them from arrays, pairs and numbers, in half the time; others as they are."""
    variables: dict[Hashable, xr.Variable] = {}
    indexes: dict[Hashable, PandasIndex] = {}
    for name, given in coords.items():
        if isinstance(given, np.ndarray) and given.ndim == 1:
            values = pd.Index(given, dtype=object if given.dtype == object else None)
            indexes[name] = PandasIndex(values, name)
            variables |= indexes[name].create_variables()
        elif isinstance(given, tuple) and len(given) == 2 and given[0] != name:
            variables[name] = _variable(*given)
        elif isinstance(given, str | float | int | np.generic):
            variables[name] = _variable((), given)
        else:
            return coords
    return xr.Coordinates(variables, indexes=indexes)


def _variable(
    dims: str | tuple[str, ...], values: Any, attrs: dict[str, str] | None = None
) -> xr.Variable:
    """Arrays of numbers and text need no conversion, which is a third of the time of a Dataset."""
    plain = isinstance(values, np.ndarray) and values.ndim > 0 and values.dtype.kind in "bifO"
    return xr.Variable(dims, values, attrs, fastpath=plain)
