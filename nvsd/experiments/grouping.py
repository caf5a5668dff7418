"""Groups of inputs for Table 4, from how often a method selects each input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["GROUPS", "SIZES", "group_by_frequency"]

# The paper: CP, the five inputs selected most often and three groups of the others; EL, five
# groups of three or four inputs.
SIZES = {"CP": (5, 6, 5, 5), "EL": (4, 4, 3, 3, 3)}

# One label per input, from the frequencies of NVSD(EN) on 20 replications that are not reported:
# `nvsd replicate pilot --replications 20`. Results with other groups are computed again.
GROUPS: dict[str, tuple[str, ...]] = {
    code: tuple(labels.split())
    for code, labels in {
        "CP": "g3 g2 g1 g2 g3 g2 g3 g2 g2 g3 g4 g4 g4 g4 g3 g4 g1 g2 g1 g1 g1",
        "EL": "g3 g1 g2 g4 g2 g1 g4 g1 g5 g1 g3 g3 g2 g4 g5 g5 g2",
    }.items()
}


def group_by_frequency(frequency: ArrayLike, sizes: Sequence[int]) -> tuple[str, ...]:
    """Label the inputs g1, g2, ... so that those of similar frequency share a label.

    Parameters
    ----------
    frequency : (d,) array
        How often each input was selected; ties keep the order of the inputs.
    sizes : sequence of int
        Inputs in each group, the most frequent first.
    """
    order = np.argsort(-np.asarray(frequency, dtype=float), kind="stable")
    if sum(sizes) != len(order):
        raise ValueError(
            f"groups of {', '.join(map(str, sizes))} inputs do not add up to {len(order)} inputs; "
            "give sizes that do."
        )
    labels = np.empty(len(order), dtype=object)
    labels[order] = np.repeat([f"g{g + 1}" for g in range(len(sizes))], sizes)
    return tuple(labels)
