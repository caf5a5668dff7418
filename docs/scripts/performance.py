"""Write docs/performance.md and its plots from the results that asv has stored.

    make bench-full    # measures
    make bench-report  # runs this script

Every number on the page, and in the part of README.md on speed, comes out of asv's files: of each
benchmark the newest result of a working tree, or those of the commit named by --commit.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from asv_results import (
    FITTED,
    Results,
    Series,
    digits,
    exponent,
    lines,
    markdown,
    megabytes,
    pivot,
    ratio,
    scientific,
    seconds,
    section,
    titled,
)
from marks import fill

ROOT = Path(__file__).parents[2]
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#BBBBBB"]
plt.rcParams.update(
    {
        "axes.prop_cycle": mpl.cycler(color=COLOURS),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "figure.dpi": 120,
        "legend.frameon": False,
    }
)

HOW = """`make bench` measures all of this but the largest sizes and the slowest peers, `make
bench-full` everything; `make bench-report` writes this page."""


def environment(results: Results) -> str:
    machine = results.content["params"]
    versions = results.series("environment.Version.track_version")
    packages = {
        package: f"{int(v) // 10000}.{int(v) // 100 % 100}.{int(v) % 100}"
        for (package,), v in versions.items()
        if v
    }
    ram = float(machine.get("ram") or math.nan) / 2**30
    rows = [
        ["commit", ", ".join(f"`{commit}`" for commit in dict.fromkeys(results.commits))],
        ["date", results.day()],
        ["processor", f"{machine.get('cpu', '?')}, {machine.get('num_cpu', '?')} cores"],
        ["memory", f"{ram:.0f} GiB"],
        ["BLAS threads", digits(results.one("environment.Machine.track_blas_threads"), 1)],
        ["versions", ", ".join(f"{name} {text}" for name, text in packages.items())],
    ]
    return markdown(["measured with", ""], rows)


def the_path(results: Results) -> str:
    get = results.series
    quality = "paths.PathQuality.track_"
    return section(
        "The 50-point path",
        "From X and y to the Dataset, at the paper's sizes, d = 18, ν = 10⁻³: E1 with the cubic "
        "kernel, E3 with the Gaussian of width 4; the elastic net for five μ, which is five paths. "
        "Every τ is solved to a duality gap of at most 10⁻⁶ of the mean square of y.",
        pivot(get("paths.Path.time_path"), "n", seconds),
        titled(
            "As a multiple of the floor, one dense Cholesky factorisation of order n(d + 1) in the "
            "same process:",
            pivot(get(quality + "floor_multiple"), "n", digits),
        ),
        titled(
            "Column-iterations, that is iterations of ADMM summed over all τ:",
            pivot(get(quality + "column_iterations"), "n", lambda v: f"{v:.0f}"),
        ),
        titled(
            "Largest duality gap of the path, in mean squares of y:",
            pivot(get(quality + "gap"), "n", scientific),
        ),
        titled(
            "Peak memory, imports included:",
            pivot(get("paths.PathMemory.peakmem_path"), "n", megabytes),
        ),
    )


GROWTH = {
    "rows": [
        ("cubic kernel, E1", "PolynomialRows"),
        ("Gaussian kernel, E3", "GaussianRows"),
    ],
    "inputs": [("", "Inputs")],
    "τ": [("", "Taus")],
}


def grown(results: Results, what: str, kind: str) -> Series:
    """One growth series, small and large sizes together, with its name as first parameter."""
    found: Series = {}
    for name, group in GROWTH[what]:
        series = results.series(f"growth.{group}.{kind}_path", f"full_growth.{group}.{kind}_path")
        found |= {((name, *key) if name else key): value for key, value in series.items()}
    return found


def growth(results: Results, images: Path) -> str:
    figure, axes = plt.subplots(2, len(GROWTH), figsize=(11, 6.5), squeeze=False)
    nothing = results.one("environment.Machine.peakmem_nothing")
    rows = []
    for column, what in enumerate(GROWTH):
        times = grown(results, what, "time")
        memory = {k: v - nothing for k, v in grown(results, what, "peakmem").items() if v > nothing}
        draw_growth(axes[0, column], times, what)
        draw_growth(axes[1, column], {k: v / 1e6 for k, v in memory.items()}, what)
        peaks = {name: values for name, _, values in lines(memory)}
        for name, sizes, values in lines(times):
            last = peaks.get(name, [math.nan])[-1]
            power = exponent(sizes, values)
            rows.append(
                [what, name, digits(power, 2), f"{sizes[-1]}", seconds(values[-1]), megabytes(last)]
            )
    axes[0, 0].set_ylabel("seconds")
    axes[1, 0].set_ylabel("MB above the imports")
    if not rows:
        plt.close(figure)
        return ""
    save(figure, images / "performance_growth.png")
    header = ["growing in", "", "time ∝ size^", "largest size", "its time", "its peak memory"]
    return section(
        "Growth",
        "The 50-point Lasso path: in rows with d = 18, in inputs with n = 100, in the number of τ "
        f"with n = 70. Exponents are fitted to the {FITTED} largest sizes; peak memory is what "
        "comes on top of the imports.",
        "![Time and memory of the path against rows, inputs and number of τ]"
        "(images/performance_growth.png)",
        markdown(header, rows),
    )


def draw_growth(axis: Any, series: Series, what: str) -> None:
    for name, sizes, values in lines(series):
        power = exponent(sizes, values)
        label = f"{name}: {power:.1f}" if math.isfinite(power) else name
        axis.loglog(sizes, values, "o-", label=label)
    axis.set_xlabel({"rows": "rows n", "inputs": "inputs d", "τ": "number of τ"}[what])
    if series:
        axis.legend(title="exponent", fontsize=8, title_fontsize=8)


def peers(results: Results, images: Path) -> str:
    def both(name: str) -> Series:
        return results.series(f"peers.OneTau.track_{name}", f"full_peers.OneTau.track_{name}")

    ratios, linear = both("ratio"), results.series("peers.LinearKernel.track_ratio")
    if ratios:
        draw_peers(ratios, images / "performance_peers.png")
    plot = "![Times faster than each peer](images/performance_peers.png)" if ratios else ""
    return section(
        "Beside other programs",
        "Ratios of seconds, measured in one process: they mean the same on other machines. Below 1 "
        "nvsd is faster.",
        plot,
        titled(
            "Our whole 50-point path over **one** τ (0.3 of the bound on τ_max) of the peer. CVXPY "
            "gets the reference problem in ω, with SCS and Clarabel at their default tolerances; "
            "Clarabel is stopped after 150 s, and its ratio may then be a bound. `paper_admm` is "
            "the paper's algorithm, with S1 solved exactly, or by steepest descent and then "
            "stopped early:",
            pivot(ratios, "n", ratio),
        ),
        titled(
            "The same without CVXPY's compilation, by the solver's own clock:",
            pivot(both("solver_ratio"), "n", ratio),
        ),
        titled("Seconds of the peer for that one τ:", pivot(both("peer_seconds"), "n", seconds)),
        titled(
            "How far the peer's objective is above the minimum, in mean squares of y:",
            pivot(both("peer_error"), "n", scientific),
        ),
        titled(
            "With the linear kernel the problem is a lasso with a ridge, which specialised "
            "programs solve: our path of 50 τ over theirs, both to a gap of 10⁻⁶ (first number: "
            "d):",
            pivot(linear, "n", ratio),
        ),
    )


def draw_peers(ratios: Series, file: Path) -> None:
    largest = max(key[-1] for key in ratios)
    chosen = {key: value for key, value in ratios.items() if key[-1] == largest}
    names = [f"{peer}, {problem}" for peer, problem, _ in chosen]
    figure, axis = plt.subplots(figsize=(8, 0.4 * len(names) + 1.2))
    bars = axis.barh(names, [1 / value for value in chosen.values()], color=COLOURS[0])
    axis.bar_label(bars, [digits(1 / value, 2) for value in chosen.values()], padding=3)
    # A bar's length means something only if it starts at 1, or at the smallest.
    start = min(1.0, 0.8 / max(chosen.values()))
    axis.set(xscale="log", xlabel=f"peer's time for one τ over ours for 50, n = {largest}")
    axis.set_xlim(left=start)
    axis.invert_yaxis()
    axis.grid(axis="y", visible=False)
    save(figure, file)


def stages(results: Results, images: Path) -> str:
    names = ("stages.Stages.track_{}", "full_stages.Stages.track_{}")
    series = results.series(*(name.format("seconds") for name in names))
    calls = results.series(*(name.format("calls") for name in names))
    if not series:
        return ""
    overlap = "finding tau_max"
    order = [s for s in dict.fromkeys(key[2] for key in series) if s != overlap]
    cases = list(dict.fromkeys((key[0], key[1], key[3]) for key in series))
    shares, rows = {}, []
    for problem, penalty, n in cases:
        spent = {s: series.get((problem, penalty, s, n), 0.0) for s in [*order, overlap]}
        total = sum(spent[s] for s in order)
        name = f"{problem} {penalty}, n = {n}"
        shares[name] = {s: spent[s] / total for s in order}
        counted = calls.get((problem, penalty, "factorisations", n), math.nan)
        rows.append(
            [name, seconds(total)]
            + [f"{spent[s] / total:.0%}" for s in [*order, overlap]]
            + [f"{counted:.0f}"]
        )
    draw_stages(shares, images / "performance_stages.png")
    return section(
        "Where the time goes",
        "Shares of the path's time, each without the stages it calls. *Finding τ_max* counts a "
        "second time what was spent on the upper end of the grid, in whichever stage.",
        "![Shares of the path's time](images/performance_stages.png)",
        markdown(["", "total", *order, "finding τ_max", "factorisations made"], rows),
    )


def draw_stages(shares: dict[str, dict[str, float]], file: Path) -> None:
    figure, axis = plt.subplots(figsize=(9, 0.4 * len(shares) + 1.6))
    left = np.zeros(len(shares))
    for stage, colour in zip(next(iter(shares.values())), COLOURS, strict=False):
        width = np.array([100 * row[stage] for row in shares.values()])
        axis.barh(list(shares), width, left=left, label=stage, color=colour)
        left += width
    axis.set(xlabel="% of the path's time", xlim=(0, 100))
    axis.invert_yaxis()
    axis.grid(axis="y", visible=False)
    axis.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
    save(figure, file)


PARTS = [
    ("K, D and L of each kernel, d = 18:", "kernels.Blocks.time_blocks", "n"),
    ("G·v without G, for one column and for a batch of 17:", "kernels.Product.time_product", "n"),
    ("`nvsd.prepare`, by representation:", "representations.Preparation.time_prepare", "n"),
    (
        "Factorising I + κM and solving for 17 right-hand sides:",
        "representations.Factorisation.time_factorise",
        "order",
    ),
    ("Solving alone:", "representations.Solve.time_solve", "order"),
    ("One prox on a batch of 17 τ:", "solver.Prox.time_prox", "n"),
    (
        "Twenty iterations of ADMM on a batch of 17 τ:",
        "solver.Iteration.time_20_iterations",
        "n",
    ),
    ("A single τ, from X and y to the Dataset:", "solver.SingleTau.time_tau", "n"),
    ("Predictions of 50 τ at 1000 points:", "after.Afterwards.time_predict", "n"),
    ("Gradients of 50 τ at 1000 points:", "after.Afterwards.time_gradient", "n"),
    ("Refits of 50 τ on their supports:", "after.Afterwards.time_debias", "n"),
    (
        "`nvsd.select(X, y)` with nothing else said, beside the pooled methods, by d:",
        "selection.DefaultSelection.time_select",
        "n",
    ),
    (
        "Recursive elimination and the pooled methods, with 1000 validation points:",
        "selection.Selection.time_select",
        "n",
    ),
    (
        "Five-fold cross-validation of the path with refits:",
        "selection.CrossValidation.time_fit",
        "n",
    ),
]


def parts(results: Results) -> str:
    tables = [
        titled(text, pivot(results.series(name, f"full_{name}"), last, seconds))
        for text, name, last in PARTS
    ]
    return section("Parts", *tables)


def oracle(results: Results) -> str:
    errors = {(k, p): v for (k, p, _), v in results.series("oracle.Oracle.track_error").items()}
    if not errors:
        return ""
    penalties = sorted({penalty for _, penalty in errors})
    rows = [
        [kernel, *(scientific(errors.get((kernel, p), math.nan)) for p in penalties)]
        for kernel in dict.fromkeys(kernel for kernel, _ in errors)
    ]
    return section(
        "Distance to the reference",
        "Of the objective, in mean squares of y, on a small problem: nvsd to a gap of 10⁻⁶, the "
        "reference by Clarabel to 10⁻⁹.",
        markdown(["", *penalties], rows),
    )


def save(figure: Any, file: Path) -> None:
    figure.tight_layout()
    figure.savefig(file)
    plt.close(figure)


def page(results: Results, images: Path) -> str:
    sections = [
        "# Performance",
        "<!-- Written by docs/scripts/performance.py from asv's results; do not edit. -->",
        HOW,
        environment(results),
        the_path(results),
        peers(results, images),
        growth(results, images),
        stages(results, images),
        parts(results),
        oracle(results),
    ]
    return "\n\n".join(part for part in sections if part) + "\n"


SPEED = """The whole path of 50 τ, n = {n}, d = 18, from X and y to the Dataset, each τ to a gap of
10⁻⁶ of the mean square of y: in seconds, as a multiple of one dense Cholesky factorisation of order
n(d + 1), and over the time that CVXPY takes for **one** τ of the same problem (Clarabel is stopped
after 150 s, so that its ratio is a bound).

{table}

{cpu}, {cores} cores, {day}; more in [docs/performance.md](docs/performance.md), which `make
bench-report` writes."""


def speed(results: Results) -> str:
    """What README.md says of speed."""
    times = results.series("paths.Path.time_path")
    multiples = results.series("paths.PathQuality.track_floor_multiple")
    ratios = results.series("peers.OneTau.track_ratio", "full_peers.OneTau.track_ratio")
    n = max(key[-1] for key in times)
    rows = []
    for problem, kernel in (("E1", "cubic kernel"), ("E3", "Gaussian kernel")):
        key = (problem, "Lasso", n)
        beside = [ratios.get((peer, problem, n), math.nan) for peer in ("SCS", "Clarabel")]
        rows.append(
            [f"{problem}, {kernel}", seconds(times[key]), digits(multiples.get(key, math.nan), 2)]
            + [ratio(value) for value in beside]
        )
    head = ["", "time", "Cholesky factorisations", "over SCS", "over Clarabel"]
    machine = results.content["params"]
    return SPEED.format(
        n=n,
        table=markdown(head, rows),
        cpu=machine.get("cpu", "?"),
        cores=machine.get("num_cpu", "?"),
        day=results.day(),
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Write docs/performance.md from asv's results.")
    parser.add_argument("--commit", default="", help="a commit with results; the newest otherwise")
    parser.add_argument("--results", type=Path, default=ROOT / ".asv" / "results")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    given = parser.parse_args(arguments)
    images = given.docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    results = Results(given.results, given.commit)
    (given.docs / "performance.md").write_text(page(results, images))
    readme = given.docs.parent / "README.md"
    if readme.is_file():
        fill(readme, "speed", speed(results))


if __name__ == "__main__":
    main()
