"""The inputs as a fit sees them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nvsd.data.checks import check_points
from nvsd.data.columns import Columns
from nvsd.data.names import column_names, take_columns
from nvsd.selection.task import Array, Mask


class Inputs(NamedTuple):
    """The names of the inputs, and how the kernel sees them: (X − mean) / scale.

    Attributes
    ----------
    columns : Columns or None
        How the columns of a table become inputs; None if each is one input, a number.
    """

    features: tuple[str, ...]
    mean: Array
    scale: Array
    columns: Columns | None = None

    def points(self, X: Any, used: Mask, name: str) -> Array:
        """Some of the inputs as the kernel sees them, and zeros for the others.

        Named columns are matched by name; values of unused inputs do not matter. Missing values are
        NaN, if they may be missing.
        """
        if self.columns is not None and not self.columns.simple:
            encoded = self.columns.encode(X, name, used)
            return np.where(used, (encoded - self.mean) / self.scale, 0.0)
        index = np.flatnonzero(used)
        if column_names(X) is not None:
            X = take_columns(X, [self.features[a] for a in index], name)
        else:
            X = np.asarray(X)
            if X.ndim != 2 or X.shape[1] != len(self.features):
                raise ValueError(
                    f"{name} has shape {X.shape}; give rows of {len(self.features)} inputs."
                )
            X = X[:, index]
        points = np.zeros((len(X), len(used)))
        if len(index):
            points[:, index] = (check_points(X, name) - self.mean[index]) / self.scale[index]
        return points
