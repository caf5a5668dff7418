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

Rows = dict[tuple[Any, ...], dict[str, dict[int, dict[str, Any]]]]


def load() -> Rows:
    """Results by cell, method and seed."""
    found: Rows = defaultdict(lambda: defaultdict(dict))
    for line in (RESULTS / "peers.jsonl").read_text().splitlines():
        row = json.loads(line)
        found[tuple(row["cell"])][row["method"]][row["seed"]] = row
    return found


def score_table(rows: Rows, score: str) -> str:
    """A row for each problem; only seeds that all shown methods have."""
    _, larger = SCORES[score]
    methods = [m for m in METHODS if score == "share" or m != "hsic"]
    lines = []
    for cell, by_method in rows.items():
        present = [m for m in methods if by_method.get(m)]
        seeds = set.intersection(*(set(by_method[m]) for m in present))
        if "ours" not in present or not seeds:
            continue
        means = {m: float(np.mean([by_method[m][seed][score] for seed in seeds])) for m in present}
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
        lines.append([str(name), str(n), str(d), str(len(seeds)), *texts])
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
    environment = json.loads((RESULTS / "environment.json").read_text())
    ours = environment["ours"]
    measured = "; ".join(f"{name}: {value}" for name, value in ours.items())
    parts += ["## Noise\n", noise(), f"Measured with {measured}."]
    (DOCS / "classification.md").write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
