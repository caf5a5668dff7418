"""One small Dataset for each suite, made from the records of its tasks and split into them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from nvsd.benchmark.methods import METHODS
from nvsd.benchmark.scores import SCORES
from nvsd.benchmark.suites import ABOUT, SUITES, Cell
from nvsd.experiments.store import LARGEST, Record, load_results
from nvsd.results.runs import BENCHMARK
from nvsd.results.schema import text

__all__ = ["NUMBERS", "collect", "is_record", "load_suites", "records_of"]

NUMBERS = (*(score.name for score in SCORES), "seconds", "memory")
SIGNATURE = ("versions", "machine", "made", "commit")
FIELDS = {
    "suite": str,
    "problem": str,
    "n": int,
    "d": int,
    "replication": int,
    "method": str,
    "settings": str,
    **dict.fromkeys(SIGNATURE, str),
}
_DIMS = ("method", "cell", "replication")


def is_record(record: Any) -> bool:
    """Whether every field has the type, and a size, that a fit can give it."""
    if not isinstance(record, dict) or not {*FIELDS} <= set(record):
        return False
    if not all(type(record[name]) is kind for name, kind in FIELDS.items()):
        return False
    if not all(0 <= record[name] <= LARGEST for name in ("n", "d", "replication")):
        return False
    if "failed" in record:
        return isinstance(record["failed"], str)
    found = record.get("scores")
    if not isinstance(found, dict) or not {*found} <= {*NUMBERS}:
        return False
    numbers = [*found.values(), record.get("seconds"), record.get("memory")]
    return all(value is None or _is_number(value) for value in numbers)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def collect(records: Iterable[Record], suite: str) -> xr.Dataset:
    """One Dataset (method, cell, replication) of the records of a suite.

    What is missing, what failed, and what a method does not have is NaN.
    """
    records = [record for record in records if record["suite"] == suite]
    good = [record for record in records if "failed" not in record]
    if not good:
        raise ValueError(f"there are no results of {suite}; run nvsd benchmark {suite} first.")
    methods = [key for key in METHODS if any(record["method"] == key for record in records)]
    present = {_cell(record) for record in records}
    cells = [cell for cell in SUITES[suite] if cell in present]
    replications = sorted({int(record["replication"]) for record in records})
    shape = (len(methods), len(cells), len(replications))
    numbers = {name: np.full(shape, np.nan) for name in NUMBERS}
    failed = np.zeros(shape, bool)
    for record in records:
        where = (
            methods.index(record["method"]),
            cells.index(_cell(record)),
            replications.index(record["replication"]),
        )
        failed[where] = "failed" in record
        values = record.get("scores", {}) | {k: record.get(k) for k in ("seconds", "memory")}
        for name, value in values.items():
            numbers[name][where] = np.nan if value is None else value
    coords = _coords(methods, cells, good) | {"replication": replications}
    return BENCHMARK.make(numbers | {"failed": failed}, coords, _attrs(suite, records))


def _cell(record: Record) -> Cell:
    return Cell(*(record[name] for name in Cell._fields))


def _coords(methods: list[str], cells: list[Cell], good: list[Record]) -> dict[str, Any]:
    """What describes methods and cells; several days or machines are joined."""

    def joined(name: str, key: str) -> str:
        found = {part for r in good if r["method"] == key for part in r[name].split("; ")}
        return "; ".join(sorted(found - {""}))

    return {
        "method": text(methods),
        **{
            name: ("method", text(joined(name, key) for key in methods))
            for name in ("settings", *SIGNATURE)
        },
        "cell": text(cell.name for cell in cells),
        "problem": ("cell", text(cell.problem for cell in cells)),
        "n": ("cell", [cell.n for cell in cells]),
        "d": ("cell", [cell.d for cell in cells]),
    }


def _attrs(suite: str, records: list[Record]) -> dict[str, str]:
    """The suite, and how often each method failed for which reason."""
    reasons = Counter((r["method"], r["failed"]) for r in records if "failed" in r)
    rows = [[*key, count] for key, count in sorted(reasons.items())]
    return {"suite": suite, "about": ABOUT[suite], "failures": json.dumps(rows)}


def records_of(results: xr.Dataset) -> Iterator[Record]:
    """The good records from which `collect` made a Dataset."""
    suite = str(results.attrs["suite"])
    numbers = {name: results[name].transpose(*_DIMS).values for name in NUMBERS}
    of_method = {k: results[k].values.tolist() for k in ("method", "settings", *SIGNATURE)}
    of_cell = {k: results[k].values.tolist() for k in ("problem", "n", "d")}
    replications = results["replication"].values.tolist()
    for m, c, r in np.argwhere(np.isfinite(numbers["seconds"])):
        values = {name: float(array[m, c, r]) for name, array in numbers.items()}
        known = {name: v if math.isfinite(v) else None for name, v in values.items()}
        yield {
            "suite": suite,
            **{name: found[c] for name, found in of_cell.items()},
            "replication": replications[r],
            **{name: found[m] for name, found in of_method.items()},
            "seconds": known.pop("seconds"),
            "memory": known.pop("memory"),
            "scores": known,
        }


def load_suites(folder: str | Path) -> dict[str, xr.Dataset]:
    """The Datasets in a folder, in the order of the suites."""
    return load_results(folder, SUITES)
