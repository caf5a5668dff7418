"""Names and numbers inside sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def quoted(name: object, longest: int = 60) -> str:
    """A name between quotes, on one line and not too long."""
    text = str(name)
    return repr(text if len(text) <= longest else f"{text[: longest - 1]}…")


def listed(names: Iterable[object], most: int = 6) -> str:
    """A few names, and the number of the others."""
    return joined([quoted(name) for name in names], most)


def joined(texts: Sequence[str], most: int = 6) -> str:
    """A few texts, and the number of the others."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def count(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
