"""The Dataset of a path, from what a solver has found."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from nvsd.data.classes import classes_to_json
from nvsd.penalties import BoundPenalty, Penalty, block_norms
from nvsd.prepared import Prepared
from nvsd.representations import Problem
from nvsd.results.schema import PATH, SHARED, library_version, name_loss, status_attrs, text
from nvsd.solvers import Points, Returned, Trace, norm_intervals
from nvsd.tolerances import ZERO_NORM

Array = NDArray[np.float64]

FAR_ABOVE = 1e3  # times what counts as zero: a norm of that size is no rounding error
KEEP_FITTED = 10_000  # with more samples the fitted values are left out: predict makes them


def split_norms(problem: Problem, points: Points) -> Array:
    """‖φ_a‖ (k, d), of which the zeros are exact; what is only rounding is zero.

    φ is ADMM's copy of the derivatives, which the penalty acts on.
    """
    norms = block_norms(problem.inputs(points.phi))
    norms[norms <= ZERO_NORM * norms.max(axis=1, keepdims=True)] = 0.0
    return norms


def path_dataset(
    prepared: Prepared,
    problem: Problem,
    points: Points,
    found: Returned,
    penalty: Penalty,
    bound: BoundPenalty,
    trace: Trace | None,
    y_mean: float,
    tol: float,
) -> xr.Dataset:
    """The result of one path."""
    n, features = int(problem.representation.n), prepared.features
    data = _variables(prepared, problem, found, bound, y_mean)
    coords: dict[str, Any] = {
        "tau": points.tau,
        "feature": text(features),
        "group": ("feature", text(bound.group_names[g] for g in bound.labels)),
        # Coefficients and widths go by it, whatever order the inputs are brought into.
        "column_number": ("feature", np.arange(len(features))),
        "nu": prepared.nu,
        "kernel": prepared.kernel.to_json(),
    }
    if "fitted" in data:
        coords["sample"] = np.arange(n)
    attrs: dict[str, Any] = {
        "penalty": penalty.to_json(),
        "loss": prepared.loss.to_json(),
        "representation": problem.representation.kind,
        "n_samples": n,
        "n_features": len(features),
        "scale": float(problem.scale),
        "tol": float(tol),
        "nvsd_version": library_version(),
        **problem.representation.details,
    }
    if "alpha" in data:
        attrs["n_sections"] = n  # the samples at which f has kernel sections
    if trace is not None:
        data |= {f"history_{name}": values for name, values in trace.columns().items()}
    dataset = PATH.make(data, coords, attrs)
    dataset["status"].attrs |= status_attrs()
    if problem.term is not None:
        name_loss(dataset, problem.term)
    return dataset


def _variables(
    prepared: Prepared, problem: Problem, returned: Returned, bound: BoundPenalty, y_mean: float
) -> dict[str, Any]:
    points, found = returned.points, returned.solution
    support = split_norms(problem, points) > 0
    norms = block_norms(problem.inputs(returned.z))
    J = bound.value(norms)
    data: dict[str, Any] = {
        **_norms(problem, points, bound, norms),
        "support": support,
        "n_selected": support.sum(axis=1),
        "objective": found.loss + points.tau * J + prepared.nu * found.rkhs_norm,
        "loss": found.loss,
        "penalty": J,
        "rkhs_norm": found.rkhs_norm,
        "gap": points.gap,
        "primal_residual": points.primal_residual,
        "dual_residual": points.dual_residual,
        "kappa": points.kappa,
        "n_iter": points.n_iter.astype(np.int64),
        "status": points.status.astype(np.int64),
        **found.coefficients,
        "x_mean": prepared.x_mean,
        "x_scale": prepared.x_scale,
        "y_mean": np.float64(y_mean),
    }
    if "alpha" in data:
        data["points"] = prepared.X
    if found.fitted is not None and problem.representation.n <= KEEP_FITTED:
        data["fitted"] = found.fitted + y_mean
    if not problem.quadratic:
        # A constant y, with a loss of zero, is explained.
        data["explained"] = 1.0 - found.loss / (problem.scale or 1.0)
    return data


def _norms(
    problem: Problem, points: Points, bound: BoundPenalty, norms: Array
) -> dict[str, Array | NDArray[np.bool_]]:
    """The derivative norms of f, what is only rounding as zero, and where those of f* are."""
    steepest = block_norms(problem.inputs(problem.ridge()[1])).max()
    largest = np.nanmax(norms, initial=0.0)
    if not problem.quadratic and largest > FAR_ABOVE * ZERO_NORM * steepest:
        steepest = min(steepest, largest)  # least squares, where they are far steeper
    rounding = norms <= ZERO_NORM * steepest
    lower, upper, off = norm_intervals(problem, bound, points, norms)
    lower[rounding] = 0.0
    return {
        "derivative_norm": np.where(rounding, 0.0, norms),
        "derivative_norm_lower": lower,
        "derivative_norm_upper": upper,
        "certified_on": lower > 0,
        "certified_off": off,
    }


def stack_mu(datasets: list[xr.Dataset], mu: tuple[float, ...], penalty: Penalty) -> xr.Dataset:
    """Several elastic nets on one τ grid as one Dataset with a dimension mu."""
    result = _stacked(datasets, "mu", np.array(mu))
    result.attrs |= {"penalty": penalty.to_json()}
    return result


def stack_classes(datasets: list[xr.Dataset], classes: NDArray[Any]) -> xr.Dataset:
    """One class against the others, for each class: a Dataset with a dimension class."""
    result = _stacked(datasets, "class", text(str(label) for label in classes))
    least = min(dataset.attrs["scale"] for dataset in datasets)
    result.attrs |= {"classes": classes_to_json(classes), "scale": least}
    if "fitted" in result:
        result["fitted"].attrs["long_name"] = "fitted log-odds of the class against the others"
    return result


def _stacked(datasets: list[xr.Dataset], dim: str, labels: NDArray[Any]) -> xr.Dataset:
    """Paths of the same samples on one τ grid, with a further dimension."""
    first = datasets[0]
    shared = first[[name for name in SHARED if name in first]]
    traces = [name for name in map(str, first.data_vars) if name.startswith("history_")]
    apart = [*shared.data_vars, *traces]
    varying = [dataset.drop_vars(apart) for dataset in datasets]
    attrs = {"long_name": PATH.coordinates[dim]}
    index = xr.DataArray(labels, dims=dim, name=dim, attrs=attrs)
    joined = xr.concat(varying, dim=index, coords="minimal", compat="override", join="exact")
    result = joined.merge(shared)
    if traces:
        columns = {name: np.concatenate([d[name].values for d in datasets]) for name in traces}
        sizes = [dataset.sizes["step"] for dataset in datasets]
        columns[f"history_{dim}"] = np.repeat(labels, sizes)
        history = PATH.make(columns, {}, {})
        result = result.merge(history)
    result.attrs = dict(first.attrs)
    return result
