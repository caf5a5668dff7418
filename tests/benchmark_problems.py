"""Results of the benchmark that nobody has measured, for its tests."""

from __future__ import annotations

import xarray as xr

from nvsd.benchmark import SUITES, Task, collect
from nvsd.benchmark.store import NUMBERS


def made_up(values: dict[str, list[list[float]]], suite: str = "public") -> xr.Dataset:
    """A Dataset of the share of given methods, (cell, replication)."""
    records = []
    for method, cells in values.items():
        for cell, runs in zip(SUITES[suite], cells, strict=False):
            for r, value in enumerate(runs):
                task = Task(*cell, r, method)
                scores = dict.fromkeys(set(NUMBERS) - {"seconds", "memory"})
                scores |= {"share": value, "average_precision": value, "r2": value, "distance": 0.1}
                facts = dict.fromkeys(("versions", "machine", "made", "commit"), "x")
                record = task._asdict() | facts | {"settings": task.settings, "scores": scores}
                records.append(record | {"seconds": 1.0, "memory": None})
    return collect(records, suite)
