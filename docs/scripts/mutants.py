"""The section on mutation tests of docs/reliability.md, from docs/mutations.jsonl.

`tests/attack/mutations.py` makes the mutants and stores what the tests did.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from asv_results import markdown

Record = dict[str, Any]

# Why no test can tell some mutants from the code: the module, the line, the change, the reason.
SIZE_OF_PIECES = "the size of pieces changes the time alone"
EQUIVALENT = {
    (
        "nvsd/kernels/blocks.py",
        "PIECE = 2**24  # numbers of a block between two looks for signals: a fraction of a second",
        "constant plus one",
    ): SIZE_OF_PIECES,
    (
        "nvsd/kernels/units.py",
        "if g <= EPS * c:  # already orthogonal to constants, like a linear kernel",
        "LtE to Lt",
    ): "c > 0, so that g = 0 is below both; no integral equals EPS c to the last digit",
    (
        "nvsd/losses/base.py",
        "slope = self.second_derivative(y, W + c) @ share",
        "right side dropped",
    ): "the search is safeguarded: a wrong slope takes other steps to the same root",
    (
        "nvsd/ridge/decomposition.py",
        "P = np.tile(others, (GRID, GRID, 1, 1))",
        "constant plus one",
    ): "the mean over the same draws twice",
}
# Why some others have no test; they count as survivors.
KNOWN = {
    (
        "nvsd/inference/conditional.py",
        'Config((Base(0.3),), 1, 1.0, "scan", 2),',
        "constant plus one",
    ): "a constant that was chosen by measuring, which no test repeats",
}

TEXT = """## Do the tests notice errors?

One operator or constant of a module is changed at a time: + to −, < to ≤, a term is dropped, 1 is
added to a number. Such mutants are drawn at random, with {seeds}, from all modules of an area. Each
meets the quick tests of that area, until one fails (`tests/attack/mutations.py`). Tests were then
written for those that survived.

*At first* is the share that was killed by the tests as they were: what to expect of mutants that
were not drawn. Slow tests, which were left out, may notice more. *Now* is the share after tests
were written. It leaves out equivalent mutants, which compute the same."""


def read(file: Path) -> list[Record]:
    """The stored results."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def key(record: Record) -> tuple[str, str, str]:
    """What a reason is given for."""
    return record["module"], record["code"], record["change"]


def reason(record: Record) -> str | None:
    """Why a mutant is equivalent, if it is."""
    return EQUIVALENT.get(key(record))


def row(name: str, records: list[Record]) -> list[str]:
    """An area of the table."""
    same = [record for record in records if record["now"] == "survived" and reason(record)]
    alive = [record for record in records if record["now"] == "survived" and not reason(record)]
    first = sum(record["first"] == "killed" for record in records)
    other = len(records) - len(same)
    share = (other - len(alive)) / max(other, 1)
    numbers = [len(records), f"{first / len(records):.0%}", len(same), len(alive), f"{share:.0%}"]
    return [name, *map(str, numbers)]


def why(record: Record) -> str:
    """Why no test has killed a mutant."""
    same = reason(record)
    return f"equivalent: {same}" if same else KNOWN.get(key(record), "no test yet")


def survivors(records: list[Record]) -> str:
    """Each mutant that no test notices."""
    rows = [
        [
            f"`{record['module']}`",
            f"`{record['code'].replace('|', '&#124;')}`",
            record["change"],
            why(record),
        ]
        for record in sorted(records, key=lambda each: (each["module"], each["line"]))
        if record["now"] == "survived"
    ]
    if not rows:
        return "No mutant survives."
    return "The survivors:\n\n" + markdown(["", "line", "change", "why"], rows)


def section(records: list[Record]) -> str:
    """The whole section; nothing without results."""
    if not records:
        return ""
    areas = list(dict.fromkeys(record["area"] for record in records))
    rows = [row(name, [each for each in records if each["area"] == name]) for name in areas]
    rows.append([f"**{cell}**" for cell in row("all", records)])
    head = ["", "mutants", "killed at first", "equivalent", "survive", "killed now"]
    seeds = sorted({record["seed"] for record in records})
    text = TEXT.format(seeds=f"the seed{'s' * (len(seeds) > 1)} {' and '.join(map(str, seeds))}")
    return f"{text}\n\n{markdown(head, rows)}\n\n{survivors(records)}"
