"""docs/classification.md from the stored results of `classification_bench.py`.

python docs/scripts/classification_page.py
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from peers_scores import table

DOCS = Path(__file__).parents[1]
RESULTS = DOCS / "classification"
METHODS = {
    "ours": "nvsd",
    "rf": "random forest",
    "lgbm": "LightGBM",
    "hsic": "HSIC Lasso",
    "xrfm": "xRFM",
    "boruta": "Boruta",
    "lassonet": "LassoNet",
}
SCORES = {  # name in the results: heading, whether larger is better
    "share": ("Share of the k true inputs among the first k", True),
    "log_loss": ("Log-loss on new rows", False),
    "auc": ("Area under the ROC curve on new rows", True),
}
INTRO = """\
# Selection on classes

`nvsd.select(X, labels)` beside other methods, each with its authors' defaults. Written by
`docs/scripts/classification_page.py` from what `docs/scripts/classification_bench.py` has measured.
The problems are in `docs/scripts/classification_problems.py`. A row has the mean over the seeds
that all methods of its table have, one or two so far: differences of a few hundredths say nothing.
The best of a row is bold.

RING, XOR, RING+XOR and +SUM are those of Passemiers et al. (2024), orange skin and the four-class
XOR those of Chen et al. (2017). `cancer` is scikit-learn's breast cancer data with columns of noise
beside it. Its "true" inputs are all the columns that were measured; many of them repeat each other.
HSIC Lasso makes no predictions.
"""

BEHIND = """\
## Where it is behind

Cells in which another method has the better mean by more than a hundredth:
"""
WHY = """\
+SUM joins three patterns by "or", and its ring is thin: even told the other two parts, a scan of
pairs at n = 250 ranks the ring's pair between first and fourteenth. A tree splits on the sum first
and looks for the ring in the rows that are left; the engine looks for all three at once. From
1000 rows on both find everything. With 100 rows and 100 inputs of orange skin no method has all
true inputs first, and the order of the methods changes with the seed. Boruta and LassoNet were run
where they take minutes, not hours. MADELON has to be downloaded, and was not run.
"""

Rows = dict[tuple[Any, ...], dict[str, dict[int, dict[str, Any]]]]


def load() -> Rows:
    """Results by cell, method and seed."""
    found: Rows = defaultdict(lambda: defaultdict(dict))
    for line in (RESULTS / "peers.jsonl").read_text().splitlines():
        row = json.loads(line)
        found[tuple(row["cell"])][row["method"]][row["seed"]] = row
    return found


def compared(score: str) -> list[str]:
    """The methods that have a score."""
    return [m for m in METHODS if score == "share" or m != "hsic"]


def means_of(
    by_method: dict[str, dict[int, dict[str, Any]]], score: str
) -> tuple[dict[str, float], int]:
    """The mean of each method over the seeds that all have, and how many these are."""
    present = [m for m in compared(score) if by_method.get(m)]
    if "ours" not in present:
        return {}, 0
    seeds = set.intersection(*(set(by_method[m]) for m in present))
    if not seeds:
        return {}, 0
    found = {m: float(np.mean([by_method[m][s][score] for s in seeds])) for m in present}
    return found, len(seeds)


def behind(rows: Rows) -> str:
    """A line for each cell in which another method is better by more than a hundredth."""
    lines = []
    for score, (heading, larger) in SCORES.items():
        sign = 1 if larger else -1
        for (name, n, d, *_), by_method in rows.items():
            means, _ = means_of(by_method, score)
            if not means:
                continue
            best = max(means, key=lambda m: sign * means[m])
            if sign * (means[best] - means["ours"]) > 0.01:
                better = f"{means['ours']:.2f}, {METHODS[best]} {means[best]:.2f}"
                lines.append([heading, str(name), str(n), str(d), better])
    return table(["score", "problem", "n", "inputs", "nvsd and the best"], lines)


def score_table(rows: Rows, score: str) -> str:
    """A row for each problem; only seeds that all shown methods have."""
    _, larger = SCORES[score]
    methods = compared(score)
    lines = []
    for cell, by_method in rows.items():
        means, seeds = means_of(by_method, score)
        if not means:
            continue
        best = (max if larger else min)(means.values())
        texts = [
            "–"
            if m not in means
            else f"**{means[m]:.2f}**"
            if means[m] == best
            else f"{means[m]:.2f}"
            for m in methods
        ]
        name, n, d = cell[:3]
        lines.append([str(name), str(n), str(d), str(seeds), *texts])
    return table(["problem", "n", "inputs", "seeds", *(METHODS[m] for m in methods)], lines)


def noise() -> str:
    """How often something is selected where labels have no pattern."""
    runs = [json.loads(line) for line in (RESULTS / "noise.jsonl").read_text().splitlines()]
    some = sum(run["selected"] > 0 for run in runs)
    return (
        "Labels without a pattern, balanced and not, of two and three classes: something is "
        f"selected in {some} of {len(runs)} runs.\n"
    )


def main() -> None:
    """Write the page."""
    rows = load()
    parts = [INTRO]
    for score, (heading, _) in SCORES.items():
        parts += [f"## {heading}\n", score_table(rows, score)]
    parts += [BEHIND, behind(rows), WHY]
    environment = json.loads((RESULTS / "environment.json").read_text())
    ours = environment["ours"]
    measured = "; ".join(f"{name}: {value}" for name, value in ours.items())
    parts += ["## Noise\n", noise(), f"Measured with {measured}."]
    (DOCS / "classification.md").write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
