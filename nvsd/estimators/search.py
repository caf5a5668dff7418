"""`NVSDRegressorCV`: the path, and cross-validation over τ, μ, ν and the kernel's width."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.model_selection import check_cv

from nvsd.data.checks import check_non_negative, check_positive, check_splits
from nvsd.estimators.base import Array, Data, PathRegressor
from nvsd.estimators.held_out import Job, Outcome, choose, cv_dataset, run
from nvsd.kernels import Kernel
from nvsd.path import ConvergenceWarning
from nvsd.penalties import Groups, Penalty
from nvsd.ridge.dense import default_nus
from nvsd.solvers.status import Status


class NVSDRegressorCV(PathRegressor):
    """The certified path of the paper, its τ chosen on held-out data, as a regressor and selector.

    To find out which inputs y depends on, use `SelectiveRegressor` or `nvsd.select`. This class is
    for the penalised problem itself, solved to a duality gap that is stored.

    For every τ of a grid, and every μ, ν and width if several are given, finds the f that minimises

        (1/n) Σ_i (y_i − f(x_i))² + τ J(f) + ν ‖f‖²,

    where J is a penalty on the norms ‖∂_a f‖ of the partial derivatives over the samples. Each f is
    judged by its mean squared error on held-out data, after a refit of kernel ridge on the inputs
    that it selects. A τ that selects nothing on all samples is judged as the mean of y, even in
    folds where it selects something.

    Parameters
    ----------
    kernel, penalty, groups, debias, standardize, tol, max_iter
        As for `NVSDRegressor`. With debias=False the penalised f, not the refit, is judged and
        predicts. It is shrunk, and uses all inputs away from the samples.
    mu : float or sequence of float
        For "elastic-net" and "sparse-group": the share of the lasso; several are compared.
    nu : float or sequence of float
        ν, the weight of the squared norm; several are compared.
    widths : float or sequence of float
        Multiples of the kernel's width; several are compared.
    refit_nus : float or sequence of float, optional
        Weights of the squared norm to try in the refit; the best is taken for every τ. By default
        `nvsd.ridge.dense.default_nus`, a wide grid.
    taus : sequence of float, optional
        The grid of τ. By default n_taus values from τ_max down to tau_ratio times τ_max. Every
        (μ, ν, width) has its own grid, from all samples, and all folds share it.
    n_taus, tau_ratio : int, float
        For the automatic grid.
    cv : int, splitter, or iterable of (train, test)
        Folds; an integer means `KFold` without shuffling, as everywhere in scikit-learn.
    rule : {"min", "1se"}
        The least error, or the largest τ whose error is within one standard error of it, with the
        μ, ν and width of the least.
    n_jobs : int, optional
        Number of parallel fits, by joblib. Their linear algebra then runs on one thread each.

    Attributes
    ----------
    cv_results_ : Dataset
        Dimensions (nu, width, mu, tau, fold): `error`, `converged`, and over the folds
        `mean_error`, `error_se`; `tau_value` and `n_selected` of the path of all samples;
        `ridge_nu` of the refit. The dimension tau counts positions, because grids differ. The
        attributes chosen_nu, ..., chosen_tau are the positions of what was chosen.
    path_ : Dataset
        The whole path on all samples for the chosen (μ, ν, width).
    refit_ : Dataset or None
        The refit at the chosen τ.
    tau_, nu_, penalty_, kernel_
        What was chosen.
    support_, derivative_norms_, gap_, n_features_in_, feature_names_in_
        As for `NVSDRegressor`, at the chosen τ.
    n_iter_ : int
        Iterations of the slowest τ of the path.

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.estimators import NVSDRegressorCV
    >>> data = nvsd.datasets.make_e1(30, seed=0)
    >>> model = NVSDRegressorCV(kernel="polynomial", n_taus=10, cv=3).fit(data.X, data.y)
    >>> dict(model.cv_results_.sizes)
    {'nu': 1, 'width': 1, 'mu': 1, 'tau': 10, 'fold': 3}
    """

    def __init__(
        self,
        *,
        kernel: str | Kernel = "gaussian",
        penalty: str | Penalty = "lasso",
        groups: Groups | None = None,
        mu: float | Sequence[float] = 0.5,
        nu: float | Sequence[float] = 1e-3,
        widths: float | Sequence[float] = 1.0,
        debias: bool = True,
        refit_nus: float | Sequence[float] | None = None,
        taus: Sequence[float] | None = None,
        n_taus: int = 50,
        tau_ratio: float = 1e-3,
        cv: Any = 5,
        rule: str = "min",
        standardize: bool = True,
        tol: float = 1e-6,
        max_iter: int = 5000,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.penalty = penalty
        self.groups = groups
        self.mu = mu
        self.nu = nu
        self.widths = widths
        self.debias = debias
        self.refit_nus = refit_nus
        self.taus = taus
        self.n_taus = n_taus
        self.tau_ratio = tau_ratio
        self.cv = cv
        self.rule = rule
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Fit to the samples.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        y : (n,) array
        validation : (X_val, y_val), optional
            Held-out data that judge instead of cross-validation; the fits use X alone.

        Returns
        -------
        NVSDRegressorCV
            Itself.
        """
        if self.rule not in ("min", "1se"):
            raise ValueError(f"rule = {self.rule!r} is unknown; give 'min' or '1se'.")
        data = self._data(X, y)
        held_out = self._held_out(validation)
        nus = [check_non_negative("nu", nu) for nu in np.atleast_1d(self.nu).tolist()]
        widths = [check_positive("a width", w) for w in np.atleast_1d(self.widths).tolist()]
        jobs = self._jobs(data, held_out, nus, widths)
        splits = []
        if held_out is None:
            splits = check_splits(list(check_cv(self.cv).split(data.X, data.y)), len(data.y))
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
        self._choose(jobs, whole, data)
        return self

    def _jobs(
        self, data: Data, held_out: Data | None, nus: list[float], widths: list[float]
    ) -> list[Job]:
        """One for each ν and width, on all samples."""
        kernel, penalties = self._kernel(data.X), self._penalties()
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
        # Threads of the linear algebra would compete with the other workers for the cores.
        threads = 1 if min(effective_n_jobs(self.n_jobs), len(jobs)) > 1 else None
        task = delayed(run)
        return list(Parallel(self.n_jobs)(task(job, keep_paths, threads) for job in jobs))

    def _warn_if_unfinished(self, outcomes: Sequence[Outcome]) -> None:
        unfinished = sum(int(np.sum(~outcome.converged)) for outcome in outcomes)
        if unfinished:
            total = sum(outcome.converged.size for outcome in outcomes)
            warnings.warn(
                f"{unfinished} of {total} fits have a gap above tol = {self.tol:g} after at most "
                f"{self.max_iter} iterations; {Status.MAX_ITER.remedy}, or raise tau_ratio.",
                ConvergenceWarning,
                stacklevel=3,
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
