"""Selections and refits in a notebook: HTML without scripts, in the notebook's own colours."""

from __future__ import annotations

from html import escape
from typing import Any

from nvsd.results.facts import Judged, facts_of, listed
from nvsd.results.screen import Row, cell

SHOWN = 12  # inputs, unless more are selected
MOST = 40  # inputs, however many are selected
NAME = 40  # characters of a name

# Lines and backgrounds are shades of the text's own colour, so light and dark themes both work.
ROOT = "font:13px/1.45 system-ui,sans-serif;max-width:46rem;overflow-x:auto"
MUTED = "opacity:.65"
GRID = (
    "font:inherit;border-collapse:collapse;border:0;margin:.4em 0;font-variant-numeric:tabular-nums"
)
LEFT = "text-align:left;padding:.1em 1em .1em 0;border:0;font-weight:{weight}"
RIGHT = "text-align:right;padding:.1em 1em .1em 0;border:0;white-space:nowrap"
HEAD = "text-align:{side};padding:.1em 1em .2em 0;border:0;font-weight:400;opacity:.65"
BAR = "display:inline-block;height:.7em;width:{width:.1f}%;min-width:1px;background:{colour}"
ON, OFF = "#0b72b2", "rgba(128,128,128,.55)"


def notebook_html(selection: Any) -> str:
    """Selected inputs, ranking, errors, and p-values if they were made."""
    facts = facts_of(selection)
    names = [_name(name) for name in selection.selected]
    d = len(selection.features)
    title = f"{len(names) or 'none'} of {d} inputs, by {escape(str(selection.method))}"
    parts = [
        f"<div><strong>{type(selection).__name__}</strong>: {title}</div>",
        f"<div><strong>{listed(names)}</strong></div>" if names else "",
        f'<div style="{MUTED}">{escape(facts.reason)}</div>',
        _errors(selection.measure, facts.chosen, facts.empty, facts.least),
        _ranking(facts.inputs),
        f'<div style="{MUTED}">Predictions: {escape(selection.predicts_with)}.</div>',
    ]
    return f'<div style="{ROOT}">{"".join(parts)}</div>'


def refit_html(refit: Any) -> str:
    """Its inputs, kernel and ν."""
    names = [_name(name) for name in refit.uses]
    return (
        f'<div style="{ROOT}"><div><strong>{type(refit).__name__}</strong>: {len(names)} of '
        f"{len(refit.features)} inputs</div><div><strong>{listed(names)}</strong></div>"
        f'<div style="{MUTED}"><code>{escape(repr(refit.kernel))}</code>, ν = {refit.nu:.3g}, '
        f"{len(refit.fit.X)} kernel sections</div></div>"
    )


def _errors(measure: str, chosen: Judged, empty: Judged | None, least: Judged) -> str:
    rows = [("the chosen set", chosen), ("the set of least error", least), ("no inputs", empty)]
    cells = [
        f'<tr><td style="{LEFT.format(weight=400)}">{name}{f" ({j.size})" if j.size else ""}</td>'
        f'<td style="{RIGHT}">{j.text}</td></tr>'
        for name, j in rows
        if j is not None
    ]
    head = _head({f"{measure}, held-out rows": "left", "": "right"})
    return f'<table style="{GRID}">{head}{"".join(cells)}</table>'


def _ranking(rows: list[Row]) -> str:
    """One row for each input: its name, a bar, and numbers."""
    selected = sum(row["selected"] for row in rows)
    shown = rows[: min(max(SHOWN, selected), MOST)]
    top = max((abs(row["strength"]) for row in rows), default=0.0) or 1.0
    numbers: list[str] = [name for name in ("p_value", "q_value") if name in rows[0]]
    texts = ["group"] if "group" in rows[0] else []
    titles = {"input": "left"} | dict.fromkeys(texts, "left") | {"": "left", "strength": "right"}
    titles |= {name.replace("_value", ""): "right" for name in numbers}
    body = [_row(row, texts, numbers, 100 * abs(row["strength"]) / top) for row in shown]
    more = len(rows) - len(shown)
    rest = f'<div style="{MUTED}">… and {more} more</div>' if more else ""
    return f'<table style="{GRID}">{_head(titles)}{"".join(body)}</table>{rest}'


def _row(row: Row, texts: list[str], numbers: list[str], width: float) -> str:
    on = row["selected"]
    bar = BAR.format(width=width, colour=ON if on else OFF)
    left = LEFT.format(weight=600 if on else 400)
    plain = LEFT.format(weight=400)
    cells = [f'<td style="{left}">{_name(row["input"])}</td>']
    cells += [f'<td style="{plain}">{_name(row[name])}</td>' for name in texts]
    cells.append(f'<td style="{plain};width:min(10em,22vw)"><span style="{bar}"></span></td>')
    cells.append(f'<td style="{RIGHT}">{_strength(row["strength"])}</td>')
    cells += [f'<td style="{RIGHT}">{_chance(row[name])}</td>' for name in numbers]
    return f"<tr>{''.join(cells)}</tr>"


def _head(titles: dict[str, str]) -> str:
    cells = [
        f'<th style="{HEAD.format(side=side)}">{escape(title)}</th>'
        for title, side in titles.items()
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _name(name: Any) -> str:
    return escape(cell(str(name), NAME))


def _strength(value: float) -> str:
    """Three digits, with trailing zeros, so that numbers in a column can be compared."""
    return f"{value:#.3g}".rstrip(".") if value else "0"


def _chance(value: float) -> str:
    """A p-value or q-value."""
    return "&lt; 0.001" if value < 1e-3 else f"{value:.2g}"
