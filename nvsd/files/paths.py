"""Paths and refits as netCDF files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr

from nvsd import machine
from nvsd.files._words import existing_file, file_name, listed, quoted
from nvsd.files.writing import write_bytes
from nvsd.machine import digest
from nvsd.results.schema import NEEDED, PATH, SELECTION, kernel_of

TEXTS = ("feature", "group", "kernel", "class")
KNOWN = {*PATH.variables, *PATH.coordinates}
CHECKED = ("title", "penalty", "loss", "representation", "n_samples", "n_features", "classes")


def write_dataset(path: Any, dataset: xr.Dataset) -> None:
    """Write a Dataset as netCDF, completely or not at all."""
    # HDF5 crashes the process when the disk is full. From memory, writing raises an error instead.
    content: Any = dataset.assign_attrs(checksum=" ".join(checksum(dataset))).to_netcdf(
        engine="h5netcdf"
    )
    write_bytes(path, bytes(content))


def checksum(dataset: xr.Dataset) -> tuple[str, str]:
    """Of names, shapes and coordinates; and of all numbers that belong to a path."""
    form, numbers = [], [str(dataset.attrs.get(name, "")).encode() for name in CHECKED]
    for name in sorted(str(name) for name in dataset.variables if str(name) in KNOWN):
        values = dataset[name].values
        form.append(f"{name} {dataset[name].dims} {values.shape}".encode())
        content = values.astype(float, order="C").tobytes() if values.dtype.kind in "biuf" else None
        content = content or "\n".join(map(str, np.ravel(values).tolist())).encode()
        (form if name in dataset.coords else numbers).append(content)
    return digest(*form), digest(*numbers)


def read_path(path: Any) -> xr.Dataset:
    """Read a path, or the refit of a selection, that this library wrote.

    Only the variables that belong to a path are read, and only as numbers and text. They are
    checked, so that the result can predict.
    """
    place = existing_file(path)
    try:
        dataset = _load(place)
    except MemoryError:
        raise
    except Exception as error:  # a damaged HDF5 file may raise anything
        raise ValueError(
            f"{file_name(place)} cannot be read as netCDF; give a file that nvsd wrote."
        ) from error
    absent = [name for name in NEEDED if name not in dataset.variables]
    if absent or not {"alpha", "theta"} & set(dataset.variables):
        what = f"it has no {listed(absent)}" if absent else "it holds no function"
        if dataset.attrs.get("title") == SELECTION.title:
            what = "it holds the candidates of a selection"
        raise ValueError(
            f"{file_name(place)} is not a path ({what}); give a file that nvsd path, or nvsd "
            "select --out, wrote."
        )
    problem = _damage(dataset) or _changed(dataset)
    if problem:
        raise ValueError(f"{file_name(place)} is a damaged path: {problem}; make it again.")
    dataset.attrs.pop("checksum", None)
    return dataset


def _changed(dataset: xr.Dataset) -> str | None:
    """Whether the numbers are those that were written; files of earlier versions cannot tell.

    A Dataset of another form, such as some of the τ, was written by the user.
    """
    form, _, numbers = str(dataset.attrs.get("checksum", "")).partition(" ")
    now = checksum(dataset)
    if form != now[0] or numbers == now[1]:
        return None
    return "its numbers have changed since it was written"


def _load(place: Path) -> xr.Dataset:
    # If this fails, h5netcdf would leave the file half open and complain about it at exit.
    with h5py.File(place, "r") as raw:
        raw.attrs.get("_nc3_strict")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with xr.open_dataset(
            place, engine="h5netcdf", decode_times=False, decode_timedelta=False
        ) as file:
            dataset = file.drop_vars([name for name in file.variables if name not in KNOWN])
            size, limit = dataset.nbytes, machine.available_memory()
            if size > limit:
                raise MemoryError(
                    f"{file_name(place)} would need {size / 2**30:.1f} GiB of memory but only "
                    f"{limit / 2**30:.1f} are free; use a machine with more memory."
                )
            return dataset.load()


def _damage(dataset: xr.Dataset) -> str | None:
    """What is wrong with the variables, if anything."""
    for name, variable in dataset.variables.items():
        values = variable.values
        if name in TEXTS:
            if not all(isinstance(text, str) for text in np.ravel(values).tolist()):
                return f"{quoted(name)} holds something other than text"
        elif values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            return f"{quoted(name)} holds something other than finite numbers"
        if name in PATH.variables:
            expected = set(PATH.variables[str(name)].dims)
            dims = set(variable.dims)
            if not expected - {"tau"} <= dims <= expected | {"mu", "class"}:
                return f"{quoted(name)} has the dimensions {listed(variable.dims)}"
    if "tau" in dataset.dims and not (np.diff(dataset["tau"].values) < 0).all():
        return "tau does not decrease"
    if not dataset["feature"].to_index().is_unique or dataset["feature"].dims != ("feature",):
        return "the names of the inputs are not distinct"
    if dataset["kernel"].ndim or not (dataset["x_scale"] > 0).all():
        return "the kernel or the scaling of the inputs is not valid"
    try:
        kernel_of(dataset)
    except ValueError as error:
        return str(error).rstrip(".")
    return None
