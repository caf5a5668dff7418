"""How wide the intervals of derivative norms are: a table in docs/theory/solver.md.

    python docs/scripts/intervals.py

Paths of the paper's E1 and E3 at three tolerances, about a minute on one core. The numbers have no
random part, so that a second run on the same versions writes the same table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from marks import fill

import nvsd
from nvsd.datasets import make_e1, make_e3
from nvsd.kernels import Gaussian, Polynomial

PAGE = Path(__file__).parents[1] / "theory" / "solver.md"
PROBLEMS = (
    ("E1, cubic kernel", make_e1, Polynomial(3)),
    ("E3, Gaussian kernel of width 4", make_e3, Gaussian(4.0)),
)
TOLERANCES = {1e-6: "10⁻⁶", 1e-8: "10⁻⁸", 1e-10: "10⁻¹⁰"}
HEAD = (
    "problem", "n", "`tol`", "median norm", "half-width", "certified on", "certified off",
    "in the support", "iterations",
)  # fmt: skip


def rows(name: str, make: Any, kernel: Any, n: int) -> list[list[str]]:
    """A row of the table for each tolerance."""
    sample, found = make(n, seed=0), []
    for tol, shown in TOLERANCES.items():
        path = nvsd.nvsd_path(sample.X, sample.y, kernel=kernel, n_taus=50, tol=tol)
        middle = path.isel(tau=slice(10, 40))
        half = (middle.derivative_norm_upper - middle.derivative_norm_lower) / 2
        on = middle.support
        numbers = (middle.derivative_norm.where(on).median(), half.where(on).median())
        shares = (middle.certified_on, middle.certified_off, on)
        found.append(
            [name, str(n), shown, *(f"{float(number):.2g}" for number in numbers)]
            + [f"{float(share.mean()):.0%}" for share in shares]
            + [str(int(path.n_iter.sum()))]
        )
    return found


def table() -> str:
    """All problems, as Markdown."""
    lines = [HEAD, ["---"] * len(HEAD)]
    lines += [row for problem in PROBLEMS for n in (50, 110) for row in rows(*problem, n)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    fill(PAGE, "intervals", f"{table()}\n\nWritten by `docs/scripts/intervals.py`.")
