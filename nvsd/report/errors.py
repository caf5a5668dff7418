"""Errors on held-out data along the path, the history of a selection, and the first view."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from nvsd.report.fits import predictions
from nvsd.report.numbers import digits

Array = NDArray[np.float64]

ENOUGH = 0.9  # share of the best fit to the samples that the first τ shown should reach


def error_curves(
    path: xr.Dataset, validation: Any, held_out: tuple[Array, Array] | None
) -> dict[str, Any]:
    """One curve of error over τ for each μ, with the least error and the 1-SE point.

    The 1-SE point is the largest τ of the best curve whose error is within one standard error of
    the least.
    """
    if held_out is not None:
        taus, error, se = _judged(path, *held_out)
        source = f"{len(held_out[1])} held-out samples"
        variance = float(held_out[1].var())
        chosen = None
    else:
        taus, error, se, chosen = _given(path, validation)
        source, variance = None, 0.0
    m, t = np.unravel_index(int(np.argmin(error)), error.shape)
    simple = None
    if np.isfinite(se[m, t]) and se[m, t] > 0:
        close = np.flatnonzero(error[m] <= error[m, t] + se[m, t])
        simple = int(close[np.argmax(taus[m, close])])
    return {
        "source": source,
        "taus": [digits(row, 6) for row in taus],
        "error": [digits(row) for row in error],
        "se": [digits(row, 3) for row in se] if np.isfinite(se).any() and (se > 0).any() else None,
        "r2": digits(1.0 - error.ravel() / variance, 3) if variance > 0 else None,
        "least": _place(path, taus, int(m), int(t)),
        "simple": None if simple is None else _place(path, taus, int(m), simple),
        "chosen": None if chosen is None else _place(path, taus, int(m), chosen),
    }


def _place(path: xr.Dataset, taus: Array, m: int, t: int) -> dict[str, int]:
    """A point of a curve, and the nearest τ of the path."""
    grid = path["tau"].values.astype(float)
    nearest = int(np.argmin(np.abs(np.log(grid + 1e-300) - np.log(taus[m, t] + 1e-300))))
    return {"curve": m, "point": t, "tau": nearest}


def _judged(path: xr.Dataset, X: Array, y: Array) -> tuple[Array, Array, Array]:
    """Mean squared error of every function of the path, and its standard error."""
    squares = (predictions(path, X) - y) ** 2
    shape = (path.sizes.get("mu", 1), path.sizes["tau"])
    spread = squares.std(axis=1, ddof=1) if len(y) > 1 else np.full(len(squares), np.nan)
    taus = np.broadcast_to(path["tau"].values.astype(float), shape)
    return taus, squares.mean(axis=1).reshape(shape), (spread / np.sqrt(len(y))).reshape(shape)


def _given(path: xr.Dataset, results: Any) -> tuple[Array, Array, Array, int | None]:
    """Errors that were computed before: over τ, and over μ if the path has the same μ."""
    results = getattr(results, "cv_results_", results)
    name = next(
        (
            name
            for name in ("mean_error", "error")
            if isinstance(results, xr.Dataset) and name in results and "tau" in results[name].dims
        ),
        None,
    )
    if name is None:
        raise ValueError(
            "validation holds no error over tau; give a pair (X, y), a fitted NVSDRegressorCV, or "
            "a Dataset with the variables error and error_se over tau."
        )
    if not np.isfinite(results[name]).all():
        raise ValueError("the errors hold NaN or infinite values; give finite errors.")
    several = "mu" in path.dims and "mu" in results[name].dims
    if several and not np.array_equal(path["mu"].values, results["mu"].values):
        raise ValueError("the errors and the path have different mu; give errors of this path.")
    kept = ("mu", "tau") if several else ("tau",)
    best = results[name].argmin(...)
    others = {
        str(dim): int(results.attrs.get(f"chosen_{dim}", int(index)))
        for dim, index in best.items()
        if dim not in kept
    }
    results = results.isel(others)
    shape = (path.sizes["mu"] if several else 1, results.sizes["tau"])
    error = np.asarray(results[name].transpose(*kept).values, dtype=float).reshape(shape)
    taus, se = results.get("tau_value", results["tau"]), results.get("error_se")
    chosen = results.attrs.get("chosen_tau")
    return (
        np.broadcast_to(np.asarray(taus.values, dtype=float), shape),
        error,
        np.full(shape, np.nan) if se is None else se.transpose(*kept).values.reshape(shape),
        None if chosen is None else int(chosen),
    )


def history_content(history: Any) -> dict[str, Any]:
    """The candidates of a selection: size, error and method of each, and the one that won."""
    history = getattr(history, "history", history)
    needed = ("error", "n_selected", "support")
    if not isinstance(history, xr.Dataset) or any(name not in history for name in needed):
        raise ValueError("this is not the history of a selection; give what nvsd.select returned.")
    error = np.asarray(history["error"].values, dtype=float)
    steps = np.flatnonzero(np.isfinite(error))
    if error.ndim != 1 or not len(steps):
        raise ValueError("the history holds no errors of candidates; give one of nvsd.select.")
    chosen = int(history.attrs.get("chosen", -1))
    if chosen not in steps:
        chosen = int(steps[np.argmin(error[steps])])
    if "method" in history and history["method"].dims == history["error"].dims:
        methods = [str(name) for name in history["method"].values]
    else:
        methods = [str(history.attrs.get("method", "candidates"))] * len(error)
    known = list(dict.fromkeys(methods))
    support = history["support"].transpose(*history["error"].dims, "feature").values[chosen]
    on = support.astype(bool)
    return {
        "methods": known,
        "method": [known.index(methods[i]) for i in steps],
        "size": [int(history["n_selected"].values[i]) for i in steps],
        "error": digits(error[steps]),
        "chosen": {"size": int(support.sum()), "error": digits(error[[chosen]])[0]},
        "selected": [str(name) for name in history["feature"].values[on]],
        "inputs": history.sizes["feature"],
        "reason": str(history.attrs.get("reason", "")) or None,
        "p_values": digits(history["p_value"].values[on]) if "p_value" in history else None,
    }


def opening(path: xr.Dataset, errors: dict[str, Any] | None) -> dict[str, Any]:
    """Which function is shown first, and why."""
    if errors is not None:
        why = next(why for why in ("chosen", "simple", "least") if errors[why] is not None)
        mu = errors[why]["curve"] if len(errors["error"]) == path.sizes.get("mu", 1) else 0
        return {"mu": mu, "tau": errors[why]["tau"], "why": why}
    if "loss" not in path:
        return {"mu": 0, "tau": path.sizes["tau"] - 1, "why": "last"}
    loss = path["loss"].transpose(..., "tau").values.reshape(-1, path.sizes["tau"])
    mu = len(loss) // 2
    reached = loss[mu].max() - loss[mu] >= ENOUGH * (loss[mu].max() - loss[mu].min())
    return {"mu": mu, "tau": int(np.argmax(reached)), "why": "fit"}
