"""Sums over blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self


class Block(Protocol):
    """Some of the rows."""

    def summary(self, job: Callable[[Any, Any], Any]) -> Any:
        """Return job(X, y), or the sum of it over parts of the block."""
        ...

    def mark(self) -> str:
        """Return a text that identifies this block."""
        ...


class Tally:
    """The sum of what a job returns for each block, and the marks of these blocks."""

    def __init__(self) -> None:
        # Replaced together: an interrupt never leaves a sum with the marks of another.
        self._state: tuple[Any, tuple[str, ...]] = (None, ())

    @property
    def total(self) -> Any:
        """The sum; None before the first block."""
        return self._state[0]

    def add(self, block: Block, job: Callable[[Any, Any], Any]) -> None:
        """Add a block."""
        self._state = (self._with(block, job), ())

    def _with(self, block: Block, job: Callable[[Any, Any], Any]) -> Any:
        part = block.summary(job)
        return part if self.total is None else self.total + part

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass
