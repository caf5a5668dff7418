"""Are extreme values of y outliers, or signal? y is clipped in the first case only.

Outliers cannot be predicted: a fit to y as given has large errors there, and they spoil the rest of
the fit. Signal can be predicted: then only the fit to y as given has small errors at these rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.data.weights import mean, median, weights_at

Array = NDArray[Any]
Clip = tuple[float, float]

# All constants here were tuned on the tuning problems of docs/scripts/selection_problems.py.
# Robust sds at which y is clipped. All inputs of x₁e^{2x₂} + x₃² are found; without clipping, .58
# of them.
CLIP = 5.0
# For a ranking y as given must explain y this much better. (With a weaker condition the x₃² above
# was lost.)
CLEARLY = 0.25


def clip_bounds(y: Array) -> Clip:
    """Bounds at CLIP robust standard deviations of y."""
    centre = float(np.median(y))
    sd = 1.4826 * float(np.median(np.abs(y - centre)))
    low, high = np.quantile(y, (0.05, 0.95))
    if sd < 1e-2 * (high - low):  # half of y is one value, as with counts or rare classes
        sd = float(high - low) / 3.29
    if sd <= 0:
        return -np.inf, np.inf
    return centre - CLIP * sd, centre + CLIP * sd


def misfit(errors: Array, extreme: NDArray[np.bool_], weights: Array | None = None) -> float:
    """The squared typical error of all rows, times the mean squared error of the extreme ones.

    The fit with the smaller product explains y better. A fit to y as given that explains extreme
    values gains much in the second factor. One that is spoiled by outliers gains nothing there, and
    loses in the first.

    Parameters
    ----------
    errors : (n,) array
        At rows that the fit did not see, for y as given.
    extreme : (n,) bool array
        Rows at which y would be clipped.
    weights : (n,) array, optional
        Of the rows.
    """
    typical = median(np.abs(errors), weights) ** 2
    if not extreme.any():
        return float(typical)
    return float(typical * mean(np.square(errors[extreme]), weights_at(weights, extreme)))
