"""Designs for power at a false discovery rate: those of the calibration, and five of knockpy's.

The single-index truths of knockpy (Spector and Janson 2022) are sums of β_a h(x_a) with signs of β
at random, or of products of neighbours. Six of twenty inputs are true; the inputs are a chain with
a correlation of 0.5. The list of cells was fixed before the first run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import significance_designs as designs
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROWS, INPUTS, TRUE = 300, 20, 6
KNOCKPY: dict[str, Callable[[Array], Array]] = {
    "quadratic": lambda X: X**2,
    "cubic": lambda X: X**3 - X,
    "cos": np.cos,
    "truncated": lambda X: 1.0 * (X > 0),
    "pairs": lambda X: X[:, ::2] * X[:, 1::2],
}
# Numbers of `significance_designs.CELLS` with true inputs and at most 300 rows and 20 inputs.
CALIBRATED = [
    number
    for number, cell in enumerate(designs.CELLS)
    if cell.truth != "none" and cell.n <= 300 and cell.d <= 20
]
CELLS: list[str] = [*KNOCKPY, *map(str, CALIBRATED)]


class Table(NamedTuple):
    """One table, the true inputs, and those that count as null."""

    X: Array
    y: Array
    true: list[int]
    null: NDArray[np.intp]


def draw(cell: str, seed: int) -> Table:
    """One table of a cell."""
    if cell not in KNOCKPY:
        known = designs.CELLS[int(cell)]
        X, y, true = designs.draw(known, 5000 + seed)  # no seed of the calibration
        return Table(X, y, true, designs.null_inputs(known, true))
    rng = np.random.default_rng([seed, sum(map(ord, cell)), 2027])
    X = rng.standard_normal((ROWS, INPUTS))
    for a in range(1, INPUTS):
        X[:, a] = 0.5 * X[:, a - 1] + np.sqrt(0.75) * X[:, a]
    true = sorted(rng.permutation(INPUTS)[:TRUE].tolist())
    parts = KNOCKPY[cell](X[:, true])
    signal = parts @ rng.choice([-1.0, 1.0], parts.shape[1])
    y = signal + 0.7 * signal.std() * rng.standard_normal(ROWS)
    return Table(X, y, true, np.setdiff1d(np.arange(INPUTS), true))


def about(cell: str) -> str:
    """What a cell is, in a few words."""
    if cell in KNOCKPY:
        return f"knockpy's {cell}, n = {ROWS}, d = {INPUTS}"
    known = designs.CELLS[int(cell)]
    return f"{known.law}, {known.truth}, {known.noise}, n = {known.n}, d = {known.d}"
