"""Tables as Markdown, for the documentation and the screen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from nvsd.experiments.methods import METHODS
from nvsd.experiments.tables import LEVEL, BlockReport, Cell, Report, Verdict, compared

LEGEND = (
    "Mean ± standard error (median) over the replications, and in brackets the paper's mean. Best "
    "mean in bold, the true inputs aside; underlined where an NVSD method is better than each "
    f"baseline, linear model and competitor by a Wilcoxon signed-rank test at {LEVEL:.0%}."
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
            parts += [f"### {block.block.title}: {name}", measures_table(block, measure)]
        parts += [verdict_table(block, key) for key in block.block.ours]
    return "\n\n".join(parts) + "\n"


def measures_table(block: BlockReport, measure: str) -> str:
    """One row for each method."""
    rows = [
        [_label(key, cells, block.replications), *map(_cell, cells)]
        for key, cells in block.cells[measure].items()
        if any(cell.replications for cell in cells)
    ]
    return markdown_table(["method", *block.block.columns], rows)


def verdict_table(block: BlockReport, key: str) -> str:
    """The two questions for one of our methods, cell by cell."""
    ours = METHODS[key].label
    rows = [_answers(verdict) for verdict in block.verdicts if verdict.method == key]
    if not rows:
        return f"There is nothing to compare `{ours}` with yet."
    head = ["column", "measure", ours, "best competitor", "better?", "paper's best", "better?"]
    return markdown_table(head, rows)


def _label(key: str, cells: Iterable[Cell], most: int) -> str:
    counts = {cell.replications for cell in cells if cell.replications}
    fewer = min(counts) < most
    return METHODS[key].label + (f" ({min(counts)} of {most} replications)" if fewer else "")


def _cell(cell: Cell) -> str:
    if not cell.replications:
        return "–" + _paper(cell)
    mean = f"{cell.mean:.2f}"
    mean = f"<u>{mean}</u>" if cell.significant else mean
    mean = f"**{mean}**" if cell.best else mean
    se = "" if math.isnan(cell.se) else f" ± {cell.se:.2f}"
    return f"{mean}{se} ({cell.median:.2f}){_paper(cell)}"


def _paper(cell: Cell) -> str:
    return "" if math.isnan(cell.paper) else f" [{cell.paper:.2f}]"


def _answers(v: Verdict) -> list[str]:
    rival = f"{METHODS[v.rival].label} {v.rival_mean:.2f}"
    paper = f"{METHODS[v.paper_method].label} {v.paper_best:.2f}"
    measure = "RMSE" if v.measure == "rmse" else "selection error"
    fair = _answer(v.ours_there, v.rival_mean) + f" (p = {v.p_value:.2g})"
    printed = _answer(round(v.ours, 2), v.paper_best)
    return [v.column, measure, f"{v.ours:.2f}", rival, fair, paper, printed]


def _answer(ours: float, other: float) -> str:
    sign = compared(ours, other)
    if sign <= 0:
        return "yes" if sign else "equal"
    share = f", {(ours - other) / other:.0%}" if other > 0 else ""
    return f"no, by {ours - other:.2f}{share}"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns padded to one width, so that the source reads as a table too."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[j]) for line in lines) for j in range(len(head))]
    padded = [
        "| " + " | ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (w + 2) for w in widths) + "|"
    return "\n".join([padded[0], rule, *padded[1:]])
