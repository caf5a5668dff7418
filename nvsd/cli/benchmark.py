"""`nvsd benchmark`: `nvsd.select` beside other methods."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import xarray as xr

from nvsd.benchmark import METHODS, SUITES, Cell, Task, collect, tasks_of
from nvsd.benchmark.comparison import overview
from nvsd.benchmark.suites import data_missing
from nvsd.benchmark.tasks import records_in, restore
from nvsd.cli._runs import (
    check,
    listed,
    nothing_to_show,
    numbers,
    one_writer,
    run_missing,
    take_known,
)
from nvsd.cli._screen import say, table, write
from nvsd.cli._usage import UsageError
from nvsd.experiments import save_results

SHOWN = ("share", "distance", "fdp", "power", "error", "refit_error")


def run(options: Namespace) -> None:
    """Run the fits that are not done yet, then write and print the results."""
    check(options)
    with one_writer(options):
        _benchmark(options)


def _benchmark(options: Namespace) -> None:
    cells, methods = _cells(options), _methods(options)
    tasks = tasks_of(cells, methods, range(options.replications))
    if not tasks:
        raise UsageError("these options leave nothing to do; give other options.")
    take_known(options, restore, "public.nc")
    folder = Path(options.out)
    run_missing(tasks, options, lambda task: _is_good(task, folder), "benchmark")
    records = records_in(folder, options.suite)
    if options.show and all("failed" in record for record in records):
        raise nothing_to_show(options, options.suite)
    results = collect(records, options.suite)
    save_results({options.suite: results}, folder)
    write(table(_rows(results)))


def _cells(options: Namespace) -> list[Cell]:
    """The cells that the options leave and whose data are here."""
    suite = SUITES[options.suite]
    problems = listed(options.problems, dict.fromkeys(cell.problem for cell in suite), "problem")
    known = sorted({cell.n for cell in suite})
    sizes = known if options.sizes is None else numbers(options.sizes, known)
    cells = [cell for cell in suite if cell.problem in problems and cell.n in sizes]
    absent = [cell for cell in cells if data_missing(cell)]
    if absent:
        say(
            f"note: {len(absent)} cells are left out because their data are missing; give their "
            "folder in the environment variable NVSD_DATA."
        )
    return [cell for cell in cells if cell not in absent]


def _methods(options: Namespace) -> list[str]:
    """The methods that are wanted and installed."""
    wanted = listed(options.methods, METHODS, "method")
    for method in (METHODS[key] for key in wanted):
        if method.missing:
            needed = " and ".join(method.missing)
            say(f"note: {method.label.strip('`')} is left out because it needs {needed}.")
    return [key for key in wanted if not METHODS[key].missing]


def _is_good(task: Task, folder: Path) -> bool:
    return task.known(folder) is not None


def _rows(results: xr.Dataset) -> list[dict[str, Any]]:
    """One row for each method; means over the cells that it has."""
    means = overview(results, SHOWN)
    return [
        {
            "method": METHODS[str(key)].label.strip("`"),
            "cells": int(means["cells"].sel({"method": key})),
            **{name: float(means[name].sel({"method": key})) for name in (*SHOWN, "seconds")},
        }
        for key in results["method"].values
    ]
