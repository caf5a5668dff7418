"""Tables as Markdown, for the documentation and the screen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from nvsd.experiments.methods import METHODS
from nvsd.experiments.tables import LEVEL, BlockReport, Cell, Comparison, Report, Verdict, compared

LEGEND = (
    "Mean ± standard error (median) over the replications, in brackets the paper's mean, at its "
    "own width. Best mean in bold, the true inputs aside; underlined where an NVSD method is "
    "better than each baseline, linear model and competitor that has all its replications, by a "
    f"Wilcoxon signed-rank test at {LEVEL:.0%}."
)

TITLES = {
    "table1": "Table 1: synthetic data",
    "table3": "Table 3: real data",
    "table4": "Table 4: real data with groups",
}


def to_markdown(report: Report) -> str:
    """The whole table."""
    parts = [f"## {TITLES[report.name]}", LEGEND]
    for block in report.blocks:
        for measure, name in (("rmse", "RMSE"), ("selection", block.block.selection)):
            heading = f"### {block.block.title}: {name}, {block.replications} replications"
            parts += [heading, measures_table(block, measure)]
        parts += [verdict_table(block, key) for key in block.block.ours]
    return "\n\n".join(parts) + "\n"


def measures_table(block: BlockReport, measure: str) -> str:
    """One row for each method."""
    digits = _digits(block, measure)
    rows = [
        [_label(key, cells, block.replications), *(_cell(cell, digits) for cell in cells)]
        for key, cells in block.cells[measure].items()
        if any(cell.replications for cell in cells)
    ]
    return markdown_table(["method", *block.block.columns], rows)


def verdict_table(block: BlockReport, key: str) -> str:
    """Both comparisons for one of our methods, cell by cell."""
    ours = METHODS[key].label
    verdicts = [verdict for verdict in block.verdicts if verdict.method == key]
    if not verdicts:
        return f"There is nothing to compare `{ours}` with yet."
    paper = "paper's best, at its width" if block.block.tuned else "paper's best"
    head = ["column", "measure", ours, "best competitor", "better?", paper, "better?"]
    slower = [v.slower.replications for v in verdicts if v.slower is not None]
    if slower:
        head[5:5] = [f"best of those with {min(slower)} replications", "better?"]
    return markdown_table(
        head, [_answers(v, _digits(block, v.measure), bool(slower)) for v in verdicts]
    )


def _digits(block: BlockReport, measure: str) -> int:
    """Decimals: three if no mean is above 1, otherwise two."""
    means = [cell.mean for row in block.cells[measure].values() for cell in row]
    return 2 if max((mean for mean in means if not math.isnan(mean)), default=0.0) > 1 else 3


def _label(key: str, cells: Iterable[Cell], most: int) -> str:
    counts = {cell.replications for cell in cells if cell.replications}
    fewer = min(counts) < most
    return METHODS[key].label + (f" ({min(counts)} of {most} replications)" if fewer else "")


def _cell(cell: Cell, digits: int) -> str:
    if not cell.replications:
        return "–" + _paper(cell)
    mean = f"{cell.mean:.{digits}f}"
    mean = f"<u>{mean}</u>" if cell.significant else mean
    mean = f"**{mean}**" if cell.best else mean
    se = "" if math.isnan(cell.se) else f" ± {cell.se:.{digits}f}"
    return f"{mean}{se} ({cell.median:.{digits}f}){_paper(cell)}"


def _paper(cell: Cell) -> str:
    return "" if math.isnan(cell.paper) else f" [{cell.paper:.2f}]"


def _answers(v: Verdict, digits: int, with_slower: bool) -> list[str]:
    fair = _compared(v.rival, v.measure, digits)
    if with_slower:
        fair += ["–", "–"] if v.slower is None else _compared(v.slower, v.measure, digits)
    paper = f"{METHODS[v.paper_method].label} {v.paper_best:.2f}"
    printed = _answer(round(v.ours, 2), v.paper_best, v.measure, 2)
    measure = "RMSE" if v.measure == "rmse" else "selection error"
    return [v.column, measure, f"{v.ours:.{digits}f}", *fair, paper, printed]


def _compared(c: Comparison, measure: str, digits: int) -> list[str]:
    answer = _answer(c.ours, c.theirs, measure, digits)
    return [f"{METHODS[c.rival].label} {c.theirs:.{digits}f}", f"{answer} (p = {c.p_value:.2g})"]


def _answer(ours: float, other: float, measure: str, digits: int) -> str:
    sign = compared(ours, other)
    if sign <= 0:
        return "yes" if sign else "equal"
    share = f", {(ours - other) / other:.1%}" if measure == "rmse" and other > 0 else ""
    return f"no, by {ours - other:.{digits}f}{share}"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns padded to one width, so that the source also reads as a table."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[j]) for line in lines) for j in range(len(head))]
    padded = [
        "| " + " | ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (w + 2) for w in widths) + "|"
    return "\n".join([padded[0], rule, *padded[1:]])
