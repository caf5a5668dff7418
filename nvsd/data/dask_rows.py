"""Rows of Dask arrays, summed on the user's cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Self

import dask.array as da
import numpy as np
import xarray as xr
from dask.delayed import delayed

from nvsd.data.checks import Index
from nvsd.data.names import feature_names
from nvsd.data.rows import Array, Job, Rows, T, checked_block
from nvsd.data.tally import Block

BATCH = 64  # chunks that are summed at once; progress bars and checkpoints see them as one block


FAN_IN = 4  # parts that one task of the tree adds up


class DaskRows(Rows):
    """The chunks of Dask arrays X and y; each is read by one task, and the sums form a tree."""

    def __init__(self, X: Any, y: Any = None, progress: bool | None = None) -> None:
        names = X
        if isinstance(X, xr.DataArray):
            X = X.data
        if hasattr(X, "to_dask_array"):
            X = X.to_dask_array()  # lengths=True fails where Dask joins blocks of a Parquet file
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions; give two, rows of samples by inputs.")
        if np.isnan(X.shape[0]):
            X = X.copy()
            X.compute_chunk_sizes()
        self._X = X.rechunk({1: -1})
        super().__init__(feature_names(names, X.shape[1]), progress)
        self.n = int(X.shape[0])
        self.n_blocks = -(-self._X.numblocks[0] // BATCH)
        self._set_target(y)

    def _set_target(self, y: Any) -> None:
        self.has_target = y is not None
        if y is None:
            self._y = None
            return
        if hasattr(y, "to_dask_array"):
            y = y.to_dask_array()
        y = da.asarray(y)  # type: ignore[no-untyped-call]
        if np.isnan(y.shape[0]):
            y = y.copy()
            y.compute_chunk_sizes()
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.shape != (self.n,):
            raise ValueError(
                f"y has shape {y.shape} for {self.n} rows of X; give one number per row."
            )
        self._y = y.rechunk((self._X.chunks[0],))

    def blocks(self) -> Iterator[Block]:
        """Batches of chunks."""
        X = list(self._X.to_delayed()[:, 0])
        y = [None] * len(X) if self._y is None else list(self._y.to_delayed())
        for start in range(0, len(X), BATCH):
            batch = slice(start, start + BATCH)
            yield DaskBlock(list(zip(X[batch], y[batch], strict=True)))

    def take(self, index: Index) -> Array:
        """Rows by index."""
        order = np.argsort(index)
        chosen = np.empty((len(index), len(self.features)))
        chosen[order] = self._X[index[order]].compute()
        return chosen

    def scaled(self, mean: Array, scale: Array) -> Self:
        """The same rows with (X − mean) / scale in place of X."""
        rows = super().scaled(mean, scale)
        rows._X = (rows._X - rows.mean) / rows.scale
        return rows

    def points(self) -> Array:
        """Not possible: all rows may not fit in memory."""
        raise ValueError("X is a Dask array; give X.compute() to have all rows in memory.")

    def with_target(self, y: Any) -> DaskRows:
        """The same rows with another y."""
        rows = copy(self)
        rows._set_target(y)
        return rows


@dataclass(frozen=True)
class DaskBlock:
    """Chunks of X and y that are yet to be computed."""

    chunks: list[tuple[Any, Any]]

    def summary(self, job: Job[T]) -> T:
        """The sum of job(X, y) over the chunks, as a tree of tasks."""
        shared = delayed(job, traverse=False)
        parts = [delayed(_run)(shared, X, y) for X, y in self.chunks]
        while len(parts) > 1:
            groups = (parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN))
            parts = [delayed(_sum)(group) for group in groups]
        return parts[0].compute()  # type: ignore[no-any-return]

    def mark(self) -> str:
        """A digest of the keys, which Dask derives from the inputs of the chunks."""
        keys = [(X.key, None if y is None else y.key) for X, y in self.chunks]
        return hashlib.blake2b(str(keys).encode(), digest_size=16).hexdigest()


def _run(job: Job[T], X: Any, y: Any) -> T:
    return job(*checked_block(X, y))


def _sum(parts: list[Any]) -> Any:
    return reduce(add, parts)
