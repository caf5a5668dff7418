"""The picture at the top of README.md, and its part on how well `select` selects.

    python docs/scripts/readme.py

The picture is the selection of `make demo`, beside the stored results of `peers_bench.py`. The
numbers are means over the problems that nothing was tuned on and that all methods shown have run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from marks import fill
from peers import PEERS
from peers_bench import Cell, read
from peers_scores import LOWEST_R2, OURS, table

import nvsd
from nvsd.plots import plot_importance
from nvsd.plots._draw import PALETTE

DOCS = Path(__file__).parents[1]
sys.path.insert(0, str(DOCS / "examples"))

from demo import greenhouse  # noqa: E402

METHODS = (OURS, "rf", "lgbm", "hsic", "lasso")
COLUMNS = {"share": "true inputs on top", "distance": "wrong in the set", "r2": "R² on fresh rows"}
TEXT = """\
Means over {problems} problems with known inputs that nothing was tuned on, with {rows} rows and
{inputs} inputs: interactions, steps, correlated and heavy-tailed inputs, outliers. Every method has
its authors' defaults. *True inputs on top* is the share of the k true inputs among the first k of
the ranking; *wrong in the set* is the share of the inputs that are selected or true, but not both;
the time is the median on one core.

{table}
{processor}, {date}, commit {commit}. Problem by problem, also where others are ahead:
[docs/selection.md](docs/selection.md).
"""


def means() -> tuple[list[Cell], dict[str, dict[str, float]]]:
    """The problems, and the mean of each score of each method over them."""
    rows = [row for row in read(DOCS / "selection" / "peers.jsonl") if row["cell"][0] == "unseen"]
    found = {(tuple(row["cell"]), row["seed"], row["method"]): row for row in rows}
    runs = {key[:2] for key in found}
    runs = {run for run in runs if all((*run, method) in found for method in METHODS)}
    scores: dict[str, dict[str, float]] = {}
    for method in METHODS:
        done = [found[*run, method] for run in sorted(runs)]
        known = {name: [row[name] for row in done if row[name] is not None] for name in COLUMNS}
        known["r2"] = [max(value, LOWEST_R2) for value in known["r2"]]
        scores[method] = {name: float(np.mean(v)) for name, v in known.items() if v}
        scores[method]["seconds"] = float(np.median([row["seconds"] for row in done]))
    return sorted({Cell(*cell) for cell, _ in runs}), scores


def paragraph() -> str:
    """What README.md says of selection."""
    problems, scores = means()

    def span(size: str) -> str:
        sizes = [getattr(cell, size) for cell in problems]
        return f"{min(sizes)} to {max(sizes)}"

    rows = [
        [
            PEERS[method].label,
            *(f"{of[name]:.2f}" if name in of else "–" for name in COLUMNS),
            f"{of['seconds']:.2g} s",
        ]
        for method, of in scores.items()
    ]
    signed = json.loads((DOCS / "selection" / "peers_environment.json").read_text())[OURS]
    return TEXT.format(
        problems=len(problems),
        rows=span("n"),
        inputs=span("d"),
        table=table(["", *COLUMNS.values(), "time"], rows),
        **signed,
    )


def picture() -> None:
    """The demo's selection, and the share of true inputs on top."""
    selection = nvsd.select(*greenhouse(250, seed=0), p_values=True)
    problems, scores = means()
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.2), width_ratios=(1.6, 1), layout="constrained"
    )
    plot_importance(selection, ax=left)
    left.set_title("Which of 12 inputs matter, and how sure is it?", loc="left", fontsize=11)
    names = [PEERS[method].label.strip("`") for method in scores]
    share = [100 * of["share"] for of in scores.values()]
    places = -np.arange(len(names))
    colours = [PALETTE[0], *["#b8bec4"] * (len(names) - 1)]
    right.barh(places, share, color=colours, height=0.62)
    for place, value in zip(places, share, strict=True):
        right.text(value - 1.5, place, f"{value:.0f} %", ha="right", va="center", color="white")
    right.set_yticks(places, ["nvsd.select", *names[1:]])
    right.set_xticks([])
    right.set_xlim(0, 100)
    right.spines[:].set_visible(False)
    right.tick_params(length=0)
    right.set_title(f"True inputs on top, {len(problems)} problems", loc="left", fontsize=11)
    figure.get_layout_engine().set(wspace=0.06)
    figure.savefig(DOCS / "images" / "selection.png", dpi=110)


def main() -> None:
    """Draw the picture and fill the part of README.md."""
    picture()
    fill(DOCS.parent / "README.md", "selection", paragraph())


if __name__ == "__main__":
    main()
