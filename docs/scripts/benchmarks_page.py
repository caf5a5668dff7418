"""docs/benchmarks.md from the stored results of `nvsd benchmark`.

    nvsd benchmark public --out runs --known docs/benchmarks   # and the other suites
    cp runs/*.nc docs/benchmarks/
    python docs/scripts/benchmarks_page.py

What has not been measured is left out. `docs/benchmarks/explanations.json` says for a problem, as
in {"public/ring": "..."}, why another method is better there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import xarray as xr
from benchmarks_pictures import picture
from peers_scores import table
from significance_page import read as significance_runs
from significance_page import scores as significance_scores

from nvsd.benchmark import ABOUT, LEFT_OUT, METHODS, OURS, SUITES, load_suites
from nvsd.benchmark.comparison import against, losses, mean_and_error, not_worse, score
from nvsd.benchmark.scores import Score

DOCS = Path(__file__).parents[1]
RANKING = Score("average_precision", "ranking (average precision)", 1)
SHARE = Score("share", "true inputs on top", 1)
SET = Score("distance", "set (Tanimoto distance)", -1)
ERROR = Score("error", "error of the own predictions (1 − R², or log-loss)", -1)
REFIT = Score("refit_error", "error of a forest on the set", -1)
JUDGED = (RANKING, SET, ERROR)
TABLES = (SHARE, RANKING, SET, ERROR, REFIT)
FEWEST = 6  # replications with which the Wilcoxon test can reach 5 %

INTRO = """\
# Benchmarks

Does `nvsd.select` beat what you use now, on data that its authors did not pick? Every method has
its authors' defaults and sees the same data on one thread. `docs/scripts/benchmarks_page.py`
writes this page from what `nvsd benchmark` has measured. [The plan](benchmarks_plan.md), with all
cells and methods, was fixed before the first reported run. A cell is a problem with its numbers of
rows and inputs.

**{replications}**
"""
PICTURE = """\
![Left: share of the true inputs that each method ranks on top. Right: mean ranks of the methods
with their critical difference]({place})

*Left: longer is better. Right: methods that one thick bar joins do not differ significantly
(Nemenyi, 5 %). Only methods that ran in nine of ten cells are shown.*
"""
SHORT = """\
## In short

Number of cells in which `nvsd.select` is not significantly worse than any other method, by a
two-sided Wilcoxon test over the replications at 5 %, method by method and without a correction for
their number. With fewer than {fewest} replications no difference can be significant.
"""
PEERS = """\
## Against each method

Cells in which `nvsd.select` is significantly better / not different / significantly worse, over all
suites, and the p-value of a Wilcoxon test over the means of the cells; the arrow points to the
better one of the two.
"""
LOST = """\
## Where another method is better

Every cell in which `nvsd.select` is significantly worse than another method.
"""


def joined(suites: dict[str, xr.Dataset], name: str) -> xr.DataArray:
    """A score in the cells of all suites."""
    parts = []
    for suite, results in suites.items():
        values = score(results, name).reset_coords(drop=True)
        parts.append(values.assign_coords(cell=[f"{suite}/{c}" for c in values["cell"].values]))
    every = xr.concat(parts, "cell", join="outer").transpose("method", "cell", "replication")
    return every.sel({"method": [key for key in METHODS if key in every["method"].values]})


def counted(suites: dict[str, xr.Dataset]) -> str:
    """How many replications there are, plainly."""
    if not suites:
        return "Nothing has been run yet: there are 0 replications."
    parts = []
    for suite, results in suites.items():
        done = results["seconds"].notnull()
        number = done.any("method").any("cell").sum().item()
        full = done.any("replication").any("method").sum().item()
        parts.append(f"{suite} {number} ({full} of {len(SUITES[suite])} cells)")
    missing = [suite for suite in SUITES if suite not in suites]
    rest = f" Not run yet: {', '.join(missing)}." if missing else ""
    return f"Replications so far: {', '.join(parts)}; 10 of each are planned.{rest}"


def in_short(suites: dict[str, xr.Dataset]) -> str:
    """Cells that are not lost, by suite and kind of score."""
    rows = []
    for suite, results in suites.items():
        found = [not_worse(score(results, s.name), s.sign) for s in JUDGED]
        rows.append([suite, ABOUT[suite], *(f"{a} of {b}" if b else "–" for a, b in found)])
    return table(["suite", "", *(s.title for s in JUDGED)], rows)


def against_each(suites: dict[str, xr.Dataset]) -> str:
    """Cells won, equal and lost, and the test over the cells."""
    every = {s.name: against(joined(suites, s.name), s.sign) for s in (*JUDGED, REFIT)}
    peers = [key for key in METHODS if any(v.peer == key for vs in every.values() for v in vs)]
    rows = []
    for peer in peers:
        row = [METHODS[peer].label]
        for verdicts in every.values():
            one = next((v for v in verdicts if v.peer == peer), None)
            arrow = "" if one is None else {1: "← ", -1: "→ ", 0: ""}[one.side]
            row.append(
                "–" if one is None else
                f"{one.better} / {one.equal} / {one.worse} ({arrow}p = {one.p:.2g})"
            )  # fmt: skip
        rows.append(row)
    head = ["nvsd.select ← or → other method", *(s.title for s in (*JUDGED, REFIT))]
    return table(head, rows)


def cells_table(results: xr.Dataset, s: Score) -> str:
    """Mean ± standard error of one score, the best mean in bold."""
    means, errors = mean_and_error(score(results, s.name))
    means = means.transpose("cell", "method")
    shown = means["method"].values[means.notnull().any("cell").values]
    means, errors = (
        means.sel({"method": shown}),
        errors.transpose("cell", "method").sel({"method": shown}),
    )
    if not means.size:
        return ""
    best = (s.sign * means).max("method")
    rows = []
    for cell in means["cell"].values:
        row = [str(cell)]
        for key in shown:
            m, e = (
                float(means.sel({"cell": cell, "method": key})),
                float(errors.sel({"cell": cell, "method": key})),
            )
            bold = "**" if s.sign * m >= float(best.sel(cell=cell)) - 0.005 else ""
            text = f"{bold}{m:.2f}{bold}" + (f" ± {e:.2f}" if np.isfinite(e) else "")
            row.append(text if np.isfinite(m) else "–")
        rows.append(row)
    return table(["cell", *(METHODS[str(key)].label for key in shown)], rows)


def suite_tables(suite: str, results: xr.Dataset) -> list[str]:
    """All tables of one suite."""
    parts = [f"## {ABOUT[suite][0].upper()}{ABOUT[suite][1:]}\n"]
    for s in TABLES:
        text = cells_table(results, s)
        if text:
            parts += [f"### {suite}: {s.title}\n", text]
    return parts


def lost(suites: dict[str, xr.Dataset], explained: dict[str, str]) -> str:
    """One line for each cell, score and method that is better."""
    lines = []
    for suite, results in suites.items():
        for s in JUDGED:
            for loss in losses(score(results, s.name), s.sign):
                why = explained.get(f"{suite}/{loss.cell.split(',')[0]}", "Not explained yet.")
                lines.append(
                    f"- {suite}, {loss.cell}, {s.title}: {loss.ours:.3g} of `select`, "
                    f"{loss.theirs:.3g} of {METHODS[loss.peer].label} (p = {loss.p:.2g}). {why}"
                )
    return "\n".join(lines or ["None so far."]) + "\n"


def error_control(suites: dict[str, xr.Dataset]) -> list[str]:
    """False discoveries of the methods that choose a set, and what is known of our tests."""
    rows = []
    noise = suites.get("noise")
    rest = {suite: r for suite, r in suites.items() if suite not in ("noise", "prediction")}
    for key in METHODS:
        found = []
        if noise is not None and key in noise["method"].values:
            chosen = noise["size"].sel({"method": key})
            found.append(float((chosen.where(chosen.isnull(), chosen > 0)).mean()))
        else:
            found.append(np.nan)
        for name in ("fdp", "power"):
            values = joined(rest, name) if rest else None
            has = values is not None and key in values["method"].values
            found.append(float(values.sel({"method": key}).mean()) if has else np.nan)
        if np.isfinite(found).any():
            texts = [f"{value:.2f}" if np.isfinite(value) else "–" for value in found]
            rows.append([METHODS[key].label, *texts])
    head = ["method", "runs on noise that select something", "false discoveries", "power"]
    return ["## How often is it wrong?\n", table(head, rows), tested()]


def tested() -> str:
    """What docs/significance.md has measured, in one sentence."""
    rows = significance_runs()
    by_cell = {number: [r for r in rows if r["cell"] == number] for number in range(24)}
    rates = [significance_scores(r, number)["fdr"].mean() for number, r in by_cell.items() if r]
    return (
        f"On the 24 designs of [the tests](significance.md), `fdr=0.1` has a mean false discovery "
        f"rate of {np.mean(rates):.3f} over the designs, and {np.max(rates):.2f} in the worst.\n"
    )


def times(suites: dict[str, xr.Dataset]) -> str:
    """Median seconds of one core, and memory."""
    seconds, memory = joined(suites, "seconds"), joined(suites, "memory")
    rows = []
    for key in seconds["method"].values:
        s, m = seconds.sel({"method": key}), memory.sel({"method": key})
        cells = int(s.notnull().any("replication").sum())
        least = f"{float(s.median()):.2g} s", f"{float(s.max()):.2g} s", f"{float(m.max()):.0f}"
        rows.append([METHODS[str(key)].label, str(cells), *least])
    head = ["method", "cells", "median", "longest", "most memory, MiB"]
    return "## Seconds of one core\n\n" + table(head, rows)


def methods(suites: dict[str, xr.Dataset]) -> list[str]:
    """What each method is, with what it was run, what is missing and what failed."""
    lines, made = [], {}
    for results in suites.values():
        for key in results["method"].values:
            facts = [str(results[n].sel({"method": key}).item()) for n in ("versions", "made")]
            facts += (
                [f"commit {results['commit'].sel({'method': key}).item()}"] if key == OURS else []
            )
            made[str(key)] = ", ".join(fact for fact in facts if fact)
    for key, method in METHODS.items():
        if key in made:
            lines.append(f"- **{method.label}**: {method.about} ({made[key]}).")
    absent = [method.label for key, method in METHODS.items() if key not in made]
    lines += [f"- Not run: {', '.join(absent)}."] if absent else []
    lines += [f"- Left out: {name}, because {why}." for name, why in LEFT_OUT.items()]
    for suite, results in suites.items():
        for key, why, count in json.loads(results.attrs["failures"]):
            lines.append(f"- {METHODS[key].label} failed {count} times in {suite}: {why}")
    machines = sorted({str(m) for r in suites.values() for m in r["machine"].values if m})
    return ["## Methods\n", "\n".join(lines) + "\n", f"Run on {', '.join(machines)}.\n"]


def page(folder: Path, image: Path) -> str:
    """The whole page; the picture is drawn on the way."""
    suites = load_suites(folder)
    parts = [INTRO.format(replications=counted(suites))]
    if not suites:
        return "\n".join(parts)
    known = folder / "explanations.json"
    explained = json.loads(known.read_text()) if known.exists() else {}
    if picture(image, joined(suites, SHARE.name), joined(suites, RANKING.name)):
        parts.append(PICTURE.format(place=f"images/{image.name}"))
    parts += [SHORT.format(fewest=FEWEST), in_short(suites), PEERS, against_each(suites)]
    parts += [LOST, lost(suites, explained), *error_control(suites), times(suites)]
    for suite, results in suites.items():
        parts += suite_tables(suite, results)
    return "\n".join([*parts, *methods(suites)])


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=DOCS / "benchmarks")
    parser.add_argument("--page", type=Path, default=DOCS / "benchmarks.md")
    parser.add_argument("--image", type=Path, default=DOCS / "images" / "benchmarks.png")
    options = parser.parse_args()
    options.page.write_text(page(options.results, options.image))


if __name__ == "__main__":
    main()
