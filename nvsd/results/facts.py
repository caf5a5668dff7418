"""What is said of a selection: in its text, its HTML and its report."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from nvsd.results.screen import Row, cell

STRENGTHS = {
    "anova": "the standard deviation of their effect in units of {target}",
    "classes": "the standard deviation of their effect on the probability of a class",
    "stability": "the share of the halves of the rows that select them",
}


class Judged(NamedTuple):
    """The error of a set on held-out rows, its standard error, and the size of the set."""

    error: float
    se: float
    size: int

    @property
    def text(self) -> str:
        """Both numbers, the second with two digits, as in 3008 ± 190."""
        if not np.isfinite(self.se):
            return f"{self.error:.4g}"
        rounded = float(f"{self.se:.2g}")
        return (
            f"{self.error:.4g} ± {rounded:.0f}"
            if 10 <= rounded < 1e6
            else (f"{self.error:.4g} ± {rounded:.2g}")
        )


class Facts(NamedTuple):
    """Numbers and words of a selection that need no computation.

    Attributes
    ----------
    chosen, least : Judged
        The chosen set, and the set of least error.
    empty : Judged or None
        The empty set, if it was a candidate.
    rows : int or None
        Number of rows that were fitted, if it is known.
    reason : str
        Why this set was chosen, as a sentence.
    inputs : list of rows
        Every input, best first: input, group, selected, strength, and p and q if they were made.
    near_copies : list of str
        Sets of inputs that are near copies of each other, if tests were made.
    """

    chosen: Judged
    least: Judged
    empty: Judged | None
    rows: int | None
    reason: str
    inputs: list[Row]
    near_copies: list[str]

    @property
    def explained(self) -> float | None:
        """The share of the empty set's error that the chosen set saves."""
        if self.empty is None or not self.empty.error > 0:
            return None
        return 1 - self.chosen.error / self.empty.error


def facts_of(selection: Any) -> Facts:
    """The facts of a Selection."""
    history = selection.history
    error, size = history["error"].values, history["n_selected"].values
    none = np.flatnonzero(size == 0)

    def judged(step: int) -> Judged:
        return Judged(float(error[step]), float(history["error_se"].values[step]), int(size[step]))

    rows = history.attrs.get("n_samples")
    tests = selection.tests
    copies = [] if tests is None else sorted(set(_texts(tests, "near_copies")) - {""})
    reason = reason_of(history)
    return Facts(
        chosen=judged(int(history.attrs["chosen"]))._replace(size=int(selection.support.sum())),
        least=judged(int(np.argmin(error))),
        empty=judged(int(none[np.argmin(error[none])])) if len(none) else None,
        rows=None if rows is None else int(rows),
        reason=f"{reason[:1].upper()}{reason[1:]}.",
        inputs=_inputs(selection),
        near_copies=copies,
    )


def reason_of(history: xr.Dataset) -> str:
    """Why this set was chosen, without a capital and a full stop."""
    if "reason" in history.attrs:
        return f"{history.attrs['reason']}{_doubt(history)}"
    if history.sizes["step"] == 1:
        return "this set is the only candidate"
    if int(np.argmin(history["error"].values)) == int(history.attrs["chosen"]):
        return f"of {history.sizes['step']} candidate sets, this one has the least error"
    if str(history.attrs["rule"]) == "1se":
        return "this set is the smallest whose error is within a standard error of the least"
    return "of the sets with nearly the least error, this one has the clearest norms"


def _doubt(history: xr.Dataset) -> str:
    """Which selected inputs the ranking gives no effect: the folds have ranked others as high."""
    chosen = history.isel(step=int(history.attrs["chosen"]))
    without = chosen["support"].values & (chosen["strength"].values == 0)
    names = [cell(str(name)) for name in history["feature"].values[without]]
    if not names:
        return ""
    have, they = ("has", "it is") if len(names) == 1 else ("have", "they are")
    return f"; {listed(names)} {have} no effect in the fit to all rows, so {they} doubtful"


def _inputs(selection: Any) -> list[Row]:
    """One row for each input, best first; selected inputs come first."""
    order = selection.order[np.argsort(~selection.support[selection.order], kind="stable")]
    tests, groups = selection.tests, selection.groups
    found = {} if tests is None else tested(tests)
    rows = []
    for a in order.tolist():
        row: Row = {"input": selection.features[a]}
        if groups is not None:
            row["group"] = groups[a]
        row |= {
            "selected": bool(selection.support[a]),
            "strength": float(selection.strength[a]),
        }
        row |= {name: each[(groups or selection.features)[a]] for name, each in found.items()}
        rows.append(row)
    return rows


def tested(tests: Any) -> dict[str, dict[str, float]]:
    """The p-value and q-value of each input, or group, by its name."""
    unit = "feature" if "feature" in tests.dims else "group"
    p = "p_value_together" if "p_value_together" in tests else "p_value"
    names = _texts(tests, unit)
    return {
        title: dict(zip(names, tests[name].values.tolist(), strict=True))
        for title, name in (("p_value", p), ("q_value", "q_value"))
    }


def _texts(dataset: Any, name: str) -> list[str]:
    return [str(each) for each in dataset[name].values] if name in dataset else []


def target_name(selection: Any) -> str:
    """The name of y."""
    return str(selection.history.attrs.get("target", "y"))


def treated(selection: Any) -> str:
    """What was made of columns that are not plain numbers, as a sentence; empty if all are."""
    found = [
        f"{cell(name)} ({what})"
        for name, what in selection.columns.treatment.items()
        if what != "number"
    ]
    return f"Not plain numbers: {listed(found)}." if found else ""


def strength_words(selection: Any, target: str | None = None) -> str:
    """What the strengths of the inputs are."""
    history, target = selection.history, target or target_name(selection)
    method = str(history["method"].values[int(history.attrs["chosen"])])
    method = "classes" if hasattr(selection, "classes") else method
    what = STRENGTHS.get(method, "the derivative norm that they were ranked by")
    return what.format(target=target)


def listed(names: list[str], most: int = 12) -> str:
    """A few names, and the number of the others."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
