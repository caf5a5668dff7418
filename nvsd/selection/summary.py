"""A selection as plain text: `Selection.summary`, and the text of objects."""

from __future__ import annotations

from typing import Any

from nvsd.results.facts import Facts, facts_of, listed, strength_words, target_name, treated
from nvsd.results.screen import COLUMNS, cell, paragraph, table

SHOWN = 20  # inputs in a summary; all selected ones are
NAMES, NAMES_IN_GROUPS = 24, 13  # columns of a name, alone and beside that of its group
HALF = 38  # columns of one of two facts in a line


def summary(selection: Any) -> str:
    """What was selected and why, for a screen of 80 columns."""
    facts = facts_of(selection)
    names = [cell(name) for name in selection.selected]
    head = f"{type(selection).__name__} by {selection.method}"
    version = f"nvsd {selection.history.attrs.get('nvsd_version', '')}".strip()
    parts = [
        f"{head}{version:>{COLUMNS - len(head)}}\n",
        _pairs(_numbers(selection, facts)),
        paragraph(f"Selected: {listed(names)}." if names else "No input was selected.")
        + paragraph(facts.reason)
        + paragraph(_predicts(selection))
        + (paragraph(columns) if (columns := treated(selection)) else ""),
        _table(selection, facts),
        _notes(selection, facts),
    ]
    rules = ["=" * COLUMNS, *["-" * COLUMNS] * (len(parts) - 2), "=" * COLUMNS]
    lines = [parts[0], *(f"{r}\n{part}" for r, part in zip(rules, parts[1:], strict=False))]
    return "".join(lines) + rules[-1]


def _numbers(selection: Any, facts: Facts) -> list[tuple[str, str]]:
    d, size = len(selection.features), int(selection.support.sum())
    unit = f"{facts.least.size} input{'s' * (facts.least.size != 1)}"
    found = [
        ("Selected", f"{size} of {d} inputs"),
        ("Rows", "" if facts.rows is None else str(facts.rows)),
        ("Error", facts.chosen.text),
        ("Error without inputs", "" if facts.empty is None else facts.empty.text),
        ("Least error", f"{facts.least.error:.4g}, {unit}"),
        ("Explained", "" if facts.explained is None else f"{facts.explained:.0%}"),
        ("Rule", str(selection.history.attrs["rule"])),
        ("Classes", str(len(selection.classes)) if hasattr(selection, "classes") else ""),
    ]
    for name, value in getattr(selection, "held_out", {}).items():
        if name != "log_loss":  # it is the error
            title = "AUC" if name == "auc" else name.replace("_", " ").capitalize()
            found.append((title, f"{value:.3f}"))
    return [(name, value) for name, value in found if value]


def _pairs(facts: list[tuple[str, str]]) -> str:
    """Two facts in a line."""
    cells = [f"{name}{value:>{HALF - len(name)}}" for name, value in facts]
    cells += [""] * (len(cells) % 2)
    gap = " " * (COLUMNS - 2 * HALF)
    pairs = zip(cells[::2], cells[1::2], strict=True)
    return "".join(f"{left}{gap}{right}".rstrip() + "\n" for left, right in pairs)


def _predicts(selection: Any) -> str:
    verb = "use" if selection.predictor.uses else "are"
    return f"Predictions {verb} {selection.predicts_with}."


def _table(selection: Any, facts: Facts) -> str:
    most = max(SHOWN, int(selection.support.sum()))
    longest = NAMES if selection.groups is None else NAMES_IN_GROUPS
    rows = [{name: _short(value) for name, value in row.items()} for row in facts.inputs]
    return table(rows, most=most, longest=longest, how="selection.table()")


def _short(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _notes(selection: Any, facts: Facts) -> str:
    target = cell(target_name(selection))
    said = (
        f"The error is the {selection.measure} on held-out rows, ± one standard error. The "
        f"strength of inputs is {strength_words(selection, target)}."
    )
    if selection.tests is None:
        said += " No tests were made" + (
            "; selection.p_values makes them." if selection.evidence is not None else "."
        )
    else:
        unit = "input" if selection.groups is None else "group"
        said += f" The p-value of an {unit}".replace("an group", "a group")
        said += f" tests whether {target} depends on it given the others."
    for each in facts.near_copies:
        said += f" Near copies, tested together: {cell(each, 60)}."
    return paragraph(said)


def brief(selection: Any) -> str:
    """The selection in a few lines."""
    facts = facts_of(selection)
    d, names = len(selection.features), [cell(name, 24) for name in selection.selected]
    lines = [
        f"{type(selection).__name__}: {len(names)} of {d} inputs by {selection.method}",
        f"  selected: {listed(names) or 'none'}",
        f"  {selection.measure}: {facts.chosen.text} on held-out rows"
        + ("" if facts.empty is None else f", {facts.empty.text} without inputs"),
        f"  predicts with: {selection.predicts_with}",
    ]
    if hasattr(selection, "classes"):
        labels = [cell(label, 24) for label in selection.classes.tolist()]
        lines.insert(1, f"  classes: {listed(labels)}")
    return "\n".join(lines)


def brief_refit(refit: Any) -> str:
    """A refit in two lines."""
    names = [cell(name, 24) for name in refit.uses]
    used = f"{len(names)} of {len(refit.features)} inputs"
    points = len(refit.fit.X)
    return (
        f"{type(refit).__name__}: {used}{': ' if names else ''}{listed(names)}\n"
        f"  {refit.kernel!r}, nu={refit.nu:.3g}, {points} kernel section{'s' * (points != 1)}"
    )
