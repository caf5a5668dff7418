"""`nvsd predict`: predictions for a new table."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from nvsd.cli._describe import is_refit, nearest_tau
from nvsd.cli._model import read
from nvsd.cli._screen import Row, as_csv, as_json, say, table, write
from nvsd.cli._usage import UsageError
from nvsd.files import check_output, input_table, read_path, write_text
from nvsd.results.classes import of_classes, predicted_classes
from nvsd.results.functions import columns_of


def run(options: Namespace) -> None:
    """Predict and print, or write."""
    if options.out is not None:
        check_output(options.out)
    model = one_function(read_path(options.model), options.tau)
    columns = columns_of(model)
    missing = "impute" if columns.missing == "impute" else options.missing
    frame = read(options, options.data)
    X = input_table(frame, columns.names, missing=missing, categories=not columns.simple)
    rows = _rows(model, X, options.gradient)
    formats: dict[str, Callable[[list[Row]], str]] = {
        "csv": as_csv, "json": as_json, "table": table
    }  # fmt: skip
    text = formats[options.format](rows)
    if options.out is None:
        write(text)
    else:
        write_text(options.out, text)
        say(f"wrote {options.out}")


def one_function(model: xr.Dataset, tau: float | None) -> xr.Dataset:
    """The refit of a selection, or a path at one tau."""
    if "mu" in model.dims:
        raise ValueError("the file holds paths for several mu; write one of them with nvsd path.")
    if "tau" not in model.dims:
        return model
    if tau is None and model.sizes["tau"] > 1:
        what = "refits" if is_refit(model) else "a path"
        raise UsageError(
            f"the file holds {what} with {model.sizes['tau']} tau; choose one with --tau T "
            "(nvsd show lists them), or give a model that nvsd select wrote."
        )
    at = 0 if tau is None else nearest_tau(model, tau)
    if tau is not None:
        say(f"note: predictions are for the nearest tau, {float(model['tau'][at]):.6g}.")
    return model.isel(tau=at)


def _rows(model: xr.Dataset, X: Any, gradient: bool) -> list[Row]:
    columns: dict[str, Any] = {"row": X.index.to_numpy()} | _predictions(model, X)
    if gradient and "class" in model.dims:
        raise UsageError(
            "--gradient is for one function, and every class has its own; leave it out."
        )
    if gradient:
        slopes = model.nvsd.gradient(X)
        columns |= {
            f"d/d {name}": slopes.sel(feature=name).values for name in model["feature"].values
        }
    names = list(columns)
    lists = [np.asarray(values).tolist() for values in columns.values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def _predictions(model: xr.Dataset, X: Any) -> dict[str, Any]:
    """The prediction of each row; of classes also the probability of each."""
    if not of_classes(model):
        return {"prediction": np.asarray(model.nvsd.predict(X).values)}
    classes, P = predicted_classes(model, X)
    found = {f"probability of {label}": P[:, k] for k, label in enumerate(classes.tolist())}
    return {"prediction": classes[P.argmax(axis=1)], **found}
