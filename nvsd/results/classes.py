"""The Dataset of a fit to classes, and the probabilities that it predicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from nvsd.data.classes import classes_from_json, classes_to_json
from nvsd.engine.aims import probabilities
from nvsd.results.functions import StoredFunctions
from nvsd.results.refits import refit_dataset, refit_of
from nvsd.results.schema import CLASS_ATTRIBUTES, PATH, text
from nvsd.ridge.newton import SeveralFits

Array = NDArray[np.float64]


def class_dataset(
    fit: SeveralFits,
    features: Sequence[str],
    groups: Sequence[str] | None,
    x_mean: Array,
    x_scale: Array,
    derivative_norm: Array | None,
    classes: NDArray[Any],
    origin: Array,
    attrs: dict[str, Any],
) -> xr.Dataset:
    """A fit to classes as a Dataset: ``dataset.nvsd.predict(X_new)`` gives log-odds.

    Of two classes these are the log-odds of the second; of more, along `class`, those of each
    against the rest.
    """
    attrs = attrs | {
        "classes": classes_to_json(classes),
        "class_shares": json.dumps(expit(origin).tolist()),
        "class_log_odds": json.dumps(origin.tolist()),
    }
    shared = (features, groups, x_mean, x_scale, derivative_norm, attrs)
    parts = [refit_dataset(fit.of(k), *shared) for k in range(len(fit.alpha))]
    if len(parts) == 1:
        return parts[0]
    own = ("derivative_norm", "support", "n_selected", "ridge_nu", "alpha")
    known = [name for name in own if name in parts[0]]
    joined = {name: xr.concat([part[name] for part in parts], "class") for name in known}
    joined["intercept"] = xr.concat([part["y_mean"] for part in parts], "class")
    joined["intercept"].attrs = PATH.variables["intercept"].attrs()
    joined["y_mean"] = xr.zeros_like(parts[0]["y_mean"])
    labels = text(str(label) for label in classes.tolist())
    return parts[0].assign(joined).assign_coords({"class": labels})


def several_of(dataset: xr.Dataset, features: Sequence[str]) -> tuple[SeveralFits, Array]:
    """The fit that `class_dataset` wrote, and the log-odds of the classes' shares."""
    one = refit_of(dataset, features)
    constants = dataset["intercept"].values if "intercept" in dataset else np.array([one.mean])
    fit = SeveralFits(
        one.kernel, one.X, one.features, one.nus, one.alpha, 0.0, constants=constants.astype(float)
    )
    return fit, np.array(json.loads(str(dataset.attrs["class_log_odds"])), dtype=float)


def of_classes(dataset: xr.Dataset) -> bool:
    """Whether this is a fit to classes that `class_dataset` made."""
    return all(name in dataset.attrs for name in CLASS_ATTRIBUTES)


def predicted_classes(dataset: xr.Dataset, X_new: ArrayLike) -> tuple[NDArray[Any], Array]:
    """The labels, and the probability of each at new points, (m, classes)."""
    classes = classes_from_json(str(dataset.attrs["classes"]))
    origin = logit(np.array(json.loads(str(dataset.attrs["class_shares"]))))
    f = np.atleast_2d(StoredFunctions(dataset).predict(X_new).values)
    P = probabilities(f, origin, int(dataset.attrs["n_fitted"]))
    return classes, np.ascontiguousarray(P.T)
