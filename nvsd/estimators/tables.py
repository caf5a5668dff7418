"""Estimators that take tables with categories and missing values, as `nvsd.select` does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from nvsd.data.cells import complaint, read_cells
from nvsd.data.columns import check_missing
from nvsd.data.names import is_table, refuse_misaligned
from nvsd.estimators.base import InputSelector


class TableSelector(InputSelector):
    """An estimator whose X may be a table of numbers and categories, with missing values.

    Attributes
    ----------
    missing : {"error", "drop", "impute"}
    of_table_ : bool
        Whether X is passed to `select` as it is; plain numbers are checked as scikit-learn does.
    """

    missing: str
    of_table_: bool

    def _given(self, X: Any, y: Any, **of_rows: Any) -> tuple[Any, Any]:
        """What `select` takes in place of X and y; row labels of all are those of X."""
        refuse_misaligned(X, y=y, **of_rows)
        self.of_table_ = check_missing(self.missing) != "error" or _is_mixed(X)
        if not self.of_table_:
            data = self._data(X, y)
            return data.rows_alone, data.y
        self._check_columns(X, reset=True)
        return X, y

    def _validation(self, validation: Any) -> Any:
        """Validation data, as `select` takes it."""
        if validation is None or self.of_table_:
            return validation
        held_out = self._held_out(validation)
        assert held_out is not None
        return held_out.X, held_out.y

    def _folds(self, n: int) -> Any:
        """The folds, at most one for each row."""
        cv: Any = self.cv
        return min(cv, n) if isinstance(cv, int) else cv

    def _new_points(self, X: ArrayLike) -> Any:
        check_is_fitted(self)
        if not self.of_table_:
            return super()._new_points(X)
        self._check_columns(X, reset=False)
        return X

    def _check_columns(self, X: Any, reset: bool) -> None:
        """Remember, or compare, the number and the names of the columns."""
        _check_feature_names(self, X, reset=reset)
        _check_n_features(self, X if hasattr(X, "shape") else np.asarray(X), reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "impute"
        # Kernels with one width for all inputs find none where most rows repeat each other.
        tags.input_tags.categorical = getattr(self, "method", "auto") in ("auto", "anova")
        return tags


def _is_mixed(X: Any) -> bool:
    """Whether X is a table of more than finite numbers."""
    if not is_table(X):
        return False
    cells = read_cells(X)
    return any(each.levels for each in cells) or complaint(cells, missing="refuse") != ""
