"""In which order a Dataset has its inputs and dimensions, and in which inputs are shown."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from nvsd.results.schema import PATH


def entry_order(on: NDArray[np.bool_], norms: NDArray[np.float64]) -> NDArray[np.intp]:
    """Inputs in the order in which they are switched on; ties put the stronger one first."""
    first = np.where(on.any(axis=0), on.argmax(axis=0), len(on))
    return np.lexsort((-norms.mean(axis=0), first))


def in_schema_order(dataset: xr.Dataset) -> xr.Dataset:
    """A path with its inputs in the order of X, and dimensions in the order of the schema.

    ``expand_dims`` and ``xr.concat`` give every variable the new dimension; where it is only
    repeated, one is taken.
    """
    dataset = in_column_order(dataset)
    variables = PATH.variables
    known = {str(name): dataset[name] for name in dataset.data_vars if name in variables}
    for name, array in known.items():
        shared = "tau" not in variables[name].dims
        for dim in {"tau", "mu", "class"} & set(array.dims) if shared else ():
            known[name] = array = _repeated(array, dim)
    turned = {
        name: array.transpose(..., "class", "mu", *variables[name].dims, missing_dims="ignore")
        for name, array in known.items()
    }
    return dataset.assign(turned)


def in_column_order(dataset: xr.Dataset) -> xr.Dataset:
    """The Dataset with its inputs in the order of the columns of X."""
    if "column_number" not in dataset or "feature" not in dataset.dims:
        return dataset
    if dataset["column_number"].dims != ("feature",):
        raise ValueError(
            "the Dataset joins paths whose inputs were in different orders; take one of them."
        )
    order = np.argsort(dataset["column_number"].values, kind="stable")
    return dataset.isel(feature=order) if (np.diff(order) < 0).any() else dataset


def _repeated(array: xr.DataArray, dim: str) -> xr.DataArray:
    """What is the same all along a dimension."""
    first = array.isel({dim: 0}, drop=True)
    if not (array == first).all():
        raise ValueError(
            f"{array.name} differs along {dim}, so these are paths of different data; "
            "take one of them, or join them along a dimension of another name."
        )
    return first
