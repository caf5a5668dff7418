"""`path.nvsd`: predictions, gradients and refits from the Dataset of a path."""

from __future__ import annotations

from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from nvsd._checks import check_points, check_target, feature_names, take_columns
from nvsd.blocks import Rows, rows_of
from nvsd.choice import refuse_large_ridge
from nvsd.kernels import Kernel
from nvsd.landmarks import evaluate_landmarks
from nvsd.monomials import Monomials, degree_and_offset
from nvsd.nystrom import draw_points, fit_nystrom
from nvsd.prepare import check_non_negative
from nvsd.results import NEEDED, in_schema_order, kernel_of, ridge_dataset
from nvsd.ridge import default_nus, fit_ridge

Array = NDArray[np.float64]
SCALES = ("x_mean", "x_scale")


@xr.register_dataset_accessor("nvsd")  # type: ignore[no-untyped-call]
class PathAccessor:
    """What can be done with a path, for all τ (and μ) in one call.

    The Dataset holds everything that is needed, so a path that was saved with ``to_netcdf`` and
    read in another process works the same.
    """

    def __init__(self, dataset: xr.Dataset) -> None:
        self._given, self._dataset = dataset, in_schema_order(dataset)

    def predict(self, X_new: ArrayLike) -> xr.DataArray:
        """f at new points, the mean of y included.

        Parameters
        ----------
        X_new : (m, d) array or DataFrame
            In the units of the samples; the columns of a DataFrame, or DataArray, are matched by
            name.

        Returns
        -------
        DataArray
            Dimensions of the path (tau, and mu if there are several) and sample.
        """
        f, _ = self._evaluate(self._scaled(X_new), gradient=False)
        return self._wrap("prediction", f + float(self._dataset["y_mean"]), ("sample",))

    def gradient(self, X_new: ArrayLike) -> xr.DataArray:
        """∂_a f at new points, in the units of the samples as given.

        Returns
        -------
        DataArray
            Dimensions of the path, feature and sample.
        """
        _, gradient = self._evaluate(self._scaled(X_new), gradient=True)
        scale = self._dataset["x_scale"].values[:, None]
        return self._wrap("gradient", gradient / scale, ("feature", "sample"))

    def derivative_norm(self, X_new: ArrayLike) -> xr.DataArray:
        """‖∂_a f‖ over other points, comparable with the Dataset's own `derivative_norm`.

        On the samples a norm of zero says only that f is flat in x_a there; on held-out points
        the same f may well depend on x_a.
        """
        _, gradient = self._evaluate(self._scaled(X_new), gradient=True)
        norm = np.sqrt(np.mean(gradient**2, axis=-1))
        return self._wrap("derivative_norm", norm, ("feature",))

    def debias(
        self,
        X: Any,
        y: Any = None,
        *,
        nu: float | ArrayLike | None = None,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
        support: ArrayLike | None = None,
        value_points: int | None = None,
        random_state: int = 0,
    ) -> xr.Dataset:
        """Refit kernel ridge on the inputs selected at each τ, the paper's second step.

        The kernel is restricted to these inputs, so the refit truly ignores the others.

        Parameters
        ----------
        X, y : arrays
            The samples to fit, usually those of the path; y is centred.
        nu : float or sequence of float, optional
            Weight of the squared norm; several need validation data to choose from. By default
            that of the path, or with validation data a wide grid.
        validation : (X, y), optional
            Where the mean squared error decides between several nu.
        support : (..., d) bool array, optional
            The inputs to use at each τ, instead of the path's own support; a DataArray goes by its
            labels.
        value_points : int, optional
            For many rows: f is made of so many kernel sections, at rows drawn at random, while the
            loss remains that of all rows; see `nvsd.nystrom`. X and y may then come from any source
            that `nvsd_path` takes; loss and fitted values are left out.
        random_state : int
            Seed of the drawing.

        Returns
        -------
        Dataset
            With the same accessor: ``debiased.nvsd.predict(X_new)``.
        """
        self._check_one_path()
        kernel, target = kernel_of(self._dataset), None
        if value_points is None:
            points = self._scaled(X)
            target = check_target(y, len(points))
            refuse_large_ridge(len(points))
            fit_on = partial(fit_ridge, points, target)
        else:
            rows = self._scaled_rows(X, y)
            points = draw_points(rows, value_points, random_state)
            fit_on = partial(fit_nystrom, rows, points)
        nus = self._nus(nu, kernel, points, validation is not None)
        masks = self._masks(support).reshape(-1, points.shape[1])
        held_out: tuple[Array, Array] | None = None
        if validation is not None:
            X_val = self._scaled(validation[0])
            held_out = (X_val, check_target(validation[1], len(X_val)))
        fits: dict[bytes, Any] = {}
        for mask in masks:
            key = mask.tobytes()
            if key not in fits:
                fit = fit_on(kernel, nus, mask)
                if held_out is not None:
                    error = np.mean((fit.predict(held_out[0]) - held_out[1]) ** 2, axis=1)
                    fit = fit.at(int(np.argmin(error)))
                fits[key] = fit
        return ridge_dataset(
            self._dataset, [fits[mask.tobytes()] for mask in masks], points, target
        )

    def _masks(self, support: ArrayLike | None) -> NDArray[np.bool_]:
        """The inputs of each refit, (..., d)."""
        own = self._dataset["support"]
        if support is None:
            return np.asarray(own.values, dtype=bool)
        given = self._labelled(support, own)
        try:
            other = [dim for dim in own.dims if not given.indexes[dim].equals(own.indexes[dim])]
            values = given.sel({dim: own[dim] for dim in other}).transpose(*own.dims).values
        except (KeyError, ValueError):
            values = np.empty(0)
        if values.shape != own.shape:
            raise ValueError(
                f"support has dimensions {given.dims} with other labels than the path's "
                f"{own.dims}; give one entry for each of its tau and inputs."
            )
        return np.asarray(values, dtype=bool)

    def _labelled(self, support: ArrayLike, own: xr.DataArray) -> xr.DataArray:
        """A support with labels: its own, or those of the path as it was given."""
        if isinstance(support, xr.DataArray) and {*own.dims} & {*support.dims}:
            plain = {dim for dim in support.dims if dim not in support.coords} & {*own.dims}
            return support.assign_coords({dim: self._given[dim] for dim in plain})
        values = np.asarray(support, dtype=bool)
        if values.shape != own.shape:
            raise ValueError(
                f"support has shape {values.shape} and the path {own.shape}; give one row for each "
                "tau, with one entry per input."
            )
        return self._given["support"].transpose(*own.dims).copy(data=values)

    def report(self, out: str | PathLike[str], **content: Any) -> Path:
        """Write the path as one self-contained HTML page; see `nvsd.write_report`."""
        from nvsd.report import write_report  # which imports this module

        return write_report(self._dataset, out, **content)

    def _nus(self, nu: Any, kernel: Kernel, points: Array, validated: bool) -> Array:
        if nu is None:
            return default_nus(kernel, points) if validated else np.atleast_1d(self._dataset.nu)
        nus = np.atleast_1d(np.asarray(nu, dtype=float))
        for value in nus.flat:
            check_non_negative("nu", float(value))
        if not validated and len(nus) > 1:
            raise ValueError(f"{len(nus)} nu were given; give validation=(X, y) to choose by.")
        return nus

    def _scaled(self, X: ArrayLike) -> Array:
        """Points as the kernel sees them."""
        self._check_one_path()
        points = check_points(take_columns(X, self._features))
        self._check_inputs(points.shape[1])
        data = self._dataset
        scaled: Array = (points - data["x_mean"].values) / data["x_scale"].values
        return scaled

    def _scaled_rows(self, X: Any, y: Any) -> Rows:
        """Rows from any source as the kernel sees them."""
        rows = rows_of(take_columns(X, self._features), y)
        self._check_inputs(len(rows.features))
        if not rows.has_target:
            raise ValueError("y is missing; give one number for each row of X.")
        # Blocks may have names of their own.
        if rows.features not in (self._features, feature_names(None, len(rows.features))):
            raise ValueError(
                "the blocks have other columns than the path, or in another order; give its inputs "
                "in its order."
            )
        return rows.scaled(*(self._dataset[name].values for name in SCALES))

    def _check_inputs(self, columns: int) -> None:
        if columns != (inputs := len(self._features)):
            raise ValueError(
                f"X has {columns} columns and the path {inputs} inputs; give the same inputs."
            )

    @property
    def _features(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(str(name) for name in self._dataset["feature"].values)

    def _check_one_path(self) -> None:
        """Refuse what is no path, several that were joined, and one that is no longer whole."""
        missing = [name for name in NEEDED if name not in self._dataset]
        if missing:
            raise ValueError(
                f"the Dataset lacks {missing[0]!r}, so it is no path; give what nvsd_path or "
                "debias returned."
            )
        joined = [dim for dim in self._leading if dim not in ("tau", "mu")]
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
                    f"the Dataset has {size} of {whole} along {dim}, and f is made of all of them; "
                    "use the path as it was before that selection."
                )

    @property
    def _leading(self) -> tuple[str, ...]:
        """The dimensions that number the functions: tau, and mu if there are several."""
        return tuple(str(dim) for dim in self._dataset["n_selected"].dims)

    def _rows(self, name: str) -> Array:
        """A coefficient array with all functions along one axis."""
        array = self._dataset[name].transpose(*self._leading, ...)
        return np.asarray(array.values.reshape(-1, *array.shape[len(self._leading) :]))

    def _evaluate(self, X_new: Array, gradient: bool) -> tuple[Array, Array]:
        """f (k, m) without the mean, and its gradient (k, d, m), on scaled points."""
        kernel = kernel_of(self._dataset)
        if self._dataset.attrs.get("representation") == "ridge":
            return self._evaluate_ridge(kernel, X_new, gradient)
        if "value_points" in self._dataset:
            V, M = (self._dataset[name].values for name in ("value_points", "derivative_points"))
            return evaluate_landmarks(kernel, X_new, V, M, self._rows("theta"), gradient)
        if "theta" in self._dataset:
            return _evaluate_monomials(kernel, X_new, self._rows("theta"), gradient)
        f, slopes = kernel.apply(
            X_new,
            self._dataset["points"].values,
            self._rows("alpha").T,
            np.moveaxis(self._rows("beta"), 0, -1),
            gradient=gradient,
        )
        return f.T, np.empty(0) if slopes is None else np.moveaxis(slopes, -1, 0)

    def _evaluate_ridge(self, kernel: Kernel, X_new: Array, gradient: bool) -> tuple[Array, Array]:
        points, alpha = self._dataset["points"].values, self._rows("alpha")
        masks = self._rows("support").astype(bool)
        f = np.zeros((len(masks), len(X_new)))
        slopes = np.zeros((len(masks), X_new.shape[1], len(X_new)))
        for mask in np.unique(masks[masks.any(axis=1)], axis=0):
            rows = np.flatnonzero((masks == mask).all(axis=1))
            inner, inner_slopes = kernel.restrict(mask).apply(
                X_new[:, mask], points[:, mask], alpha[rows].T, gradient=gradient
            )
            f[rows] = inner.T
            if inner_slopes is not None:
                slopes[np.ix_(rows, np.flatnonzero(mask))] = np.moveaxis(inner_slopes, -1, 0)
        return f, slopes

    def _wrap(self, name: str, values: Array, dims: tuple[str, ...]) -> xr.DataArray:
        """Give the result the dimensions and coordinates of the path."""
        leading = self._leading
        shape = tuple(self._dataset.sizes[dim] for dim in leading)
        coords = {dim: self._dataset[dim] for dim in (*leading, *dims) if dim != "sample"}
        return xr.DataArray(
            values.reshape(*shape, *values.shape[1:]),
            dims=(*leading, *dims),
            coords=coords,
            name=name,
        )


def _evaluate_monomials(
    kernel: Kernel, X_new: Array, theta: Array, gradient: bool
) -> tuple[Array, Array]:
    polynomial = degree_and_offset(kernel)
    if polynomial is None:
        raise ValueError(f"theta is not defined for {kernel!r}; the Dataset is damaged.")
    d = X_new.shape[1]
    monomials = Monomials(d, *polynomial)
    f = theta @ monomials.features(X_new).T
    if not gradient:
        return f, np.empty(0)
    lower = (monomials.T @ theta.T).T.reshape(len(theta), d, -1)
    return f, np.asarray(lower @ monomials.lower(X_new).T)
