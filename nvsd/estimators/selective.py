"""`SelectiveRegressor`: `nvsd.select` and its refit as an estimator of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from nvsd.estimators.base import Array, DerivativeSelector
from nvsd.estimators.tables import TableSelector
from nvsd.kernels import Kernel
from nvsd.losses import Loss
from nvsd.losses.named import loss_by_name
from nvsd.penalties import Groups
from nvsd.selection import select


class SelectiveRegressor(TableSelector, DerivativeSelector):
    """Nonlinear regression that finds out which inputs y depends on.

    `nvsd.select` ranks the inputs, judges nested sets of them on held-out rows, and refits

        f_S = argmin (1/n) Σ_i ℓ(y_i, f(x_i)) + ν ‖f‖²   over the f that depend on S only.

    ℓ are squares, or another loss. By default there is no kernel, width or penalty to choose.

    Parameters
    ----------
    method : str
        As for `nvsd.select`.
    loss : {"squared", "huber", "quantile"} or Loss, optional
        What fits minimise and sets are judged by; others than squares with "anova" only.
    kernel : {"gaussian", "matern", "polynomial", "linear"} or Kernel, optional
        For all methods except "anova", which has its own.
    groups : sequence or mapping, optional
        One label per input, {group: inputs} or {input: group}; groups are kept or dropped as a
        whole. Inputs that a mapping does not name are on their own.
    keep : sequence
        Inputs that are always selected, by name or number.
    k : int, optional
        The exact number of inputs, or groups, to select.
    fdr : float, optional
        Select what passes tests at this false discovery rate; see `nvsd.significance`.
    cv : int, splitter, or sequence of (train, test)
        Folds; an integer means shuffled folds, which depend on random_state.
    rule : str, optional
        As for `nvsd.select`.
    missing : {"error", "drop", "impute"}
        What to do about missing values, as for `nvsd.select`.
    standardize : bool
        For methods other than "anova": whether inputs are scaled to unit variance.
    random_state : int
        Seed of folds and subsamples.
    n_jobs : int, optional
        Number of parallel fits, by joblib.
    options : mapping, optional
        Further arguments of `nvsd.select`: penalty, nu, nus, widths, width_per_input, value_points,
        and those of the method.

    Attributes
    ----------
    selection_ : Selection
        The result of `nvsd.select`.
    support_ : (d,) bool array
        The selected inputs.
    ranking_ : Series
        One number for every input, best first.
    derivative_norms_ : (d,) array
        ‖∂_a f‖ of the refit over the samples; 0 for inputs that were dropped.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the columns of X have names.

    Notes
    -----
    `predict` uses the fit of least error, which may use more inputs than `support_`;
    ``selection_.predicts_with`` says which.

    Examples
    --------
    >>> import nvsd
    >>> data = nvsd.datasets.make_e2(70, seed=0)
    >>> model = nvsd.SelectiveRegressor().fit(data.X, data.y)
    >>> model.transform(data.X).shape == (70, model.support_.sum())
    True
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        loss: str | Loss | None = None,
        kernel: str | Kernel | None = None,
        groups: Groups | None = None,
        keep: Sequence[Any] = (),
        k: int | None = None,
        fdr: float | None = None,
        cv: Any = 5,
        rule: str | None = None,
        missing: str = "error",
        standardize: bool = True,
        random_state: int = 0,
        n_jobs: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.loss = loss
        self.kernel = kernel
        self.groups = groups
        self.keep = keep
        self.k = k
        self.fdr = fdr
        self.cv = cv
        self.rule = rule
        self.missing = missing
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options

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
        X : (n, d) array or table of pandas, polars or pyarrow
            Categories are coded, as by `nvsd.select`.
        y : (n,) array
        validation : (X_val, y_val), optional
            Held-out data that judge instead of cross-validation; the fits use X alone.
        sample_weight : (n,) array, optional
            Weights w ≥ 0 of the samples, in fits and in errors on held-out rows; only with "anova".
        cv_groups : (n,) array, optional
            Labels of rows that belong together: they are held out together.

        Returns
        -------
        SelectiveRegressor
            Itself.
        """
        loss = loss_by_name(self.loss)
        if loss is not None and loss.of_classes:
            raise ValueError(f"loss = {loss!r} tells classes apart; use nvsd.SelectiveClassifier.")
        given, target = self._given(X, y, sample_weight=sample_weight, cv_groups=cv_groups)
        self.selection_ = select(
            given,
            target,
            method=self.method,
            loss="squared" if loss is None else loss,
            kernel=self.kernel,
            groups=self.groups,
            keep=self.keep,
            k=self.k,
            fdr=self.fdr,
            validation=self._validation(validation),
            cv=self._folds(len(target)),
            cv_groups=cv_groups,
            sample_weight=sample_weight,
            missing=self.missing,
            rule=self.rule,
            standardize=self.standardize,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            **self._options(),
        )
        self.support_ = self.selection_.support
        self.ranking_ = self.selection_.ranking
        history = self.selection_.history
        chosen = history.isel(step=history.attrs["chosen"])
        self.derivative_norms_ = chosen["derivative_norm"].values
        return self

    def _options(self) -> dict[str, Any]:
        return dict(self.options or {})

    def _predict(self, X: Array) -> Array:
        return self.selection_.predict(X)

    def _gradient(self, X: Array) -> Array:
        return np.asarray(self.selection_.predictor.gradient(X).T)
