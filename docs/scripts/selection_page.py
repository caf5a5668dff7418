"""docs/selection.md from the stored results of `selection_bench.py` and `peers_bench.py`.

python docs/scripts/selection_page.py
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import selection_problems as problems
import selection_speed
from peers_page import beside
from peers_scores import table

DOCS = Path(__file__).parents[1]
RESULTS = DOCS / "selection"
SETS = {
    "TUNING": "on which constants were tuned",
    "HELD_OUT": "which led to changes",
    "FRESH": "which led to one change",
    "LAST": "which led to changes",
}
INTRO = """\
# Selection

What `nvsd.select(X, y)` finds by default, on problems with known inputs and on pure noise. Written
by `docs/scripts/selection_page.py` from what `docs/scripts/selection_bench.py` has measured; the
problems are in `docs/scripts/selection_problems.py`.

`share` is the share of the k true inputs among the first k of the ranking, `distance` the Tanimoto
distance of the selected set from the true one (0: the same), R² is that of `predict` at fresh rows
without noise, and R² of the set that of the refit on the selected inputs.
"""


def read(name: str) -> list[dict[str, Any]]:
    """The rows of a file of results."""
    return [json.loads(line) for line in (RESULTS / name).read_text().splitlines()]


def mean(values: list[float]) -> str:
    """The mean, and its standard error where there are several."""
    array = np.array(values)
    if len(array) == 1:
        return f"{array[0]:.2f}"
    return f"{array.mean():.2f} ± {array.std(ddof=1) / np.sqrt(len(array)):.2f}"


def known_inputs(rows: list[dict[str, Any]]) -> str:
    """Means over each set of problems, then every problem."""
    names = ["share", "distance", "r2", "r2_set"]
    head = ["runs", "share", "distance", "R²", "R² of the set"]
    means, each = [], []
    for name, words in SETS.items():
        kinds = getattr(problems, name)
        here = [row for row in rows if row["cell"][0] in kinds]
        scores = [mean([row[score] for row in here]) for score in names]
        means.append([f"{name}, {words}", str(len(here)), *scores])
    for kind, about in problems.KINDS.items():
        here = [row for row in rows if row["cell"][0] == kind]
        if here:
            scores = [mean([row[score] for row in here]) for score in names]
            each.append([kind, str(about.n), str(about.d), str(len(here)), *scores])
    return (
        f"## Known inputs\n\n{table(['problems', *head], means)}\n"
        f"{table(['problem', 'rows', 'inputs', *head], each)}"
    )


def noise(rows: list[dict[str, Any]]) -> str:
    """How often something is selected where y is noise."""
    cells: dict[tuple[int, int], list[bool]] = defaultdict(list)
    for row in rows:
        cells[row["cell"][1], row["cell"][2]].append(row["selected"] > 0)
    inputs = sorted({d for _, d in cells})
    body = [
        [str(n), *(f"{sum(cells[n, d])} of {len(cells[n, d])}" for d in inputs)]
        for n in sorted({n for n, _ in cells})
    ]
    wrong, runs = sum(row["selected"] > 0 for row in rows), len(rows)
    error = np.sqrt(wrong / runs * (1 - wrong / runs) / runs)
    return (
        "## Pure noise\n\nRuns in which something is selected though y has nothing to do with X; "
        "inputs are normal, autoregressive with .9, or t with 3 degrees of freedom.\n\n"
        f"{table(['rows', *(f'{d} inputs' for d in inputs)], body)}\n"
        f"In all: {wrong} of {runs} runs, {100 * wrong / runs:.1f} ± {100 * error:.1f} %.\n"
    )


def main() -> None:
    """Write the page."""
    made = json.loads((RESULTS / "environment.json").read_text())
    facts = "; ".join(f"{key}: {value}" for key, value in made.items())
    parts = [INTRO, known_inputs(read("problems.jsonl")), noise(read("noise.jsonl"))]
    parts += [f"Measured with {facts}.\n", selection_speed.page(), beside(RESULTS)]
    (DOCS / "selection.md").write_text("\n".join(part for part in parts if part))


if __name__ == "__main__":
    main()
