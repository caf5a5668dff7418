"""The group lasso of celer, for linear and for additive models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TOL = 1e-6  # duality gap, for a target of mean square 1
LENGTH = 50


def group_lasso_path(
    X: Array, y: Array, groups: Sequence[NDArray[np.intp]], weights: Array
) -> Array:
    """Coefficients (p, k) that minimise |y − Xw|²/2n + α Σ_g weights_g |w_g| along a grid of α."""
    from celer.homotopy import celer_path

    unit = float(np.sqrt(np.mean(y**2))) or 1.0
    columns = np.concatenate(groups)
    ends = np.cumsum([len(group) for group in groups])
    _, ordered, _ = celer_path(
        np.asfortranarray(X[:, columns]),
        y / unit,
        "grouplasso",
        groups=[list(range(end - len(g), end)) for g, end in zip(groups, ends, strict=True)],
        weights=np.asarray(weights, dtype=float),
        n_alphas=LENGTH,
        tol=TOL,
        max_iter=200,
    )
    coefficients: Array = np.zeros(ordered.shape)
    coefficients[columns] = unit * ordered
    return coefficients
