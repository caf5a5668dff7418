"""Names and numbers inside sentences."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def quoted(name: object, longest: int = 60) -> str:
    """A name between quotes, on one line and not too long."""
    text = str(name)
    return repr(text if len(text) <= longest else f"{text[: longest - 1]}…")


def file_name(path: Path) -> str:
    """The name of a file, in quotes only if it is unusual."""
    name = path.name
    return name if name.isprintable() and 0 < len(name) <= 80 else quoted(name)


def listed(names: Iterable[object], most: int = 6) -> str:
    """A few names, and the number of the others."""
    texts = [quoted(name) for name in names]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def count(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


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
