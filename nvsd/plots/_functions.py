"""Selections, estimators and paths, seen by the plots as functions of the columns of X."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from nvsd.data.along import Along, along, decoded
from nvsd.data.checks import check_points
from nvsd.data.columns import Columns
from nvsd.data.names import find_column, take_columns
from nvsd.plots._draw import Array
from nvsd.results.order import in_column_order


@dataclass(frozen=True)
class Function:
    """A fitted function for the plots: f (m,) and its gradient (inputs, m) at points (m, inputs).

    Attributes
    ----------
    columns : Columns
        How the columns of X become inputs, which are in the units of X; NaN where they are missing.
    gradient : callable or None
        None if there is none to draw, as for probabilities.
    what : str
        What f is.
    named : bool
        Whether the names are column names.
    """

    columns: Columns
    predict: Callable[[Array], Array]
    gradient: Callable[[Array], Array] | None
    what: str = "prediction f"
    named: bool = True

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.columns.names

    def index(self, feature: Any) -> int:
        """The index of a column that is given by name or number."""
        found, d = find_column(feature, self.features, from_end=True), len(self.features)
        if found is not None:
            return found
        if isinstance(feature, int | np.integer):
            raise ValueError(f"there is no input number {feature}; give 0 to {d - 1}, or a name.")
        raise ValueError(
            f"there is no input {str(feature)!r}; give one of {', '.join(self.features[:8])}"
            f"{', ...' if d > 8 else ''}."
        )

    def points(self, X: ArrayLike) -> Array:
        """The samples; named columns are matched by name."""
        if not self.columns.simple:
            return self.columns.encode(X)
        points = check_points(take_columns(X, self.features) if self.named else X)
        if points.shape[1] != len(self.features):
            raise ValueError(
                f"X has {points.shape[1]} columns but the model has {len(self.features)} inputs; "
                "give the same inputs."
            )
        return points

    def seen(self, a: int, points: Array) -> Array:
        """The values of a column at points."""
        return decoded(self.columns.columns[a], points[:, self.columns.inputs_of(a)])

    def along(self, a: int, points: Array, size: int) -> Along:
        """Values along a column, between those at points."""
        return along(self.columns.columns[a], self.seen(a, points), size)

    def moved(self, points: Array, a: int, values: Array) -> Array:
        """Points with these values of a column; both broadcast."""
        inputs = self.columns.inputs_of(a)
        given = self.columns.columns[a].encoded(values.ravel()).reshape(*values.shape, len(inputs))
        changed = np.array(np.broadcast_arrays(points, given[..., :1])[0])
        changed[..., inputs] = given
        return changed

    def at(self, points: Array) -> Array:
        """f at points of any shape before the last axis."""
        flat = points.reshape(-1, points.shape[-1])
        return self.predict(flat).reshape(points.shape[:-1])


def as_function(model: Any) -> Function:
    """A Selection, an estimator or the Dataset of one τ, seen as a function."""
    if isinstance(model, xr.Dataset):
        return _dataset_function(model)
    if getattr(model, "of_table_", False):  # an estimator of tables with categories
        model = model.selection_.predictor
    model = getattr(model, "refit", model)
    if hasattr(model, "columns") and hasattr(model, "predicted"):
        return _refit_function(model)
    if hasattr(model, "features") and hasattr(model, "gradient"):
        return Function(_numbers(model.features), model.predict, model.gradient)
    if hasattr(model, "predict_gradient"):
        return _estimator_function(model)
    raise ValueError(
        f"{type(model).__name__} cannot be plotted as a function; give a Selection, a fitted "
        "estimator of nvsd, or a path at one tau."
    )


def _numbers(names: Any) -> Columns:
    return Columns.of_numbers([str(name) for name in names])


def _refit_function(refit: Any) -> Function:
    """What the refit predicts: f, or of classes the probability of the last one."""
    mean, scale = refit.x_mean, refit.x_scale

    def seen(points: Array) -> Array:
        """Points as the kernel sees them; a missing value is at the centre."""
        return np.asarray(np.nan_to_num((points - mean) / scale))

    def predict(points: Array) -> Array:
        return np.asarray(refit.predicted(seen(points))[-1])

    def gradient(points: Array) -> Array:
        return np.asarray(refit.fit.gradient(seen(points))[0] / scale[:, None])

    classes = getattr(refit, "classes", None)
    if classes is None:
        return Function(refit.columns, predict, gradient)
    return Function(refit.columns, predict, None, f"probability of {classes[-1]}")


def _dataset_function(dataset: xr.Dataset) -> Function:
    if "n_selected" not in dataset or dataset["n_selected"].ndim:
        raise ValueError(
            "the Dataset holds several functions, or none; give one tau of a path, as in "
            "path.isel(tau=20) or path.sel(tau=0.1, method='nearest')."
        )
    dataset = in_column_order(dataset)
    return Function(
        _numbers(dataset["feature"].values),
        lambda X: np.asarray(dataset.nvsd.predict(X).values),
        lambda X: np.asarray(dataset.nvsd.gradient(X).values),
    )


def _estimator_function(model: Any) -> Function:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        numbers = _numbers(f"x{a}" for a in range(model.n_features_in_))
        gradient = lambda X: model.predict_gradient(X).T  # noqa: E731
        return Function(numbers, model.predict, gradient, named=False)
    from pandas import DataFrame

    # An estimator that was fitted with names warns about points without names.
    return Function(
        _numbers(names),
        lambda X: np.asarray(model.predict(DataFrame(X, columns=names))),
        lambda X: np.asarray(model.predict_gradient(DataFrame(X, columns=names))).T,
    )
