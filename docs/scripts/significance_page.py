"""docs/significance.md from the stored results of `significance_bench.py`.

python docs/scripts/significance_page.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import significance_designs as designs
from peers_scores import table

DOCS = Path(__file__).parents[1]
RESULTS = DOCS / "significance"
LEVELS = (0.01, 0.05, 0.1)
INTRO = """\
# Tests of significance

Is `nvsd.significance` calibrated, and how powerful is it? Written by
`docs/scripts/significance_page.py` from what `docs/scripts/significance_bench.py` has measured. The
designs are in `docs/scripts/significance_designs.py`. They were written down before the first run.
The constants of the tests were tuned on other designs (`docs/scripts/significance_tuning.py`).

A null input is one that y does not depend on given the others. In the laws "square", "threshold"
and "scale" one null input is a function of a true one and noise. The share of null p-values below a
level should be at most that level. FDR is the mean share of false ones among the inputs with a
q-value up to 0.1; it should be at most 0.1. Power is the share of the true inputs among these.
"Warned" is the share of runs in which the model of an input was called poor.
"""


def read() -> list[dict[str, Any]]:
    """All runs."""
    lines = [line for f in sorted(RESULTS.glob("*.jsonl")) for line in f.read_text().splitlines()]
    return [json.loads(line) for line in lines]


def scores(rows: list[dict[str, Any]], number: int) -> dict[str, Any]:
    """Shares, false discovery rate and power of one design."""
    cell = designs.CELLS[number]
    true = designs.TRUTHS[cell.truth][1]
    null = designs.null_inputs(cell, true)
    p = np.array([row["p"] for row in rows])[:, null]
    false = [np.isin(row["kept"], null).sum() / max(1, len(row["kept"])) for row in rows]
    power = [np.isin(true, row["kept"]).mean() for row in rows] if true else []
    return {
        "p": p,
        "fdr": np.array(false),
        "power": np.array(power),
        "warned": np.mean([row["warned"] for row in rows]),
        "seconds": np.mean([row["seconds"] for row in rows]),
    }


def with_error(values: np.ndarray) -> str:
    """Mean and standard error over runs."""
    if not len(values):
        return "–"
    return f"{values.mean():.2f} ± {values.std() / np.sqrt(len(values)):.2f}"


def by_design(rows: list[dict[str, Any]]) -> str:
    """One line for each design, and all together."""
    lines, pooled, errors = [], [], []
    for number, cell in enumerate(designs.CELLS):
        here = [row for row in rows if row["cell"] == number]
        if not here:
            continue
        found = scores(here, number)
        below = [(found["p"] < level).mean(axis=1) for level in LEVELS]
        pooled.append([b.mean() for b in below])
        errors.append([b.std() / np.sqrt(len(b)) for b in below])
        lines.append(
            [
                f"{cell.law}, {cell.truth}, {cell.noise}",
                f"{cell.n}",
                f"{cell.d}",
                f"{len(here)}",
                *(f"{b.mean():.3f}" for b in below),
                with_error(found["fdr"]),
                with_error(found["power"]),
                f"{found['warned']:.2f}",
                f"{found['seconds']:.1f}",
            ]
        )
    means = np.mean(pooled, axis=0)
    se = np.sqrt(np.sum(np.square(errors), axis=0)) / len(errors)
    shares = ", ".join(
        f"{mean:.4f} ± {e:.4f} below {level:g}"
        for mean, e, level in zip(means, se, LEVELS, strict=True)
    )
    head = [
        "inputs, truth, noise", "n", "d", "runs", "p < .01", "p < .05", "p < .1", "FDR at .1",
        "power", "warned", "s",
    ]  # fmt: skip
    return (
        f"{table(head, lines)}\n\nMean over the designs of the shares of null p-values: {shares}.\n"
    )


def main() -> None:
    """Write the page."""
    environment = json.loads((RESULTS / "environment.json").read_text())
    measured = "; ".join(f"{key}: {value}" for key, value in environment.items())
    text = f"{INTRO}\n## By design\n\n{by_design(read())}\nMeasured with {measured}.\n"
    (DOCS / "significance.md").write_text(text)


if __name__ == "__main__":
    main()
