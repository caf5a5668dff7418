"""A path, or the refit of a selection, in words and rows."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

import numpy as np
import xarray as xr

from nvsd.cli._screen import MOST, Row, as_csv, as_json, paragraph, table, write
from nvsd.data.classes import classes_from_json
from nvsd.losses import SQUARED, Loss
from nvsd.penalties import Penalty
from nvsd.results.classes import of_classes
from nvsd.results.order import entry_order
from nvsd.results.schema import groups_of, kernel_of

LADDER = 10  # number of tau that are listed


def print_path(path: xr.Dataset, options: Namespace, tau: float | None = None) -> None:
    """Print what a path holds, in the requested format."""
    at = path.sizes["tau"] - 1 if tau is None else nearest_tau(path, tau)
    rows = input_rows(path, at)
    if options.format == "csv":
        write(as_csv(rows))
    elif options.format == "json":
        write(as_json(_head(path) | {"taus": tau_rows(path), "inputs": rows}))
    else:
        chosen = np.unique(np.linspace(0, path.sizes["tau"] - 1, LADDER).round().astype(int))
        ladder = tau_rows(path)
        write(f"{_sentences(path)}\n\n")
        write(table([ladder[i] for i in np.union1d(chosen, at)]))
        write(f"\nInputs in the order in which they enter; norms at tau = {path.tau[at]:.4g}:\n\n")
        write(table(rows, most=None if options.all else MOST))


def print_refit(model: xr.Dataset, options: Namespace) -> None:
    """Print what the refit of a selection holds."""
    rows = refit_rows(model)
    if options.format == "csv":
        write(as_csv(rows))
    elif options.format == "json":
        write(as_json(_head(model) | {"inputs": rows}))
    else:
        write(paragraph(_refit_sentences(model)))
        if _uses_inputs(model):
            write(f"\n{table(rows, most=None if options.all else MOST)}")


def is_refit(dataset: xr.Dataset) -> bool:
    """Whether this is kernel ridge, not a path."""
    return dataset.attrs.get("representation") == "ridge"


def nearest_tau(path: xr.Dataset, tau: float) -> int:
    """The index of the tau nearest to this one."""
    if not 0 <= tau < np.inf:
        raise ValueError(f"tau = {tau!r} is not allowed; give a finite number >= 0.")
    return int(np.abs(path["tau"].values - tau).argmin())


def tau_rows(path: xr.Dataset) -> list[Row]:
    """One row for each tau."""
    rows = []
    scale = float(path.attrs.get("scale", np.nan))
    for i, tau in enumerate(path["tau"].values):
        row: Row = {"tau": float(tau), "n_selected": int(path["n_selected"][i])}
        if "loss" in path and scale > 0:
            # Of the squares it is the usual R2.
            name = "explained" if "explained" in path else "training_R2"
            row[name] = 1 - float(path["loss"][i]) / scale
            row["relative_gap"] = float(path["gap"][i]) / scale
        rows.append(row)
    return rows


def input_rows(path: xr.Dataset, at: int) -> list[Row]:
    """One row for each input, in the order of entry."""
    norms = path["derivative_norm"].transpose("tau", "feature").values
    on = path["support"].transpose("tau", "feature").values.astype(bool)
    groups = groups_of(path)
    rows = []
    for a in entry_order(on, norms):
        row: Row = {"input": str(path["feature"].values[a])}
        if groups is not None:
            row["group"] = groups[a]
        row["enters_at_tau"] = float(path["tau"][on[:, a].argmax()]) if on[:, a].any() else None
        row["selected"] = bool(on[at, a])
        row["derivative_norm"] = float(norms[at, a])
        rows.append(row)
    return rows


def refit_rows(model: xr.Dataset) -> list[Row]:
    """One row for each input of a refit, the strongest first."""
    model = model.isel({"class": 0}) if "class" in model.dims else model
    names, groups = model["feature"].values, groups_of(model)
    norms = model["derivative_norm"].values if "derivative_norm" in model else None
    order = range(len(names)) if norms is None else np.argsort(-norms, kind="stable")
    rows = []
    for a in order:
        row: Row = {"input": str(names[a])}
        if groups is not None:
            row["group"] = groups[a]
        if norms is not None:
            row["derivative_norm"] = float(norms[a])
        rows.append(row)
    return rows


def _head(dataset: xr.Dataset) -> dict[str, Any]:
    head: dict[str, Any] = {"title": str(dataset.attrs.get("title", ""))}
    for name in ("n_samples", "method", "score", "tol"):
        value = dataset.attrs.get(name)
        if isinstance(value, (str, int, float, np.number)):
            head[name] = value.item() if isinstance(value, np.number) else value
    head["n_inputs"] = dataset.sizes["feature"]
    head["kernel"] = json.loads(str(dataset["kernel"].item()))
    if "nu" in dataset.coords:
        head["nu"] = float(dataset["nu"])
    head["penalty"] = _penalty(dataset)
    return head


def _penalty(dataset: xr.Dataset) -> str | None:
    """The kind of penalty; its groups and weights can be long."""
    try:
        return type(Penalty.from_json(str(dataset.attrs.get("penalty")))).__name__
    except (ValueError, RecursionError):
        return None


def _sentences(path: xr.Dataset) -> str:
    head = _head(path)
    groups = groups_of(path)
    grouped = "" if groups is None else f" in {len(set(groups))} groups"
    taus = path["tau"].values
    penalty = "" if head["penalty"] is None else f"penalty {head['penalty']}, "
    return (
        f"Path over {len(taus)} tau from {taus[0]:.4g} to {taus[-1]:.4g}: "
        f"{head.get('n_samples', '?')} rows, {head['n_inputs']} inputs{grouped}.\n"
        f"{kernel_of(path)!r}, {penalty}nu = {head.get('nu', np.nan):g}."
    )


def _refit_sentences(model: xr.Dataset) -> str:
    head = _head(model)
    score, classes = head.get("score"), of_classes(model)
    loss = Loss.from_json(str(model.attrs["loss"])) if "loss" in model.attrs else SQUARED
    error = "" if score is None else f", {loss.measure} {score:.4g} on held-out data"
    if classes and not _uses_inputs(model):
        return (
            f"No input was selected from {head['n_samples']} rows: predictions are the shares of "
            f"the classes, whatever the inputs{error}."
        )
    if classes:
        labels = ", ".join(map(str, classes_from_json(str(model.attrs["classes"]))))
        return (
            f"Kernel logistic regression on selected inputs: {model.attrs['n_fitted']} rows, "
            f"{head['n_inputs']} inputs, classes {labels}{error}. Kernel: {kernel_of(model)!r}."
        )
    if not _uses_inputs(model):
        return (
            f"No input was selected from {head['n_samples']} rows: predictions are the mean, "
            f"{float(model['y_mean']):.4g}, whatever the inputs{error}."
        )
    return (
        f"Kernel ridge on selected inputs: {head['n_samples']} rows, {head['n_inputs']} inputs, "
        f"nu = {float(model['ridge_nu']):.4g}{error}. Kernel: {kernel_of(model)!r}."
    )


def _uses_inputs(model: xr.Dataset) -> bool:
    return bool(model["support"].any()) if "support" in model else True
