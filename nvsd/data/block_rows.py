"""Rows that come as an iterable of blocks (X, y)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from nvsd.data.checks import Index, check_points
from nvsd.data.names import column_names, feature_names
from nvsd.data.rows import Array, ArrayBlock, Rows, checked_block
from nvsd.data.tally import Block


class IterableRows(Rows):
    """Blocks (X, y) from an iterable; a generator, for example, can be read only once."""

    n, n_blocks, has_target = None, None, True

    def __init__(self, blocks: Iterable[Any], progress: bool | None = None) -> None:
        iterator = iter(blocks)
        self._blocks = blocks
        # The __iter__ of a reader may return the same generator every time.
        self.once = iterator is blocks or iter(blocks) is iterator
        try:
            first = next(iterator)
        except StopIteration:
            raise ValueError("there are no blocks; give at least one pair (X, y).") from None
        X, _ = _pair(first, 0)
        super().__init__(feature_names(X, check_points(X).shape[1]), progress)
        self._rest: Iterator[Any] | None = chain([first], iterator) if self.once else None

    def blocks(self) -> Iterator[Block]:
        """The blocks in their order, each one checked."""
        if not self.once:
            blocks = iter(self._blocks)
        elif self._rest is not None:
            blocks, self._rest = self._rest, None
        else:
            raise ValueError(
                "the blocks come from an iterator that has already been read; give a list of "
                "blocks, or an object whose __iter__ starts again each time."
            )
        for number, given in enumerate(blocks):
            X, y = _pair(given, number)
            points = check_points(X, f"block {number}")
            if points.shape[1] != len(self.features) or (
                column_names(X) not in (None, self.features)
            ):
                raise ValueError(
                    f"block {number} has other inputs than block 0; give every block the same."
                )
            X, y = checked_block(points, y)
            yield ArrayBlock(self._scaled(X), y)

    def standardized(self) -> Self:
        """The same rows, centred and scaled to unit variance; takes one more pass."""
        self.check_again("standardize=True reads the rows twice")
        return super().standardized()

    def count(self) -> int:
        """Number of rows, counted in another pass."""
        self.check_again("drawing points reads the rows again")
        return super().count()

    def take(self, index: Index) -> Array:
        """Rows by index, read in one more pass."""
        self.check_again("drawing points reads the rows again")
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


def _pair(block: Any, number: int) -> tuple[Any, Any]:
    if not isinstance(block, (tuple, list)) or len(block) != 2:
        raise ValueError(
            f"block {number} is a {type(block).__name__}; give pairs (X, y), or X as one array."
        )
    if block[1] is None:
        raise ValueError(f"block {number} has no y; give pairs (X, y).")
    return block[0], block[1]
