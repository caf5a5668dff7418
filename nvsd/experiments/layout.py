"""The cells and methods of each table of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nvsd.experiments import paper_values
from nvsd.experiments.methods import (
    METHODS,
    OURS,
    OURS_GROUPS,
    OURS_REAL,
    OURS_REAL_GROUPS,
    OURS_TUNED,
    Method,
)
from nvsd.experiments.protocol import EXPERIMENTS, SIZES


@dataclass(frozen=True)
class Block:
    """A part of a table: columns of cells (experiment, n), with the paper's numbers.

    Attributes
    ----------
    groups : bool
        Whether methods may use the groups of the inputs.
    penalties : tuple of str
        The paper's methods here.
    """

    title: str
    columns: dict[str, tuple[str, int]]
    paper: dict[str, paper_values.Rows]
    groups: bool
    penalties: tuple[str, ...]
    selection: str = "selection error"

    def methods(self) -> list[Method]:
        """The methods that this block shows."""
        experiments = [EXPERIMENTS[name] for name, _ in self.columns.values()]
        return [
            method
            for method in METHODS.values()
            if all(
                method.applies(replace(each, penalties=self.penalties), self.groups)
                for each in experiments
            )
        ]

    @property
    def tuned(self) -> bool:
        """Whether methods may choose a width that the paper keeps fixed."""
        return any(len(EXPERIMENTS[name].widths) > 1 for name, _ in self.columns.values())

    @property
    def ours(self) -> tuple[str, ...]:
        """The methods that represent this library: without groups and, if there are any, with."""
        real = self.selection != "selection error"
        plain, grouped = (OURS_REAL, OURS_REAL_GROUPS) if real else (OURS, OURS_GROUPS)
        further = (OURS_TUNED,) if real and self.tuned else ()
        return (plain, *((grouped,) if self.groups else ()), *further)


def _by_size(name: str, title: str, paper: dict[str, paper_values.Rows], groups: bool) -> Block:
    columns = {f"n = {n}": (name, n) for n in SIZES}
    return Block(title, columns, paper, groups, EXPERIMENTS[name].penalties)


def _by_data(
    names: dict[str, str], paper: dict[str, paper_values.Rows], penalties: tuple[str, ...]
) -> tuple[Block, ...]:
    """One block with the paper's width, one with the width chosen on validation data."""
    groups, size = "GL" in penalties, "support size"
    columns = {label: (name, 100) for label, name in names.items()}
    tuned = {
        label: (f"{name}-tuned" if f"{name}-tuned" in EXPERIMENTS else name, 100)
        for label, name in names.items()
    }
    return (
        Block("100 training rows", columns, paper, groups, penalties, size),
        Block("width chosen on validation data", tuned, paper, groups, penalties, size),
    )


TABLES: dict[str, tuple[Block, ...]] = {
    "table1": (
        _by_size("E1", "E1, cubic kernel", paper_values.E1, True),
        _by_size("E2", "E2, cubic kernel", paper_values.E2, False),
        _by_size("E3", "E3, Gaussian kernel of width 4", paper_values.E3, True),
        _by_size("E3-tuned", "E3, width chosen on validation data", paper_values.E3, True),
    ),
    "table3": _by_data(
        {code: code for code in ("BH", "CP", "CC", "EN", "EL")},
        paper_values.TABLE3,
        ("L", "EN"),
    ),
    "table4": _by_data(
        {"AI": "AI+", "CP": "CP", "CC": "CC+", "KN": "KN+", "EL": "EL"},
        paper_values.TABLE4,
        ("L", "GL"),
    ),
}
