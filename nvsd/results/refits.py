"""The Datasets of kernel ridge on selected inputs: for every τ of a path, or for one set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from nvsd.data.weights import mean
from nvsd.kernels import Kernel
from nvsd.losses import LossTerm
from nvsd.results.schema import REFIT, library_version, name_loss, text
from nvsd.ridge.by_loss import LossRefit
from nvsd.ridge.dense import KIND, RidgeFit

Array = NDArray[np.float64]


def ridge_dataset(
    path: xr.Dataset, fits: list[RidgeFit], points: Array, target: Array | None
) -> xr.Dataset:
    """The refits of a path, one for each τ (and μ); of all samples if there is y."""
    support = np.array([fit.features for fit in fits])
    data = {
        "support": support,
        "n_selected": support.sum(axis=1),
        "ridge_nu": np.array([fit.nus[0] for fit in fits]),
        "alpha": np.array([fit.alpha[0] for fit in fits]),
    }
    if target is not None:
        fitted = np.array([fit.fitted(target)[0] for fit in fits])
        weights, losses = fits[0].weights, fits[0].loss.pointwise(target, fitted)
        loss = fits[0].loss.value(target, fitted) if weights is None else mean(losses.T, weights)
        data |= {"loss": loss, "fitted": fitted}
    return _of_path(path, data, points, fits[0].mean)


def loss_dataset(
    path: xr.Dataset, fits: list[LossRefit], points: Array, term: LossTerm
) -> xr.Dataset:
    """The refits of a path whose loss is not quadratic."""
    support = np.array([fit.features for fit in fits])
    fitted = np.array([fit.fitted(term.y)[0] for fit in fits])
    data = {
        "support": support,
        "n_selected": support.sum(axis=1),
        "ridge_nu": np.array([fit.nus[0] for fit in fits]),
        "alpha": np.array([fit.alpha[0] for fit in fits]),
        "intercept": np.array([fit.constants[0] for fit in fits]),
        "loss": term.mean(fitted),
        "fitted": fitted,
    }
    dataset = _of_path(path, data, points, 0.0)
    name_loss(dataset, term)
    return dataset


def _of_path(path: xr.Dataset, data: dict[str, Array], points: Array, y_mean: float) -> xr.Dataset:
    """Variables with a row for each function, in the dimensions of the path."""
    leading = tuple(str(dim) for dim in path["n_selected"].dims)
    shape = tuple(path.sizes[dim] for dim in leading)
    shaped = {name: values.reshape((*shape, *values.shape[1:])) for name, values in data.items()}
    constant = {
        "points": points,
        "x_mean": path["x_mean"].values,
        "x_scale": path["x_scale"].values,
        "y_mean": np.float64(y_mean),
    }
    names = ("tau", "mu", "feature", "group", "column_number", "kernel")
    coords = {name: path.coords[name] for name in names if name in path.coords}
    attrs = {name: value for name, value in path.attrs.items() if name != "title"}
    attrs |= {"representation": KIND, "n_sections": len(points)}
    varying = REFIT.make(shaped, coords, attrs, leading)
    return varying.merge(REFIT.make(constant, {"sample": np.arange(len(points))}, {}))


def refit_dataset(
    fit: RidgeFit,
    features: Sequence[str],
    groups: Sequence[str] | None,
    x_mean: Array,
    x_scale: Array,
    derivative_norm: Array | None,
    attrs: dict[str, str | float],
) -> xr.Dataset:
    """One refit as a Dataset that predicts: ``dataset.nvsd.predict(X_new)``.

    It has only the inputs that f uses, so new tables need no others. If f uses none, it has all
    inputs and predicts the mean.
    """
    used = np.asarray(fit.features, dtype=bool)
    shown = used if used.any() else np.ones_like(used)
    data = {} if derivative_norm is None else {"derivative_norm": derivative_norm[shown]}
    data |= {
        "support": used[shown],
        "n_selected": int(used.sum()),
        "ridge_nu": float(fit.nus[0]),
        "alpha": fit.alpha[0],
        "points": fit.X if used.any() else np.zeros((len(fit.X), len(used))),
        "x_mean": x_mean[shown],
        "x_scale": x_scale[shown],
        "y_mean": fit.mean,
    }
    names = text(features)[shown]
    coords = {
        "feature": names,
        "group": ("feature", names if groups is None else text(groups)[shown]),
        "column_number": ("feature", np.arange(len(names))),
        "kernel": fit.kernel.to_json(),
        "sample": np.arange(len(fit.X)),
    }
    attrs = {
        "representation": KIND,
        **attrs,
        "n_samples": len(fit.X),
        "nvsd_version": library_version(),
    }
    of_function = {name: data[name] for name in data if REFIT.variables[name].dims[:1] == ("tau",)}
    rest = {name: data[name] for name in data if name not in of_function}
    return REFIT.make(of_function, coords, attrs, ()).merge(REFIT.make(rest, {}, {}))


def refit_of(dataset: xr.Dataset, features: Sequence[str]) -> RidgeFit:
    """The refit that `refit_dataset` wrote, among all inputs; of several classes, all of them."""
    on = dataset["support"].values if dataset["support"].ndim == 1 else dataset["support"].values[0]
    names = set(dataset["feature"].values[on.astype(bool)].tolist())
    used = np.array([name in names for name in features], dtype=bool)
    points = dataset["points"].values if used.any() else np.empty((dataset.sizes["sample"], 0))
    alpha, nus = (np.asarray(dataset[name].values, dtype=float) for name in ("alpha", "ridge_nu"))
    return RidgeFit(
        Kernel.from_json(str(dataset["kernel"].item())),
        np.ascontiguousarray(points, dtype=float),
        used,
        np.atleast_1d(nus),
        np.ascontiguousarray(np.atleast_2d(alpha)),
        float(dataset["y_mean"]),
    )
