"""Inputs that are near copies of each other: their single effects say little."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata

Array = NDArray[Any]
Index = NDArray[np.intp]

NEAR = 0.95  # rank correlation at which a tenth of the input's variance is left given its copy
ROWS = 2000  # about the number of rows over which correlations are taken


def near_copies(X: Array, tested: Index) -> list[Index]:
    """Sets of inputs in which each pair has an absolute rank correlation of NEAR or more.

    Every set has at least one tested input. An input without a near copy is in no set.
    """
    step = max(1, len(X) // ROWS)
    R = rankdata(X[::step], axis=0)
    R -= R.mean(axis=0)
    size = np.sqrt(np.sum(R * R, axis=0))
    R /= np.where(size > 0, size, np.inf)
    strong = np.abs(R[:, tested].T @ R) >= NEAR
    strong[np.arange(len(tested)), tested] = False
    members = np.union1d(tested[strong.any(axis=1)], np.flatnonzero(strong.any(axis=0)))
    if len(members) < 2:
        return []
    apart = np.maximum(1 - np.abs(R[:, members].T @ R[:, members]), 0.0)  # rounding
    np.fill_diagonal(apart, 0.0)
    labels = fcluster(
        linkage(squareform(apart, checks=False), "complete"), 1 - NEAR, criterion="distance"
    )
    sets = [members[labels == label] for label in np.unique(labels)]
    return [each for each in sets if len(each) > 1 and np.isin(each, tested).any()]


def kin(X: Array) -> Index | None:
    """The number of the set of near copies that each input is in, or −1; None if there is none."""
    sets = near_copies(X, np.arange(X.shape[1]))
    if not sets:
        return None
    numbers = np.full(X.shape[1], -1)
    for number, members in enumerate(sets):
        numbers[members] = number
    return numbers
