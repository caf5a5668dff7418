"""`nvsd report`: a path or a selection as one HTML page."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import xarray as xr
from pandas import Series

from nvsd.cli._model import PAGES, read
from nvsd.cli._screen import say
from nvsd.cli._usage import UsageError
from nvsd.files import (
    check_output,
    holds_selection,
    read_path,
    refuse_absent,
    training_table,
)
from nvsd.report import write_report
from nvsd.selection import load_selection


def run(options: Namespace) -> None:
    """Write the report, with the given data."""
    check_output(options.out, PAGES)
    if holds_selection(options.path):
        _of_selection(options)
        return
    path = read_path(options.path)
    if "tau" not in path.dims or "gap" not in path:
        raise ValueError(
            "the file holds the refit of a selection; give one that nvsd path, or nvsd select "
            "--save, wrote."
        )
    X, y = _table(path, options, "data") or (None, None)
    rows = int(path.attrs.get("n_samples", 0))
    if X is not None and rows and len(X) != rows:
        raise ValueError(
            f"--data has {len(X)} rows but the path was fitted to {rows}; give those rows, or "
            "give other rows as --validation."
        )
    held_out = _table(path, options, "validation")
    write_report(path, options.out, X=X, y=y, validation=held_out, title=options.title)
    say(f"wrote {options.out}")


def _of_selection(options: Namespace) -> None:
    """The page of a whole selection, which needs no data."""
    if options.data is not None or options.validation is not None:
        raise UsageError("--data and --validation are for paths; leave them out for a selection.")
    selection = load_selection(options.path)
    selection.report(options.out, target=options.target, title=options.title)
    say(f"wrote {options.out}")


def _table(path: xr.Dataset, options: Namespace, name: str) -> tuple[Any, Any] | None:
    """Inputs and target of the table that an option names, if it was given."""
    file = getattr(options, name)
    if file is None:
        return None
    if options.target is None:
        raise ValueError(f"--{name} needs --target COLUMN, the column to explain.")
    table = read(options, file)
    features = [str(feature) for feature in path["feature"].values]
    refuse_absent(table, features)
    drop = [column for column in table.columns if column not in {*features, options.target}]
    X, y, _ = training_table(
        table, options.target, drop=drop, missing=options.missing, constant=True
    )
    return X, Series(y, name=options.target)
