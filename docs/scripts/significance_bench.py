"""`nvsd.significance` on the designs of `significance_designs`; a later run goes on from the file.

    python docs/scripts/significance_bench.py --runs 200 --out docs/significance/runs.jsonl
    python docs/scripts/significance_bench.py --runs 200 --cells 0,1,2 --out part.jsonl

A row has the p-values of all inputs, rounded, the q-values' sets, and seconds of processor time.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import significance_designs as designs

import nvsd
from nvsd.selection.significance import CopyWarning


def one_run(number: int, seed: int) -> dict[str, object]:
    """Test one table."""
    cell = designs.CELLS[number]
    table = designs.draw(cell, seed)
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CopyWarning)
        found = nvsd.significance(table.X, table.y, progress=False, random_state=seed)
    return {
        "cell": number,
        "seed": seed,
        "p": [float(f"{p:.3g}") for p in found.p_value.values],
        "kept": np.flatnonzero(found.q_value.values <= 0.1).tolist(),
        "warned": any(issubclass(each.category, CopyWarning) for each in caught),
        "seconds": round(time.process_time() - start, 2),
    }


def main() -> None:
    """Run what is not in the file yet, seed by seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--cells", help="numbers of cells; all by default")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    numbers = range(len(designs.CELLS))
    if options.cells:
        numbers = [int(number) for number in options.cells.split(",")]
    done = set()
    if options.out.exists():
        rows = map(json.loads, options.out.read_text().splitlines())
        done = {(row["cell"], row["seed"]) for row in rows}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("a") as file:
        for seed in range(options.runs):
            for number in numbers:
                if (number, seed) not in done:
                    print(json.dumps(one_run(number, seed)), file=file, flush=True)


if __name__ == "__main__":
    main()
