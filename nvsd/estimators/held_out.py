"""Paths judged on held-out data, and a Dataset of their errors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nvsd.data.weights import mean, unbiased_error
from nvsd.estimators.data import Array, Data
from nvsd.kernels import Kernel
from nvsd.losses import SQUARED, Loss, QuadraticLoss
from nvsd.path import ConvergenceWarning, nvsd_path
from nvsd.penalties import Penalty
from nvsd.prepared import Prepared, prepare
from nvsd.results.schema import CROSS_VALIDATION, classes_of
from nvsd.ridge.dense import fit_ridge
from nvsd.solvers.status import is_certified
from nvsd.tolerances import TINY


@dataclass(frozen=True, eq=False)
class Job:
    """Everything that shares one factorisation: the paths for every penalty, on some samples.

    Attributes
    ----------
    train : Data
    test : Data or None
        Held-out data, in the same units.
    grids : sequence of dict
        For each penalty, the arguments of `nvsd_path` that give its τ.
    empty : sequence of (taus, 1) bool arrays
        For each penalty, the τ at which nothing is selected on all samples, if this job has only
        some of them. Such a τ gives the mean of y, so it is judged as the mean even if it selects
        something here.
    ridge_nus : (r,) array or None
        Weights to try in the refit; None judges the penalised f.
    settings : dict
        Further arguments of `nvsd_path`.
    loss : Loss
        Of the fits, and on held-out data.
    class_weight : mapping, "balanced" or None
    memory : float or None
        Bytes that it may use; None means all that are free.
    """

    train: Data
    test: Data | None
    kernel: Kernel
    nu: float
    penalties: Sequence[Penalty]
    grids: Sequence[dict[str, Any]]
    empty: Sequence[NDArray[np.bool_]]
    ridge_nus: Array | None
    standardize: bool
    settings: dict[str, Any]
    loss: Loss = SQUARED
    class_weight: Any = None
    memory: float | None = None

    def on_fold(self, split: tuple[Any, Any], paths: Sequence[xr.Dataset]) -> Job:
        """The same on the rows of one fold, with the τ of the paths on all samples."""
        train, test = (self.train.take(rows) for rows in split)
        if self.loss.of_classes:
            lost = set(self.train.y.tolist()) - set(train.y.tolist())
            if lost:
                raise ValueError(
                    f"a fold has no training rows of the class {min(lost, key=str)!r}; give other "
                    "folds, or more samples."
                )
        return replace(
            self,
            train=train,
            test=test,
            grids=[{"taus": path["tau"].values} for path in paths],
            empty=[path["n_selected"].values[..., None] == 0 for path in paths],
        )


class Outcome(NamedTuple):
    """The result of a job: one path per penalty. The other fields have a row for each path.

    Attributes
    ----------
    error, error_se : (penalties, taus, r) arrays or None
        Mean loss on the held-out data, and its standard error over them.
    converged : (penalties, taus) array
    """

    paths: list[xr.Dataset]
    error: Array | None
    error_se: Array | None
    converged: NDArray[np.bool_]


def run(job: Job, keep_paths: bool, threads: int | None) -> Outcome:
    """Fit all paths of a job and judge them."""
    with threadpool_limits(threads), warnings.catch_warnings():
        # A warning in another process would not be seen, so the caller looks at `converged`.
        warnings.simplefilter("ignore", ConvergenceWarning)
        prepared = prepare(
            job.train.rows_alone,
            y=job.train.y,
            kernel=job.kernel,
            nu=job.nu,
            standardize=job.standardize,
            loss=job.loss,
            sample_weight=job.train.weights,
            class_weight=job.class_weight,
            max_memory=job.memory,
        )
        paths = [
            nvsd_path(prepared, penalty=penalty, progress=False, **grid, **job.settings)
            for penalty, grid in zip(job.penalties, job.grids, strict=True)
        ]
        judged = None
        if job.test is not None:
            pairs = zip(paths, job.empty, strict=True)
            judged = np.array([_judge(path, empty, prepared, job) for path, empty in pairs])
    converged = np.array([_converged(path) for path in paths])
    error, error_se = (None, None) if judged is None else np.moveaxis(judged, 1, 0)
    return Outcome(paths if keep_paths else [], error, error_se, converged)


def _converged(path: xr.Dataset) -> NDArray[np.bool_]:
    """Which τ have met the tolerance, for all classes."""
    certified = is_certified(path["status"].values)
    return np.asarray(certified.reshape(-1, certified.shape[-1]).all(axis=0))


def _judge(path: xr.Dataset, empty: NDArray[np.bool_], prepared: Prepared, job: Job) -> Array:
    """The mean losses and their standard errors, (2, taus, r)."""
    assert job.test is not None
    X, y, summary = job.test.X, job.test.y, partial(_summary, weights=job.test.weights)
    if job.ridge_nus is None:
        return summary(_losses(path, X, y, job.loss)[:, None])
    support = path["support"].values.astype(bool) & ~empty
    if not isinstance(job.loss, QuadraticLoss):
        options = {"support": support, "class_weight": job.class_weight}
        options["sample_weight"] = job.train.weights
        refit = partial(path.nvsd.debias, job.train.X, job.train.y, **options)
        refits = (refit(nu=float(nu)) for nu in job.ridge_nus)
        return summary(np.stack([_losses(each, X, y, job.loss) for each in refits], axis=1))
    samples, points = prepared.X, (X - prepared.x_mean) / prepared.x_scale
    masks, which = np.unique(support, axis=0, return_inverse=True)
    given = samples, job.train.y, job.kernel, job.ridge_nus
    fits = (fit_ridge(*given, mask, weights=job.train.weights) for mask in masks)
    losses = (job.loss.pointwise(y, fit.predict(points)) for fit in fits)
    return np.stack([summary(each) for each in losses], axis=1)[:, which]


def _losses(fits: xr.Dataset, X: Array, y: NDArray[Any], loss: Loss) -> Array:
    """The loss at held-out rows, (taus, rows); for classes that of their probabilities."""
    if not loss.of_classes:
        known = Loss.from_json(fits.attrs["loss"])  # with constants that were taken from y
        return known.pointwise(y, fits.nvsd.predict(X).values)
    number = {label: k for k, label in enumerate(classes_of(fits).tolist())}
    unknown = [label for label in y.tolist() if label not in number]
    if unknown:
        raise ValueError(
            f"held-out rows have the class {unknown[0]!r}, which no row of the fit has; give rows "
            "of the same classes."
        )
    shares = fits.nvsd.probability(X).transpose("tau", "class", "sample").values
    own = shares[:, [number[label] for label in y.tolist()], np.arange(len(y))]
    return np.asarray(-np.log(np.maximum(own, TINY)))


def _summary(losses: Array, weights: Array | None = None) -> Array:
    """Mean loss over the last axis, and its standard error."""
    m = losses.shape[-1]
    if weights is not None:
        rows = np.moveaxis(losses, -1, 0)
        return np.stack([mean(rows, weights), unbiased_error(rows, weights)])
    spread = losses.std(axis=-1, ddof=1) if m > 1 else np.zeros(losses.shape[:-1])
    return np.stack([losses.mean(axis=-1), spread / np.sqrt(m)])


def cv_dataset(
    jobs: Sequence[Job],
    whole: Sequence[Outcome],
    judged: Sequence[Sequence[Outcome]],
    nus: Sequence[float],
    widths: Sequence[float],
) -> xr.Dataset:
    """The errors of all folds, as a Dataset.

    Parameters
    ----------
    jobs : sequence of Job
        For each ν and, within it, each width.
    whole : sequence of Outcome
        The result of each job on all samples.
    judged : sequence of sequences of Outcome
        The results of each job on its folds.
    """
    error, error_se = _stack(judged, "error"), _stack(judged, "error_se")
    ridge = error.mean(axis=-1).argmin(axis=-1)[..., None]
    error, error_se = (
        np.take_along_axis(each, ridge[..., None], axis=-2)[..., 0, :] for each in (error, error_se)
    )
    data: dict[str, Array] = {
        "error": error,
        "converged": _stack(judged, "converged"),
        "mean_error": error.mean(axis=-1),
        "error_se": _standard_error(error, error_se),
        "tau_value": np.array([[path["tau"] for path in outcome.paths] for outcome in whole]),
        "n_selected": np.array([[_n_selected(path) for path in o.paths] for o in whole]),
    }
    if jobs[0].ridge_nus is not None:
        levels = np.array([job.ridge_nus for job in jobs])[:, None, None]
        data["ridge_nu"] = np.take_along_axis(levels, ridge, axis=-1)[..., 0]
    shaped = {
        name: values.reshape(len(nus), len(widths), *values.shape[1:])
        for name, values in data.items()
    }
    mus = [getattr(penalty, "mu", getattr(penalty, "rho", np.nan)) for penalty in jobs[0].penalties]
    kernels = [job.kernel.to_json() for job in jobs[: len(widths)]]
    coords = {"nu": nus, "width": widths, "mu": mus, "kernel": ("width", kernels)}
    return CROSS_VALIDATION.make(shaped, coords, {})


def _n_selected(path: xr.Dataset) -> Array:
    """How many inputs each τ selects, for one class or another."""
    several = [dim for dim in path["support"].dims if dim not in ("tau", "feature")]
    return np.asarray(path["support"].any(several).sum("feature").values)


def _stack(judged: Sequence[Sequence[Outcome]], name: str) -> Array:
    """One array of all jobs (first axis) and folds (last axis)."""
    stacked = np.array([[getattr(outcome, name) for outcome in folds] for folds in judged])
    return np.moveaxis(stacked, 1, -1)


def _standard_error(error: Array, over_rows: Array) -> Array:
    """Standard error of the mean over the folds; for a single fold, that over its rows."""
    k = error.shape[-1]
    return over_rows[..., 0] if k == 1 else np.asarray(error.std(axis=-1, ddof=1) / np.sqrt(k))


def choose(results: xr.Dataset, rule: str) -> dict[str, int]:
    """The positions, in nu, width, mu and tau, of what the rule chooses."""
    error = results["mean_error"]
    best = {str(dim): int(i) for dim, i in error.argmin(...).items()}
    if rule == "1se":
        limit = error[best] + results["error_se"][best]
        along_tau = error[{dim: i for dim, i in best.items() if dim != "tau"}]
        # τ descends, so the first is the largest.
        best["tau"] = int(np.argmax(along_tau.values <= limit.values))
    return best
