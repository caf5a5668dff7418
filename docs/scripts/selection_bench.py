"""`nvsd.select` on problems with known inputs; a later run goes on from the file.

    python docs/scripts/selection_bench.py LAST --seeds 3 --out selection.jsonl
    python docs/scripts/selection_bench.py noise --seeds 8 --out noise.jsonl

A row has the share of the k true inputs among the first k, the Tanimoto distance of the selected
set, the test R² of `predict` and of the refit on the set, and seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import selection_problems as problems

import nvsd

NOISE_ROWS, NOISE_INPUTS = (50, 100, 200, 500), (10, 50, 200)


def scored(kind: str, seed: int) -> dict[str, Any]:
    """One selection, and how good it is."""
    p = problems.make(kind, seed)
    start = time.perf_counter()
    found = nvsd.select(p.X, p.y)
    seconds = time.perf_counter() - start
    true, chosen = set(p.true), set(np.flatnonzero(found.support).tolist())
    spread = float(p.y_test.var())

    def r2(f: np.ndarray) -> float:
        return float(1 - np.mean((p.y_test - f) ** 2) / spread)

    return {
        "share": len(true & set(found.order[: len(true)].tolist())) / len(true),
        "distance": 1 - len(true & chosen) / max(len(true | chosen), 1),
        "r2": r2(found.predict(p.X_test)),
        "r2_set": r2(found.refit.predict(p.X_test)),
        "seconds": seconds,
    }


def on_noise(design: str, n: int, d: int, seed: int) -> dict[str, Any]:
    """Whether something is selected where y is noise."""
    p = problems.make_noise(design, n, d, seed)
    return {"selected": len(nvsd.select(p.X, p.y).selected)}


def main() -> None:
    """Run what is not in the file yet, and print the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("TUNING", "HELD_OUT", "FRESH", "LAST", "noise"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=3000, help="the first seed")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    if options.what == "noise":
        cells = [
            (k, n, d) for n in NOISE_ROWS for d in NOISE_INPUTS for k in problems.NOISE_DESIGNS
        ]
        run: Any = on_noise
    else:
        cells, run = [(kind,) for kind in getattr(problems, options.what)], scored
    rows = (
        [json.loads(line) for line in options.out.read_text().splitlines()]
        if options.out.exists()
        else []
    )
    done = {(*row["cell"], row["seed"]) for row in rows}
    with options.out.open("a") as file:
        for seed in seeds:
            for cell in cells:
                if (*cell, seed) not in done:
                    rows.append({"cell": cell, "seed": seed} | run(*cell, seed))
                    print(json.dumps(rows[-1]), file=file, flush=True)
    names = [name for name in rows[0] if name not in ("cell", "seed")]
    for name in names:
        values = np.array([row[name] for row in rows], dtype=float)
        error = values.std() / np.sqrt(len(values))
        print(f"{name:10} {values.mean():.3f} ± {error:.3f} of {len(values)}")


if __name__ == "__main__":
    main()
