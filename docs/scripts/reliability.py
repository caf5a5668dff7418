"""Write docs/reliability.md from a test run.

    make reliability    # runs the tests with a report, and this script

The tests of reliability note what they tried (`tests/reliability_record.py`); pytest puts that into
its report. What the page needs of it is kept in docs/reliability.json, from which the page can be
written again without a run. Functions that the code no longer has are left out. Results of mutants
are in docs/mutations.jsonl, which tests/attack/mutations.py writes.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from asv_results import markdown
from machine import commit, today
from mutants import read as read_mutants
from mutants import section as mutants_section

ROOT = Path(__file__).parents[2]

# The test files of each category, and what a failure in them would be.
CATEGORIES = {
    "numerical stress": (("test_stress",), "wrong"),
    "invariances": (("test_invariances",), "wrong"),
    "mutated solvers": (("test_certificate_mutations",), "wrong"),
    "hostile files": (("test_fuzz",), "lost"),
    "interrupted work": (
        ("test_interruptions", "test_experiments_interrupted", "test_kills"),
        "lost",
    ),
    "threads and processes": (("test_concurrency",), "wrong"),
    "what a path says": (("test_truth",), "wrong"),
    "damaged files": (("test_damage",), "lost"),
    "signals": (("test_signals",), "hangs"),
    "random frames": (("test_frames",), "wrong"),
}
TRIED = {
    "numerical stress": (
        "repeated, collinear, constant and far samples; units from 1e-150 to 1e150; n = 2, d "
        "= 1, d > n; widths from 1e-3 to 1e3 medians; degree 6; ν from 0 to 1e6; τ from 0 to "
        "10 τ_max; types and layouts of arrays."
    ),
    "invariances": (
        "order of samples and features, units and origins, equivalent penalties, warm and "
        "cold starts, batches, threads, Dask, blocks."
    ),
    "mutated solvers": (
        "wrong κ, perturbed factors, wrong prox, wild extrapolation, early stops, infeasible "
        "dual points. A warning means that the gap told; without one the result was good."
    ),
    "hostile files": (
        "random and damaged CSV, JSON and netCDF files, pickles in them, full disks, odd "
        "names of inputs."
    ),
    "interrupted work": (
        "kill -9 of the process group at random moments, Ctrl-C, full disks, too little memory."
    ),
    "threads and processes": ("threads, forked and spawned processes, pickles, shared factors."),
    "what a path says": (
        "objective, its parts, fitted values and derivative norms of random problems "
        "(kernels, penalties, losses, representations, origins, τ from 0 to 1e9 τ_max), "
        "computed again from the stored coefficients alone, in longer floating-point numbers."
    ),
    "damaged files": ("flipped bits, edited counts and coefficients, two writers, full disks."),
    "signals": ("Ctrl-C in long calls and while the command starts, closed outputs."),
    "random frames": (
        "numbers, text, dates, missing and extreme values into every estimator, with targets "
        "and weights of many kinds."
    ),
}
COUNTS = ("cases", "certified", "warned", "refused")

# Why some functions are not reached by a test, as far as coverage can see.
IN_A_PROCESS = "runs in processes of its own, which coverage does not follow"
LEFT_INSIDE = "the loop is always left inside, at its last iteration at the latest"
NEEDS_TORCH = "needs PyTorch, an optional extra that tests do not depend on"
NEEDS_PEER = "needs a package of the extra competitors, which tests do not depend on"
COMPETITORS = "nvsd/experiments/methods/competitors.py"
PEERS = "nvsd/benchmark/methods"
REASONS = {
    ("nvsd/solvers/driver.py", "solve_batch"): LEFT_INSIDE,
    ("nvsd/experiments/methods/denovas.py", "denovas"): LEFT_INSIDE,
    (COMPETITORS, "LassoNet.fit"): NEEDS_TORCH,
    (COMPETITORS, "XRFM.fit"): NEEDS_TORCH,
    (COMPETITORS, "_unit"): NEEDS_TORCH,
    (f"{PEERS}/forests.py", "tree_shap"): NEEDS_PEER,
    (f"{PEERS}/forests.py", "boruta"): NEEDS_PEER,
    (f"{PEERS}/boosting.py", "_model"): NEEDS_PEER,
    (f"{PEERS}/boosting.py", "gain"): NEEDS_PEER,
    (f"{PEERS}/boosting.py", "shap"): NEEDS_PEER,
    (f"{PEERS}/boosting.py", "ebm"): NEEDS_PEER,
    (f"{PEERS}/kernels.py", "_Units.__init__"): NEEDS_TORCH,
    (f"{PEERS}/kernels.py", "_Units.inputs"): NEEDS_TORCH,
    (f"{PEERS}/kernels.py", "_Units.outcome"): NEEDS_TORCH,
    (f"{PEERS}/kernels.py", "xrfm"): NEEDS_TORCH,
    (f"{PEERS}/kernels.py", "lassonet"): NEEDS_TORCH,
    (f"{PEERS}/conditional.py", "conditional"): NEEDS_PEER,
    (f"{PEERS}/conditional.py", "conditional.loss"): NEEDS_PEER,
    ("nvsd/machine.py", "available_memory"): "operating systems that tell free memory otherwise",
    ("nvsd/results/schema.py", "library_version"): "the library used without being installed",
    ("nvsd/__main__.py", ""): IN_A_PROCESS,
    ("nvsd/experiments/running.py", "_work"): IN_A_PROCESS,
    ("nvsd/experiments/running.py", "_leave_with"): IN_A_PROCESS,
    ("nvsd/experiments/running.py", "_leave_with.watch"): IN_A_PROCESS,
}

INTRODUCTION = """`make reliability` runs the tests that try to break the library and writes this
page from their report. A result is **certified** when its duality gap is at most the tolerance; its
true distance to the minimum, computed with 300 digits or by CVXPY, was then found to be at most
that gap, up to rounding. A result that is not certified comes with a `ConvergenceWarning` and a
status that says so (**warned**); or the problem is **refused** with the reason. For invariances,
files, interruptions and processes "certified" counts the attempts that ended as they should."""

TRUTH = """## How the truth is known

- The objective and its dual are evaluated with 300 decimal digits, for the very coefficients that
  predictions are made from, by code that shares no numerics with the library
  (`tests/exact_problems.py`). Up to τ_max no certified gap was too small by more than 1e-9 of the
  mean square of y.
- Small and tame problems are solved by CVXPY too.
- Where ν is within a factor 1e9 of the rounding errors of the kernel (polynomials of data far from
  the origin, above all), the gap is computed a second time by products with the kernel alone, with
  a bound on their rounding errors. A ν below the rounding errors is refused.
- A τ that ends with a gap above the tolerance has the status `max_iter` or `rounding`, and there is
  a warning. The gap is that of the stored coefficients, from which f is computed again."""


def read_report(files: Iterable[Path]) -> dict[str, Any]:
    """Sums over all test cases of the reports, by category."""
    found: dict[str, Counter[str]] = {name: Counter() for name in CATEGORIES}
    tests, seconds, failed = 0, 0.0, 0
    for file in files:
        for case in ElementTree.parse(file).iter("testcase"):
            tests += 1
            seconds += float(case.get("time", 0))
            bad = [element for tag in ("failure", "error") for element in case.iter(tag)]
            failed += bool(bad)
            for element in case.iter("property"):
                if element.get("name") == "reliability":
                    note = json.loads(element.get("value", "{}"))
                    counts = found[note.pop("category")]
                    counts.update(note)
            count_failure(found, case, bad)
    categories = {name: dict(counts) for name, counts in found.items()}
    sums = {"tests": tests, "failed": failed, "seconds": round(seconds)}
    return sums | made() | {"categories": categories}


def made() -> dict[str, str]:
    """The version and the day of results."""
    return {"commit": commit(), "date": today()}


def count_failure(found: dict[str, Counter[str]], case: Any, bad: list[Any]) -> None:
    """A failed test is a hang, a wrong answer or lost data."""
    module = case.get("classname", "").split(".")[-1]
    for name, (modules, kind) in CATEGORIES.items():
        if module in modules:
            found[name]["seconds"] += round(float(case.get("time", 0)))
            if bad:
                text = " ".join((element.text or "") for element in bad)
                found[name][failure(text, kind)] += 1


def failure(text: str, kind: str) -> str:
    """What the text of a failed test tells of, else what such a test is for."""
    signs = {
        "hangs": ("Timeout", "PATIENCE"),
        "crashes": ("returncode=-11", "returncode=-6", "Segmentation fault"),
        "silent": ("without a warning",),
    }
    return next((name for name, words in signs.items() if any(w in text for w in words)), kind)


def counts(run: dict[str, Any]) -> str:
    """One line for each category, as `make attack` prints it."""
    keys = ("cases", "wrong", "silent", "crashes", "hangs", "lost")
    lines = [
        f"{name}: " + ", ".join(f"{known.get(key, 0)} {key}" for key in keys)
        for name, known in run["categories"].items()
        if known
    ]
    return "\n".join([*lines, f"{run['tests']} tests, {run['failed']} failed"])


def read_coverage(file: Path) -> dict[str, Any]:
    """Percentages, and the lines and branches of each function that no test reached."""
    content = json.loads(file.read_text())
    totals = content["totals"]
    missing = []
    for name, data in sorted(content["files"].items()):
        for function, part in data["functions"].items():
            branches = [f"{a}→{b}" for a, b in part.get("missing_branches", []) if b > 0]
            if part["missing_lines"] or branches:
                missing.append([name, function, ranges(part["missing_lines"]), ", ".join(branches)])
    lines = 100 * totals["covered_lines"] / totals["num_statements"]
    branches = 100 * totals["covered_branches"] / max(totals["num_branches"], 1)
    shares = {"lines": round(lines, 2), "branches": round(branches, 2)}
    return shares | made() | {"missing": missing}


def functions(file: Path) -> set[str]:
    """Names of the functions and methods of a module as coverage writes them; "" for the module."""
    if not file.exists():
        return set()
    found = {""}

    def visit(node: ast.AST, before: str) -> None:
        for child in ast.iter_child_nodes(node):
            inside = before
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(before + child.name)
                inside = f"{before}{child.name}."
            visit(child, inside)

    visit(ast.parse(file.read_text()), "")
    return found


def ranges(lines: list[int]) -> str:
    """1, 2, 3, 7 as 1–3, 7."""
    groups: list[list[int]] = []
    for line in lines:
        if groups and line == groups[-1][-1] + 1:
            groups[-1].append(line)
        else:
            groups.append([line])
    return ", ".join(str(g[0]) if len(g) == 1 else f"{g[0]}–{g[-1]}" for g in groups)


def outcomes(run: dict[str, Any]) -> str:
    """The table of all categories."""
    head = ["", "cases", "certified", "warned", "refused", "wrong answers", "hangs", "data lost"]
    keys = (*COUNTS, "wrong", "hangs", "lost")
    tried = {name: run["categories"][name] for name in TRIED if run["categories"].get(name)}
    rows = [[name, *(f"{counts.get(key, 0)}" for key in keys)] for name, counts in tried.items()]
    sums = [sum(c.get(key, 0) for c in tried.values()) for key in keys]
    rows.append(["**all**", *(f"**{value}**" for value in sums)])
    said = "\n".join(f"- **{name}**: {TRIED[name]}" for name in tried)
    return f"{markdown(head, rows)}\n\n{said}"


def coverage_section(coverage: dict[str, Any] | None) -> str:
    """Line and branch coverage with what is missing."""
    if coverage is None:
        return ""
    there = {name: functions(ROOT / name) for name, *_ in coverage["missing"]}
    rows = [
        [f"`{name}`", f"`{function}`" if function else "", lines, branches, why(name, function)]
        for name, function, lines, branches in coverage["missing"]
        if function in there[name]
    ]
    gone = len(coverage["missing"]) - len(rows)
    text = (
        f"## Coverage\n\nTests reach {coverage['lines']:.1f} % of the lines of nvsd and "
        f"{coverage['branches']:.1f} % of the branches ({version(coverage)})."
    )
    if gone:
        text += f" {gone} functions of that version, which the code no longer has, are left out."
    if not rows:
        return text
    head = ["", "function", "lines", "branches", "why"]
    return f"{text} What tests do not reach:\n\n{markdown(head, rows)}"


def version(found: dict[str, Any]) -> str:
    """Of which code a result is."""
    return f"commit {found['commit']}, {found['date']}"


def why(name: str, function: str) -> str:
    return REASONS.get((name, function), "no test yet")


def page(content: dict[str, Any], mutants: list[dict[str, Any]]) -> str:
    """The whole page."""
    run = content["run"]
    tests = (
        f"{run['tests']} tests in {run['seconds']} seconds of one core, {run['failed']} failed "
        f"({version(run)})."
    )
    parts = [
        "# Reliability",
        "<!-- Written by docs/scripts/reliability.py from a test run; do not edit. -->",
        INTRODUCTION,
        outcomes(run),
        tests,
        TRUTH,
        mutants_section(mutants),
        coverage_section(content.get("coverage")),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Write docs/reliability.md from a test run.")
    parser.add_argument("reports", nargs="*", type=Path, help="of pytest --junitxml")
    parser.add_argument("--coverage", type=Path, help="of coverage json")
    parser.add_argument("--counts", action="store_true", help="only print what was found")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    given = parser.parse_args(arguments)
    if given.counts:
        print(counts(read_report(given.reports)))
        return
    store = given.docs / "reliability.json"
    content = json.loads(store.read_text()) if store.exists() else {}
    if given.reports:
        content["run"] = read_report(given.reports)
    if given.coverage is not None:
        content["coverage"] = read_coverage(given.coverage)
    store.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
    (given.docs / "reliability.md").write_text(
        page(content, read_mutants(given.docs / "mutations.jsonl"))
    )


if __name__ == "__main__":
    main()
