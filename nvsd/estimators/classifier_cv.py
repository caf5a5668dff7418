"""`NVSDClassifierCV`: the path with the logistic loss, its τ chosen on held-out data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from nvsd.data.classes import labels_of
from nvsd.estimators.base import PathClassifier
from nvsd.estimators.search import PathSearch
from nvsd.kernels import Kernel
from nvsd.penalties import Groups, Penalty


class NVSDClassifierCV(PathClassifier, PathSearch):
    """The certified path of the paper with the logistic loss, its τ chosen on held-out data.

    To find out which inputs the class depends on, use `SelectiveClassifier` or `nvsd.select`. This
    class is for the penalised problem itself, solved to a duality gap that is stored.

    For every τ of a grid, and every μ, ν and width if several are given, finds the log-odds f that
    minimise, for two classes,

        (1/n) Σ_i log(1 + exp(−y_i (f(x_i) + c))) + τ J(f) + ν ‖f‖²,    y_i = ±1.

    Each f is judged by its log-loss on held-out data, after a refit of kernel logistic regression
    on the inputs that it selects. With more classes, each has its own f, against all others.

    Parameters
    ----------
    kernel, penalty, groups, mu, nu, widths, debias, taus, n_taus, tau_ratio, rule, standardize, \
tol, max_iter, n_jobs
        As for `NVSDRegressorCV`.
    class_weight : mapping or "balanced", optional
        {label: weight}; "balanced" gives all classes the same total. Held-out losses do not have
        these weights.
    refit_nus : float or sequence of float
        Weights of the squared norm to try in the refit; the best is taken for every τ.
    cv : int, splitter, or iterable of (train, test)
        Folds; an integer means `StratifiedKFold` without shuffling, as everywhere in scikit-learn.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    cv_results_ : Dataset
        As for `NVSDRegressorCV`; its errors are log-losses.
    path_, refit_, tau_, nu_, penalty_, kernel_, support_, derivative_norms_, gap_, n_iter_, \
n_features_in_, feature_names_in_
        As for `NVSDRegressorCV`; norms of several f are added as squares.

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> model = nvsd.NVSDClassifierCV(n_taus=5, cv=3).fit(X, X[:, 0] > 0)
    >>> bool(model.support_[0])
    True
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
        class_weight: Any = None,
        debias: bool = True,
        refit_nus: float | Sequence[float] = (1e-1, 1e-2, 1e-3, 1e-4),
        taus: Sequence[float] | None = None,
        n_taus: int = 30,
        tau_ratio: float = 1e-2,
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
        self.class_weight = class_weight
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
            Labels: text, booleans or whole numbers.
        validation : (X_val, y_val), optional
            Held-out data that judge instead of cross-validation; the fits use X alone.
        sample_weight : (n,) array, optional
            Weights w ≥ 0 of the samples, in the fits and in errors on held-out folds.
        cv_groups : (n,) array, optional
            Labels of rows that belong together, for the splitter: with a number of folds
            `StratifiedGroupKFold`.

        Returns
        -------
        NVSDClassifierCV
            Itself.
        """
        data = self._data(X, y, sample_weight=sample_weight, cv_groups=cv_groups)
        self.classes_ = labels_of(data.y).classes
        self._search(data, self._held_out(validation), cv_groups)
        return self
