"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from typing import Any

from nvsd.files._words import listed, quoted
from nvsd.machine import write_whole


def write_bytes(path: Any, content: bytes) -> None:
    """Write a file, completely or not at all; every file of the library is written here.

    The bytes were made in memory, because a library that writes to a full disk may crash. No other
    writer has the temporary name. If anything fails, the old file stays unchanged.
    """
    # For a symbolic link, the file that it points to is replaced, not the link.
    write_whole(Path(os.path.realpath(check_output(path))), content)


def in_this_process() -> Any:
    """Keep xarray from asking a Dask cluster for a lock on bytes that only this process has."""
    dask = sys.modules.get("dask")
    return nullcontext() if dask is None else dask.config.set(scheduler="synchronous")


def write_text(path: Any, text: str) -> None:
    """Write a text file as UTF-8, completely or not at all."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_figure(path: Any, figure: Any, **options: Any) -> None:
    """Write a figure of matplotlib in the format that the name ends in."""
    content = BytesIO()
    figure.savefig(content, format=Path(path).suffix[1:].lower() or "png", **options)
    write_bytes(path, content.getvalue())


def check_output(path: Any, suffixes: Sequence[str] = ()) -> Path:
    """Refuse at once a file that could not be written at the end of a long run."""
    place = Path(path)
    if suffixes and place.suffix.lower() not in suffixes:
        raise ValueError(f"{quoted(place, 200)} must end in {listed(suffixes)}; rename it.")
    if place.exists() and not place.is_file():
        raise ValueError(f"{quoted(place, 200)} is not a regular file; give another name.")
    folder = Path(os.path.realpath(place)).parent
    if not folder.is_dir():
        raise ValueError(f"directory {quoted(folder, 200)} does not exist; create it.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"the folder {quoted(folder, 200)} cannot be written; give another.")
    return place
