"""docs/scaling.md: tables and plots from what scaling.py has measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from asv_results import SPACE, digits, exponent, markdown, scientific, seconds, section, titled

Line = dict[str, Any]
PUBLISHED = {  # mean squared error on the same problems with 50 000 rows
    "sine": {"SRFF": 0.085, "kernel ridge": 0.080, "RFFNet": 0.071},
    "logarithm": {"SRFF": 5.00, "kernel ridge": 4.27, "RFFNet": 1.24},
}
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7"]

INTRODUCTION = """A million rows, a thousand inputs, more than one machine. Written by
`docs/scripts/scaling.py render` from what `docs/scripts/scaling.py run` has measured."""

WAYS = """| there are | use | what is solved | cost |
| --- | --- | --- | --- |
| many rows, a Linear or Polynomial kernel | nothing special | the exact problem | one pass over \
the rows, then independent of n |
| many rows, any kernel | `value_points=`, `derivative_points=` | f and its penalty on landmarks, \
the loss on all rows | one pass; m_v + d m functions |
| many inputs, few rows | nothing special | the exact problem | O(n²d) a product, some hundreds of \
products |
| a refit on many rows | `path.nvsd.debias(..., value_points=)` | kernel ridge on some kernel \
sections | one pass |
| a selection from many rows | `nvsd.select(X, y)` | a sample ranks and judges, all rows \
fit | two passes |
| the same with a kernel of your own | `nvsd.select(..., value_points=)` | that refit for every \
candidate | one pass for each fit |

[A million rows](tutorials/million.md) shows how. Blocks are any iterable of pairs (X, y);
`standardize=True` reads them twice and therefore needs a list, or an object whose `__iter__` starts
anew. An interrupted pass with `checkpoint=` goes on from
the file and gives the same numbers. The Dataset says which problem was solved: `representation` is
`monomial`, `derivative`, `factor` or `matrix-free` for the exact one, and `landmarks`, with
`n_value_points` and `n_derivative_points`, for the approximation. The gap is always that of the
problem that was solved."""

CHOICE = """Landmarks approximate twice: f is a combination of the kernel at m_v value points and
of its derivatives at m derivative points, and the penalty is a mean over the m points. With few
derivative points f becomes flat there and steep elsewhere: compare `derivative_norm` with
`derivative_norm_held_out`, which is measured on rows that are no landmarks. If the two differ by
more than a few per cent, or the ranking by them differs, double m. Take m ≥ m_v, as the default
does; the order of the system is m_v + d m, so with many inputs select first and refit then."""


class Measured:
    """The stored lines, by experiment."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines

    def rows(self, experiment: str, **fixed: Any) -> list[Line]:
        """Case and result in one, of one experiment, in the order of the case."""
        found = [
            line["case"] | line["result"]
            for line in self.lines
            if line["case"]["experiment"] == experiment
            and all(line["case"].get(name) == value for name, value in fixed.items())
        ]
        return sorted(found, key=lambda row: [row[k] for k in ("n", "m_v", "m") if k in row])


def table(lines: list[Line], columns: dict[str, tuple[str, Callable[[Any], str]]]) -> str:
    """One row for each line; a column has a heading, the entry it shows, and its form."""
    if not lines:
        return ""
    body = [
        [form(line[key]) if line.get(key) is not None else "" for key, form in columns.values()]
        for line in lines
    ]
    return markdown(list(columns), body)


def count(value: float) -> str:
    return f"{value:,.0f}".replace(",", SPACE)


def page(lines: list[Line], images: Path) -> str:
    """The whole page."""
    measured = Measured(lines)
    images.mkdir(exist_ok=True)
    parts = [
        "# Scaling",
        INTRODUCTION,
        WAYS,
        environment(lines),
        hundreds(measured),
        many_rows(measured, images),
        sums(measured),
        landmarks(measured),
        regression(measured),
        many_inputs(measured),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def environment(lines: list[Line]) -> str:
    kinds = {tuple(line["environment"].items()) for line in lines}
    return "\n\n".join(
        "Measured with " + "; ".join(f"{name}: {value}" for name, value in kind) + "."
        for kind in sorted(kinds)
    )


def hundreds(measured: Measured) -> str:
    found = measured.rows("exact")
    powers = []
    for problem in dict.fromkeys(row["problem"] for row in found):
        of = [row for row in found if row["problem"] == problem]
        if len(of) > 2:
            power = exponent([row["n"] for row in of], [row["seconds"] for row in of])
            powers.append(f"{problem}: n to the power {digits(power, 2)}")
    return section(
        "Hundreds of rows",
        "The path of 50 τ with d = 18, from X and y to the Dataset, each τ to a gap of at most "
        "10⁻⁶ of the mean square of y. With the Gaussian kernel a system of order nd is solved; "
        "with the cubic one its order is at most the number of monomials, 1330.",
        table(
            sorted(found, key=lambda row: (row["problem"], row["n"])),
            {
                "problem": ("problem", str),
                "rows": ("n", count),
                "representation": ("representation", str),
                "time": ("seconds", seconds),
                "peak MB": ("megabytes", count),
                "iterations, over all τ": ("iterations", count),
                "gap": ("gap", scientific),
            },
        ),
        f"Growth from the largest three: {'; '.join(powers)}." if powers else "",
    )


def many_rows(measured: Measured, images: Path) -> str:
    rows = sorted(measured.rows("rows"), key=lambda row: row["problem"] != "E1, cubic, d = 18")
    if not rows:
        return ""
    draw(rows, images / "scaling_rows.png")
    per_row = ""
    single = measured.rows("rows", kind="numpy")
    if len(single) > 1:
        power = exponent([r["n"] for r in single], [r["pass"] for r in single])
        per_row = f"The pass grows as n to the power {digits(power, 2)}."
    return section(
        "Many rows",
        "The path of 50 τ from n rows, each τ to a gap of at most 10⁻⁶ of the mean square of y. "
        "E1 is the paper's, with six relevant inputs; degree 2 has five of a hundred. `supports` "
        "counts the τ at which exactly the relevant inputs are switched on, `rankings` those at "
        "which they have the largest norms. Dask is a LocalCluster of two worker processes; memory "
        "is that of the main process.",
        table(
            rows,
            {
                "problem": ("problem", str),
                "rows": ("n", count),
                "source": ("kind", str),
                "pass": ("pass", seconds),
                "path": ("path", seconds),
                "total": ("seconds", seconds),
                "peak MB": ("megabytes", count),
                "supports": ("supports", count),
                "rankings": ("rankings", count),
                "gap": ("gap", scientific),
            },
        ),
        "![Seconds and memory against rows](images/scaling_rows.png)",
        per_row,
        few_rows(measured),
    )


def few_rows(measured: Measured) -> str:
    rows = measured.rows("elimination")
    if not rows:
        return ""
    sizes = sorted({row["n"] for row in rows})
    body = []
    for n in sizes:
        of = [row for row in rows if row["n"] == n]
        share = [f"{sum(row[m] for row in of)} of {len(of)}" for m in ("eliminate", "rank")]
        times = [
            seconds(float(np.mean([r[f"{m} seconds"] for r in of]))) for m in ("eliminate", "rank")
        ]
        body.append([count(n), share[0], times[0], share[1], times[1]])
    caption = "With few rows, how often exactly the six inputs of E1 are selected:"
    header = ["rows", "elimination", "", "ranking on the path", ""]
    return f"{caption}\n\n{markdown(header, body)}"


def draw(rows: list[Line], file: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
    lines = list(dict.fromkeys((row["problem"], row["kind"]) for row in rows))
    for colour, (problem, kind) in zip(COLOURS * len(lines), lines, strict=False):
        of = [row for row in rows if (row["problem"], row["kind"]) == (problem, kind)]
        sizes = [row["n"] for row in of]
        for axis, key in zip(axes, ("seconds", "megabytes"), strict=True):
            axis.loglog(
                sizes,
                [row[key] for row in of],
                "o-",
                color=colour,
                ms=4,
                label=f"{problem}, {kind}",
            )
    for axis, name in zip(axes, ("seconds", "peak memory, MB"), strict=True):
        axis.set_xlabel("rows")
        axis.set_ylabel(name)
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    plt.close(figure)


def sums(measured: Measured) -> str:
    return section(
        "Accuracy of the sums",
        "‖∂_a f‖ needs of the rows only the triangular factor of Ψ, the monomials of degree p − 1. "
        "It is accumulated by QR, a tenth of the work of ΦᵀΦ, and not taken from ΨᵀΨ: the table "
        "gives the largest relative error of ‖Ψv‖ along the singular vectors of Ψ, for standard "
        "normal inputs shifted away from the origin. `standardize=True` undoes such a shift.",
        table(
            measured.rows("accuracy"),
            {
                "shift": ("shift", digits),
                "condition of Ψ": ("condition", scientific),
                "QR": ("triangle", scientific),
                "from ΨᵀΨ": ("gram", scientific),
            },
        ),
        titled(
            "Sums on two worker processes against those of one, largest relative difference:",
            table(
                measured.rows("agreement"),
                {
                    "rows": ("n", count),
                    "chunks": ("chunks", count),
                    "ΦᵀΦ": ("gram", scientific),
                    "Φᵀy": ("correlation", scientific),
                    "triangle": ("root", scientific),
                },
            ),
        ),
    )


def landmarks(measured: Measured) -> str:
    return section(
        "Landmarks",
        CHOICE,
        table(
            measured.rows("points"),
            {
                "value points": ("m_v", count),
                "derivative points": ("m", count),
                "RMSE": ("rmse", digits),
                "relevant among the first six": ("right on top", count),
                "selected": ("selected", count),
                "norms elsewhere / on the points": ("norm ratio", digits),
                "time": ("seconds", seconds),
            },
        ),
    )


def regression(measured: Measured) -> str:
    rows = measured.rows("regression")
    if not rows:
        return ""
    paths = {(r["problem"], r["n"]): r for r in measured.rows("landmarks")}
    body = []
    for row in sorted(rows, key=lambda r: (r["problem"], r["n"])):
        path = paths.get((row["problem"], row["n"]), {})
        body.append(
            [
                row["problem"],
                count(row["n"]),
                ", ".join(map(str, row["inputs"])),
                digits(row["mse"]),
                digits(row["mse with metric"]),
                seconds(row["select seconds"] + row["refit seconds"]),
                digits(path["mse"]) if path else "",
                f"{path['top by derivative_norm_held_out']} of 5" if path else "",
                seconds(path["seconds"]) if path else "",
            ]
        )
    header = ["problem", "rows", "inputs selected", "MSE", "MSE with metric", "time"]
    header += ["landmark path: MSE", "relevant on top", "time"]
    others = markdown(
        ["published, 50 000 rows", *PUBLISHED["sine"]],
        [[name, *map(digits, values.values())] for name, values in PUBLISHED.items()],
    )
    return section(
        "Any kernel, fifty thousand rows",
        "y = sin((x₁+x₃)²)·sin(x₇x₈x₉) + 0.1ε with 18 inputs, and y = log((x₁₁+…+x₁₅)²) + 0.1ε "
        "with 100, all standard normal; 2000 rows for validation and 2000 for the test. Derivative "
        "elimination with kernel ridge on 1000 points, width and ν tuned at every step; then a "
        "refit on the selected inputs, on 2000 points and all rows (`nvsd.ridge.nystrom`). The "
        "refit with metric first stretches the inputs by the root of the mean outer product of the "
        "gradients of the refit before, up to three times, as validation says. Beside it, the path "
        "on landmarks with all inputs, at its best τ.",
        markdown(header, body),
        others,
    )


def many_inputs(measured: Measured) -> str:
    rows = measured.rows("wide")
    if not rows:
        return ""
    body = []
    for method in dict.fromkeys(row["method"] for row in rows):
        of = [row for row in rows if row["method"] == method]
        body.append(
            [
                method,
                ", ".join(str(row["top"]) for row in of),
                ", ".join(f"{row['right']} of {row['selected']}" for row in of if "right" in row),
                seconds(float(np.mean([row["seconds"] for row in of]))),
                count(float(np.mean([row["products"] for row in of])))
                if "products" in of[0]
                else "",
                scientific(max(row["gap"] for row in of)) if "gap" in of[0] else "",
                count(max(row["megabytes"] for row in of)),
            ]
        )
    n, d = rows[0]["n"], rows[0]["d"]
    header = ["method", "relevant among the first six", "relevant among the selected", "time"]
    header += ["products", "gap", "peak MB"]
    return section(
        "Many inputs",
        f"E1's function with n = {n} rows and d = {d} inputs, one entry for each seed. The path is "
        "matrix-free: H is never formed, a product costs O(n²d), and every τ is certified. Its "
        "inputs are ranked by their norms at a tenth of τ_max. Elimination drops a fifth of the "
        "inputs at a time and chooses their number by cross-validation; HSIC Lasso is the authors' "
        "package, its inputs ranked by weight.",
        markdown(header, body),
    )
