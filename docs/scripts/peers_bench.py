"""`nvsd.select` beside other methods on problems with known inputs; a later run goes on.

    python docs/scripts/peers_bench.py --suite public --methods rf,lgbm --seeds 3
    python docs/scripts/peers_bench.py --suite unseen --methods ours --seeds 3

One JSON line for each (cell, seed, method): the share of the k true inputs among the first k, the
Tanimoto distance of the selected set, R² and mean squared error of the method's own predictions at
1000 fresh rows without noise, and seconds of one core; null for what a method does not have.
Columns are shuffled, the same way for all methods, so that ties help nobody. Small cells come
first. A run that fails has the reason in its line, and is not tried again while the line is there;
--again drops the lines of the methods in the suite first, for which no other run may be writing.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import selection_problems
from machine import commit, processor, today, versions
from peers import PEERS
from threadpoolctl import threadpool_limits

from nvsd.benchmark import unseen as unseen_problems
from nvsd.benchmark.methods import Fit
from nvsd.benchmark.problems import Array, Problem, shuffled

RESULTS = Path(__file__).parents[1] / "selection"
FIRST_SEED = 5000  # no seed that constants were tuned with
SCORES = ("share", "distance", "r2", "mse", "size")


class Cell(NamedTuple):
    """A kind of problem, with n training rows and d inputs."""

    suite: str
    kind: str
    n: int
    d: int


def public() -> list[Cell]:
    """The public problems, at their published sizes where there are such."""
    rings = ("ring", "xor", "ringxor", "ringxorsum")
    small = ("jse2", "jse3", "rodeo1", "rodeo2", "chen")
    own = selection_problems.KINDS
    sizes = [
        *((kind, n, m) for kind in rings for n in (250, 500, 1000) for m in (32, 128, 512, 2048)),
        *((kind, n, 1000) for kind in ("yamada1", "yamada2") for n in (100, 1000)),
        *((kind, n, own[kind].d) for kind in small for n in (own[kind].n, 1000)),
        *((kind, 1000, own[kind].d) for kind in ("sine", "logsum")),
        *(
            (kind, own[kind].n, len(own[kind].true) + noise)
            for kind in ("friedman1", "friedman2", "friedman3")
            for noise in (5, 50, 200)
        ),
    ]
    return [Cell("public", *size) for size in sizes]


def unseen() -> list[Cell]:
    """The kinds that nothing was tuned on."""
    return [Cell("unseen", name, k.n, k.d) for name, k in unseen_problems.KINDS.items()]


TINY = Cell("public", "linear", 40, 6)
SUITES = {"public": public, "unseen": unseen}


def problem(cell: Cell, seed: int) -> Problem:
    """The data of a cell, its columns shuffled."""
    source: Any = unseen_problems if cell.suite == "unseen" else selection_problems
    p = source.make(cell.kind, seed, cell.n, cell.d)
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
            predicted = None if fit.predict is None else np.ravel(fit.predict(p.X_test))
    except Exception as error:
        return row | {"failed": f"{type(error).__name__}: {error}"}
    return row | scores(p, fit, predicted) | {"seconds": round(seconds, 3)}


def scores(p: Problem, fit: Fit, predicted: Array | None) -> dict[str, float | None]:
    """How good it is, None for what the method does not have."""
    found: dict[str, float | None] = dict.fromkeys(SCORES)
    true, k = set(p.true), len(p.true)
    if fit.ranking is not None:
        found["share"] = len(true & set(fit.ranking[:k].tolist())) / k
    if fit.selected is not None:
        chosen = set(np.flatnonzero(fit.selected).tolist())
        found["distance"] = 1 - len(true & chosen) / len(true | chosen)
        found["size"] = len(chosen)
    if predicted is not None:
        mse = float(np.mean((p.y_test - predicted) ** 2))
        found["mse"], found["r2"] = mse, 1 - mse / float(p.y_test.var())
    return {name: None if v is None else float(f"{v:.6g}") for name, v in found.items()}


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; an empty list before the first run."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def drop(path: Path, suite: str, methods: list[str]) -> None:
    """Leave out what a changed method has found before."""
    kept = [r for r in read(path) if r["cell"][0] != suite or r["method"] not in methods]
    path.write_text("".join(json.dumps(row) + "\n" for row in kept))


def todo(options: argparse.Namespace, rows: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """What is not in the file yet, seed by seed, method by method, small cells first."""
    done = {(*row["cell"], row["seed"], row["method"]) for row in rows}
    cells = sorted(SUITES[options.suite](), key=lambda cell: cell.n * cell.d)
    cells = [c for c in cells if c.n * c.d <= options.largest]
    for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
        for method in options.methods.split(","):
            for cell in cells:
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


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", choices=SUITES, required=True)
    parser.add_argument("--methods", required=True, help=f"some of {','.join(PEERS)}")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--largest", type=float, default=np.inf, help="n·d of the largest cell")
    parser.add_argument("--again", action="store_true", help="forget what is known of them")
    parser.add_argument("--out", type=Path, default=RESULTS / "peers.jsonl")
    options = parser.parse_args()
    if unknown := set(options.methods.split(",")) - set(PEERS):
        parser.error(f"there is no method {unknown.pop()!r}; give some of {', '.join(PEERS)}.")
    if options.again:
        drop(options.out, options.suite, options.methods.split(","))
    signed = set()
    with options.out.open("a") as file:
        for cell, seed, method in todo(options, read(options.out)):
            if method not in signed:
                measured(TINY, seed, method)  # imports are not the method's time
                sign(options.out.with_name("peers_environment.json"), method)
                signed.add(method)
            row = json.dumps(measured(cell, seed, method))
            print(row, file=file, flush=True)
            print(row, flush=True)


if __name__ == "__main__":
    main()
