"""`NVSDRegressorCV`: the path, and cross-validation over τ, μ, ν and the kernel's width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from nvsd.estimators.base import PathRegressor
from nvsd.estimators.search import PathSearch
from nvsd.kernels import Kernel
from nvsd.losses import Loss
from nvsd.penalties import Groups, Penalty


class NVSDRegressorCV(PathRegressor, PathSearch):
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
    loss : {"squared", "huber", "quantile"} or Loss
        In place of the squares, in the fits and on held-out data: see `nvsd.losses`.
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
        loss: str | Loss = "squared",
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
        self.loss = loss
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
        sample_weight: ArrayLike | None = None,
        cv_groups: ArrayLike | None = None,
    ) -> Self:
        """Fit to the samples.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        y : (n,) array
        validation : (X_val, y_val), optional
            Held-out data that judge instead of cross-validation; the fits use X alone.
        sample_weight : (n,) array, optional
            Weights w ≥ 0 of the samples, in the fits and in errors on held-out folds.
        cv_groups : (n,) array, optional
            Labels of rows that belong together, for the splitter: with a number of folds
            `GroupKFold`.

        Returns
        -------
        NVSDRegressorCV
            Itself.
        """
        data = self._data(X, y, sample_weight=sample_weight, cv_groups=cv_groups)
        self._search(data, self._held_out(validation), cv_groups)
        return self
