"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from nvsd.files._words import listed, quoted


@contextmanager
def replacing(path: Any) -> Iterator[Path]:
    """Give a temporary name in the same folder; at the end that file replaces the path.

    If anything fails before, the temporary file is removed and the old file stays unchanged.

    Examples
    --------
    >>> with replacing("path.png") as temporary:  # doctest: +SKIP
    ...     figure.savefig(temporary)
    """
    # For a symbolic link, the file that it points to is replaced, not the link.
    place = Path(os.path.realpath(check_output(path)))
    temporary = place.with_name(f".nvsd-{secrets.token_hex(6)}{place.suffix}")
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, temporary)
        os.replace(temporary, place)
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_text(path: Any, text: str) -> None:
    """Write a text file as UTF-8, completely or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, "utf-8", newline="\n")


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
