"""What is printed: sentences, aligned tables, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from nvsd.results.screen import Row, cell, paragraph, table

__all__ = ["MOST", "Row", "as_csv", "as_json", "cell", "paragraph", "say", "table", "write"]

MOST = 30  # rows of a table, unless all are requested


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
