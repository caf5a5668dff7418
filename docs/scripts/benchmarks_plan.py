"""docs/benchmarks_plan.md: all cells and methods, and what the run costs, before it is started.

    python docs/scripts/benchmarks_plan.py --measure    # times of small fits, about ten minutes
    python docs/scripts/benchmarks_plan.py

Times are measured on replications that are never reported.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from peers_bench import read
from peers_scores import table

from nvsd.benchmark import ABOUT, LEFT_OUT, METHODS, SUITES, Cell, Task, compute
from nvsd.benchmark.budget import Measured, costs, hours, read_measured
from nvsd.benchmark.suites import PILOT, TUNED, is_of_classes

DOCS = Path(__file__).parents[1]
TIMES = DOCS / "benchmarks" / "times.jsonl"
REPLICATIONS = 10
PILOTS = [
    Cell("public", "jse2", 100, 10),
    Cell("public", "chen", 100, 50),
    Cell("unseen", "season", 400, 24),
    Cell("public", "friedman1", 200, 205),
    Cell("public", "sine", 1000, 18),
]
TEXT = """\
# The plan of the benchmark

The cells, methods and rules below were fixed before the first reported run;
`docs/scripts/benchmarks_plan.py` writes this page. [Benchmarks](benchmarks.md) has the results.

- Each cell has {replications} replications. Data depend only on the names of the cell and the
  number of the replication. Columns are shuffled.
- Every method has its authors' defaults and one thread. Constants of `nvsd.select` were tuned on
  other problems or other draws: `docs/scripts/selection_problems.py` names them. Nothing was tuned
  on the suite *unseen*.
- A method runs in the cells that it can take: the table of methods says how many. Slow methods run
  only where n·d, or the number of rows, is small.
- Two scores differ in a cell if a two-sided Wilcoxon test over the replications says so at 5 %.
- Peers may be tuned, all with the same budget of validation, in these six cells only: {tuned}.

## What it costs

Core-hours for {replications} replications, estimated as factor · n^a · d^b from measured times of
small fits (`docs/benchmarks/times.jsonl`, on a busy machine, and `docs/selection/peers.jsonl`):
**{total:.0f} core-hours in all**.

{methods}
Left out: {left_out}.
"""


def before() -> list[Measured]:
    """Times that `peers_bench.py` has stored, of the methods that it knows."""
    rows = [row for row in read(DOCS / "selection" / "peers.jsonl") if "seconds" in row]
    return [
        Measured(row["method"], *row["cell"][2:], row["seconds"])
        for row in rows
        if row["method"] in METHODS
    ]


def measure(times: Path) -> None:
    """Time the other installed methods in the pilot cells that they take; a later call goes on."""
    times.parent.mkdir(exist_ok=True)
    done = {tuple(row[:3]) for row in read_measured(times)} if times.exists() else set()
    known = {row.method for row in before()}
    for cell in PILOTS:
        for key, method in METHODS.items():
            if key in known or (key, cell.n, cell.d) in done or method.missing:
                continue
            if not method.takes(cell.n, cell.d, is_of_classes(cell)):
                continue
            record = compute(Task(*cell, PILOT, key))
            if "failed" in record:
                print(cell.name, key, record["failed"])
                continue
            row = Measured(key, cell.n, cell.d, record["spent"])
            with times.open("a") as file:
                print(json.dumps(row), file=file, flush=True)
            print(*row, flush=True)


def plan(times: Path) -> str:
    """The page."""
    every = [cell for cells in SUITES.values() for cell in cells]
    measured = [*(read_measured(times) if times.exists() else []), *before()]
    known = hours(every, costs(measured), REPLICATIONS)
    rows = []
    for key, method in METHODS.items():
        cells, cost = known.get(key, (None, None))
        count = sum(method.takes(cell.n, cell.d, is_of_classes(cell)) for cell in every)
        cost_text = "not measured" if cost is None else f"{cost:.1f}"
        rows.append([method.label, method.about, str(count), cost_text])
    text = TEXT.format(
        replications=REPLICATIONS,
        tuned="; ".join(f"{cell.suite}, {cell.name}" for cell in TUNED),
        total=sum(cost for _, cost in known.values()),
        methods=table(["method", "what is measured", "cells", "core-hours"], rows),
        left_out="; ".join(f"{name}, because {why}" for name, why in LEFT_OUT.items()),
    )
    parts = [text]
    for suite, cells in SUITES.items():
        rows = [[cell.problem, str(cell.n), str(cell.d)] for cell in cells]
        parts += [
            f"## {suite}: {ABOUT[suite]}\n",
            f"{len(cells)} cells.\n",
            table(["problem", "rows", "inputs"], rows),
        ]
    return "\n".join(parts)


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--times", type=Path, default=TIMES)
    parser.add_argument("--page", type=Path, default=DOCS / "benchmarks_plan.md")
    options = parser.parse_args()
    if options.measure:
        measure(options.times)
    else:
        options.page.write_text(plan(options.times))


if __name__ == "__main__":
    main()
