"""How long `nvsd.select` takes: beside others, as rows grow, and beside a busy neighbour.

    python docs/scripts/selection_speed.py           measures what is not stored yet
    python docs/scripts/selection_page.py            writes it into docs/selection.md

Every case runs in a process of its own, which says its seconds and its peak memory. Nothing else
may run on the machine. A forest of 500 trees takes minutes to hours on many rows: there ten trees
are timed, and their time is multiplied by 50.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import commit, processor, today, versions
from peers_scores import table

RESULTS = Path(__file__).parents[1] / "selection" / "speed.jsonl"
SMALL = [(200, 20), (500, 20), (1000, 20), (1000, 50), (1000, 200)]
LARGE = [(10_000, 50), (100_000, 50)]
GROWTH = [(10_000, 20), (100_000, 20), (1_000_000, 20)]
POOL = [(500, 20), (1000, 20)]
LABELS = {
    "select": "`select`, p-values when asked for",
    "tested": "`select(p_values=True)`",
    "pool": '`select(method="pool")`',
    "boruta": "Boruta",
    "forest": "forest of 500 trees",
}
FEW_TREES = 10
BUSY = [(1000, 20), (10_000, 50)]


def cases() -> list[tuple[str, int, int]]:
    """Method, rows and inputs; a method "busy" is select beside a busy process."""
    found = [(method, *size) for size in SMALL for method in ("select", "tested", "boruta")]
    found += [(method, *size) for size in LARGE for method in ("select", "tested", "forest")]
    found += [("pool", *size) for size in POOL]
    found += [("busy", *size) for size in BUSY]
    return found + [("select", *size) for size in GROWTH]


def run(method: str, n: int, d: int) -> None:
    """Run one case in this process, and print what it took."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] ** 2 + 0.3 * rng.standard_normal(n)
    call = prepared(method, n)
    call(X[:60], y[:60])  # imports, and pages of memory, are nobody's time
    start = time.perf_counter()
    found = call(X, y)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    factor = 500 / FEW_TREES if method == "forest" else 1.0
    row: dict[str, Any] = {"seconds": round(factor * seconds, 3), "megabytes": round(peak)}
    print(json.dumps(row | ({"selected": found} if found is not None else {})))


def prepared(method: str, n: int) -> Any:
    """What is timed."""
    if method == "forest":
        from sklearn.ensemble import RandomForestRegressor

        def fit(X: Any, y: Any) -> None:
            RandomForestRegressor(FEW_TREES, random_state=0).fit(X, y)

        return fit
    if method == "boruta":
        from nvsd.benchmark.methods.forests import boruta

        def confirmed(X: Any, y: Any) -> list[str]:
            return [f"x{a}" for a in np.flatnonzero(boruta(X, y, False, 0).selected)]

        return confirmed
    import nvsd

    given = {"tested": {"p_values": True}, "pool": {"method": "pool"}}.get(method, {})
    if method in ("select", "busy"):
        given = {"p_values": False}
    return lambda X, y: [str(name) for name in nvsd.select(X, y, **given).selected]


def measure(case: tuple[str, int, int]) -> dict[str, Any]:
    """Run a case in a process of its own, beside a busy one if it says so."""
    loop = [sys.executable, "-c", "while True: pass"]
    busy = subprocess.Popen(loop) if case[0] == "busy" else None
    try:
        command = [sys.executable, __file__, *map(str, case)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    finally:
        if busy is not None:
            busy.kill()
            busy.wait()
    return {"case": case, **json.loads(done.stdout.splitlines()[-1])}


def stored() -> dict[tuple[Any, ...], dict[str, Any]]:
    """What was measured, by case."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {tuple(row["case"]): row for row in map(json.loads, lines) if "case" in row}


def page() -> str:
    """The part of docs/selection.md on time; empty before the first measurement."""
    known = stored()
    if not known:
        return ""
    made = next(row for row in map(json.loads, RESULTS.read_text().splitlines()) if "cores" in row)
    facts = "; ".join(f"{key}: {value}" for key, value in made.items())

    def seconds(case: tuple[Any, ...]) -> str:
        if case not in known:
            return "–"
        value = known[case]["seconds"]
        return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"

    sizes = [*SMALL, *LARGE]
    beside = [
        [f"{n:,} x {d}".replace(",", " "), *(seconds((m, n, d)) for m in LABELS)] for n, d in sizes
    ]
    growth = [
        [f"{n:,} x {d}".replace(",", " "), seconds(case), f"{known[case]['megabytes']} MB"]
        for n, d in GROWTH
        if (case := ("select", n, d)) in known
    ]
    busy = [
        f"{known['busy', *size]['seconds'] / known['select', *size]['seconds']:.2f} at "
        f"{size[0]} x {size[1]}"
        for size in BUSY
        if ("busy", *size) in known and ("select", *size) in known
    ]
    return f"""\
## Time

y = sin 2x₁ + x₂x₃ + x₄² + .3ε, normal inputs. The forest has scikit-learn's defaults; the time of
{FEW_TREES} of its trees is multiplied. Boruta has forests of depth 7 and 60 rounds.

{table(["rows x inputs", *LABELS.values()], beside)}
Growth of `select` in the number of rows, and the peak memory of the process, data included:

{table(["rows x inputs", "time", "peak memory"], growth)}
With one of the cores busy, the time grows by a factor of {", ".join(busy) or "–"}.

Measured with {facts}.
"""


def main() -> None:
    """Measure what is missing."""
    known = stored()
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        if not known:
            made = {"cores": os.cpu_count(), "processor": processor(), "commit": commit()}
            made |= {"date": today(), "versions": versions("numpy", "scipy", "scikit-learn")}
            print(json.dumps(made), file=file, flush=True)
        for case in cases():
            if case not in known:
                print(json.dumps(measure(case)), file=file, flush=True)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 1 else main()
