"""Records of finished tasks, and the small Datasets made from them."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import H5NetCDFStore

from nvsd.datasets import SUPPORT
from nvsd.experiments.methods import METHODS
from nvsd.experiments.protocol import EXPERIMENTS
from nvsd.files import in_this_process, write_bytes, write_text
from nvsd.results.runs import REPLICATION
from nvsd.results.schema import text

__all__ = [
    "Record",
    "collect",
    "is_done",
    "load_results",
    "read",
    "records_of",
    "save_results",
    "selection_error",
    "support_size",
    "write",
]

Record = dict[str, Any]

# What every record has; more than LARGEST rows or replications are damage.
FIELDS = {
    "experiment": str,
    "n": int,
    "replication": int,
    "method": str,
    "keep_predictions": bool,
    "settings": str,
}
LARGEST = 2_000_000
NUMBERS = ("rmse", "validation_mse", "seconds", "converged")


def write(path: Path, record: Record) -> None:
    """Write a record, completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(record) + "\n")


def read(path: Path, is_good: Callable[[Any], bool] | None = None) -> Record | None:
    """A record, or None if there is none; a damaged one is set aside and named in a warning."""
    try:
        content = path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        content = ""
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        record = None
    if (is_good or is_record)(record):
        return dict(record)
    _set_aside(path)
    return None


def is_record(record: Any) -> bool:
    """Whether every field has the type, and a size, that a fit can give it."""
    if not isinstance(record, dict) or not {*FIELDS} <= set(record):
        return False
    if not all(type(record[name]) is kind for name, kind in FIELDS.items()):
        return False
    if not (0 < record["n"] <= LARGEST and 0 <= record["replication"] <= LARGEST):
        return False
    if "failed" in record:
        return True
    names, support, facts = record.get("names"), record.get("support"), record.get("facts")
    if not (isinstance(names, list) and isinstance(support, str) and isinstance(facts, dict)):
        return False
    numbers = [record.get(name, 0.0) for name in ("rmse", "validation_mse", "seconds")]
    fine = all(type(value) in (int, float) and math.isfinite(value) for value in numbers)
    return fine and len(names) == len(support) and set(support) <= {"0", "1"}


def _set_aside(path: Path) -> None:
    aside = path.with_suffix(".damaged")
    with suppress(OSError):
        path.replace(aside)
    warnings.warn(
        f"the record {path} is damaged and was set aside as {aside.name}; its fit counts as not "
        "done.",
        UserWarning,
        stacklevel=3,
    )


def is_done(record: Record | None, settings: str) -> bool:
    """Whether a record is good: made with these settings, and not a failure."""
    return record is not None and record.get("settings") == settings and "failed" not in record


def collect(records: Iterable[Record], experiment: str) -> xr.Dataset:
    """One Dataset (method, n, replication) of all records of an experiment.

    Missing and failed tasks are NaN.
    """
    good = [r for r in records if r["experiment"] == experiment and "rmse" in r]
    if not good:
        raise ValueError(f"there are no results of {experiment}; run nvsd replicate first.")
    found = {str(r["method"]) for r in good}
    methods = [key for key in METHODS if key in found]
    sizes = sorted({int(r["n"]) for r in good})
    replications = np.arange(1 + max(int(r["replication"]) for r in good))
    names = [str(name) for name in good[0]["names"]]
    shape = (len(methods), len(sizes), len(replications))
    numbers = {name: np.full(shape, np.nan, np.float32) for name in NUMBERS}
    support = np.zeros((*shape, len(names)), bool)
    for r in good:
        where = methods.index(r["method"]), sizes.index(r["n"]), int(r["replication"])
        for name in NUMBERS:
            numbers[name][where] = r.get(name, r["facts"].get(name, np.nan))
        support[where] = [digit == "1" for digit in r["support"]]
    settings = {str(r["method"]): str(r["settings"]) for r in good}
    coords: dict[str, Any] = {
        "method": text(methods),
        "settings": ("method", text(settings[key] for key in methods)),
        "n": sizes,
        "replication": replications,
        "feature": text(names),
    }
    if EXPERIMENTS[experiment].synthetic:
        coords["relevant"] = ("feature", SUPPORT)
    return REPLICATION.make(numbers | {"support": support}, coords, _attrs(experiment))


def records_of(results: xr.Dataset) -> Iterator[Record]:
    """The records from which `collect` made a Dataset."""
    names = [str(name) for name in results["feature"].values]
    dims = ("method", "n", "replication")
    numbers = {name: results[name].transpose(*dims).values for name in NUMBERS}
    support = results["support"].transpose(*dims, "feature").values
    coords = {name: results[name].values.tolist() for name in (*dims, "settings")}
    for m, k, r in np.argwhere(np.isfinite(numbers["rmse"])):
        known = {name: float(numbers[name][m, k, r]) for name in NUMBERS}
        known = {name: value for name, value in known.items() if np.isfinite(value)}
        yield {
            "experiment": results.attrs["experiment"],
            "n": coords["n"][k],
            "replication": coords["replication"][r],
            "method": coords["method"][m],
            "keep_predictions": False,
            "settings": coords["settings"][m],
            "names": names,
            "support": "".join("1" if used else "0" for used in support[m, k, r]),
            "facts": {name: known.pop(name) for name in ("converged",) if name in known},
            **known,
        }


def _attrs(name: str) -> dict[str, Any]:
    experiment = EXPERIMENTS[name]
    kernel = "Gaussian, width from the 20 nearest neighbours"
    return {
        "experiment": name,
        "kernel": kernel if experiment.kernel is None else repr(experiment.kernel),
        "nu": experiment.nu,
        "widths": ", ".join(f"{width:g}" for width in experiment.widths),
    }


def selection_error(results: xr.Dataset) -> xr.DataArray:
    """Tanimoto distance 1 − |S ∩ T| / |S ∪ T| between selected and relevant inputs."""
    support, truth = results["support"], results["relevant"]
    both = (support & truth).sum("feature")
    either = (support | truth).sum("feature")
    return (1 - both / either).where(results["rmse"].notnull())


def support_size(results: xr.Dataset) -> xr.DataArray:
    """Number of selected inputs."""
    return results["support"].sum("feature").where(results["rmse"].notnull())


def save_results(results: Mapping[str, xr.Dataset], folder: str | Path) -> None:
    """Write one small netCDF file for each experiment."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, dataset in results.items():
        encoding = {str(v): {"zlib": True, "complevel": 9} for v in dataset.data_vars}
        write_bytes(Path(folder) / f"{name}.nc", _content(dataset, encoding))


def _content(dataset: xr.Dataset, encoding: dict[str, Any]) -> bytes:
    """The bytes of a netCDF file, made in memory: HDF5 crashes on a full disk.

    to_netcdf writes the oldest HDF5 format, whose own records take ten times the space of the data.
    """
    content = BytesIO()
    with in_this_process():
        store = H5NetCDFStore.open(content, "w", driver_kwds={"libver": ("v110", "v110")})
        with store:
            dataset.dump_to_store(store, encoding=encoding)
    return content.getvalue()


def load_results(
    folder: str | Path, names: Iterable[str] = tuple(EXPERIMENTS)
) -> dict[str, xr.Dataset]:
    """The Datasets in a folder, by default those of the experiments, in the order of the names."""
    results = {}
    for name in names:
        path = Path(folder) / f"{name}.nc"
        if path.is_file():
            with xr.open_dataset(path, engine="h5netcdf") as dataset:
                results[name] = dataset.load()
    return results
