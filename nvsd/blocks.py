"""Where the rows come from: arrays and memory maps, or any iterable of (X, y) blocks.

`Rows.total` sums something over all rows, a block at a time and in bounded memory; Dask arrays,
in `nvsd.dask_blocks`, sum on the cluster. Nothing else needs to know which of them it reads.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from nvsd._checks import (
    Index,
    check_points,
    check_samples,
    check_target,
    column_names,
    feature_names,
)
from nvsd.checkpoint import Block, Checkpoint, Tally
from nvsd.moments import Spread
from nvsd.progress import progress_bar

Array = NDArray[np.float64]
T = TypeVar("T")
Job = Callable[[Array, Array | None], T]  # of X and y of a block; results can be added

BLOCK = 2**20  # numbers of X in a block of an array


class Rows(ABC):
    """Samples that are read a block at a time.

    Attributes
    ----------
    features : tuple of str
        Names of the inputs.
    n, n_blocks : int or None
        How many there are; None where only reading all of them would tell.
    has_target : bool
        Whether y comes with X.
    mean, scale : (d,) arrays
        The blocks hold (X − mean) / scale.
    progress : bool or None
        Whether passes show a progress bar; None: in an interactive session on a terminal.
    """

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

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """All rows, in order."""

    @abstractmethod
    def take(self, index: Index) -> Array:
        """X of the rows with these numbers."""

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
        """The same rows, centred and scaled to unit variance, at the price of one more pass."""
        spread = self.total(Spread.of)
        return self.scaled(spread.mean, spread.scale)

    def scaled(self, mean: Array, scale: Array) -> Self:
        """The same rows with (X − mean) / scale in place of X."""
        rows = copy(self)
        rows.mean, rows.scale, rows._plain = mean, scale, False
        return rows

    def count(self) -> int:
        """How many rows there are, by another pass if need be."""
        return self.total(_length) if self.n is None else self.n

    def _scaled(self, X: Array) -> Array:
        return X if self._plain else (X - self.mean) / self.scale

    def total(self, job: Job[T], checkpoint: Checkpoint | None = None) -> T:
        """Return the sum of the job over all rows.

        Parameters
        ----------
        job : callable
            Of X and y of a block; what it returns can be added.
        checkpoint : Checkpoint, optional
            From which an interrupted sum of Moments goes on.
        """
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
        """A digest of the numbers: to compute it is nothing beside any job that is worth saving."""
        digest = hashlib.blake2b(str(self.X.shape).encode(), digest_size=16)
        for part in (self.X, self.y):
            if part is not None:
                digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


class ArrayRows(Rows):
    """Arrays and memory maps; of a map only one block at a time is read."""

    def __init__(
        self, X: ArrayLike, y: ArrayLike | None = None, progress: bool | None = None
    ) -> None:
        self.X: Array = X if isinstance(X, np.memmap) else check_samples(X)[0]
        if self.X.ndim != 2 or len(self.X) < 2 or not self.X.shape[1]:
            raise ValueError(f"X has shape {self.X.shape}; give rows of samples by inputs.")
        super().__init__(feature_names(X, self.X.shape[1]), progress)
        self.n = len(self.X)
        self._step = max(1, BLOCK // self.X.shape[1])
        self.n_blocks = -(-self.n // self._step)
        self._set_target(y)

    def _set_target(self, y: ArrayLike | None) -> None:
        lazy = y is None or (isinstance(y, np.memmap) and y.shape == (self.n,))
        self.y: Any = y if lazy else check_target(y, len(self.X))  # type: ignore[arg-type]
        self.has_target = y is not None

    def blocks(self) -> Iterator[Block]:
        """Slices of the arrays."""
        for start in range(0, len(self.X), self._step):
            rows = slice(start, start + self._step)
            X, y = checked_block(self.X[rows], None if self.y is None else self.y[rows])
            yield ArrayBlock(self._scaled(X), y)

    def scaled(self, mean: Array, scale: Array) -> Self:
        """The same rows with (X − mean) / scale in place of X."""
        rows = super().scaled(mean, scale)
        if not isinstance(rows.X, np.memmap):
            rows.X, rows._plain = rows._scaled(rows.X), True
        return rows

    def take(self, index: Index) -> Array:
        """X of the rows with these numbers."""
        return self._scaled(check_points(self.X[index]))

    def points(self) -> Array:
        """X of all rows at once."""
        return self._scaled(check_points(self.X))

    def target(self) -> Array:
        """y of all rows at once, where it was given with X."""
        return np.asarray(self.y)

    def with_target(self, y: ArrayLike) -> ArrayRows:
        """The same rows with another y."""
        rows = copy(self)
        rows._set_target(y)
        return rows


class IterableRows(Rows):
    """Blocks (X, y) from an iterable; what it gives but once, such as a generator, is read once."""

    n, n_blocks, has_target = None, None, True

    def __init__(self, blocks: Iterable[Any], progress: bool | None = None) -> None:
        iterator = iter(blocks)
        self._blocks = blocks
        # A reader may return one generator of its own again and again.
        self.once = iterator is blocks or iter(blocks) is iterator
        try:
            first = next(iterator)
        except StopIteration:
            raise ValueError("there are no blocks; give at least one pair (X, y).") from None
        X, _ = _pair(first, 0)
        super().__init__(feature_names(X, check_points(X).shape[1]), progress)
        self._rest: Iterator[Any] | None = chain([first], iterator) if self.once else None

    def blocks(self) -> Iterator[Block]:
        """The blocks as they come, each of them checked."""
        if not self.once:
            blocks = iter(self._blocks)
        elif self._rest is not None:
            blocks, self._rest = self._rest, None
        else:
            raise ValueError(
                "the blocks come from an iterator that has been read; give a list of blocks, or an "
                "object whose __iter__ starts anew each time."
            )
        for number, given in enumerate(blocks):
            X, y = _pair(given, number)
            points = check_points(X, f"block {number}")
            if points.shape[1] != len(self.features) or (
                column_names(X) not in (None, self.features)
            ):
                raise ValueError(
                    f"block {number} has other inputs than the first one; give all the same."
                )
            X, y = checked_block(points, y)
            yield ArrayBlock(self._scaled(X), y)

    def standardized(self) -> Self:
        """The same rows, centred and scaled to unit variance, at the price of one more pass."""
        self._check_again("standardize=True reads the rows twice")
        return super().standardized()

    def count(self) -> int:
        """How many rows there are, by another pass."""
        self._check_again("drawing points reads the rows again")
        return super().count()

    def take(self, index: Index) -> Array:
        """Rows by number, with one more pass."""
        self._check_again("drawing points reads the rows again")
        chosen, start = np.empty((len(index), len(self.features))), 0
        for block in self.blocks():
            assert isinstance(block, ArrayBlock)
            here = (index >= start) & (index < start + len(block.X))
            chosen[here] = block.X[index[here] - start]
            start += len(block.X)
        return chosen

    def points(self) -> Array:
        """Not possible: the rows are read in blocks."""
        raise ValueError("the rows come in blocks; give X as an array to have them all at once.")

    def with_target(self, y: ArrayLike) -> Rows:
        """Not possible: y comes with the blocks."""
        raise ValueError("y comes with the blocks; leave it out, or give X as an array.")

    def _check_again(self, why: str) -> None:
        if self.once:
            raise ValueError(
                f"{why}, but the blocks come from an iterator that can be read only once; give a "
                "list of blocks, or an object whose __iter__ starts anew each time."
            )


def _length(X: Array, y: Array | None) -> int:
    return len(X)


def checked_block(X: ArrayLike, y: ArrayLike | None) -> tuple[Array, Array | None]:
    """X and y of a block as finite numbers."""
    points = check_points(X)
    return points, None if y is None else check_target(y, len(points))


def rows_of(X: Any, y: Any = None, progress: bool | None = None) -> Rows:
    """The rows of whatever the user gave as X and y."""
    if isinstance(X, Mapping) or hasattr(X, "toarray"):
        raise ValueError(
            f"X is a {type(X).__name__}; give an array or a DataFrame, such as X.toarray() of a "
            "sparse matrix."
        )
    if hasattr(X, "__dask_graph__") and (not isinstance(X, xr.DataArray) or X.chunks is not None):
        from nvsd.dask_blocks import DaskRows

        return DaskRows(X, y, progress)
    if not _is_blocks(X):
        return ArrayRows(X, y, progress)
    if y is not None:
        raise ValueError("y was given and comes with the blocks too; leave it out.")
    return IterableRows(X, progress)


def _is_blocks(X: Any) -> bool:
    """Whether X is an iterable of pairs, and no array nor a list of lists of numbers."""
    if isinstance(X, (list, tuple)):
        return len(X) == 0 or (isinstance(X[0], (list, tuple)) and np.ndim(X[0][0]) == 2)
    return isinstance(X, Iterable) and not hasattr(X, "__array__")


def _pair(block: Any, number: int) -> tuple[Any, Any]:
    if not isinstance(block, (tuple, list)) or len(block) != 2:
        raise ValueError(
            f"block {number} is a {type(block).__name__}; give pairs (X, y), or give y by itself."
        )
    if block[1] is None:
        raise ValueError(f"block {number} has no y; give pairs (X, y).")
    return block[0], block[1]
