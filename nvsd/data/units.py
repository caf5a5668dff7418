"""A warning where the units of the inputs decide what a path selects."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from nvsd.data.rows import ArrayRows, Rows
from nvsd.data.scaling import Spread
from nvsd.data.words import quoted

# Penalties compare derivatives: an input whose spread is a thousand times that of another needs a
# derivative a thousand times smaller for the same effect, so it is never switched off first.
LARGEST_RATIO = 1e3


class DataWarning(UserWarning):
    """The data are such that little can be learned, or something else than was meant.

    Examples
    --------
    >>> import warnings, numpy as np, nvsd
    >>> X = np.random.default_rng(0).uniform(-2, 2, (40, 3)) * [1.0, 1.0, 1000.0]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     path = nvsd.nvsd_path(X, np.sin(X[:, 0]), n_taus=3)
    >>> caught[0].category.__name__
    'DataWarning'
    """


def warn_of_units(rows: Rows, kernel: Any) -> None:
    """Warn if spreads differ so much that units decide; a kernel with a width each knows them."""
    if (
        not isinstance(rows, ArrayRows)
        or rows.lazy
        or isinstance(getattr(kernel, "width", None), tuple)
    ):
        return
    found = Spread.of(rows.points())
    spread, varies = found.scale, np.flatnonzero(found.varies)
    if not len(varies):
        return
    least, most = varies[spread[varies].argmin()], varies[spread[varies].argmax()]
    if spread[most] > LARGEST_RATIO * spread[least]:
        names = [f"{quoted(rows.features[a])} ({spread[a]:.2g})" for a in (least, most)]
        warnings.warn(
            f"the standard deviations of the inputs differ by a factor of more than "
            f"{LARGEST_RATIO:g}, as those of {' and '.join(names)}, so that their units decide "
            "which inputs are selected; give standardize=True.",
            DataWarning,
            stacklevel=4,
        )
