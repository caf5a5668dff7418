"""Cross-validation over τ, μ, ν and the kernel's width, for regressors and classifiers."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import is_classifier
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv

from nvsd.data.checks import check_non_negative, check_positive, check_splits, is_number
from nvsd.estimators.base import PathEstimator
from nvsd.estimators.data import Array, Data
from nvsd.estimators.held_out import Job, Outcome, choose, cv_dataset, run
from nvsd.kernels import Kernel
from nvsd.losses import Loss
from nvsd.machine import available_memory
from nvsd.path import ConvergenceWarning
from nvsd.ridge.dense import default_nus
from nvsd.selection.folds import Splits, check_cv_groups, is_pairs, split_by, without
from nvsd.solvers.status import Status


class PathSearch(PathEstimator):
    """The certified path, its τ chosen on held-out data: what regressor and classifier share."""

    nu: Any
    widths: Any
    refit_nus: Any
    taus: Sequence[float] | None
    n_taus: int
    tau_ratio: float
    cv: Any
    rule: str
    tol: float
    max_iter: int
    n_jobs: int | None

    @abstractmethod
    def _loss(self) -> Loss: ...

    def _search(self, data: Data, held_out: Data | None, cv_groups: Any) -> None:
        """Fit all paths, judge them on held-out data, and take the best."""
        if self.rule not in ("min", "1se"):
            raise ValueError(f"rule = {self.rule!r} is unknown; give 'min' or '1se'.")
        nus = [check_non_negative("nu", nu) for nu in np.atleast_1d(self.nu).tolist()]
        widths = [check_positive("a width", w) for w in np.atleast_1d(self.widths).tolist()]
        jobs = self._jobs(data, held_out, nus, widths)
        splits = [] if held_out is not None else self._splits(data, cv_groups)
        whole = self._run(jobs, keep_paths=True)
        folds = self._run(
            [
                job.on_fold(split, outcome.paths)
                for split in splits
                for job, outcome in zip(jobs, whole, strict=True)
            ]
        )
        self._warn_if_unfinished(whole + folds)
        judged = [folds[i :: len(jobs)] or [outcome] for i, outcome in enumerate(whole)]
        self.cv_results_ = cv_dataset(jobs, whole, judged, nus, widths)
        measure = self._loss().measure
        self.cv_results_["error"].attrs["long_name"] = f"{measure} on held-out data"
        self._choose(jobs, whole, data)

    def _splits(self, data: Data, cv_groups: Any) -> Splits:
        """The folds of the rows that count."""
        cv, counted = self.cv, data.counted
        groups = counted.take(check_cv_groups(cv_groups, counted.n or len(data.y)))
        if groups is not None and is_number(cv, Integral):
            cv = StratifiedGroupKFold(cv) if is_classifier(self) else GroupKFold(cv)
        folds_of = check_cv(cv, data.y, classifier=is_classifier(self))
        if is_pairs(cv) and cv is not None and counted.kept is not None:
            listed = check_splits(list(folds_of.split()), counted.n)
            return without(listed, counted.kept, counted.n)
        return check_splits(split_by(folds_of, data.X, data.y, groups), len(data.y))

    def _jobs(
        self, data: Data, held_out: Data | None, nus: list[float], widths: list[float]
    ) -> list[Job]:
        """One for each ν and width, on all samples."""
        kernel, penalties, loss = self._kernel(data.X), self._penalties(), self._loss()
        kernels = [kernel if width == 1 else kernel.widened(width) for width in widths]
        grid = {"taus": self.taus, "n_taus": self.n_taus, "tau_ratio": self.tau_ratio}
        ridge_nus = [self._ridge_nus(each, data.X) for each in kernels]
        return [
            Job(
                train=data,
                test=held_out,
                kernel=each,
                nu=nu,
                penalties=penalties,
                grids=[grid] * len(penalties),
                empty=[np.zeros((1, 1), dtype=bool)] * len(penalties),
                ridge_nus=levels,
                standardize=self.standardize,
                settings={"tol": self.tol, "max_iter": self.max_iter},
                loss=loss,
                class_weight=getattr(self, "class_weight", None),
            )
            for nu in nus
            for each, levels in zip(kernels, ridge_nus, strict=True)
        ]

    def _ridge_nus(self, kernel: Kernel, X: Any) -> Array | None:
        if not self.debias:
            return None
        if self.refit_nus is None:
            return default_nus(kernel, self._as_kernel_sees(X))
        given = np.atleast_1d(self.refit_nus).tolist()
        return np.array([check_non_negative("a refit nu", nu) for nu in given])

    def _run(self, jobs: Sequence[Job], keep_paths: bool = False) -> list[Outcome]:
        # Threads of the linear algebra would compete with the other workers for the cores, and
        # each worker would take all free memory for its own.
        workers = min(effective_n_jobs(self.n_jobs), len(jobs))
        threads, share = (1, available_memory() / workers) if workers > 1 else (None, None)
        task = delayed(run)
        jobs = [replace(job, memory=share) for job in jobs]
        return list(Parallel(self.n_jobs)(task(job, keep_paths, threads) for job in jobs))

    def _warn_if_unfinished(self, outcomes: Sequence[Outcome]) -> None:
        unfinished = sum(int(np.sum(~outcome.converged)) for outcome in outcomes)
        if unfinished:
            total = sum(outcome.converged.size for outcome in outcomes)
            warnings.warn(
                f"{unfinished} of {total} fits have a gap above tol = {self.tol:g} after at most "
                f"{self.max_iter} iterations; {Status.MAX_ITER.remedy}, or raise tau_ratio.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _choose(self, jobs: Sequence[Job], whole: Sequence[Outcome], data: Data) -> None:
        """Take the best path and its best τ."""
        results = self.cv_results_
        best = choose(results, self.rule)
        results.attrs |= {"rule": self.rule} | {f"chosen_{dim}": i for dim, i in best.items()}
        index = best["nu"] * results.sizes["width"] + best["width"]
        job, path = jobs[index], whole[index].paths[best["mu"]]
        self.kernel_, self.nu_, self.penalty_ = job.kernel, job.nu, job.penalties[best["mu"]]
        refit_nu = float(results["ridge_nu"][best]) if self.debias else self.nu_
        self._set_fit(path, float(path["tau"][best["tau"]]), data, refit_nu)
