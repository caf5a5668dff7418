"""Pictures of a path, a selection and a fitted function.

Every function takes ``ax=`` and returns an Axes; matplotlib is imported when one is called. Colours
can be told apart by colour-blind readers. Names of inputs are shown as they are (a dollar sign
starts no formula), very long ones shortened; where there are too many to read, the strongest are
named and the others drawn in grey.
"""

from __future__ import annotations

from nvsd.plots.effects import plot_effect, plot_pair
from nvsd.plots.errors import plot_elimination, plot_error
from nvsd.plots.fits import plot_predictions
from nvsd.plots.paths import plot_path, plot_support
from nvsd.plots.stability import plot_stability

__all__ = [
    "plot_effect",
    "plot_elimination",
    "plot_error",
    "plot_pair",
    "plot_path",
    "plot_predictions",
    "plot_stability",
    "plot_support",
]
