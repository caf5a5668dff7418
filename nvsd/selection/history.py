"""The history of a selection by candidates."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from nvsd.data.columns import Columns
from nvsd.results.schema import SELECTION, library_version, text
from nvsd.selection.candidates import Judged
from nvsd.selection.task import Array, Task


def history(task: Task, judged: Judged, method: str, chosen: int, columns: Columns) -> xr.Dataset:
    """Every candidate with its errors, strengths and settings."""
    rows = judged.candidates
    support = np.array([row.support for row in rows])

    @cache
    def norms(key: bytes, kernel: int, nu: float) -> Array:
        return task.norms(np.frombuffer(key, dtype=bool), task.kernels[kernel], nu)

    models = zip(support, judged.kernel, judged.nu, strict=True)
    derivative_norm = np.array([norms(row.tobytes(), *model) for row, *model in models])
    support = columns.of_columns(support)
    data: dict[str, Any] = {
        "support": support,
        "derivative_norm": columns.joined(derivative_norm),
        "strength": columns.joined(np.array([row.strength for row in rows])),
        "n_selected": support.sum(axis=1),
        "error": judged.error,
        "error_se": judged.error_se,
        "clearness": np.array([row.clearness for row in rows]),
        "ridge_nu": judged.nu,
        "kernel": text(task.kernels[i].to_json() for i in judged.kernel),
        "method": text(row.method for row in rows),
        "origin": text(row.origin for row in rows),
        "tau": np.array([row.tau for row in rows]),
    }
    coords = {"step": np.arange(len(rows)), "feature": text(columns.names)}
    attrs = {
        "method": method,
        "chosen": chosen,
        "rule": task.rule,
        "n_samples": len(task.X),
        "nvsd_version": library_version(),
        **({} if columns.plain else {"columns": columns.to_json()}),
        **dict(rows[chosen].notes),
    }
    return SELECTION.make(data, coords, attrs)
