"""Widths of kernels from the distances to the nearest neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from nvsd.data.checks import check_points, is_number
from nvsd.kernels.base import Kernel
from nvsd.kernels.blocks import Array
from nvsd.linalg import product
from nvsd.tolerances import EPS

Index = NDArray[np.intp]

N_NEIGHBOURS = 20  # as in the paper
TREE = 8  # inputs up to which a tree is faster than products, at 2000 and at 20 000 rows
CACHED = 2**19  # numbers of one piece of the products: more take twice the time, outside the cache
NEGLIGIBLE = 1e-6  # rounding of a squared distance, as a share of it, that may decide who is near
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
    asked = np.linspace(0, len(X) - 1, min(len(X), ASKED)).round().astype(int)
    distances = _by_tree if X.shape[1] <= TREE else _by_products
    width = float(np.median(np.concatenate(list(distances(X, asked, others)))))
    if width == 0:
        raise ValueError(
            f"the median distance over the nearest {others} rows is 0, because most rows of X are "
            "repeats; drop the repeats, or give a width."
        )
    return width


def needs_width(kernel: Kernel) -> bool:
    """Whether a width in it was not given."""
    return kernel.filled(1.0) != kernel


def with_width(kernel: Kernel, X: Array) -> Kernel:
    """The kernel; a width that was not given is the median neighbour distance of X."""
    return kernel.filled(median_distance(X)) if needs_width(kernel) else kernel


def _by_tree(X: Array, asked: Index, others: int) -> Iterator[Array]:
    """Distances of some rows to their nearest others, in pieces: the tree looks for no signals."""
    tree, step = cKDTree(X), max(1, PIECE // X.size)
    for start in range(0, len(asked), step):
        yield tree.query(X[asked[start : start + step]], others + 1)[0][:, 1:]


def _by_products(X: Array, asked: Index, others: int) -> Iterator[Array]:
    """The same by |x − x'|² = |x|² + |x'|² − 2x·x'.

    That finds the nearest; their distances are then taken from the differences. Where rounding
    could take another row for the nearest, because all are close together and far from the rest,
    the tree decides. Rows are first multiplied by a power of two, so that no square overflows.
    """
    unit = 2.0 ** -np.frexp(np.abs(X).max())[1]
    X = X * unit
    Z = X - X.mean(axis=0)
    squares = np.einsum("ia,ia->i", Z, Z)
    step = max(1, CACHED // len(X))
    unsure = []
    for start in range(0, len(asked), step):
        rows = asked[start : start + step]
        D = squares - 2.0 * product(Z[rows], Z.T)
        D[np.arange(len(rows)), rows] = np.inf
        nearest = np.argpartition(D, others - 1, axis=1)[:, :others]
        squared = _squared_distances(X, rows, nearest)
        rounding = X.shape[1] * EPS * (squares[rows] + squares[nearest].max(axis=1))
        sure = rounding <= NEGLIGIBLE * squared.max(axis=1)
        unsure += rows[~sure].tolist()
        yield np.sqrt(squared[sure]) / unit
    if unsure:
        yield from (part / unit for part in _by_tree(X, np.array(unsure), others))


def _squared_distances(X: Array, rows: Index, nearest: Index) -> Array:
    """From each row to its nearest ones, from differences, a few rows at a time."""
    few = max(1, CACHED // (nearest.shape[1] * X.shape[1]))
    squared = np.empty(nearest.shape)
    for first in range(0, len(rows), few):
        some = slice(first, first + few)
        differences = X[nearest[some]] - X[rows[some], None]
        np.einsum("ija,ija->ij", differences, differences, out=squared[some])
    return squared
