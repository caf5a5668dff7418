"""What the inputs of a refit do alone and in pairs, as tables."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from nvsd.ridge.decomposition import LAW, evenly, mixed_norms
from nvsd.selection.refits import Refit

if TYPE_CHECKING:
    import pandas as pd


def effects_of(refit: Refit) -> pd.DataFrame:
    """One row for each input of the refit; see `Selection.effects`."""
    import pandas as pd

    parts, names = refit.decomposition, refit.uses
    total = parts.total or 1.0
    found = pd.DataFrame(
        {
            "feature": names,
            "share": parts.main / total,
            "interactions": parts.pair.sum(axis=1) / total,
            "strength": np.sqrt(parts.main),
        }
    )
    first = (-(found["share"] + found["interactions"])).sort_values(kind="stable").index
    return found.loc[first].reset_index(drop=True)


def interactions_of(refit: Refit) -> pd.DataFrame:
    """One row for each pair of inputs of the refit; see `Selection.interactions`."""
    import pandas as pd

    parts, names = refit.decomposition, refit.uses
    size = mixed_norms(refit.fit, evenly(refit.fit.X, LAW))
    pairs = list(combinations(range(len(names)), 2))
    found = pd.DataFrame(
        {
            "pair": pd.Series([(names[a], names[b]) for a, b in pairs], dtype=object),
            "share": np.array([parts.pair[ab] / (parts.total or 1.0) for ab in pairs], float),
            "strength": np.array([size[ab] for ab in pairs], float),
        }
    )
    order = np.lexsort((-found["strength"], -found["share"]))
    return found.iloc[order].reset_index(drop=True)
