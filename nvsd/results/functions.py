"""The functions of a Dataset at new points, from the stored variables alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from nvsd.data.checks import check_points
from nvsd.data.columns import Columns
from nvsd.data.names import row_labels, take_columns
from nvsd.data.scaling import centred
from nvsd.representations.base import kinds
from nvsd.results.order import in_schema_order
from nvsd.results.schema import (
    NEEDED,
    PATH,
    classes_of,
    features_of,
    kernel_of,
    loss_of,
    text,
)
from nvsd.ridge import dense
from nvsd.tolerances import TINY

Array = NDArray[np.float64]


def columns_of(dataset: xr.Dataset) -> Columns:
    """How the columns of a table become inputs of the Dataset."""
    stored = dataset.attrs.get("columns")
    return Columns.of_numbers(features_of(dataset)) if stored is None else Columns.from_json(stored)


class StoredFunctions:
    """The functions of a path, or of its refits; each call covers all τ (and μ)."""

    def __init__(self, dataset: xr.Dataset) -> None:
        self._given, self._dataset = dataset, in_schema_order(dataset)

    def predict(self, X_new: ArrayLike) -> xr.DataArray:
        """f at new points, including the mean of y.

        Parameters
        ----------
        X_new : (m, d) array or DataFrame
            In the units of the samples; the columns of a DataFrame, or DataArray, are matched by
            name.

        Returns
        -------
        DataArray
            Dimensions of the path (tau, and mu if there are several) and sample. The labels of the
            rows of X_new, if it has any, are those of the samples.
        """
        f, _ = self._evaluate(self._scaled(X_new), gradient=False)
        return self._wrap("prediction", self._with_constant(f), ("sample",), row_labels(X_new))

    def probability(self, X_new: ArrayLike) -> xr.DataArray:
        """The probability of each class at new points, if the loss is of classes.

        With two classes f is the logarithm of the odds of the second one. With more, each class has
        an f of its own, against all others, and their probabilities are scaled to the sum 1.

        Returns
        -------
        DataArray
            Dimensions of the path, class and sample.
        """
        if not loss_of(self._dataset).of_classes:
            raise ValueError("the path is not of classes; use predict.")
        classes = classes_of(self._dataset)
        odds = self.predict(X_new)
        if "class" in odds.dims:
            each = odds.transpose(..., "class", "sample").copy(data=None)
            shares = expit(each.values)
            shares /= np.maximum(shares.sum(axis=-2, keepdims=True), TINY)
        else:
            each = odds.expand_dims({"class": text(map(str, classes))}, axis=-2).copy()
            shares = np.stack([expit(-odds.values), expit(odds.values)], axis=-2)
        return each.copy(data=shares).rename("probability")

    def _with_constant(self, f: Array) -> Array:
        f = f + float(self._dataset["y_mean"])
        if "intercept" in self._dataset:
            f = f + _Stored(self._dataset, self._leading)["intercept"][:, None]
        return np.asarray(f)

    def gradient(self, X_new: ArrayLike) -> xr.DataArray:
        """∂_a f at new points, in the units of the samples as given.

        Returns
        -------
        DataArray
            Dimensions of the path, feature and sample.
        """
        _, gradient = self._evaluate(self._scaled(X_new), gradient=True)
        scale = self._dataset["x_scale"].values[:, None]
        return self._wrap("gradient", gradient / scale, ("feature", "sample"), row_labels(X_new))

    def derivative_norm(self, X_new: ArrayLike) -> xr.DataArray:
        """‖∂_a f‖ over other points, comparable with the Dataset's own `derivative_norm`.

        At the samples a norm of zero only says that f is flat in x_a there; at held-out points
        the same f may depend on x_a.
        """
        _, gradient = self._evaluate(self._scaled(X_new), gradient=True)
        norm = np.sqrt(np.mean(gradient**2, axis=-1))
        return self._wrap("derivative_norm", norm, ("feature",))

    def points(self, X: ArrayLike) -> Array:
        """New points, checked, with the inputs in the order of the path."""
        self._check_one_path()
        if "columns" in self._dataset.attrs:
            points = columns_of(self._dataset).encode(X)
            self._check_inputs(points.shape[1])
            return points
        points = check_points(take_columns(X, self._features))
        self._check_inputs(points.shape[1])
        return points

    def _scaled(self, X: ArrayLike) -> Array:
        """Points as the kernel sees them."""
        points, data = self.points(X), self._dataset
        return centred(points, data["x_mean"].values, data["x_scale"].values)

    def _check_inputs(self, columns: int) -> None:
        if columns != (inputs := len(self._features)):
            raise ValueError(
                f"X has {columns} columns but the path has {inputs} inputs; give the same inputs."
            )

    @property
    def _features(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return features_of(self._dataset)

    def _check_one_path(self) -> None:
        """Refuse a Dataset that is not a path, joins several paths, or lacks part of one."""
        missing = [name for name in NEEDED if name not in self._dataset]
        if missing:
            raise ValueError(
                f"the Dataset lacks {missing[0]!r}, so it is not a path; give what nvsd_path or "
                "debias returned."
            )
        joined = [dim for dim in self._leading if dim not in ("tau", "mu", "class")]
        if joined:
            raise ValueError(
                f"the Dataset joins several paths along {joined[0]}; take one of them, as in "
                f"path.isel({joined[0]}=0)."
            )
        for dim, attribute in (("feature", "n_features"), ("sample", "n_sections")):
            size = self._dataset.sizes.get(dim, 0)
            whole = int(self._dataset.attrs.get(attribute, size))
            if size != whole:
                raise ValueError(
                    f"the Dataset has {size} of {whole} along {dim}, but f needs all of them; use "
                    "the path from before that selection."
                )

    @property
    def _leading(self) -> tuple[str, ...]:
        """The dimensions that number the functions: tau, and mu if there are several."""
        return tuple(str(dim) for dim in self._dataset["n_selected"].dims)

    def _evaluate(self, X_new: Array, gradient: bool) -> tuple[Array, Array]:
        """f (k, m) without the mean, and its gradient (k, d, m), on scaled points."""
        kind = self._kind()
        known = {dense.KIND: dense.evaluate_stored} | {
            name: each.evaluate_stored for name, each in kinds().items()
        }
        if kind not in known:
            raise ValueError(
                f"the Dataset was made with representation {kind!r}, which is not defined here; "
                "import the module that defines it."
            )
        stored = _Stored(self._dataset, self._leading)
        return known[kind](stored, kernel_of(self._dataset), X_new, gradient)

    def _kind(self) -> str:
        """The representation; a joined Dataset may lack the attribute but has the variables."""
        if "representation" in self._dataset.attrs:
            return str(self._dataset.attrs["representation"])
        held = (("value_points", "landmarks"), ("theta", "monomial"), ("beta", "derivative"))
        return next((kind for name, kind in held if name in self._dataset), dense.KIND)

    def _wrap(
        self, name: str, values: Array, dims: tuple[str, ...], rows: pd.Index | None = None
    ) -> xr.DataArray:
        """Give the result the dimensions and coordinates of the path, and the labels of rows."""
        leading = self._leading
        shape = tuple(self._dataset.sizes[dim] for dim in leading)
        coords: dict[str, Any] = {
            dim: self._dataset[dim] for dim in (*leading, *dims) if dim != "sample"
        }
        if rows is not None and not rows.equals(pd.RangeIndex(len(rows))):
            coords["sample"] = rows.to_flat_index() if rows.nlevels > 1 else rows.to_numpy()
        return xr.DataArray(
            values.reshape(*shape, *values.shape[1:]),
            dims=(*leading, *dims),
            coords=coords,
            name=name,
        )


class _Stored(Mapping[str, Array]):
    """The variables of a Dataset, each read when it is needed.

    Variables that differ between functions have the functions along their first axis.
    """

    def __init__(self, dataset: xr.Dataset, leading: tuple[str, ...]) -> None:
        self._dataset, self._leading = dataset, leading

    def __getitem__(self, name: str) -> Array:
        array = self._dataset[name]
        if name not in PATH.variables or "tau" not in PATH.variables[name].dims:
            return np.asarray(array.values)
        values = array.transpose(*self._leading, ...).values
        return np.asarray(values.reshape(-1, *values.shape[len(self._leading) :]))

    def __iter__(self) -> Iterator[str]:
        return iter(str(name) for name in self._dataset.data_vars)

    def __len__(self) -> int:
        return len(self._dataset.data_vars)
