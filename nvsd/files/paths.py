"""Paths, refits and selections as netCDF files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr

from nvsd import machine
from nvsd.files._words import existing_file, file_name, listed, quoted
from nvsd.files.writing import in_this_process, write_bytes
from nvsd.machine import digest
from nvsd.results.schema import NEEDED, PATH, SELECTION, kernel_of
from nvsd.results.selections import is_selection

TEXTS = ("feature", "group", "kernel", "class")
READING: dict[str, Any] = {
    "engine": "h5netcdf",
    "decode_times": False,
    "decode_timedelta": False,
}
KNOWN = {*PATH.variables, *PATH.coordinates}
CHECKED = ("title", "penalty", "loss", "representation", "n_samples", "n_features", "classes")


def write_dataset(path: Any, dataset: xr.Dataset | xr.DataTree) -> None:
    """Write a Dataset, or a tree of them, as netCDF, completely or not at all."""
    marked = dataset.copy()
    marked.attrs["checksum"] = " ".join(checksum(dataset))
    # HDF5 crashes the process when the disk is full. From memory, writing raises an error instead.
    with in_this_process():
        content: Any = marked.to_netcdf(engine="h5netcdf")
    write_bytes(path, bytes(content))


def checksum(data: xr.Dataset | xr.DataTree) -> tuple[str, str, str]:
    """Of names and shapes, of coordinates, and of all numbers that belong to a path.

    Of a tree, all of it is in the last.
    """
    if isinstance(data, xr.Dataset):
        names = sorted(str(name) for name in data.variables if str(name) in KNOWN)
        form, coords, numbers = _contents(data, CHECKED, names)
        return digest(*form), digest(*coords), digest(*numbers)
    whole: list[bytes] = []
    for node in data.subtree:
        attributes = sorted(str(name) for name in node.attrs if name != "checksum")
        names = sorted(map(str, node.variables))
        whole += [node.path.encode(), *chain(*_contents(node, attributes, names))]
    return digest(), digest(), digest(*whole)


def _contents(
    data: Any, attributes: Sequence[str], variables: Sequence[str]
) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Names and shapes; coordinates; attributes and numbers."""
    form: list[bytes] = []
    coords: list[bytes] = []
    numbers = [str(data.attrs.get(name, "")).encode() for name in attributes]
    for name in variables:
        values = data[name].values
        form.append(f"{name} {data[name].dims} {values.shape}".encode())
        content = values.astype(float, order="C").tobytes() if values.dtype.kind in "biuf" else None
        content = content or "\n".join(map(str, np.ravel(values).tolist())).encode()
        (coords if name in data.coords else numbers).append(content)
    return form, coords, numbers


def read_path(path: Any) -> xr.Dataset:
    """Read a path, or the refit of a selection, that this library wrote.

    Only the variables that belong to a path are read, and only as numbers and text. They are
    checked, so that the result can predict.
    """
    place = existing_file(path)
    with _one_sentence(place):
        dataset = _load(place)
    absent = [name for name in NEEDED if name not in dataset.variables]
    if absent or not {"alpha", "theta"} & set(dataset.variables):
        what = f"it has no {listed(absent)}" if absent else "it holds no function"
        if dataset.attrs.get("title") == SELECTION.title:
            what = "it holds the candidates of a selection"
        if is_selection(dataset.attrs):
            what = "it holds a whole selection"
        raise ValueError(
            f"{file_name(place)} is not a path ({what}); give a file that nvsd path, or nvsd "
            "select --out, wrote."
        )
    if problem := _damage(dataset) or _changed(dataset):
        raise ValueError(f"{file_name(place)} is a damaged path: {problem}; make it again.")
    dataset.attrs.pop("checksum", None)
    return dataset


def holds_selection(path: Any) -> bool:
    """Whether a file that can be read holds a whole selection."""
    place = existing_file(path)
    with _one_sentence(place), h5py.File(place, "r") as raw:
        return is_selection(raw.attrs)


def read_selection(path: Any) -> xr.DataTree:
    """Read the tree of a whole selection, as numbers and text; its parts are not checked."""
    place = existing_file(path)
    if not holds_selection(place):
        raise ValueError(
            f"{file_name(place)} is not a selection; give a file that Selection.save, or nvsd "
            "select --save, wrote."
        )
    with _one_sentence(place), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with xr.open_datatree(place, **READING) as file:
            _refuse_large(place, file.nbytes)
            tree = file.load()
    if _changed(tree):
        raise ValueError(f"{file_name(place)} is a damaged selection; save it again.")
    return tree


@contextmanager
def _one_sentence(place: Path) -> Iterator[None]:
    """Any failure but a lack of memory as one sentence."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # a damaged HDF5 file may raise anything
        raise ValueError(
            f"{file_name(place)} cannot be read as netCDF; give a file that nvsd wrote."
        ) from error


def _changed(data: xr.Dataset | xr.DataTree) -> str | None:
    """Whether the numbers are those that were written; files of earlier versions cannot tell.

    A user who takes some of the τ, or puts inputs in another order, changes the form, or both the
    coordinates and the numbers. Only one of these changes by damage.
    """
    known, now = str(data.attrs.get("checksum", "")).split(), checksum(data)
    if len(known) != len(now) or known[0] != now[0]:
        return None
    if (known[1] == now[1]) == (known[2] == now[2]):
        return None
    what = "coordinates" if known[2] == now[2] else "numbers"
    return f"its {what} have changed since it was written"


def _load(place: Path) -> xr.Dataset:
    # If this fails, h5netcdf would leave the file half open and complain about it at exit.
    with h5py.File(place, "r") as raw:
        raw.attrs.get("_nc3_strict")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with xr.open_dataset(place, **READING) as file:
            dataset = file.drop_vars([name for name in file.variables if name not in KNOWN])
            _refuse_large(place, dataset.nbytes)
            return dataset.load()


def _refuse_large(place: Path, size: int) -> None:
    limit = machine.available_memory()
    if size > limit:
        raise MemoryError(
            f"{file_name(place)} would need {size / 2**30:.1f} GiB of memory but only "
            f"{limit / 2**30:.1f} are free; use a machine with more memory."
        )


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
