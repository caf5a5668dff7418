"""Where the rows come from: what all sources share, and arrays and memory maps.

`Rows.total` sums something over all rows, a block at a time and in bounded memory. Iterables of
blocks are in `nvsd.data.block_rows`; Dask arrays, in `nvsd.data.dask_rows`, sum on the cluster.
No other module needs to know which source it reads.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvsd.data.checkpoint import Checkpoint
from nvsd.data.checks import Index, check_points, check_samples, check_target
from nvsd.data.columns import Columns
from nvsd.data.names import feature_names
from nvsd.data.scaling import Spread
from nvsd.data.tally import Block, Tally
from nvsd.progress import progress_bar

Array = NDArray[np.float64]

T = TypeVar("T")


Job = Callable[[Array, Array | None], T]  # takes X and y of a block; results can be added
View = Callable[[Array, Array | None], tuple[Array, Array | None]]  # replaces X and y of a block


BLOCK = 2**20  # numbers of X in a block of an array


class Rows(ABC):
    """Samples that are read a block at a time.

    Attributes
    ----------
    features : tuple of str
        Names of the inputs.
    n, n_blocks : int or None
        Numbers of rows and blocks; None if they are unknown before everything is read.
    has_target : bool
        Whether y comes with X.
    mean, scale : (d,) arrays
        The blocks hold (X − mean) / scale.
    progress : bool or None
        Whether passes show a progress bar; None: at a terminal and in notebooks.
    once : bool
        Whether the rows can be read only once.
    columns : Columns or None
        How the columns of a table became inputs; None if each is one input.
    """

    once = False
    columns: Columns | None = None
    features: tuple[str, ...]
    n: int | None
    n_blocks: int | None
    has_target: bool
    mean: Array
    scale: Array

    def __init__(self, features: tuple[str, ...], progress: bool | None = None) -> None:
        self.features, self.progress = features, progress
        self.mean, self.scale = np.zeros(len(features)), np.ones(len(features))
        self._plain = True  # whether X can be used as it is
        self._seen: View | None = None

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """All rows, in order."""

    @abstractmethod
    def take(self, index: Index) -> Array:
        """X of the rows with these indices."""

    @abstractmethod
    def with_target(self, y: Any) -> Rows:
        """The same rows with another y."""

    @abstractmethod
    def points(self) -> Array:
        """X of all rows at once."""

    def target(self) -> Array:
        """y of all rows at once, where it was given with X."""
        raise ValueError("y comes in blocks; give it as an array to have it all at once.")

    def standardized(self) -> Self:
        """The same rows, centred and scaled to unit variance; takes one more pass."""
        spread = self.total(Spread.of)
        return self.scaled(spread.mean, spread.scale)

    def scaled(self, mean: Array, scale: Array) -> Self:
        """The same rows with (X − mean) / scale in place of X."""
        rows = copy(self)
        rows.mean, rows.scale, rows._plain = mean, scale, False
        return rows

    def check_again(self, why: str) -> None:
        """Refuse another pass if the rows can be read only once."""
        if self.once:
            raise ValueError(
                f"{why}, but the blocks come from an iterator that can be read only once; give a "
                "list of blocks, or an object whose __iter__ starts again each time."
            )

    def seen_as(self, view: View) -> Self:
        """The same rows, with sums over view(X, y) in place of X and y."""
        rows = copy(self)
        rows._seen = view
        return rows

    def count(self) -> int:
        """Number of rows, counted in another pass if necessary."""
        return self.total(_length) if self.n is None else self.n

    def _scaled(self, X: Array) -> Array:
        return X if self._plain else (X - self.mean) / self.scale

    def total(self, job: Job[T], checkpoint: Checkpoint | None = None) -> T:
        """Return the sum of the job over all rows.

        Parameters
        ----------
        job : callable
            Takes X and y of a block; its results can be added.
        checkpoint : Checkpoint, optional
            Lets an interrupted sum of Moments continue.
        """
        if self._seen is not None:
            job = partial(_through, self._seen, job)
        with (
            checkpoint or Tally() as tally,
            progress_bar(self.progress, self.n_blocks, "rows", "block") as tick,
        ):
            for block in self.blocks():
                tally.add(block, job)
                tick(1)
        if tally.total is None:
            raise ValueError("there are no blocks; give at least one pair (X, y).")
        return tally.total  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ArrayBlock:
    """A block in memory."""

    X: Array
    y: Array | None

    def summary(self, job: Job[T]) -> T:
        """Return job(X, y)."""
        return job(self.X, self.y)

    def mark(self) -> str:
        """A digest of the numbers; its cost is negligible beside any job worth saving."""
        digest = hashlib.blake2b(str(self.X.shape).encode(), digest_size=16)
        for part in (self.X, self.y):
            if part is not None:
                digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


class ArrayRows(Rows):
    """Arrays and memory maps; a memory map is read and checked one block at a time.

    Parameters
    ----------
    X, y : arrays
    features : sequence of str, optional
        Names of the inputs; by default the names of X's columns.
    checked : bool
        Whether X and y are known to be valid, contiguous float64 arrays.
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        progress: bool | None = None,
        *,
        features: Sequence[str] | None = None,
        checked: bool = False,
    ) -> None:
        self._lazy = isinstance(X, np.memmap)
        points: Any = X if self._lazy or checked else check_samples(X)
        self.X = points
        if self.X.ndim != 2 or len(self.X) < 2 or not self.X.shape[1]:
            raise ValueError(f"X has shape {self.X.shape}; give rows of samples by inputs.")
        names = feature_names(X, self.X.shape[1]) if features is None else tuple(features)
        super().__init__(names, progress)
        self.n = len(self.X)
        self._step = max(1, BLOCK // self.X.shape[1])
        self.n_blocks = -(-self.n // self._step)
        self._set_target(y, checked)

    @property
    def lazy(self) -> bool:
        """Whether X is read one block at a time."""
        return self._lazy

    def _set_target(self, y: ArrayLike | None, checked: bool = False) -> None:
        lazy = isinstance(y, np.memmap) and y.shape == (self.n,)
        known = y is None or lazy or checked
        self.y: Any = y if known else check_target(y, len(self.X))  # type: ignore[arg-type]
        self.has_target, self._lazy_target = y is not None, lazy

    def blocks(self) -> Iterator[Block]:
        """Slices of the arrays."""
        for start in range(0, len(self.X), self._step):
            rows = slice(start, start + self._step)
            X = self._points(rows)
            y: Any = None if self.y is None else self.y[rows]
            yield ArrayBlock(X, check_target(y, len(X)) if self._lazy_target else y)

    def _points(self, rows: slice | Index) -> Array:
        """Some rows as the kernel sees them."""
        return self._scaled(check_points(self.X[rows]) if self._lazy else self.X[rows])

    def scaled(self, mean: Array, scale: Array) -> Self:
        """The same rows with (X − mean) / scale in place of X."""
        rows = super().scaled(mean, scale)
        if not rows._lazy:
            rows.X, rows._plain = rows._scaled(rows.X), True
        return rows

    def take(self, index: Index) -> Array:
        """X of the rows with these indices."""
        return self._points(index)

    def points(self) -> Array:
        """X of all rows at once; a memory map is read and checked the first time."""
        if self._lazy:
            self.X, self._lazy, self._plain = self._points(slice(None)), False, True
        return np.asarray(self.X)

    def target(self) -> Array:
        """y of all rows at once, where it was given with X."""
        if self._lazy_target:
            self.y, self._lazy_target = check_target(self.y, len(self.X)), False
        return np.asarray(self.y)

    def with_target(self, y: ArrayLike) -> ArrayRows:
        """The same rows with another y."""
        rows = copy(self)
        rows._set_target(y)
        return rows


def _through(view: View, job: Job[T], X: Array, y: Array | None) -> T:
    return job(*view(X, y))


def _length(X: Array, y: Array | None) -> int:
    return len(X)


def checked_block(X: ArrayLike, y: ArrayLike | None) -> tuple[Array, Array | None]:
    """X and y of a block as finite numbers."""
    points = check_points(X)
    return points, None if y is None else check_target(y, len(points))
