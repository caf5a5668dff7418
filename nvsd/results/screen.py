"""Text for a screen of 80 columns: sentences and aligned tables."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]

LONGEST = 40  # characters of a name in a table
COLUMNS = 80  # of a screen


def paragraph(text: str) -> str:
    """Sentences, broken into lines between words."""
    lines = textwrap.wrap(text, COLUMNS, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def table(
    rows: Sequence[Row], *, most: int | None = None, longest: int = LONGEST, how: str = "--all"
) -> str:
    """Rows as a table, with text aligned left and numbers aligned right.

    Parameters
    ----------
    rows : sequence of mappings
    most : int, optional
        How many rows are shown.
    longest : int
        Characters of a name.
    how : str
        What shows all rows.
    """
    if not rows:
        return "(nothing)\n"
    shown = rows[:most]
    names = list(rows[0])
    columns = []
    for name in names:
        cells = [cell(row[name], longest) for row in shown]
        width = max(_width(text) for text in [name, *cells])
        right = all(isinstance(row[name], (int, float)) or row[name] is None for row in shown)
        right = right and not all(isinstance(row[name], bool) for row in shown)
        columns.append([_pad(text, width, right) for text in [name.replace("_", " "), *cells]])
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
    lines.insert(1, "  ".join("-" * _width(column[0]) for column in columns))
    if len(shown) < len(rows):
        lines.append(f"... and {len(rows) - len(shown)} more; {how} lists them")
    return "\n".join(lines) + "\n"


def cell(value: Any, longest: int = LONGEST) -> str:
    """A value as short text on one line."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(value))
    if _width(text) > longest:
        end = longest * 2 // 7
        text = f"{_start(text, longest - end - 3)}...{_start(text[::-1], end)[::-1]}"
    return text


def _start(text: str, room: int) -> str:
    """The beginning of a text, cut to a width on the screen."""
    kept = 0
    while kept < len(text) and _width(text[: kept + 1]) <= room:
        kept += 1
    return text[:kept]


def _width(text: str) -> int:
    """Columns on a terminal: characters of East Asian scripts take two, accents none."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space
