"""The methods of the benchmark, each with its authors' defaults, behind one interface.

A method takes X, y, whether y are classes, and a seed. It gives what it has of three things: a
ranking of all inputs, a selected set, and predictions (probabilities for classes). Ties in a
ranking keep the order of the columns, which the benchmark shuffles.
"""

from __future__ import annotations

from nvsd.benchmark.methods import (
    additive,
    boosting,
    conditional,
    filters,
    forests,
    kernels,
    linear,
    ours,
)
from nvsd.benchmark.methods.base import Fit, Method

__all__ = ["LEFT_OUT", "METHODS", "OURS", "Fit", "Method"]

OURS = "ours"

# In the order of the tables; ours first, then by what they are made of.
METHODS: dict[str, Method] = {
    **ours.METHODS,
    **forests.METHODS,
    **boosting.METHODS,
    **kernels.METHODS,
    **additive.METHODS,
    **conditional.METHODS,
    **linear.METHODS,
    **filters.METHODS,
}

# What no maintained package offers, with the reason.
LEFT_OUT = {
    "MARS": "its package, sklearn-contrib-py-earth 0.1.0, does not build on Python 3.11",
}
