"""Measure how nvsd scales, and write docs/scaling.md and its plots from what was measured.

    python docs/scripts/scaling.py run              # hours on two cores; goes on where it stopped
    python docs/scripts/scaling.py run --only rows  # one experiment
    python docs/scripts/scaling.py run --quick      # small sizes, minutes
    python docs/scripts/scaling.py render

Every case runs in a process of its own and adds one line of JSON to docs/scaling.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import scaling_cases
from machine import commit, processor, today, versions
from scaling_page import page

ROOT = Path(__file__).parents[2]
STORE = ROOT / "docs" / "scaling.jsonl"

Case = dict[str, Any]


def grid(experiment: str, **values: Any) -> list[Case]:
    """All combinations of the values, each a case."""
    lists = [value if isinstance(value, (list, tuple)) else [value] for value in values.values()]
    return [
        {"experiment": experiment} | dict(zip(values, combination, strict=True))
        for combination in product(*lists)
    ]


E1, SQUARE = "E1, cubic, d = 18", "degree 2, d = 100"
WIDE = [
    "path, Gaussian",
    "path, cubic",
    "elimination, Gaussian",
    "elimination, cubic",
    "HSIC Lasso",
]
SIZES = [1000, 5000, 10_000, 50_000]

FULL = [
    *grid("exact", problem=["E3, Gaussian", "E1, cubic"], n=[30, 50, 110, 200, 350, 500]),
    *grid("accuracy", shift=[0.0, 1.0, 10.0, 100.0], n=20_000),
    *grid("agreement", n=100_000, chunks=16),
    *grid("elimination", n=[100, 300, 1000], seed=[0, 1, 2]),
    *grid("rows", problem=E1, n=[1000, 3000, 10_000, 30_000, 100_000, 300_000], kind="numpy"),
    *grid("rows", problem=E1, n=1_000_000, kind=["numpy", "blocks", "dask"]),
    *grid("rows", problem=E1, n=100_000, kind="dask"),
    *grid("rows", problem=SQUARE, n=[10_000, 100_000, 1_000_000], kind="blocks"),
    *grid("points", n=2000, seed=0, m_v=[25, 50, 100, 200], m=[25, 50, 100, 200]),
    *grid("landmarks", problem="sine", n=SIZES, seed=0, m=150),
    *grid("landmarks", problem="logarithm", n=SIZES, seed=0, m=30),
    *grid(
        "regression", problem=["sine", "logarithm"], n=SIZES, seed=0, m_select=1000, m_refit=2000
    ),
    *grid("wide", n=200, d=1000, seed=[0, 1, 2], method=WIDE),
]

QUICK = [
    *grid("exact", problem=["E3, Gaussian", "E1, cubic"], n=[30, 50]),
    *grid("accuracy", shift=[0.0, 10.0], n=2000),
    *grid("agreement", n=2000, chunks=4),
    *grid("elimination", n=100, seed=0),
    *grid("rows", problem=E1, n=[1000, 3000], kind=["numpy", "blocks"]),
    *grid("points", n=300, seed=0, m_v=20, m=[20, 40]),
    *grid("landmarks", problem="sine", n=500, seed=0, m=20),
    *grid("regression", problem="sine", n=500, seed=0, m_select=100, m_refit=200),
    *grid("wide", n=50, d=60, seed=0, method=WIDE),
]


def environment() -> dict[str, str]:
    """What the numbers depend on besides the code."""
    threads = os.environ.get("OMP_NUM_THREADS", str(os.cpu_count()))
    return {
        "processor": processor(),
        "threads": threads,
        "versions": versions("nvsd", "numpy", "scipy", "dask"),
        "commit": commit(),
        "date": today(),
    }


def stored(path: Path) -> list[Case]:
    """What has been measured; of equal cases the last one counts."""
    if not path.exists():
        return []
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return list({json.dumps(line["case"], sort_keys=True): line for line in lines}.values())


def measure(case: Case) -> Case:
    """Run one case in this process."""
    function = getattr(scaling_cases, case["experiment"])
    result = function(**{name: value for name, value in case.items() if name != "experiment"})
    # In kB on Linux; of this process, the workers of a cluster not included.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return {"case": case, "result": result | {"megabytes": peak}, "environment": environment()}


def run(cases: list[Case], path: Path, threads: int) -> None:
    """Run what has not been run, each case in a process of its own."""
    done = {json.dumps(line["case"], sort_keys=True) for line in stored(path)}
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    settings = os.environ | dict.fromkeys(variables, str(threads))
    for number, case in enumerate(cases, 1):
        text = json.dumps(case, sort_keys=True)
        if text in done:
            continue
        print(f"{number}/{len(cases)} {text}", flush=True)
        command = [sys.executable, __file__, "case", text]
        answer = subprocess.run(command, env=settings, stdout=subprocess.PIPE, text=True)
        if answer.returncode:
            print(f"failed with {answer.returncode}; it will be tried again", flush=True)
            continue
        with path.open("a") as file:
            file.write(answer.stdout.splitlines()[-1] + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=["run", "render", "case"])
    parser.add_argument("case", nargs="?", help="one case, as JSON")
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "scaling.md")
    parser.add_argument("--only", help="one experiment")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if arguments.command == "case":
        print(json.dumps(measure(json.loads(arguments.case))))
    elif arguments.command == "run":
        cases = QUICK if arguments.quick else FULL
        cases = [c for c in cases if arguments.only in (None, c["experiment"])]
        run(cases, arguments.store, arguments.threads)
    else:
        arguments.page.write_text(page(stored(arguments.store), arguments.page.parent / "images"))


if __name__ == "__main__":
    main()
