"""Pictures of a path, a selection and a fitted function.

Every function takes ``ax=`` and returns an Axes; matplotlib is imported when one is called. The
colours suit colour-blind readers. Names of inputs are shown unchanged (a dollar sign does not start
a formula), except that very long names are shortened. If there are too many to read, the strongest
are named and the others drawn in grey.
"""

from __future__ import annotations

from nvsd.plots.effects import plot_effect, plot_pair
from nvsd.plots.errors import plot_elimination, plot_error
from nvsd.plots.fits import plot_predictions
from nvsd.plots.importance import plot_importance
from nvsd.plots.paths import plot_path, plot_support
from nvsd.plots.shares import plot_effects, plot_interactions
from nvsd.plots.stability import plot_stability

__all__ = [
    "plot_effect",
    "plot_effects",
    "plot_elimination",
    "plot_error",
    "plot_importance",
    "plot_interactions",
    "plot_pair",
    "plot_path",
    "plot_predictions",
    "plot_stability",
    "plot_support",
]
