"""What the inputs of a refit do alone and in pairs, as tables."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nvsd.ridge.decomposition import LAW, evenly, mixed_norms
from nvsd.selection.refits import Refit
from nvsd.selection.task import Array

if TYPE_CHECKING:
    import pandas as pd


class Shares(NamedTuple):
    """Variances of what named inputs do alone (main) and in pairs, and that of f."""

    names: list[str]
    main: Array
    pair: Array
    total: float


def shares_of(refit: Refit) -> Shares:
    """The decomposition by names: what the kernel's inputs of one name do together is its own."""
    parts, names = refit.decomposition, refit.uses
    _, number = np.unique(refit.owner[refit.fit.features], return_inverse=True)
    belongs = (number == np.arange(len(names))[:, None]).astype(float)
    within = belongs @ parts.pair @ belongs.T
    main = belongs @ parts.main + np.diag(within) / 2
    np.fill_diagonal(within, 0.0)
    return Shares(names, main, within, parts.total or 1.0)


def effects_of(refit: Refit) -> pd.DataFrame:
    """One row for each input of the refit; see `Selection.effects`."""
    import pandas as pd

    names, main, pair, total = shares_of(refit)
    found = pd.DataFrame(
        {
            "feature": names,
            "share": main / total,
            "interactions": pair.sum(axis=1) / total,
            "strength": np.sqrt(main),
        }
    )
    first = np.argsort(-(found["share"] + found["interactions"]).to_numpy(), kind="stable")
    return found.iloc[first].reset_index(drop=True)


def interactions_of(refit: Refit) -> pd.DataFrame:
    """One row for each pair of inputs of the refit; see `Selection.interactions`."""
    import pandas as pd

    names, _, pair, total = shares_of(refit)
    _, number = np.unique(refit.owner[refit.fit.features], return_inverse=True)
    size = np.zeros((len(names), len(names)))
    squares = mixed_norms(refit.fit, evenly(refit.fit.X, LAW)) ** 2
    np.add.at(size, (number[:, None], number), squares)
    pairs = list(combinations(range(len(names)), 2))
    found = pd.DataFrame(
        {
            "pair": pd.Series([(names[a], names[b]) for a, b in pairs], dtype=object),
            "share": np.array([pair[ab] / total for ab in pairs], float),
            "strength": np.array([np.sqrt(size[ab]) for ab in pairs], float),
        }
    )
    order = np.lexsort((-found["strength"], -found["share"]))
    return found.iloc[order].reset_index(drop=True)
