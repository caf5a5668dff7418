"""`nvsd.select` on classes beside other methods; a later run goes on from the file.

    python docs/scripts/classification_bench.py --methods ours,rf,lgbm --seeds 3
    python docs/scripts/classification_bench.py --noise --seeds 10
    python docs/scripts/classification_bench.py --show

One JSON line for each (cell, seed, method): the share of the k true inputs among the first k, the
Tanimoto distance of the selected set, log-loss, AUC and accuracy of the method's probabilities at
fresh rows, and seconds of one core; null for what a method does not have. Probabilities below a
thousandth count as that, so that forests, which say 0, have a log-loss. Of breast cancer the true
inputs are not known: its thirty columns count as true, and the permuted ones as false. Columns are
shuffled.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from classification_peers import PEERS
from classification_problems import make
from machine import commit, processor, today, versions
from threadpoolctl import threadpool_limits

import nvsd
from nvsd.benchmark.classes import RINGS
from nvsd.benchmark.methods import Fit
from nvsd.benchmark.problems import Array, Problem, shuffled
from nvsd.benchmark.scores import class_scores

RESULTS = Path(__file__).parents[1] / "classification"
FIRST_SEED = 7000  # no seed that constants were tuned with
SCORES = ("share", "distance", "log_loss", "auc", "accuracy", "size")


class Cell(NamedTuple):
    """A kind of problem, with n training rows and d inputs."""

    kind: str
    n: int
    d: int


CELLS = [
    *(Cell(kind, n, m) for kind in RINGS for n in (250, 500, 1000) for m in (32, 128)),
    *(Cell(kind, 100, d) for kind in ("orange", "xor4") for d in (10, 100)),
    Cell("cancer", 400, 100),
]

# Rows, inputs, and the shares of the classes.
NOISE = [
    (n, d, *shares)
    for n in (50, 100, 200)
    for d in (10, 50)
    for shares in ((0.5, 0.5), (0.85, 0.15), (0.4, 0.3, 0.3))
]


def problem(cell: Cell, seed: int) -> Problem:
    """The data of a cell, its columns shuffled."""
    p = make(cell.kind, seed, cell.n, cell.d)
    return shuffled(p, np.random.default_rng([seed, cell.n, cell.d]))


def measured(cell: Cell, seed: int, method: str) -> dict[str, Any]:
    """One run of one method."""
    p = problem(cell, seed)
    row: dict[str, Any] = {"cell": cell, "seed": seed, "method": method}
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            fit = PEERS[method].fit(p.X, p.y, seed)
            seconds = time.process_time() - start
            P = None if fit.predict is None else fit.predict(p.X_test)
    except Exception as error:
        return row | {"failed": f"{type(error).__name__}: {error}"}
    return row | scores(p, fit, P) | {"seconds": round(seconds, 3)}


def scores(p: Problem, fit: Fit, P: Array | None) -> dict[str, float | None]:
    """How good it is, None for what the method does not have."""
    found: dict[str, float | None] = dict.fromkeys(SCORES)
    true, k = set(p.true), len(p.true)
    if fit.ranking is not None:
        found["share"] = len(true & set(fit.ranking[:k].tolist())) / k
    if fit.selected is not None:
        chosen = set(np.flatnonzero(fit.selected).tolist())
        found["distance"] = 1 - len(true & chosen) / len(true | chosen)
        found["size"] = len(chosen)
    if P is not None:
        found |= class_scores(p.y_test, P)
    return {name: None if v is None else float(f"{v:.6g}") for name, v in found.items()}


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; an empty list before the first run."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def todo(options: argparse.Namespace) -> Iterator[tuple[Cell, int, str]]:
    """What is not in the file yet, seed by seed, method by method, small cells first."""
    done = {(*row["cell"], row["seed"], row["method"]) for row in read(options.out)}
    for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
        for method in options.methods.split(","):
            for cell in sorted(CELLS, key=lambda cell: cell.n * cell.d):
                known = (*cell, seed, method) in done
                if not known and PEERS[method].affordable(cell.n, cell.d):
                    yield cell, seed, method


def sign(path: Path, method: str) -> None:
    """Write down where and with what a method was last run."""
    known = json.loads(path.read_text()) if path.exists() else {}
    known[method] = {
        "processor": processor(),
        "versions": versions(*dict.fromkeys(("numpy", *PEERS[method].packages))),
        "commit": commit(),
        "date": today(),
    }
    path.write_text(json.dumps(known, indent=1) + "\n")


def show(path: Path) -> None:
    """The means over the seeds."""
    found: dict[Any, Any] = defaultdict(lambda: defaultdict(list))
    for row in read(path):
        found[Cell(*row["cell"])][row["method"]].append(row)
    for score in SCORES[:4]:
        print(f"\n{score:34}" + "".join(f"{method:>9}" for method in PEERS))
        for cell in CELLS:
            values = [[r[score] for r in found[cell][m] if r.get(score) is not None] for m in PEERS]
            cells = "".join(f"{np.mean(v):9.3f}" if v else f"{'–':>9}" for v in values)
            print(f"{cell.kind:12}{cell.n:6}{cell.d:6}{len(values[0]):10}{cells}")


def on_noise(path: Path, seeds: int) -> None:
    """How many inputs are selected where labels have nothing to do with them."""
    done = {(*row["cell"], row["seed"]) for row in read(path)}
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        for n, d, *shares in NOISE:
            if (n, d, *shares, seed) in done:
                continue
            rng = np.random.default_rng([seed, n, d, len(shares)])
            X, y = rng.standard_normal((n, d)), rng.choice(len(shares), n, p=shares)
            with threadpool_limits(1):
                found = nvsd.select(X, np.array([f"class {k}" for k in y]), progress=False)
            row = {"cell": (n, d, *shares), "seed": seed, "selected": len(found.selected)}
            with path.open("a") as file:
                print(json.dumps(row), file=file, flush=True)
    rows = [row["selected"] > 0 for row in read(path)]
    print(f"something selected in {sum(rows)} of {len(rows)} runs")


def main() -> None:
    """Run what is missing, or show what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", default=",".join(PEERS), help=f"some of {','.join(PEERS)}")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--noise", action="store_true", help="labels without a pattern")
    parser.add_argument("--out", type=Path, default=RESULTS / "peers.jsonl")
    options = parser.parse_args()
    if options.show:
        return show(options.out)
    options.out.parent.mkdir(exist_ok=True)
    if options.noise:
        return on_noise(options.out.with_name("noise.jsonl"), options.seeds)
    signed = set()
    for cell, seed, method in todo(options):
        if method not in signed:
            measured(Cell("xor4", 40, 6), seed, method)  # imports are not the method's time
            sign(options.out.with_name("environment.json"), method)
            signed.add(method)
        with options.out.open("a") as file:
            print(json.dumps(measured(cell, seed, method)), file=file, flush=True)
    return None


if __name__ == "__main__":
    main()
