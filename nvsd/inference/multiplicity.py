"""From many p-values to q-values: the least level at which each would be called a discovery."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def benjamini_hochberg(p: Array) -> Array:
    """False discovery rate, for independent or positively dependent p-values."""
    m = len(p)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * m / np.arange(1, m + 1)
    q = np.empty(m)
    q[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(q, 1.0)


def benjamini_yekutieli(p: Array) -> Array:
    """False discovery rate under any dependence: Benjamini-Hochberg times 1 + 1/2 + … + 1/m."""
    # The factor is at least 1, so it does not matter that q-values are cut at 1 before.
    factor = float(np.sum(1 / np.arange(1, len(p) + 1)))
    return np.asarray(np.minimum(benjamini_hochberg(p) * factor, 1.0))


def holm(p: Array) -> Array:
    """Family-wise error rate under any dependence."""
    m = len(p)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * np.arange(m, 0, -1)
    q = np.empty(m)
    q[order] = np.maximum.accumulate(scaled)
    return np.minimum(q, 1.0)


CORRECTIONS: dict[str, Callable[[Array], Array]] = {
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
    "holm": holm,
}
