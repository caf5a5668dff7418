"""What is printed: sentences, aligned tables, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

Row = dict[str, Any]

LONGEST = 40  # characters of a name in a table
MOST = 30  # rows of a table, unless all are requested
COLUMNS = 80  # of a screen


def say(text: str) -> None:
    """A line on stderr."""
    if sys.stderr is not None:
        write(f"nvsd: {text}\n", sys.stderr)


def write(text: str, stream: TextIO | None = None) -> None:
    """Write text; characters that the terminal cannot show are replaced."""
    if stream is None:
        stream = sys.stdout
        if stream is None:
            raise ValueError("stdout is closed, so nothing can be printed; open it, or give --out.")
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def paragraph(text: str) -> str:
    """Sentences, broken into lines between words."""
    lines = textwrap.wrap(text, COLUMNS, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def table(rows: Sequence[Row], *, most: int | None = None) -> str:
    """Rows as a table, with text aligned left and numbers aligned right."""
    if not rows:
        return "(nothing)\n"
    shown = rows[:most]
    names = list(rows[0])
    columns = []
    for name in names:
        cells = [cell(row[name]) for row in shown]
        width = max(_width(text) for text in [name, *cells])
        right = all(isinstance(row[name], (int, float)) or row[name] is None for row in shown)
        right = right and not all(isinstance(row[name], bool) for row in shown)
        columns.append([_pad(text, width, right) for text in [name.replace("_", " "), *cells]])
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
    lines.insert(1, "  ".join("-" * _width(column[0]) for column in columns))
    if len(shown) < len(rows):
        lines.append(f"... and {len(rows) - len(shown)} more; --all lists them")
    return "\n".join(lines) + "\n"


def cell(value: Any) -> str:
    """A value as short text on one line."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(value))
    if len(text) > LONGEST:
        text = f"{text[: LONGEST - 14]}...{text[-11:]}"
    return text


def as_csv(rows: Sequence[Row]) -> str:
    """Rows as CSV; nothing is shortened."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
    writer.writerows([_plain(value) for value in row.values()] for row in rows)
    return text.getvalue()


def as_json(content: Any) -> str:
    """Content as JSON; NaN and infinity become null."""
    return json.dumps(_finite(content), indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).lower() if isinstance(value, bool) else value


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _width(text: str) -> int:
    """Columns on a terminal: characters of East Asian scripts take two, accents none."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space
