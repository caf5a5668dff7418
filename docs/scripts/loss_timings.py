"""How long paths with other losses take: growth in rows, and CVXPY at one τ beside them.

python docs/scripts/loss_timings.py           measures, one line for each case in docs/losses
python docs/scripts/loss_timings.py --page    writes docs/loss_timings.md from what is stored

The cases are those of asv's `losses.LossQuality` and `full_losses.OneTauOfLosses`. A case that is
stored is not measured again. Nothing else should run on the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
sys.path.insert(0, str(DOCS.parent))

from machine import commit, processor, today, versions  # noqa: E402
from peers_scores import table  # noqa: E402

from asv_benchmarks.benchmarks import common, full_losses, losses, peers  # noqa: E402

RESULTS = DOCS / "losses"
SIZES = [30, 50, 70, 110, 200, 300]
LIMIT = 150.0  # seconds for Clarabel
INTRO = """\
# Speed with other losses

Written by `docs/scripts/loss_timings.py` from what it has measured and stored. The problems are the
paper's, d = 18, ν = 10⁻³, with 50 values of τ. For the logistic loss y becomes classes at its
median. Every point has a gap of at most 10⁻⁶ of the loss of the best constant.

Squares need no second split, so their path is the fastest. The other losses go through S2: they
need more iterations, and each solves one more small system.

What to see: with the Gaussian kernel of E3, losses differ less the larger n is, because all need
the same factorisations. The cubic kernel of E1 has explicit features, so there S1 does not grow
with n.
"""
ONE_TAU = f"""\
## Our 50 τ beside one τ of CVXPY

`reference` states the problem in CVXPY, in the coefficients ω. CVXPY and the solver behind it have
their defaults, and their time includes compilation. Clarabel is stopped after {LIMIT:.0f} s: then
its time is a lower bound and the ratio an upper one, with ≤.
"""


def stored() -> dict[tuple[Any, ...], dict[str, Any]]:
    """What was measured, by case."""
    file = RESULTS / "timings.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return {tuple(row["case"]): row for row in map(json.loads, lines)}


def measure() -> None:
    """Measure the cases that are not stored."""
    RESULTS.mkdir(exist_ok=True)
    peers.LIMITS["CLARABEL"] = {"time_limit": LIMIT}
    common.warm_up()
    where = {
        "commit": commit(),
        "date": today(),
        "processor": processor(),
        "versions": versions("numpy", "scipy", "cvxpy", "scs", "clarabel"),
    }
    (RESULTS / "environment.json").write_text(json.dumps(where, indent=1) + "\n")
    known = stored()
    growth, one_tau = losses.LossQuality(), full_losses.OneTauOfLosses()
    cases = [("one", *c) for c in product(*one_tau.params)]
    cases += [("growth", *c) for c in product(losses.LOSSES, ["E1", "E3"], SIZES)]
    for case in cases:
        if case in known:
            continue
        kind, *given = case
        found = (growth if kind == "growth" else one_tau).measure(*given)
        with (RESULTS / "timings.jsonl").open("a") as out:
            out.write(json.dumps({"case": case, **found}) + "\n")
        print(case, found, flush=True)


def page() -> str:
    """The page."""
    rows = stored()
    parts = [INTRO]
    for name in ("E1", "E3"):
        lines = [
            [loss, *(_seconds(rows.get(("growth", loss, name, n))) for n in SIZES)]
            for loss in losses.LOSSES
        ]
        parts += [
            f"## Seconds of the path on {name}\n",
            table(["loss", *(f"n = {n}" for n in SIZES)], lines),
        ]
    lines = [_against(case, row) for case, row in rows.items() if case[0] == "one"]
    head = ["CVXPY with", "loss", "problem", "our 50 τ", "its one τ", "ratio"]
    where = json.loads((RESULTS / "environment.json").read_text())
    measured = "; ".join(f"{name}: {value}" for name, value in where.items())
    return "\n".join([*parts, ONE_TAU, table(head, lines), f"Measured with {measured}.", ""])


def _seconds(row: dict[str, Any] | None) -> str:
    return "–" if row is None else f"{row['seconds']:.2f}"


def _against(case: tuple[Any, ...], row: dict[str, Any]) -> list[str]:
    _, peer, loss, name, _ = case
    stopped = peer == "CLARABEL" and row["peer"] >= LIMIT
    ratio = f"{'≤ ' if stopped else ''}1/{1 / row['ratio']:.0f}"
    shown = {"CLARABEL": "Clarabel"}.get(peer, peer)
    return [shown, loss, name, f"{row['ours']:.2f} s", f"{row['peer']:.0f} s", ratio]


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true")
    if parser.parse_args().page:
        (DOCS / "loss_timings.md").write_text(page())
    else:
        measure()


if __name__ == "__main__":
    main()
