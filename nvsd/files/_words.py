"""Names and numbers inside sentences."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nvsd.data.words import count, listed, quoted

__all__ = ["count", "existing_file", "file_name", "how_to_drop", "listed", "quoted"]


def file_name(path: Path) -> str:
    """The name of a file, in quotes only if it is unusual."""
    name = path.name
    return name if name.isprintable() and 0 < len(name) <= 80 else quoted(name)


def how_to_drop(names: Iterable[str], most: int = 6) -> str:
    """The options that leave columns out, ready to be pasted into a shell."""
    options = [
        f"--drop {shlex.quote(name)}" if name.isprintable() and len(name) <= 60 else "--drop COLUMN"
        for name in names
    ]
    more = " ..." if len(options) > most else ""
    them = "it" if len(options) == 1 else "them"
    return f"leave {them} out with {' '.join(options[:most])}{more}"


def existing_file(path: Any) -> Path:
    """The path, refused if no file is there."""
    place = Path(path)
    if not place.exists():
        raise ValueError(f"file {quoted(place, 200)} does not exist; check its name.")
    if not place.is_file():
        raise ValueError(f"{quoted(place, 200)} is not a file; give the name of a file.")
    return place
