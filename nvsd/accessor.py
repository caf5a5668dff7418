"""`path.nvsd`: predictions, gradients, refits and reports from the Dataset of a path."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from nvsd.data.checks import check_non_negative, check_target
from nvsd.data.classes import labels_of
from nvsd.data.names import (
    feature_names,
    refuse_misaligned,
    refuse_misaligned_pair,
    take_columns,
)
from nvsd.data.random import Rng, seed_of
from nvsd.data.rows import Rows
from nvsd.data.sources import rows_of
from nvsd.data.weights import row_weights, rows_that_count
from nvsd.kernels import Kernel
from nvsd.losses import Loss, QuadraticLoss, class_weights, loss_term
from nvsd.results.functions import StoredFunctions
from nvsd.results.paths import stack_classes
from nvsd.results.refits import loss_dataset, ridge_dataset
from nvsd.results.schema import kernel_of, loss_of
from nvsd.ridge.by_loss import fit_by_loss
from nvsd.ridge.dense import RidgeFit, default_nus, fit_ridge, refuse_large_ridge
from nvsd.ridge.nystrom import draw_points, fit_nystrom

Array = NDArray[np.float64]


@xr.register_dataset_accessor("nvsd")  # type: ignore[no-untyped-call]
class PathAccessor(StoredFunctions):
    """Methods of a path; each call covers all τ (and μ).

    The Dataset holds everything that is needed, so a path that was saved with ``to_netcdf`` and
    read in another process works the same.

    Examples
    --------
    >>> import nvsd
    >>> data = nvsd.datasets.make_e1(40, seed=0)
    >>> path = nvsd.nvsd_path(data.X, data.y, n_taus=10)
    >>> path.nvsd.predict(data.X[:3]).sizes
    Frozen({'tau': 10, 'sample': 3})
    >>> at = path.isel(tau=[4])
    >>> at.nvsd.gradient(data.X[:3]).dims
    ('tau', 'feature', 'sample')
    >>> at.nvsd.debias(data.X, data.y).nvsd.predict(data.X[:3]).shape
    (1, 3)
    """

    def debias(
        self,
        X: Any,
        y: Any = None,
        *,
        nu: float | ArrayLike | None = None,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
        support: ArrayLike | None = None,
        value_points: int | None = None,
        random_state: int | None = None,
        rng: Rng = None,
        sample_weight: ArrayLike | None = None,
        class_weight: Any = None,
    ) -> xr.Dataset:
        """Refit kernel ridge on the inputs selected at each τ, the paper's second step.

        The kernel is restricted to these inputs, so the refit truly ignores the others. It has the
        loss of the path: for classes it is kernel logistic regression.

        Parameters
        ----------
        X, y : arrays
            The samples to fit, usually those of the path; y is centred, or holds labels.
        nu : float or sequence of float, optional
            Weight of the squared norm; to choose between several, give validation data. By default
            the nu of the path, or with validation data a wide grid.
        validation : (X, y), optional
            Data on which the loss decides between several nu.
        support : (..., d) bool array, optional
            The inputs to use at each τ, instead of the path's own support; a DataArray is matched
            by its labels.
        value_points : int, optional
            For many rows: the number of kernel sections that f is made of, at rows drawn at random.
            The loss is still that of all rows; see `nvsd.ridge.nystrom`. X and y may then come from
            any source that `nvsd_path` takes; loss and fitted values are left out.
        random_state : int, optional
            Seed for drawing these rows; 0 by default.
        rng : int or numpy Generator, optional
            In place of random_state.
        sample_weight, class_weight : optional
            As for `nvsd.prepare`.

        Returns
        -------
        Dataset
            With the same accessor: ``debiased.nvsd.predict(X_new)``.
        """
        self._check_one_path()
        refuse_misaligned(X, y=y, sample_weight=sample_weight)
        refuse_misaligned_pair(validation)
        kernel, loss, target = kernel_of(self._dataset), loss_of(self._dataset), None
        if not isinstance(loss, QuadraticLoss):
            weights = {"sample_weight": sample_weight, "class_weight": class_weight}
            given = {"nu": nu, "validation": validation, "support": support, **weights}
            return self._debias_by_loss(X, y, loss, value_points, given)
        if class_weight is not None:
            raise ValueError(f"class_weight was given, but {loss!r} is not a loss of classes.")
        seed = seed_of(random_state, rng)
        fit_on, points, target = self._ridge_on(X, y, loss, value_points, seed, sample_weight)
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
                    error = loss.value(held_out[1], fit.predict(held_out[0]))
                    fit = fit.at(int(np.argmin(error)))
                fits[key] = fit
        return ridge_dataset(
            self._dataset, [fits[mask.tobytes()] for mask in masks], points, target
        )

    def _ridge_on(
        self, X: Any, y: Any, loss: QuadraticLoss, value_points: int | None, seed: int, given: Any
    ) -> tuple[Callable[..., RidgeFit], Array, Array | None]:
        """How to fit to the samples that count, the points that carry f, and y if these are all."""
        if value_points is None:
            points = self._scaled(X)
            target = check_target(y, len(points))
            counted = row_weights(given, len(points))
            points, target = counted.take(points), counted.take(target)
            refuse_large_ridge(len(points))
            fit_on = partial(fit_ridge, points, target, loss=loss, weights=counted.values)
            return fit_on, points, target
        rows = self._scaled_rows(X, y)
        rows, weights = rows_that_count(rows, given)
        points = draw_points(rows, value_points, seed)
        return partial(fit_nystrom, rows, points, loss=loss, weights=weights.values), points, None

    def _debias_by_loss(
        self, X: Any, y: Any, loss: Loss, value_points: int | None, given: dict[str, Any]
    ) -> xr.Dataset:
        """The refits with a loss that is not quadratic."""
        if value_points is not None:
            raise ValueError(f"value_points need a quadratic loss, not {loss!r}; leave it out.")
        if "class" in self._dataset.dims:
            return self._debias_classes(X, y, given)
        validation, kernel, points = given["validation"], kernel_of(self._dataset), self._scaled(X)
        counted = row_weights(given["sample_weight"], len(points))
        points, y, weights = counted.take(points), counted.take(y), counted.values
        refuse_large_ridge(len(points))
        term = loss_term(loss, y, len(points), weights, given["class_weight"], free=True)
        nus = self._nus(given["nu"], kernel, points, validation is not None)
        masks = self._masks(given["support"]).reshape(-1, points.shape[1])
        fits = {mask.tobytes(): fit_by_loss(points, term, kernel, nus, mask) for mask in masks}
        if validation is not None:
            X_val = self._scaled(validation[0])
            held_out = loss_term(loss, validation[1], len(X_val), None, None, free=True)
            for key, fit in fits.items():
                errors = held_out.mean(fit.predict(X_val))
                fits[key] = fit.at(int(np.argmin(errors)))
        found = [fits[mask.tobytes()] for mask in masks]
        return loss_dataset(self._dataset, found, points, term)

    def _debias_classes(self, X: Any, y: Any, given: dict[str, Any]) -> xr.Dataset:
        """The refits of each class against all others."""
        labels, parts = labels_of(y), []
        weights = class_weights(given["class_weight"], labels)
        if given["sample_weight"] is not None:
            weights = weights * check_target(given["sample_weight"], len(weights), "sample_weight")
        given = given | {"sample_weight": weights, "class_weight": None}
        for number, label in enumerate(self._dataset["class"].values):
            own = dict(given)
            if own["validation"] is not None:
                X_val, y_val = own["validation"]
                own["validation"] = X_val, np.asarray(y_val) == labels.classes[number]
            if own["support"] is not None:
                own["support"] = np.asarray(own["support"])[number]
            one = PathAccessor(self._dataset.sel({"class": label}))
            parts.append(one.debias(X, labels.codes == number, **own))
        return stack_classes(parts, labels.classes)

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
                f"support has dimensions {given.dims} whose labels differ from those of the path, "
                f"{own.dims}; give one entry for each tau and input of the path."
            )
        return np.asarray(values, dtype=bool)

    def _labelled(self, support: ArrayLike, own: xr.DataArray) -> xr.DataArray:
        """The support with labels: its own, or those of the path."""
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
        from nvsd.report import write_report  # imported only when a report is written

        return write_report(self._dataset, out, **content)

    def _nus(self, nu: Any, kernel: Kernel, points: Array, validated: bool) -> Array:
        if nu is None:
            return default_nus(kernel, points) if validated else np.atleast_1d(self._dataset.nu)
        nus = np.atleast_1d(np.asarray(nu, dtype=float))
        for value in nus.flat:
            check_non_negative("nu", float(value))
        if not validated and len(nus) > 1:
            raise ValueError(f"{len(nus)} nu were given; give validation=(X, y) to choose one.")
        return nus

    def _scaled_rows(self, X: Any, y: Any) -> Rows:
        """Rows from any source as the kernel sees them."""
        rows = rows_of(take_columns(X, self._features), y)
        self._check_inputs(len(rows.features))
        if not rows.has_target:
            raise ValueError("y is missing; give one number for each row of X.")
        # Blocks may bring their own column names.
        if rows.features not in (self._features, feature_names(None, len(rows.features))):
            raise ValueError(
                "the blocks have other columns than the path, or the same in another order; give "
                "the inputs of the path in its order."
            )
        return rows.scaled(*(self._dataset[name].values for name in ("x_mean", "x_scale")))
