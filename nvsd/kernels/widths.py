"""The width of a kernel from the distances to the nearest neighbours."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from nvsd.data.checks import check_points, is_number
from nvsd.kernels.blocks import Array

N_NEIGHBOURS = 20  # as in the paper
PIECE = 2**27  # numbers that are compared between two looks for signals: a fraction of a second
ASKED = 2000  # rows whose neighbours give the median, which is then accurate to a percent


def neighbour_width(X: ArrayLike, n_neighbours: int = N_NEIGHBOURS) -> float:
    """Median distance over the nearest 20 neighbours of every row, the paper's rule for a width.

    A row is not its own neighbour, but its repeats are, at distance zero. With fewer rows than
    ``n_neighbours`` all other rows count. Above 2000 rows the median is taken over an evenly spaced
    subsample of 2000 rows, with neighbours among all rows.

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.kernels import neighbour_width
    >>> round(neighbour_width(nvsd.datasets.make_e1(50, seed=0).X), 2)
    4.95
    """
    X = check_points(X)
    if not is_number(n_neighbours, Integral) or n_neighbours < 1:
        raise ValueError(f"n_neighbours = {n_neighbours!r} is not allowed; give an integer >= 1.")
    return median_distance(X, n_neighbours)


def median_distance(X: Array, n_neighbours: int = N_NEIGHBOURS) -> float:
    """`neighbour_width` of points that have been checked."""
    if len(X) < 2:
        raise ValueError("X has one row, which has no neighbours; give at least two rows.")
    others = min(n_neighbours, len(X) - 1)
    asked = X[np.linspace(0, len(X) - 1, min(len(X), ASKED)).round().astype(int)]
    tree, step = cKDTree(X), max(1, PIECE // X.size)
    # In pieces: the tree does not look for signals.
    pieces = [
        tree.query(asked[start : start + step], others + 1)[0][:, 1:]
        for start in range(0, len(asked), step)
    ]
    width = float(np.median(np.concatenate(pieces)))
    if width == 0:
        raise ValueError(
            f"the median distance over the nearest {others} rows is 0, because most rows of X are "
            "repeats; drop the repeats, or give a width."
        )
    return width
