"""Validated samples, as the estimators pass them on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.data.names import feature_names
from nvsd.data.rows import ArrayRows
from nvsd.data.weights import ALL_ROWS, RowWeights, weights_at

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Data:
    """Validated samples and target, with the names of the inputs if they have any.

    Attributes
    ----------
    y : (n,) array
        Numbers, or the labels of classes.
    counted : RowWeights
        Which of the given rows these are, and their weights.
    """

    X: Array
    y: NDArray[Any]
    names: tuple[str, ...] | None = None
    counted: RowWeights = ALL_ROWS

    @property
    def weights(self) -> Array | None:
        """Weights of the rows, with mean 1; None if they are equal."""
        return self.counted.values

    @property
    def rows(self) -> ArrayRows:
        """What `nvsd_path` and `select` take; nothing is checked again."""
        return self._rows(self.y)

    @property
    def rows_alone(self) -> ArrayRows:
        """The same without y."""
        return self._rows(None)

    def _rows(self, y: NDArray[Any] | None) -> ArrayRows:
        X = np.ascontiguousarray(self.X)
        names = feature_names(None, X.shape[1]) if self.names is None else self.names
        return ArrayRows(X, y, features=names, checked=True)

    def take(self, rows: NDArray[np.intp]) -> Data:
        """Some of the samples."""
        counted = RowWeights(values=weights_at(self.weights, rows))
        return replace(self, X=self.X[rows], y=self.y[rows], counted=counted)
