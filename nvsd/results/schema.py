"""Every Dataset that the library makes: its names, dimensions, long names and units."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from nvsd.data.classes import classes_from_json, classes_to_json
from nvsd.kernels import Kernel
from nvsd.losses import SQUARED, Loss, LossTerm
from nvsd.results.variables import Schema, Variable
from nvsd.solvers.status import Status

_PER_INPUT = ("tau", "feature")
_FUNCTION = {
    "alpha": Variable(("tau", "sample"), "coefficients of the kernel sections"),
    "support": Variable(_PER_INPUT, "whether the input is selected"),
    "n_selected": Variable(("tau",), "number of inputs in the support"),
    "derivative_norm": Variable(
        _PER_INPUT, "norm of the partial derivative over the samples", "y/x"
    ),
    "loss": Variable(("tau",), "mean squared residual of the centred y", "y^2"),
    "fitted": Variable(("tau", "sample"), "fitted values, mean of y included", "y"),
    "ridge_nu": Variable(("tau",), "weight of the squared norm in the refit"),
    "points": Variable(("sample", "feature"), "samples, as the kernel sees them", "x"),
    "x_mean": Variable(("feature",), "subtracted from each input before the kernel"),
    "x_scale": Variable(("feature",), "each input is divided by this before the kernel"),
    "y_mean": Variable((), "mean of y, subtracted before fitting", "y"),
    "intercept": Variable(("tau",), "constant added to f, not penalised"),
}

_COORDINATES = {
    "tau": "weight of the penalty",
    "mu": "elastic net: share of the norms, the rest are squares",
    "nu": "weight of the squared RKHS norm",
    "feature": "input",
    "group": "group of the input",
    "column_number": "number of the input's column in X",
    "sample": "sample",
    "kernel": "kernel, as JSON",
    "class": "class, against all others",
}

PATH = Schema(
    "NVSD regularisation path",
    {
        **_FUNCTION,
        "support": Variable(_PER_INPUT, "whether phi, a copy of the derivatives, is not zero"),
        "derivative_norm_lower": Variable(
            _PER_INPUT, "lower bound of the norm of the exact minimiser", "y/x"
        ),
        "derivative_norm_upper": Variable(
            _PER_INPUT, "upper bound of the norm of the exact minimiser", "y/x"
        ),
        "certified_on": Variable(_PER_INPUT, "whether the exact minimiser surely uses the input"),
        "certified_off": Variable(
            _PER_INPUT, "whether the exact minimiser is surely flat in the input at the samples"
        ),
        "derivative_norm_held_out": Variable(
            _PER_INPUT, "norm of the partial derivative over rows other than landmarks", "y/x"
        ),
        "explained": Variable(("tau",), "share of the loss of the best constant that f explains"),
        "objective": Variable(("tau",), "loss + tau * penalty + nu * rkhs_norm", "y^2"),
        "penalty": Variable(("tau",), "penalty J of the derivatives"),
        "rkhs_norm": Variable(("tau",), "squared norm of f in the RKHS"),
        "gap": Variable(("tau",), "duality gap: upper bound on objective minus its minimum", "y^2"),
        "primal_residual": Variable(("tau",), "norm of Z theta - phi, scaled by 1/sqrt(n)", "y/x"),
        "dual_residual": Variable(("tau",), "kappa times the norm of the last change of phi"),
        "kappa": Variable(("tau",), "last step size of the iteration; 0 where none was needed"),
        "n_iter": Variable(("tau",), "iterations"),
        "status": Variable(("tau",), "how the iteration ended"),
        "beta": Variable(("tau", "feature", "sample"), "coefficients of the kernel derivatives"),
        "theta": Variable(("tau", "component"), "coefficients of the explicit features"),
        "value_points": Variable(
            ("value_point", "feature"), "points whose kernel sections f is made of", "x"
        ),
        "derivative_points": Variable(
            ("derivative_point", "feature"),
            "points whose kernel derivatives f is made of, and where its derivatives are penalised",
            "x",
        ),
        "history_tau": Variable(("step",), "tau of this row of the history"),
        "history_mu": Variable(("step",), "mu of this row of the history"),
        "history_class": Variable(("step",), "class of this row of the history"),
        "history_iteration": Variable(("step",), "iteration"),
        "history_gap": Variable(("step",), "duality gap after the iteration", "y^2"),
        "history_primal_residual": Variable(("step",), "norm of Z theta - phi", "y/x"),
        "history_dual_residual": Variable(("step",), "kappa times the norm of the change of phi"),
        "history_kappa": Variable(("step",), "step size"),
    },
    _COORDINATES,
)  # fmt: skip

REFIT = Schema("kernel ridge on selected inputs", _FUNCTION, _COORDINATES)

SELECTION = Schema(
    "candidates of a selection of inputs",
    {
        "support": Variable(("step", "feature"), "whether the input is in the candidate"),
        "derivative_norm": Variable(
            ("step", "feature"), "norm of the refit's derivative over the samples", "y/x"
        ),
        "strength": Variable(("step", "feature"), "what the method ranked the input by"),
        "n_selected": Variable(("step",), "number of inputs in the candidate"),
        "error": Variable(("step",), "mean squared error on held-out data", "y^2"),
        "error_se": Variable(("step",), "standard error of the mean squared error", "y^2"),
        "excess": Variable(("step",), "loss minus the least, on the same rows", "y^2"),
        "excess_se": Variable(("step",), "standard error of the excess", "y^2"),
        "clearness": Variable(
            ("step",), "norm of the weakest input inside over the strongest outside"
        ),
        "ridge_nu": Variable(("step",), "weight of the squared norm in the refit"),
        "kernel": Variable(("step",), "kernel of the refit on all inputs, as JSON"),
        "method": Variable(("step",), "method that proposed the candidate"),
        "origin": Variable(("step",), "sequence of the method that the candidate belongs to"),
        "tau": Variable(("step",), "weight of the penalty, where there is one"),
        "p_value": Variable(("feature",), "p-value of: y does not depend on it given the others"),
        "q_value": Variable(("feature",), "least level at which it, with its near copies, is kept"),
    },
)

# Attributes of a fit to classes: labels and shares as JSON, and the number of rows.
CLASS_ATTRIBUTES = ("classes", "class_shares", "n_fitted")


def selection_by(measure: str, units: str) -> Schema:
    """The candidates of a selection that another loss than squares has judged."""
    named = {
        "error": Variable(("step",), f"{measure} on held-out data", units),
        "error_se": Variable(("step",), f"standard error of the {measure}", units),
        "excess": Variable(("step",), f"{measure} minus the least, on the same rows", units),
        "excess_se": Variable(("step",), "standard error of the excess", units),
    }
    return Schema(SELECTION.title, {**SELECTION.variables, **named})


def _tests(unit: str) -> dict[str, Variable]:
    """What tests say of each unit."""
    return {
        "importance": Variable((unit,), "rise of the loss with a copy, as a share of the mean's"),
        "importance_se": Variable((unit,), "standard error of the importance"),
        "importance_lower": Variable((unit,), "lower end of a 95 % interval of the importance"),
        "importance_upper": Variable((unit,), "upper end of a 95 % interval of the importance"),
        "statistic": Variable((unit,), "importance over its standard error"),
        "p_value": Variable((unit,), "p-value of: y does not depend on it given the others"),
        "p_value_together": Variable((unit,), "p-value of it and its near copies together"),
        "q_value": Variable((unit,), "least level at which it, with its near copies, is kept"),
        "explained": Variable((unit,), "share of its variance that the others explain"),
        "copy_check": Variable(
            (unit,), "dependence that its model misses, in normal scores above chance"
        ),
        "near_copies": Variable((unit,), "inputs that it is a near copy of, itself among them"),
    }


SIGNIFICANCE = Schema("tests of inputs", _tests("feature"), {"feature": "input"})
GROUP_SIGNIFICANCE = Schema("tests of groups", _tests("group"), {"group": "group of inputs"})

# Attributes of the history of a stability selection; bounds that say nothing are left out.
STABILITY = {
    "n_pairs": "pairs of complementary halves of the samples",
    "threshold": "share of the halves from which on a unit is selected",
    "n_units": "inputs, or groups of inputs, that can be selected",
    "mean_selected": "mean number of units that a half selects",
    "false_selections_exchangeable": "bound of Meinshausen and Bühlmann (2010)",
    "false_selections_unimodal": "bound of Shah and Samworth (2013, theorem 2)",
    "false_selections_r_concave": "bound of Shah and Samworth (2013, theorem 3)",
}
FALSE_SELECTIONS = {
    "exchangeable": "false_selections_exchangeable",
    "unimodal": "false_selections_unimodal",
    "r-concave": "false_selections_r_concave",
}

_CELL = ("nu", "width", "mu", "tau")
CROSS_VALIDATION = Schema(
    "NVSD cross-validation",
    {
        "error": Variable((*_CELL, "fold"), "mean squared error on held-out data", "y^2"),
        "converged": Variable((*_CELL, "fold"), "whether the duality gap is below tol"),
        "mean_error": Variable(_CELL, "mean of the error over the folds", "y^2"),
        "error_se": Variable(_CELL, "standard error of the mean error", "y^2"),
        "ridge_nu": Variable(_CELL, "weight of the squared norm in the refit"),
        "tau_value": Variable(_CELL, "weight of the penalty"),
        "n_selected": Variable(_CELL, "number of inputs selected on all samples"),
    },
)

# Without these a Dataset cannot predict.
NEEDED = ("support", "n_selected", "x_mean", "x_scale", "y_mean", "feature", "kernel")
# These do not depend on τ or μ.
SHARED = ("x_mean", "x_scale", "y_mean", "points", "value_points", "derivative_points")


def status_attrs() -> dict[str, str]:
    """What the numbers of `status` mean, by the conventions of netCDF."""
    return {
        "flag_values": " ".join(str(int(status)) for status in Status),
        "flag_meanings": " ".join(status.name.lower() for status in Status),
    }


def _unit(unit: str, loss: Loss) -> str:
    """The unit of a variable, given for squares of y, with another loss; "" if it has none."""
    if unit == "y^2":
        return loss.unit
    if not loss.of_classes:
        return unit
    return {"y": "", "y/x": "1/x"}.get(unit, unit)


def name_loss(dataset: xr.Dataset, term: LossTerm) -> None:
    """Say which loss it is, where long names and units speak of squares of y."""
    dataset.attrs["loss"] = term.loss.to_json()
    if term.classes is not None:
        dataset.attrs["classes"] = classes_to_json(term.classes)
        dataset["fitted"].attrs["long_name"] = "fitted log-odds of the second class"
    dataset["loss"].attrs["long_name"] = f"{term.loss.measure} over the samples"
    for variable in dataset.variables.values():
        if "units" in variable.attrs:
            units = _unit(variable.attrs.pop("units"), term.loss)
            variable.attrs |= {"units": units} if units else {}


def loss_of(dataset: xr.Dataset) -> Loss:
    """The loss that the Dataset was made with; files of earlier versions do not name it."""
    text = dataset.attrs.get("loss")
    return SQUARED if text is None else Loss.from_json(str(text))


def classes_of(dataset: xr.Dataset) -> NDArray[Any]:
    """The labels, if the loss is of classes."""
    return classes_from_json(str(dataset.attrs["classes"]))


def kernel_of(dataset: xr.Dataset) -> Kernel:
    """The kernel that the Dataset was made with."""
    kernels = np.unique(dataset["kernel"].values)
    if len(kernels) != 1:
        raise ValueError(
            "the Dataset joins paths of several kernels; take those of one kernel, or join them "
            "along a dimension of its own."
        )
    return Kernel.from_json(str(kernels[0]))


def features_of(dataset: xr.Dataset) -> tuple[str, ...]:
    """The names of the inputs."""
    return tuple(str(name) for name in dataset["feature"].values)


def groups_of(dataset: xr.Dataset) -> list[str] | None:
    """The group of each input, or None when no two inputs share one."""
    if "group" not in dataset.coords:
        return None
    groups = [str(group) for group in dataset["group"].values]
    return groups if len(set(groups)) < len(groups) else None


def text(values: Any) -> Any:
    """Names as an array of objects, which files hold as text of any length."""
    return np.array(list(values), dtype=object)


@cache
def library_version() -> str:
    """The installed version of nvsd."""
    try:
        return version("nvsd")
    except PackageNotFoundError:
        return "unknown"
