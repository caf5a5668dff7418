"""What the inputs of a refit do alone and in pairs, as tables."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nvsd.ridge.decomposition import LAW, decompose, evenly, mixed_norms
from nvsd.selection.refits import Refit

Array = NDArray[np.float64]

if TYPE_CHECKING:
    import pandas as pd


def _member(refit: Refit) -> Array:
    """Which inputs of the refit belong to which column, (columns, inputs)."""
    owner = refit.columns.owner[np.flatnonzero(refit.fit.features)]
    return np.asarray(np.unique(owner)[:, None] == owner, dtype=float)


def _of_columns(refit: Refit) -> tuple[Array, Array, float]:
    """Variances of the main effects and of the pairs of columns, and of f.

    What the inputs of one column, such as the levels of a category, do together is its main effect.
    """
    parts, member = decompose(refit.fit), _member(refit)
    pair = member @ parts.pair @ member.T
    main = member @ parts.main + 0.5 * np.diag(pair)
    np.fill_diagonal(pair, 0.0)
    return main, pair, parts.total or 1.0


def effects_of(refit: Refit) -> pd.DataFrame:
    """One row for each input of the refit; see `Selection.effects`."""
    import pandas as pd

    main, pair, total = _of_columns(refit)
    found = pd.DataFrame(
        {
            "feature": refit.uses,
            "share": main / total,
            "interactions": pair.sum(axis=1) / total,
            "strength": np.sqrt(main),
        }
    )
    first = (-(found["share"] + found["interactions"])).sort_values(kind="stable").index
    return found.loc[first].reset_index(drop=True)


def interactions_of(refit: Refit) -> pd.DataFrame:
    """One row for each pair of inputs of the refit; see `Selection.interactions`."""
    import pandas as pd

    (_, share, total), names, member = _of_columns(refit), refit.uses, _member(refit)
    squares = mixed_norms(refit.fit, evenly(refit.fit.X, LAW)) ** 2
    size = np.sqrt(member @ squares @ member.T)
    pairs = list(combinations(range(len(names)), 2))
    found = pd.DataFrame(
        {
            "pair": pd.Series([(names[a], names[b]) for a, b in pairs], dtype=object),
            "share": np.array([share[ab] / total for ab in pairs], float),
            "strength": np.array([size[ab] for ab in pairs], float),
        }
    )
    order = np.lexsort((-found["strength"], -found["share"]))
    return found.iloc[order].reset_index(drop=True)
