"""Power at a false discovery rate of 0.1 beside other packages; a later run goes on from the file.

    python docs/scripts/power_bench.py --runs 20
    python docs/scripts/power_bench.py --page

Needs hidimstat and Boruta beside nvsd. A row has what a method keeps, and seconds of one core.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from machine import commit, processor, today, versions
from peers_scores import table
from power_designs import CELLS, Array, about, draw
from scipy.stats import wilcoxon
from threadpoolctl import threadpool_limits

import nvsd

DOCS = Path(__file__).parents[1]
RESULTS = DOCS / "power"
LEVEL = 0.1
TREES = 100  # scikit-learn's default
HOLDS = 2.0  # standard errors by which a false discovery rate may exceed the level

Kept = list[int]


def ours(X: Array, y: Array, seed: int) -> Kept:
    """`nvsd.significance`, q-value up to the level."""
    found = nvsd.significance(X, y, progress=False, random_state=seed)
    return np.flatnonzero(found.q_value.values <= LEVEL).tolist()


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(TREES, random_state=seed)


def _by_folds(name: str, model: Any, seed: int, **options: Any) -> Callable[[Array, Array], Kept]:
    """A method of hidimstat with five folds and its own test."""
    from sklearn.model_selection import KFold

    folds = KFold(5, shuffle=True, random_state=seed)

    def keep(X: Array, y: Array) -> Kept:
        method = getattr(import_module("hidimstat"), name)(model, folds, **options)
        with contextlib.redirect_stderr(io.StringIO()):
            method.fit(X, y)
            method.importance(X, y)
        return np.flatnonzero(np.asarray(method.fdr_selection(LEVEL)) > 0).tolist()

    return keep


def cfi_forest(X: Array, y: Array, seed: int) -> Kept:
    """Conditional feature importance of a forest."""
    return _by_folds("CFICV", _forest(seed), seed, random_state=seed)(X, y)


def cfi_ours(X: Array, y: Array, seed: int) -> Kept:
    """Conditional feature importance of our refit."""
    return _by_folds("CFICV", nvsd.SelectiveRegressor(), seed, random_state=seed)(X, y)


def loco_forest(X: Array, y: Array, seed: int) -> Kept:
    """Leave one covariate out, with a forest."""
    return _by_folds("LOCOCV", _forest(seed), seed)(X, y)


def pfi_forest(X: Array, y: Array, seed: int) -> Kept:
    """Permutation importance of a forest."""
    return _by_folds("PFICV", _forest(seed), seed, random_state=seed)(X, y)


def knockoffs(X: Array, y: Array, seed: int) -> Kept:
    """Gaussian knockoffs and the lasso."""
    method = import_module("hidimstat").ModelXKnockoff(random_state=seed)
    method.fit_importance(X, y)
    return np.flatnonzero(np.asarray(method.fdr_selection(LEVEL)) > 0).tolist()


def boruta(X: Array, y: Array, seed: int) -> Kept:
    """The confirmed inputs."""
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestRegressor

    trees = RandomForestRegressor(max_depth=7, random_state=seed)
    model = BorutaPy(trees, n_estimators="auto", max_iter=60, random_state=seed)
    return np.flatnonzero(model.fit(X, y).support_).tolist()


METHODS: dict[str, tuple[str, Callable[[Array, Array, int], Kept]]] = {
    "ours": ("nvsd", ours),
    "cfi_rf": ("CFI, forest", cfi_forest),
    "cfi_ours": ("CFI, our refit", cfi_ours),
    "loco_rf": ("LOCO, forest", loco_forest),
    "pfi_rf": ("permutation, forest", pfi_forest),
    "knockoffs": ("knockoffs", knockoffs),
    "boruta": ("Boruta", boruta),
}


def read() -> list[dict[str, Any]]:
    """All runs."""
    file = RESULTS / "runs.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def one_run(cell: str, seed: int, method: str) -> dict[str, Any]:
    """What one method keeps of one table."""
    data = draw(cell, seed)
    row = {"cell": cell, "seed": seed, "method": method}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        try:
            kept = METHODS[method][1](data.X, data.y, seed)
        except Exception as error:
            return row | {"failed": f"{type(error).__name__}: {error}"}
    return row | {"kept": kept, "seconds": round(time.process_time() - start, 2)}


def run(runs: int, methods: list[str]) -> None:
    """Run what is not in the file yet."""
    RESULTS.mkdir(exist_ok=True)
    where = {
        "commit": commit(),
        "date": today(),
        "processor": processor(),
        "versions": versions("numpy", "scikit-learn", "hidimstat", "Boruta"),
    }
    (RESULTS / "environment.json").write_text(json.dumps(where, indent=1) + "\n")
    done = {(row["cell"], row["seed"], row["method"]) for row in read()}
    with (RESULTS / "runs.jsonl").open("a") as file:
        for seed in range(runs):
            for cell in CELLS:
                for method in methods:
                    if (cell, seed, method) not in done:
                        print(json.dumps(one_run(cell, seed, method)), file=file, flush=True)


INTRO = f"""\
# Power beside other packages

How many of the true inputs does a method find at a false discovery rate of {LEVEL:g}? Written by
`docs/scripts/power_bench.py` from what it has measured. The cells are in
`docs/scripts/power_designs.py`; they were fixed before the first run. The first five are those of
knockpy. CFI, LOCO and permutation importance are hidimstat's, with five folds and its own test;
knockoffs are its Gaussian ones with the lasso. Forests have scikit-learn's defaults. Boruta has no
level; its confirmed inputs count.

A cell shows the power. In parentheses is the false discovery rate where it is not held: above
{LEVEL:g} by more than {HOLDS:g} standard errors. **Bold** is the best power of those that hold it.
"""

AGAINST = """\
Cells in which a peer holds its rate, by a paired Wilcoxon test at 5 %, which needs six runs:"""


def page() -> str:
    """The page."""
    found: dict[str, dict[str, dict[int, tuple[float, float]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    seconds = defaultdict(list)
    for row in read():
        if "failed" not in row:
            data, kept = draw(row["cell"], row["seed"]), row["kept"]
            false = float(np.isin(kept, data.null).sum() / max(1, len(kept)))
            power = float(np.isin(data.true, kept).mean())
            found[row["cell"]][row["method"]][row["seed"]] = (false, power)
            seconds[row["method"]].append(row["seconds"])
    shown = {m: label for m, (label, _) in METHODS.items() if seconds[m]}
    lines, better = [], {m: [0, 0, 0] for m in shown if m != "ours"}
    for cell in CELLS:
        by_method = found[cell]
        if "ours" not in by_method:
            continue
        holds = {m: _holds(list(by_method[m].values())) for m in shown if by_method[m]}
        powers = {m: np.mean([p for _, p in by_method[m].values()]) for m in holds}
        best = max((powers[m] for m in holds if holds[m]), default=np.nan)
        lines.append([about(cell), str(len(by_method["ours"]))])
        for m in shown:
            lines[-1].append(_entry(by_method[m], powers.get(m), holds.get(m), best))
        for m, counts in better.items():
            if holds.get(m):
                counts[_compare(by_method["ours"], by_method[m])] += 1
    head = ["cell", "runs", *shown.values()]
    times = [["seconds", "", *(f"{np.mean(seconds[m]):.1f}" for m in shown)]]
    against = [[shown[m], *map(str, counts)] for m, counts in better.items()]
    where = json.loads((RESULTS / "environment.json").read_text())
    measured = "; ".join(f"{name}: {value}" for name, value in where.items())
    return "\n".join(
        [
            INTRO,
            table(head, lines + times),
            "",
            AGAINST,
            "",
            table(["peer", "nvsd has more power", "no difference", "less power"], against),
            "",
            f"Measured with {measured}.",
            "",
        ]
    )


def _holds(scores: list[tuple[float, float]]) -> bool:
    false = np.array([f for f, _ in scores])
    return bool(false.mean() <= LEVEL + HOLDS * false.std() / np.sqrt(len(false)))


def _entry(scores: Any, power: float | None, holds: bool | None, best: float) -> str:
    if power is None:
        return "–"
    text = f"{power:.2f}"
    if holds:
        return f"**{text}**" if power >= best - 1e-9 else text
    return f"{text} ({np.mean([f for f, _ in scores.values()]):.2f})"


def _compare(ours: dict[int, tuple[float, float]], theirs: dict[int, tuple[float, float]]) -> int:
    """0: ours has more power, 2: less, 1: a paired test does not tell."""
    seeds = sorted(set(ours) & set(theirs))
    difference = np.array([ours[s][1] - theirs[s][1] for s in seeds])
    if not difference.any() or wilcoxon(difference).pvalue > 0.05:
        return 1
    return 0 if difference.mean() > 0 else 2


def main() -> None:
    """Run, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.page:
        (DOCS / "power.md").write_text(page())
    else:
        run(options.runs, options.methods.split(","))


if __name__ == "__main__":
    main()
