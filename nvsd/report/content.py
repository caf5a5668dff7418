"""What a report shows, as plain lists and numbers for JSON.

The functions of a path are numbered f = m·T + t, for the m-th μ and the t-th of T values of τ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from nvsd.data.checks import check_target, is_number
from nvsd.data.names import name_of
from nvsd.losses import QuadraticLoss
from nvsd.penalties import Penalty
from nvsd.report.errors import error_curves, history_content, opening
from nvsd.report.fits import effects_content, fit_content
from nvsd.report.numbers import bits, digits, ragged
from nvsd.results.functions import StoredFunctions
from nvsd.results.order import in_column_order
from nvsd.results.schema import kernel_of, loss_of
from nvsd.solvers.status import Status, is_certified

Array = NDArray[np.float64]
Pair = tuple[Array, Array]

COLOURS = 7  # groups, or inputs without groups, that have their own colour
HELD_OUT_VALUES = 4_000_000  # gradient entries for the norms on held-out points


def report_content(
    path: xr.Dataset,
    *,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    validation: Any = None,
    history: Any = None,
) -> dict[str, Any]:
    """Everything the page needs; sections without data are None."""
    path = check_path(path)
    points = samples(path, X)
    observed = target_of(path, points, y)
    held_out = held_out_data(path, validation)
    norms = by_function(path, "derivative_norm")
    stored = X is None and "fitted" in path
    errors = None if validation is None else error_curves(path, validation, held_out)
    content = {
        "target": name_of(y, held_out and validation[1]),
        "features": [str(name) for name in path["feature"].values],
        "taus": digits(path["tau"].values, 6),
        "mus": digits(path["mu"].values, 6) if "mu" in path.dims else None,
        "norms": ragged(norms),
        "support": [bits(row > 0) for row in by_function(path, "support")],
        "heldOutNorms": None if held_out is None else ragged(held_out_norms(path, held_out[0])),
        "certificate": certificate(path),
        "r2": r_squared(path),
        "loss": loss_words(path),
        "errors": errors,
        "effects": None if points is None else effects_content(path, points, norms),
        "fit": fit_content(path, None if stored else points, observed, held_out),
        "history": None if history is None else history_content(history),
        "about": about(path),
    }
    content |= colouring(path, norms)
    content["start"] = opening(path, errors)
    return content


def loss_words(path: xr.Dataset) -> dict[str, str]:
    """What the share of the loss that f explains is called, and what gaps are relative to."""
    loss = loss_of(path)
    squares = isinstance(loss, QuadraticLoss)
    scale = "mean square" if squares else "loss of the best constant"
    return {
        "explained": "R²" if squares else f"share of the {loss.measure} explained",
        "scale": scale,
    }


def check_path(path: Any) -> xr.Dataset:
    """Refuse anything but a path; sort τ from large to small and put μ first."""
    needed = ("derivative_norm", "support", "n_selected")
    if not isinstance(path, xr.Dataset) or any(name not in path for name in needed):
        raise ValueError("this is not a path over tau; give the Dataset that nvsd_path returned.")
    extra = set(map(str, path["derivative_norm"].dims)) - {"mu", "tau", "feature"}
    if extra or not {"tau", "feature"} <= set(path["derivative_norm"].dims):
        dims = ", ".join(map(str, path["derivative_norm"].dims))
        raise ValueError(
            f"the derivative norms have the dimensions ({dims}); give one path, with the "
            "dimensions tau, feature and at most mu."
        )
    ordered = in_column_order(path).sortby("tau", ascending=False)
    if not np.isfinite(ordered["derivative_norm"]).all() or not np.isfinite(ordered["tau"]).all():
        raise ValueError("the path holds NaN or infinite norms; it is damaged, compute it again.")
    return ordered.transpose("mu", "tau", ..., missing_dims="ignore")


def by_function(path: xr.Dataset, name: str) -> Array:
    """A variable with all functions along the first axis."""
    leading = path["n_selected"].dims
    array = path[name].transpose(*leading, ...)
    return np.asarray(array.values, dtype=float).reshape(-1, *array.shape[len(leading) :])


def samples(path: xr.Dataset, X: ArrayLike | None) -> Array | None:
    """The samples in the user's units, if there are any."""
    if X is not None:
        return StoredFunctions(path).points(X)
    if "points" not in path:
        return None
    scaled = np.asarray(path["points"].values, dtype=float)
    return np.asarray(scaled * path["x_scale"].values + path["x_mean"].values)


def target_of(path: xr.Dataset, points: Array | None, y: ArrayLike | None) -> Array | None:
    """The observed y, one for each of the samples."""
    if y is None:
        return None
    if points is None and "fitted" not in path:
        raise ValueError("y was given but the path holds no samples to predict; give X too.")
    return check_target(y, path.sizes["sample"] if points is None else len(points))


def held_out_data(path: xr.Dataset, validation: Any) -> Pair | None:
    """The held-out samples in the user's units; None if errors or nothing were given."""
    if not isinstance(validation, tuple):
        return None
    if len(validation) != 2:
        raise ValueError(f"validation has {len(validation)} parts; give a pair (X, y).")
    points = samples(path, validation[0])
    assert points is not None
    return points, check_target(validation[1], len(points))


def held_out_norms(path: xr.Dataset, X: Array) -> Array:
    """‖∂_a f‖ over held-out points: an f that is flat at the samples may still depend on x_a."""
    per_point = path["derivative_norm"].size
    kept = X[:: -(-len(X) * per_point // HELD_OUT_VALUES) or 1]
    return np.asarray(StoredFunctions(path).derivative_norm(kept).values).reshape(-1, X.shape[1])


def certificate(path: xr.Dataset) -> dict[str, Any] | None:
    """Gap relative to the mean square of y, iterations, and which functions are certified."""
    if any(name not in path for name in ("gap", "n_iter", "status")):
        return None
    gap, status = by_function(path, "gap"), by_function(path, "status")
    scale, tol = attribute(path, "scale"), attribute(path, "tol")
    certified = is_certified(status.astype(int))
    if scale is not None and tol is not None:
        certified &= gap <= tol * scale * (1 + 1e-9)
    relative = gap / scale if scale else gap
    return {
        "gap": ragged(relative, 2),
        "iterations": [int(k) for k in by_function(path, "n_iter")],
        "exact": bits(status == Status.CLOSED_FORM),
        "certified": bits(certified),
        "tol": tol,
    }


def r_squared(path: xr.Dataset) -> list[Any] | None:
    """1 − loss / mean square of y, on the samples."""
    scale = attribute(path, "scale")
    if not scale or "loss" not in path:
        return None
    return digits(1.0 - by_function(path, "loss") / scale, 3)


def attribute(path: xr.Dataset, name: str) -> float | None:
    """A number among the attributes; None if it was lost."""
    value: Any = path.attrs.get(name)
    return float(value) if is_number(value) and np.isfinite(value) else None


def colouring(path: xr.Dataset, norms: Array) -> dict[str, Any]:
    """A colour for each of the strongest groups, or inputs; −1 is the colour of all others."""
    features = [str(name) for name in path["feature"].values]
    labels = [str(g) for g in path["group"].values] if "group" in path.coords else features
    grouped = len(set(labels)) < len(labels)
    names = list(dict.fromkeys(labels if grouped else features))
    number = {name: i for i, name in enumerate(names)}
    unit = np.array([number[label] for label in (labels if grouped else features)])
    strength = np.zeros(len(names))
    np.maximum.at(strength, unit, norms.mean(axis=0))
    ranked = np.argsort(-strength, kind="stable")[:COLOURS]
    slot = np.full(len(names), -1)
    # Colours follow the order of the names, so that neighbours in the legend differ most.
    slot[np.sort(ranked)] = np.arange(len(ranked))
    return {
        "groups": names if grouped else None,
        "groupOf": unit.tolist() if grouped else None,
        "colours": slot[unit].tolist(),
    }


def about(path: xr.Dataset) -> dict[str, Any]:
    """The settings that produced the path."""
    return {
        "samples": int(attribute(path, "n_samples") or path.sizes.get("sample", 0)) or None,
        "kernel": repr(kernel_of(path))[:300] if "kernel" in path.coords else None,
        "penalty": penalty_name(str(path.attrs.get("penalty", ""))),
        "nu": float(path["nu"]) if "nu" in path.coords else None,
        "version": str(path.attrs.get("nvsd_version", "")) or None,
    }


def penalty_name(text: str) -> str | None:
    """Name and mixing weight of a penalty, without its groups and weights."""
    try:
        penalty = Penalty.from_json(text)
    except ValueError:
        return None
    mixing = {key: getattr(penalty, key, None) for key in ("mu", "rho")}
    listed = ", ".join(f"{key}={value:g}" for key, value in mixing.items() if is_number(value))
    return f"{type(penalty).__name__}({listed})"
