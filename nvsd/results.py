"""The Dataset of a path: its names, dimensions, coordinates and attributes are known only here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from nvsd.admm import Points, Status, row_norms
from nvsd.kernels import Kernel
from nvsd.penalties import BoundPenalty, Penalty
from nvsd.prepare import Prepared
from nvsd.representation import Problem
from nvsd.ridge import RidgeFit

Array = NDArray[np.float64]

ROUNDING = 1e-9  # derivative norms below this part of the largest are zero

KEEP_FITTED = 10_000  # with more samples the fitted values are left out: predict makes them

VARIABLES: dict[str, tuple[tuple[str, ...], str]] = {
    "derivative_norm": (("tau", "feature"), "norm of the partial derivative over the samples"),
    "derivative_norm_held_out": (
        ("tau", "feature"),
        "norm of the partial derivative over rows that are no landmarks",
    ),
    "support": (("tau", "feature"), "whether the derivative is non-zero at the samples"),
    "n_selected": (("tau",), "number of inputs in the support"),
    "objective": (("tau",), "loss + tau * penalty + nu * rkhs_norm"),
    "loss": (("tau",), "mean squared residual of the centred y"),
    "penalty": (("tau",), "penalty J of the derivatives"),
    "rkhs_norm": (("tau",), "squared norm of f in the RKHS"),
    "gap": (("tau",), "duality gap: upper bound on objective minus its minimum"),
    "primal_residual": (("tau",), "norm of Z theta - phi, scaled by 1/sqrt(n)"),
    "dual_residual": (("tau",), "kappa times the norm of the last change of phi"),
    "kappa": (("tau",), "last step size of the iteration; 0 where none was needed"),
    "n_iter": (("tau",), "iterations"),
    "status": (("tau",), "how the iteration ended"),
    "alpha": (("tau", "sample"), "coefficients of the kernel sections"),
    "beta": (("tau", "feature", "sample"), "coefficients of the kernel derivatives"),
    "theta": (("tau", "component"), "coefficients of the explicit features"),
    "fitted": (("tau", "sample"), "fitted values, mean of y included"),
    "ridge_nu": (("tau",), "weight of the squared norm in the refit"),
    "points": (("sample", "feature"), "samples, as the kernel sees them"),
    "value_points": (("value_point", "feature"), "points whose kernel sections f is made of"),
    "derivative_points": (
        ("derivative_point", "feature"),
        "points whose kernel derivatives f is made of, and where its derivatives are penalised",
    ),
    "x_mean": (("feature",), "subtracted from each input before the kernel"),
    "x_scale": (("feature",), "each input is divided by this before the kernel"),
    "y_mean": ((), "mean of y, subtracted before fitting"),
}

# Without these a Dataset cannot predict.
NEEDED = ("support", "n_selected", "x_mean", "x_scale", "y_mean", "feature", "kernel")

COORDINATES = {
    "tau": "weight of the penalty",
    "mu": "elastic net: share of the norms, the rest are squares",
    "nu": "weight of the squared RKHS norm",
    "feature": "input",
    "group": "group of the input",
    "column_number": "number of the input's column in X",
    "sample": "sample",
    "kernel": "kernel, as JSON",
}


def path_dataset(
    prepared: Prepared,
    problem: Problem,
    points: Points,
    penalty: Penalty,
    bound: BoundPenalty,
    y_mean: float,
    tol: float,
) -> xr.Dataset:
    """The result of one path."""
    loss, rkhs_norm = problem.parts(points.C)
    J = bound.value(row_norms(problem.derivatives(points.C)).T)
    norms = row_norms(points.phi)
    # Within a selected group, the zero derivative of a constant input is left as a rounding error.
    norms[norms <= ROUNDING * norms.max(axis=1, keepdims=True)] = 0.0
    data: dict[str, Any] = {
        "derivative_norm": norms,
        "support": norms > 0,
        "n_selected": (norms > 0).sum(axis=1),
        "objective": loss + points.tau * J + prepared.nu * rkhs_norm,
        "loss": loss,
        "penalty": J,
        "rkhs_norm": rkhs_norm,
        "gap": points.gap,
        "primal_residual": points.primal_residual,
        "dual_residual": points.dual_residual,
        "kappa": points.kappa,
        "n_iter": points.n_iter.astype(np.int64),
        "status": points.status.astype(np.int64),
        **problem.coefficients(points.C, points.multiplier),
        "x_mean": prepared.x_mean,
        "x_scale": prepared.x_scale,
        "y_mean": np.float64(y_mean),
    }
    if "alpha" in data:
        data["points"] = prepared.X
    n = int(problem.representation.n)
    fitted = problem.fitted(points.C) if n <= KEEP_FITTED else None
    if fitted is not None:
        data["fitted"] = fitted + y_mean
    coords: dict[str, Any] = {
        "tau": points.tau,
        "feature": np.array(prepared.features, dtype=object),
        "group": ("feature", np.array(penalty.group_labels(prepared.features), dtype=object)),
        # Coefficients and widths go by it, whatever order the inputs are brought into.
        "column_number": ("feature", np.arange(len(prepared.features))),
        "nu": prepared.nu,
        "kernel": prepared.kernel.to_json(),
    }
    if "fitted" in data:
        coords["sample"] = np.arange(n)
    attrs = {
        "title": "NVSD regularisation path",
        "penalty": penalty.to_json(),
        "representation": problem.representation.kind,
        "n_samples": n,
        "n_features": len(prepared.features),
        "scale": float(problem.scale),
        "tol": float(tol),
        "nvsd_version": library_version(),
        **problem.representation.details,
    }
    if "alpha" in data:
        attrs["n_sections"] = n  # the samples at which f has kernel sections
    return make_dataset(data, coords, attrs)


def make_dataset(data: dict[str, Any], coords: dict[str, Any], attrs: dict[str, Any]) -> xr.Dataset:
    """Give every variable its dimensions and its long_name."""
    variables = {
        name: (VARIABLES[name][0], values, {"long_name": VARIABLES[name][1]})
        for name, values in data.items()
    }
    dataset = xr.Dataset(variables, coords=coords, attrs=attrs)
    for name, long_name in COORDINATES.items():
        if name in dataset.coords:
            dataset[name].attrs["long_name"] = long_name
    if "status" in data:
        dataset["status"].attrs["flag_meanings"] = " ".join(s.name.lower() for s in Status)
    return dataset


def stack_mu(datasets: list[xr.Dataset], mu: tuple[float, ...], penalty: Penalty) -> xr.Dataset:
    """Several elastic nets on one τ grid as one Dataset with a dimension mu."""
    constant = ["x_mean", "x_scale", "y_mean", "points", "value_points", "derivative_points"]
    shared = datasets[0][[name for name in constant if name in datasets[0]]]
    varying = [d.drop_vars([name for name in constant if name in d]) for d in datasets]
    index = xr.DataArray(np.array(mu), dims="mu", name="mu", attrs={"long_name": COORDINATES["mu"]})
    joined = xr.concat(varying, dim=index, coords="minimal", compat="override", join="exact")
    result = joined.merge(shared)
    result.attrs = datasets[0].attrs | {"penalty": penalty.to_json()}
    return result


def in_schema_order(dataset: xr.Dataset) -> xr.Dataset:
    """The Dataset with its inputs in the order of X, and dimensions in the order of VARIABLES.

    ``expand_dims`` and ``xr.concat`` give every variable the new dimension; where it is only
    repeated, one is taken.
    """
    dataset = in_column_order(dataset)
    known = {str(name): dataset[name] for name in dataset.data_vars if name in VARIABLES}
    for name, array in known.items():
        for dim in {"tau", "mu"} & set(array.dims) if "tau" not in VARIABLES[name][0] else ():
            known[name] = array = _repeated(array, dim)
    turned = {
        name: array.transpose(..., "mu", *VARIABLES[name][0], missing_dims="ignore")
        for name, array in known.items()
    }
    return dataset.assign(turned)


def in_column_order(dataset: xr.Dataset) -> xr.Dataset:
    """The Dataset with its inputs in the order of the columns of X."""
    if "column_number" not in dataset or "feature" not in dataset.dims:
        return dataset
    if dataset["column_number"].dims != ("feature",):
        raise ValueError(
            "the Dataset joins paths whose inputs were in different orders; take one of them."
        )
    order = np.argsort(dataset["column_number"].values, kind="stable")
    return dataset.isel(feature=order) if (np.diff(order) < 0).any() else dataset


def _repeated(array: xr.DataArray, dim: str) -> xr.DataArray:
    """What is the same all along a dimension."""
    first = array.isel({dim: 0}, drop=True)
    if not (array == first).all():
        raise ValueError(
            f"{array.name} differs along {dim}, so these are paths of different data; "
            "take one of them, or join them along a dimension of another name."
        )
    return first


def kernel_of(dataset: xr.Dataset) -> Kernel:
    """The kernel that the Dataset was made with."""
    kernels = np.unique(dataset["kernel"].values)
    if len(kernels) != 1:
        raise ValueError(
            "the Dataset joins paths of several kernels; take those of one kernel, or join them "
            "along a dimension of its own."
        )
    return Kernel.from_json(str(kernels[0]))


def library_version() -> str:
    """The installed version of nvsd."""
    try:
        return version("nvsd")
    except PackageNotFoundError:
        return "unknown"


def ridge_dataset(
    path: xr.Dataset, fits: list[RidgeFit], points: Array, target: Array | None
) -> xr.Dataset:
    """The refits of a path: one kernel ridge for each τ (and μ); on all samples if there is y."""
    leading = path["n_selected"].dims
    shape = tuple(path.sizes[dim] for dim in leading)
    alpha = np.array([fit.alpha[0] for fit in fits])
    support = np.array([fit.features for fit in fits])
    nus = np.array([fit.nus[0] for fit in fits])
    data = {
        "support": support,
        "n_selected": support.sum(axis=1),
        "ridge_nu": nus,
        "alpha": alpha,
    }
    if target is not None:
        residual = len(target) * nus[:, None] * alpha
        residual[~support.any(axis=1)] = target - target.mean()
        data |= {"loss": np.mean(residual**2, axis=1), "fitted": target - residual}
    variables = {
        name: (
            (*leading, *VARIABLES[name][0][1:]),
            values.reshape((*shape, *values.shape[1:])),
            {"long_name": VARIABLES[name][1]},
        )
        for name, values in data.items()
    }
    constant = make_dataset(
        {
            "points": points,
            "x_mean": path["x_mean"].values,
            "x_scale": path["x_scale"].values,
            "y_mean": np.float64(fits[0].mean),
        },
        {"sample": np.arange(len(points))},
        {},
    )
    names = ("tau", "mu", "feature", "group", "column_number", "kernel")
    coords = {name: path.coords[name] for name in names if name in path.coords}
    attrs = path.attrs | {
        "title": "kernel ridge on selected inputs",
        "representation": "ridge",
        "n_sections": len(points),
    }
    return xr.Dataset(variables, coords=coords, attrs=attrs).merge(constant)
