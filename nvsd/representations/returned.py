"""What the result reports of its functions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Solution(NamedTuple):
    """What the result reports for each θ: parts of the objective, f, and its coefficients."""

    loss: Array
    rkhs_norm: Array
    fitted: Array | None
    coefficients: dict[str, Array]


class Back(NamedTuple):
    """A returned function: its derivatives, its distance (½‖·‖²_A)^½ from θ, and ‖f‖².

    `error` is that of its loss, where it was computed from sums. `z_error` (k, d, 1) bounds the
    rounding errors of z, where z was computed from coefficients of large, cancelling functions.
    """

    z: Array
    apart: Array
    rkhs_norm: Array
    error: Array | float = 0.0
    z_error: Array | None = None
