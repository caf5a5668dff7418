"""The cells of the benchmark, fixed before the first run, and the data of each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nvsd.benchmark import classes, public, tables, unseen
from nvsd.benchmark.problems import Problem, Rng, ar, drawn, normal, shuffled, t3

__all__ = ["ABOUT", "PILOT", "SUITES", "TUNED", "Cell", "data", "data_missing", "is_of_classes"]

FRESH = 1000  # rows to test on, where rows can be drawn
PILOT = 1_000_000  # replications from this number on are only for measuring times


class Cell(NamedTuple):
    """A problem of a suite with n training rows and d inputs."""

    suite: str
    problem: str
    n: int
    d: int

    @property
    def name(self) -> str:
        """In files and tables."""
        return f"{self.problem}, n = {self.n}, d = {self.d}"


# What is drawn by each suite, from a cell and a generator.
def _public(cell: Cell, rng: Rng) -> Problem:
    return drawn(public.KINDS[cell.problem], rng, cell.n, cell.d, FRESH)


def _unseen(cell: Cell, rng: Rng) -> Problem:
    return unseen.drawn(unseen.KINDS[cell.problem], rng, cell.n, cell.d, FRESH)


def _classes(cell: Cell, rng: Rng) -> Problem:
    return classes.PROBLEMS[cell.problem](rng, cell.n, cell.d, FRESH)


def _noise(cell: Cell, rng: Rng) -> Problem:
    """Y that has nothing to do with the inputs: normal, or a class."""
    law, labelled = NOISE[cell.problem]
    X, rows = law(rng, cell.n + FRESH, cell.d), cell.n + FRESH
    y = rng.integers(0, 2, rows) if labelled else rng.standard_normal(rows)
    return Problem(X[: cell.n], y[: cell.n], [], X[cell.n :], y[cell.n :], labelled)


def _planted(cell: Cell, rng: Rng) -> Problem:
    name, how = cell.problem.split("-")
    return tables.planted(name, how, rng, cell.n)


def _prediction(cell: Cell, rng: Rng) -> Problem:
    return tables.prediction(cell.problem, rng, cell.n)


NOISE = {
    "normal": (normal, False),
    "ar9": (ar(0.9), False),
    "t3": (t3, False),
    "labels": (normal, True),
}
DRAWS: dict[str, Callable[[Cell, Rng], Problem]] = {
    "public": _public,
    "unseen": _unseen,
    "classes": _classes,
    "noise": _noise,
    "planted": _planted,
    "prediction": _prediction,
}
ABOUT = {
    "public": "public regression problems with known inputs",
    "unseen": "24 kinds of regression problems that nothing was tuned on",
    "classes": "public problems whose y is a class, with known inputs",
    "noise": "y that has nothing to do with the inputs",
    "planted": "real tables with planted inputs: permuted copies, noisy copies, products",
    "prediction": "real tables as they are, with few and many rows",
}


def _public_cells() -> list[Cell]:
    own, small = public.KINDS, ("jse2", "jse3", "rodeo1", "rodeo2", "chen")
    sizes = [
        *((kind, n, d) for kind in classes.RINGS for n, d in ((250, 32), (500, 128), (1000, 32))),
        *((kind, 500, 512) for kind in ("ring", "xor")),
        *((kind, 100, 1000) for kind in ("yamada1", "yamada2")),
        *((kind, own[kind].n, own[kind].d) for kind in (*small, "sine", "logsum")),
        *(
            (kind, own[kind].n, len(own[kind].true) + more)
            for kind in ("friedman1", "friedman2", "friedman3")
            for more in (5, 50)
        ),
        ("friedman1", 200, 205),
    ]
    return [Cell("public", *size) for size in sizes]


def _class_cells() -> list[Cell]:
    sizes = [
        *((kind, n, 32) for kind in classes.RINGS for n in (250, 1000)),
        *((kind, 100, d) for kind in ("orange", "xor4") for d in (10, 100)),
        ("cancer", 400, 100),
    ]
    return [Cell("classes", *size) for size in sizes]


def _planted_cells() -> list[Cell]:
    return [
        Cell("planted", f"{name}-{how}", n, 2 * table.inputs)
        for name, table in tables.TABLES.items()
        for how in tables.PLANTED
        for n in (100, 300)
        if n <= table.most
    ]


def _prediction_cells() -> list[Cell]:
    return [
        Cell("prediction", name, n, table.inputs)
        for name, table in tables.TABLES.items()
        for n in sorted({100, 300, 1000, table.most})
        if n <= table.most
    ]


SUITES: dict[str, list[Cell]] = {
    "public": _public_cells(),
    "unseen": [Cell("unseen", name, kind.n, kind.d) for name, kind in unseen.KINDS.items()],
    "classes": _class_cells(),
    "noise": [Cell("noise", law, n, d) for law in NOISE for n, d in ((100, 20), (200, 50))],
    "planted": _planted_cells(),
    "prediction": _prediction_cells(),
}

# Where peers may be tuned, all with the same budget of validation; named before any run.
TUNED = [
    Cell("public", "ring", 500, 128),
    Cell("public", "friedman1", 200, 55),
    Cell("unseen", "regimes", 800, 40),
    Cell("classes", "orange", 100, 10),
    Cell("planted", "CC-noisy", 300, 16),
    Cell("prediction", "KN", 1000, 8),
]


def is_of_classes(cell: Cell) -> bool:
    """Whether y of a cell holds classes, known without drawing it."""
    if cell.suite in ("planted", "prediction"):
        return tables.TABLES[cell.problem.split("-")[0]].classes
    return cell.suite == "classes" or (cell.suite == "noise" and NOISE[cell.problem][1])


def data_missing(cell: Cell) -> bool:
    """Whether a cell needs a table that is not here."""
    real = cell.suite in ("planted", "prediction")
    return real and not tables.is_here(cell.problem.split("-")[0])


def data(cell: Cell, replication: int) -> Problem:
    """The data of a cell, which depend only on its names and the replication; columns shuffled."""
    digest = hashlib.sha256(f"{cell.suite}/{cell.problem}".encode()).digest()
    seed = [int.from_bytes(digest[:8], "big"), cell.n, cell.d, replication]
    rng = np.random.default_rng(seed)
    return shuffled(DRAWS[cell.suite](cell, rng), rng)
