"""The order in which inputs are shown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def entry_order(on: NDArray[np.bool_], norms: NDArray[np.float64]) -> NDArray[np.intp]:
    """Inputs in the order in which they are switched on; ties put the stronger one first."""
    first = np.where(on.any(axis=0), on.argmax(axis=0), len(on))
    return np.lexsort((-norms.mean(axis=0), first))
