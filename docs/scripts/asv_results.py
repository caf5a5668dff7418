"""asv's stored results as series of numbers, and as tables in Markdown."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

Series = dict[tuple[Any, ...], float]
FITTED = 3  # exponents are fitted to so many of the largest sizes


class Results:
    """asv's results: of one commit, or of each benchmark the newest."""

    def __init__(self, folder: Path, commit: str = "") -> None:
        files = [
            json.loads(file.read_text())
            for file in sorted(folder.glob("*/*-existing*.json"))
            if file.name.startswith(commit[:8])
        ]
        if not files:
            raise SystemExit(f"there are no results of {commit or 'any commit'}; run: make bench")
        files.sort(key=started)
        self.content = files[-1]
        newest = {name: (row, file) for file in files for name, row in file["results"].items()}
        self._rows = {name: row for name, (row, _) in newest.items()}
        used = [file["commit_hash"][:8] for _, file in newest.values()]
        self.commits = [f["commit_hash"][:8] for f in files if f["commit_hash"][:8] in used]

    def series(self, *names: str) -> Series:
        """Values by parameters, of one benchmark or of several that continue one another."""
        found: Series = {}
        for name in names:
            values, axes, *_ = self._rows.get(name) or (None, None)
            if values is None:
                continue
            keys = product(*([ast.literal_eval(text) for text in axis] for axis in axes or ()))
            measured = zip(keys, values, strict=True)
            found |= {k: v for k, v in measured if v is not None and not math.isnan(v)}
        return found

    def day(self) -> str:
        """When the newest benchmark ran."""
        return f"{datetime.fromtimestamp(started(self.content), UTC):%Y-%m-%d}"

    def one(self, name: str) -> float:
        """The value of a benchmark without parameters."""
        return self.series(name).get((), math.nan)


def started(content: dict[str, Any]) -> float:
    """When the newest benchmark of a result file began, in seconds."""
    column = content["result_columns"].index("started_at")
    rows = content["results"].values()
    return max((row[column] for row in rows if len(row) > column), default=0) / 1000


# --- numbers and tables ------------------------------------------------------------------------


def digits(value: float, count: int = 3) -> str:
    """A number with this many significant digits and no exponent."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    places = max(0, count - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}"


SPACE = "\N{NO-BREAK SPACE}"  # a cell of a table keeps number and unit together


def seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{digits(value / size)}{SPACE}{unit}"
    return f"{digits(value * 1e6)}{SPACE}µs"


def megabytes(value: float) -> str:
    return f"{value / 1e6:.0f}{SPACE}MB"


def scientific(value: float) -> str:
    return f"{value:.1e}".replace("-", "\N{NON-BREAKING HYPHEN}")


def ratio(value: float) -> str:
    """Small ratios as one over something, which is how one says them."""
    return f"1/{digits(1 / value, 2)}" if 0 < value < 0.95 else digits(value, 2)


def markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def pivot(series: Series, last: str, form: Callable[[float], str]) -> str:
    """A table with the last parameter across; what was not measured is left empty."""
    if not series:
        return ""
    across = sorted({key[-1] for key in series})
    down = list(dict.fromkeys(key[:-1] for key in series))
    rows = [
        [", ".join(map(str, row)) or last]
        + [form(series[*row, column]) if (*row, column) in series else "" for column in across]
        for row in down
    ]
    return markdown(["", *(f"{last} = {column}" for column in across)], rows)


def exponent(sizes: list[float], values: list[float]) -> float:
    """b of value = c·size^b, by least squares on the logarithms of the largest sizes."""
    if len(sizes) < 2:
        return math.nan
    largest = np.argsort(sizes)[-FITTED:]
    logs = np.log(np.array(sizes)[largest]), np.log(np.array(values)[largest])
    return float(np.polyfit(*logs, 1)[0])


def lines(series: Series) -> Iterator[tuple[str, list[float], list[float]]]:
    """One line for each setting of all parameters but the last: name, sizes and values."""
    for row in dict.fromkeys(key[:-1] for key in series):
        points = sorted((key[-1], value) for key, value in series.items() if key[:-1] == row)
        yield ", ".join(map(str, row)), [x for x, _ in points], [y for _, y in points]


def section(title: str, introduction: str, *parts: str) -> str:
    """A section, or nothing when nothing of it was measured."""
    content = [part for part in parts if part]
    return "\n\n".join([f"## {title}", introduction, *content]) if content else ""


def titled(caption: str, table: str) -> str:
    return f"{caption}\n\n{table}" if table else ""
