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
from nvsd.data.columns import Columns
from nvsd.files import check_output, holds_selection, input_table, read_path, write_text
from nvsd.results.classes import of_classes, predicted_classes
from nvsd.results.functions import columns_of
from nvsd.selection import load_selection
from nvsd.selection.classes import ClassSelection


def run(options: Namespace) -> None:
    """Predict and print, or write."""
    if options.out is not None:
        check_output(options.out)
    rows = _of_selection(options) if holds_selection(options.model) else _of_path(options)
    formats: dict[str, Callable[[list[Row]], str]] = {
        "csv": as_csv, "json": as_json, "table": table
    }  # fmt: skip
    text = formats[options.format](rows)
    if options.out is None:
        write(text)
    else:
        write_text(options.out, text)
        say(f"wrote {options.out}")


def _of_path(options: Namespace) -> list[Row]:
    """Predictions of a path at one tau, or of a refit."""
    model = one_function(read_path(options.model), options.tau)
    return _rows(model, _inputs(options, columns_of(model)), options.gradient)


def _inputs(options: Namespace, columns: Columns, used: list[str] | None = None) -> Any:
    """The columns that a fit needs, by default all of them."""
    missing = "impute" if columns.missing == "impute" else options.missing
    names, simple = columns.names if used is None else used, columns.simple
    frame = read(options, options.data)
    return input_table(frame, names, missing=missing, categories=not simple)


def _of_selection(options: Namespace) -> list[Row]:
    """Predictions of a whole selection, by its fit of least error."""
    if options.tau is not None or options.gradient:
        raise UsageError("--tau and --gradient are not for a whole selection; leave them out.")
    selection = load_selection(options.model)
    uses = selection.predictor.uses or list(selection.features)
    X = _inputs(options, selection.columns, uses)
    columns: dict[str, Any] = {"row": X.index.to_numpy(), "prediction": selection.predict(X)}
    if isinstance(selection, ClassSelection):
        columns |= _probabilities(selection.classes, selection.predict_proba(X))
    return _as_rows(columns)


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
    return _as_rows(columns)


def _as_rows(columns: dict[str, Any]) -> list[Row]:
    names = list(columns)
    lists = [np.asarray(values).tolist() for values in columns.values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def _predictions(model: xr.Dataset, X: Any) -> dict[str, Any]:
    """The prediction of each row; of classes also the probability of each."""
    if not of_classes(model):
        return {"prediction": np.asarray(model.nvsd.predict(X).values)}
    classes, P = predicted_classes(model, X)
    return {"prediction": classes[P.argmax(axis=1)], **_probabilities(classes, P)}


def _probabilities(classes: Any, P: Any) -> dict[str, Any]:
    """The probability of each class, as columns."""
    return {f"probability of {label}": P[:, k] for k, label in enumerate(classes.tolist())}
