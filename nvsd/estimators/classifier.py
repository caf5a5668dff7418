"""`NVSDClassifier`: the certified path with the logistic loss, at one τ."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from nvsd.data.classes import labels_of
from nvsd.estimators.base import PathClassifier
from nvsd.estimators.one_tau import OneTau
from nvsd.kernels import Kernel
from nvsd.penalties import Groups, Penalty


class NVSDClassifier(PathClassifier, OneTau):
    """The certified path of the paper with the logistic loss, at one τ.

    To find out which inputs the class depends on, use `SelectiveClassifier` or `nvsd.select`. This
    class is for the penalised problem itself, solved to a duality gap that is stored.

    For two classes, finds the log-odds f that minimise

        (1/n) Σ_i log(1 + exp(−y_i (f(x_i) + c))) + τ J(f) + ν ‖f‖²,    y_i = ±1,

    with a constant c that is not penalised. Then selects the inputs whose derivative norm is not
    zero, and refits kernel logistic regression on these alone. With more classes, each has its own
    f, against all others, and an input is selected if one of them uses it.

    Parameters
    ----------
    tau, tau_fraction, kernel, penalty, groups, mu, nu, debias, refit_nu, standardize, max_iter
        As for `NVSDRegressor`.
    class_weight : mapping or "balanced", optional
        {label: weight}; "balanced" gives all classes the same total.
    tol : float
        Stop when the duality gap is at most tol times the log-loss of the classes' shares.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    path_, refit_, support_, derivative_norms_, tau_, kernel_, penalty_, n_iter_, gap_
        As for `NVSDRegressor`; norms of several f are added as squares.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the columns of X have names.

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> model = nvsd.NVSDClassifier().fit(X, X[:, 0] > 0)
    >>> model.predict_proba(X).shape
    (60, 2)
    """

    def __init__(
        self,
        tau: float | None = None,
        *,
        tau_fraction: float = 0.1,
        kernel: str | Kernel = "gaussian",
        penalty: str | Penalty = "lasso",
        groups: Groups | None = None,
        mu: float = 0.5,
        nu: float = 1e-3,
        class_weight: Any = None,
        debias: bool = True,
        refit_nu: float | None = None,
        standardize: bool = True,
        tol: float = 1e-6,
        max_iter: int = 5000,
    ) -> None:
        self.tau = tau
        self.tau_fraction = tau_fraction
        self.kernel = kernel
        self.penalty = penalty
        self.groups = groups
        self.mu = mu
        self.nu = nu
        self.class_weight = class_weight
        self.debias = debias
        self.refit_nu = refit_nu
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to the samples.

        Parameters
        ----------
        X : (n, d) array or DataFrame
        y : (n,) array
            Labels: text, booleans or whole numbers.
        sample_weight : (n,) array, optional
            Weights w ≥ 0 of the samples in the loss; `class_weight` multiplies them.

        Returns
        -------
        NVSDClassifier
            Itself.
        """
        data = self._data(X, y, sample_weight=sample_weight)
        self.classes_ = labels_of(data.y).classes
        self._fit(data)
        return self
