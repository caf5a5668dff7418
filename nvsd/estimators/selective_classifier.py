"""`SelectiveClassifier`: `nvsd.select` on labels, with the manners of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from nvsd.estimators.tables import TableSelector
from nvsd.penalties import Groups
from nvsd.selection import select
from nvsd.selection.classes import ClassSelection

Array = NDArray[np.float64]


class SelectiveClassifier(ClassifierMixin, TableSelector):  # type: ignore[misc]
    """Nonlinear classification that finds out which inputs the class depends on.

    `nvsd.select` ranks the inputs, judges nested sets of them by log-loss on held-out rows, and
    refits kernel logistic regression on the chosen set S:

        f_S = argmin (1/n) Σ_i log(1 + exp(−y_i f(x_i))) + ν ‖f‖²   over the f of S only,

    with a free constant. Several classes have one f each, against the rest; their probabilities are
    divided by their sum. There is no kernel, width or penalty to choose.

    Parameters
    ----------
    groups : sequence or mapping, optional
        One label per input, {group: inputs} or {input: group}; groups are kept or dropped as a
        whole. Inputs that a mapping does not name are on their own.
    keep : sequence
        Inputs that are always in, by name or number.
    k : int, optional
        The exact number of inputs, or groups, to select.
    fdr : float, optional
        Keep what tests call relevant at this false discovery rate; see `nvsd.significance`.
    class_weight : mapping or "balanced", optional
        {label: weight}; "balanced" gives all classes the same total. It multiplies sample_weight,
        in fits and in losses on held-out rows.
    cv : int, splitter, or sequence of (train, test)
        Folds; an integer means shuffled ones, by random_state, that keep the shares of the classes.
    rule : {"smallest", "min"}, optional
        As for `nvsd.select`.
    missing : {"error", "drop", "impute"}
        What to do about missing values, as for `nvsd.select`.
    random_state : int
        Seed of folds and subsamples.
    n_jobs : int, optional
        Folds done at once, through joblib.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    selection_ : ClassSelection
        All that `nvsd.select` returned; its `quality` has scores on held-out rows.
    support_ : (d,) bool array
        The inputs selected: those that explain the class.
    ranking_ : Series
        One number for every input, best first.
    derivative_norms_ : (d,) array
        ‖∂_a f‖ of the refit over the samples; 0 for inputs that were dropped.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if the columns of X have names.

    Notes
    -----
    `predict` uses the fit of least loss, which may use more inputs than `support_`;
    ``selection_.predicts_with`` says which.

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> X = np.random.default_rng(0).standard_normal((150, 5))
    >>> y = np.where(X[:, 1] ** 2 + X[:, 3] > 1, "in", "out")
    >>> nvsd.SelectiveClassifier().fit(X, y).get_support().tolist()
    [False, True, False, True, False]
    """

    def __init__(
        self,
        *,
        groups: Groups | None = None,
        keep: Sequence[Any] = (),
        k: int | None = None,
        fdr: float | None = None,
        class_weight: Any = None,
        cv: Any = 5,
        rule: str | None = None,
        missing: str = "error",
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.groups = groups
        self.keep = keep
        self.k = k
        self.fdr = fdr
        self.class_weight = class_weight
        self.cv = cv
        self.rule = rule
        self.missing = missing
        self.random_state = random_state
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
        X : (n, d) array or table of pandas, polars or pyarrow
            Categories are coded, as by `nvsd.select`.
        y : (n,) array
            Labels: text, booleans or whole numbers.
        validation : (X_val, y_val), optional
            Held-out data that judge instead of cross-validation; the fits use X alone.
        sample_weight : (n,) array, optional
            Weights w ≥ 0 of the samples, in fits and in losses on held-out rows.
        cv_groups : (n,) array, optional
            Labels of rows that belong together: they are held out together.

        Returns
        -------
        SelectiveClassifier
            Itself.
        """
        given, labels = self._given(X, y, sample_weight=sample_weight, cv_groups=cv_groups)
        found = select(
            given,
            labels,
            loss="logistic",
            groups=self.groups,
            keep=self.keep,
            k=self.k,
            fdr=self.fdr,
            validation=validation,
            cv=self._folds(len(labels)),
            cv_groups=cv_groups,
            sample_weight=sample_weight,
            class_weight=self.class_weight,
            missing=self.missing,
            rule=self.rule,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        assert isinstance(found, ClassSelection)
        self.selection_, self.classes_ = found, found.classes
        self.support_, self.ranking_ = found.support, found.ranking
        chosen = found.history.isel(step=found.history.attrs["chosen"])
        self.derivative_norms_ = chosen["derivative_norm"].values
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class at new points, (m,)."""
        points = self._new_points(X)
        return self.selection_.predict(points)

    def predict_proba(self, X: ArrayLike) -> Array:
        """The probability of each class at new points, (m, classes)."""
        points = self._new_points(X)
        return self.selection_.predict_proba(points)

    def decision_function(self, X: ArrayLike) -> Array:
        """The log-odds of the second of two classes, (m,), or of each class, (m, classes)."""
        points = self._new_points(X)
        return self.selection_.decision_function(points)
