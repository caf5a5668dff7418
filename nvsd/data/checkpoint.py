"""A file that lets an interrupted sum over rows continue."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np

from nvsd.data.sums import Moments
from nvsd.data.tally import Block, Tally
from nvsd.machine import digest, locked, write_whole

SHARE = 0.1  # largest share of the time that is spent on writing the file


REMEDY = "delete it, or give another name."


class Checkpoint(Tally):
    """A sum of Moments kept in a file, with the marks of the blocks that it contains.

    The file is written under another name and then renamed, so it is never incomplete. It is kept
    after the last block: the moments depend neither on ν nor on the penalty.

    Parameters
    ----------
    path : path
        The file, usually something.npz.
    problem : dict
        Everything else that the moments depend on; a file of another problem is refused.
    """

    def __init__(self, path: str | os.PathLike[str], problem: dict[str, Any]) -> None:
        super().__init__()
        self._path, self._problem = Path(path), json.dumps(problem, sort_keys=True)
        if not self._path.parent.is_dir():
            raise ValueError(
                f"directory {self._path.parent} of the checkpoint does not exist; create it, or "
                "give another name."
            )
        self._seen = 0
        self._wait_until = 0.0
        self._lock = ExitStack()

    def __enter__(self) -> Self:
        """Keep other writers out, and read the file if there is one."""
        self._lock.enter_context(locked(self._path, "the checkpoint"))
        try:
            self._read()
        except BaseException:
            self._lock.close()
            raise
        return self

    def _read(self) -> None:
        if not self._path.exists():
            return
        try:
            with open(self._path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                problem, marks = str(file["problem"]), tuple(str(mark) for mark in file["marks"])
                values = {field.name: file[field.name][()] for field in fields(Moments)}
                mark = str(file["checksum"]) if "checksum" in file.files else None
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise ValueError(f"{self._path} cannot be read as a checkpoint; {REMEDY}") from error
        if problem != self._problem:
            raise ValueError(
                f"{self._path} was made with a different kernel, scale or inputs; {REMEDY}"
            )
        # Files of earlier versions have no checksum.
        if mark is not None and mark != _checksum(problem, marks, values):
            raise ValueError(f"{self._path} is damaged: its numbers have changed; {REMEDY}")
        self._state = (Moments(**values), marks)

    def add(self, block: Block, job: Callable[[Any, Any], Any]) -> None:
        """Add a block, unless the file already contains it."""
        marks, mark = self._state[1], block.mark()
        if self._seen == len(marks):
            self._state = (self._with(block, job), (*marks, mark))
            if time.monotonic() > self._wait_until:
                self._save()
        elif mark != marks[self._seen]:
            raise ValueError(
                f"block {self._seen} differs from the one {self._path} was made from; {REMEDY}"
            )
        self._seen += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the file, even if the pass was interrupted."""
        with self._lock:
            self._finish(kind)

    def _finish(self, kind: type[BaseException] | None) -> None:
        saved = len(self._state[1])
        if self._seen == saved > 0:
            self._save()
        elif kind is None and self._seen < saved:
            raise ValueError(
                f"{self._path} was made from {saved} blocks, but there are {self._seen}; {REMEDY}"
            )

    def _save(self) -> None:
        start = time.monotonic()
        total, marks = self._state
        values = {field.name: getattr(total, field.name) for field in fields(Moments)}
        checksum, content = _checksum(self._problem, marks, values), BytesIO()
        np.savez(content, problem=self._problem, marks=np.array(marks), checksum=checksum, **values)
        write_whole(self._path, content.getvalue())
        end = time.monotonic()
        self._wait_until = end + (end - start) / SHARE


def _checksum(problem: str, marks: tuple[str, ...], values: Mapping[str, Any]) -> str:
    numbers = [np.asarray(values[name], dtype=float).tobytes() for name in sorted(values)]
    return digest(problem.encode(), *(mark.encode() for mark in marks), *numbers)
