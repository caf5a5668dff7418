"""Scores of the methods in `docs/selection/peers.jsonl`, and when one is better than another."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from peers import PEERS
from peers_bench import SUITES, Cell, read

Runs = dict[int, float]  # a score of one method in one cell, by seed
Scores = dict[Cell, dict[str, Runs]]

OURS = "ours"
LOWEST_R2 = -1.0  # below, R² counts as this: one bad run would be the mean of all
HIDDEN = 0.005  # differences that no table shows


class Score(NamedTuple):
    """A score, and whether more of it is better (1) or less (-1)."""

    name: str
    title: str
    sign: int


SCORES = (
    Score("share", "share of the k true inputs among the first k", 1),
    Score("distance", "Tanimoto distance of the selected set", -1),
    Score("r2", "R² of the predictions", 1),
)


def load(path: Path, suite: str, score: str) -> Scores:
    """A score of every method in every cell of a suite, in the order of the suite."""
    order = {cell: i for i, cell in enumerate(SUITES[suite]())}
    found: Scores = defaultdict(lambda: defaultdict(dict))
    for row in read(path):
        cell, value = Cell(*row["cell"]), row.get(score)
        if cell in order and value is not None:
            value = max(value, LOWEST_R2) if score == "r2" else value
            found[cell][row["method"]][row["seed"]] = float(value)
    return {cell: dict(found[cell]) for cell in sorted(found, key=lambda cell: order[cell])}


def difference(a: Runs, b: Runs) -> tuple[float, float] | None:
    """Mean of a - b over the seeds that both have and its standard error, 0 for one seed."""
    seeds = sorted(a.keys() & b.keys())
    if not seeds:
        return None
    gaps = np.array([a[seed] - b[seed] for seed in seeds])
    error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else 0.0
    return float(gaps.mean()), error


def verdict(a: Runs, b: Runs, sign: int) -> int | None:
    """1 if a is better, -1 if b is, 0 if equal; None if they have no seed in common."""
    gap = difference(a, b)
    if gap is None:
        return None
    mean, error = gap
    return 0 if abs(mean) <= max(2 * error, HIDDEN) else int(np.sign(mean)) * sign


def mean_of(runs: Runs) -> float:
    return float(np.mean(list(runs.values())))


def shown(runs: Runs, bold: bool) -> str:
    """Mean ± standard error."""
    values = np.array(list(runs.values()))
    mean = f"{round(values.mean(), 2) + 0.0:.2f}"  # no -0.00
    mean = f"**{mean}**" if bold else mean
    if len(values) == 1:
        return mean
    return f"{mean} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def best(cell: dict[str, Runs], sign: int) -> set[str]:
    """The methods with the best mean, or not worse than it by the rule; of one method none."""
    if len(cell) == 1:
        return set()
    first = max(cell, key=lambda method: sign * mean_of(cell[method]))
    verdicts = {method: verdict(cell[first], runs, sign) for method, runs in cell.items()}
    return {method for method, won in verdicts.items() if won is not None and won <= 0} | {first}


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def present(scores: Scores) -> list[str]:
    """The methods that have the score somewhere, in their order."""
    found = {method for cell in scores.values() for method in cell}
    return [method for method in PEERS if method in found]
