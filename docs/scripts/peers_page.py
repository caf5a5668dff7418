"""The part of docs/selection.md that sets `nvsd.select` beside other methods.

`selection_page.py` writes the page; what has not been measured is left out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import selection_problems
from peers import PEERS
from peers_bench import SUITES, read
from peers_published import published
from peers_scores import (
    OURS,
    SCORES,
    Runs,
    Score,
    Scores,
    best,
    load,
    mean_of,
    present,
    shown,
    table,
    verdict,
)

from nvsd.benchmark import unseen
from nvsd.benchmark.effects import total_effects

FAINT = 0.01  # total Sobol index below which a true input can hardly be found
FAINT_ROWS = 50_000

SUITE_TITLES = {
    "public": "public problems",
    "unseen": "24 kinds that nothing was tuned on",
}
INTRO = """\
## Beside other methods

Every method on the same data, with its authors' defaults, on one thread; written from
`docs/selection/peers.jsonl`, which `docs/scripts/peers_bench.py` makes. Columns are shuffled, so
that ties in a ranking help nobody. y of the rings is 0 or 1, and all methods regress on it. R² is
that of a method's own predictions at 1000 fresh rows without noise; below −1 it counts as −1 in
means. A cell has mean ± standard error over its runs. Bold is the best mean, and what differs from
it by at most two standard errors of the paired difference, or by less than the digits shown; with
three runs that is a low bar, and with one run no bar at all. A dash is what a method does not have,
or what was not run: too slow there.
"""
RULE = """\
Cells in which `select` is better / equal / worse, by the same rule, over the seeds that both have,
and the means of both over these cells:
"""
EFFECTS = """\
Not every input of a formula can be found: these have a total Sobol index below {faint}, so that a
share of 1 is luck there:
{inputs}."""


def score_table(scores: Scores, show: Callable[[dict[str, Runs], str], str]) -> str:
    """One row for each cell, one column for each method."""
    methods = present(scores)
    rows = [
        [
            cell.kind,
            str(cell.n),
            str(cell.d),
            *(show(runs, m) if m in runs else "–" for m in methods),
        ]
        for cell, runs in scores.items()
    ]
    return table(["problem", "rows", "inputs", *(PEERS[m].label for m in methods)], rows)


def with_best(sign: int) -> Callable[[dict[str, Runs], str], str]:
    return lambda runs, method: shown(runs[method], method in best(runs, sign))


def seconds(runs: dict[str, Runs], method: str) -> str:
    return f"{mean_of(runs[method]):.2g}"


def summary(path: Path) -> str:
    """Cells won, equal and lost against each peer."""
    rows = []
    for suite in SUITES:
        for score in SCORES:
            scores = load(path, suite, score.name)
            peers = [peer for peer in present(scores) if peer != OURS]
            found = [(peer, against(scores, peer, score)) for peer in peers]
            rows += [[suite, score.title, PEERS[p].label, *row] for p, row in found if row]
    if not rows:
        return "`select` itself has not been run on these problems yet.\n"
    head = [
        "problems",
        "score",
        "other method",
        "cells",
        "better / equal / worse",
        "means, ours and theirs",
    ]
    return f"{RULE}\n{table(head, rows)}"


def against(scores: Scores, peer: str, score: Score) -> list[str]:
    """How ours compares with one method: cells, counts, both means; nothing if it does not."""
    counts, both = {1: 0, 0: 0, -1: 0}, []
    for runs in scores.values():
        if OURS in runs and peer in runs:
            won = verdict(runs[OURS], runs[peer], score.sign)
            if won is not None:
                counts[won] += 1
                both.append((mean_of(runs[OURS]), mean_of(runs[peer])))
    if not both:
        return []
    means = np.mean(both, axis=0)
    text = f"{counts[1]} / {counts[0]} / {counts[-1]}"
    return [str(len(both)), text, f"{means[0]:.2f}, {means[1]:.2f}"]


def faint() -> str:
    """Inputs of the public formulas that hardly matter; those with correlated inputs aside."""
    rng, found = np.random.default_rng(0), []
    kinds = dict.fromkeys(cell.kind for cell in SUITES["public"]())
    for name in kinds:
        kind = selection_problems.KINDS[name]
        d = max(kind.true) + 1
        X, again = (kind.draw(rng, FAINT_ROWS, d) for _ in range(2))
        f = np.asarray(kind.f(X), dtype=float)
        for a in kind.true if kind.draw.__name__ != "draw" else ():
            Z = X.copy()
            Z[:, a] = again[:, a]
            effect = np.mean((f - np.asarray(kind.f(Z), dtype=float)) ** 2) / 2 / f.var()
            if effect < FAINT:
                found.append(f"x{a + 1} of {name} ({effect:.1g})")
    return EFFECTS.format(faint=FAINT, inputs=", ".join(found)) + "\n"


def unseen_effects() -> str:
    """The smallest effect of a true input of the unseen kinds."""
    least = {name: total_effects(name).min() for name in unseen.KINDS}
    name = min(least, key=lambda key: least[key])
    return (
        "`docs/scripts/unseen_problems.py`; every true input has a total Sobol index of at least "
        f"{least[name]:.3f} (in {name}).\n"
    )


def tables(path: Path, suite: str) -> list[str]:
    """All scores of a suite, and the time."""
    parts = []
    for score in SCORES:
        scores = load(path, suite, score.name)
        if scores:
            title = f"### {SUITE_TITLES[suite].capitalize()}: {score.title}\n"
            parts += [title, score_table(scores, with_best(score.sign))]
    times = load(path, suite, "seconds")
    if times:
        title = f"### {SUITE_TITLES[suite].capitalize()}: seconds of one core\n"
        parts += [title, score_table(times, seconds)]
        parts.insert(0, faint() if suite == "public" else unseen_effects())
    return parts


def failures(path: Path) -> str:
    """Runs that ended with an error, by method and reason."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for row in read(path):
        if "failed" in row:
            counts[PEERS[row["method"]].label, row["failed"]] += 1
    lines = [f"- {label}: {count} runs failed, {why}" for (label, why), count in counts.items()]
    return "\n".join(["Left out above:\n", *lines]) + "\n" if lines else ""


def methods(path: Path, made: dict[str, Any]) -> str:
    """What each method is, and with what it was run."""
    ran = {row["method"] for row in read(path)}
    lines = []
    for key, peer in PEERS.items():
        if key in ran:
            facts = made.get(key, {})
            names = ("versions", "date", "commit") if key == OURS else ("versions", "date")
            where = ", ".join(str(facts[name]) for name in names if name in facts)
            lines.append(f"- **{peer.label}**: {peer.about}" + (f" ({where})." if where else "."))
    return "\n".join(lines) + "\n"


def beside(folder: Path) -> str:
    """The whole part, empty if nothing was measured."""
    path, signed = folder / "peers.jsonl", folder / "peers_environment.json"
    if not read(path):
        return ""
    made = json.loads(signed.read_text()) if signed.exists() else {}
    parts = [INTRO, methods(path, made), summary(path), published(path)]
    for suite in SUITES:
        parts += tables(path, suite)
    return "\n".join(part for part in [*parts, failures(path)] if part)
