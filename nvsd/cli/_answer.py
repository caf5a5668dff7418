"""The result of a selection, in sentences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nvsd.cli._screen import cell, paragraph
from nvsd.selection import Selection

NAMED = 12  # number of inputs that a sentence lists
SURE_RATE = 0.1  # false discovery rate below which a test is called passed
SURELY = 0.005  # smallest share of the variance that is shown as a number
STRENGTHS = {
    "anova": "the standard deviation of their effect in units of {target}",
    "stability": "the share of the halves of the rows that select them",
}


class Answer(NamedTuple):
    """A selection, the name of its target, and the rows behind it.

    Attributes
    ----------
    selection : Selection
    target : str
    n : int
        Number of rows that were fitted.
    variance : float
        Of the target over the held-out rows.
    """

    selection: Selection
    target: str
    n: int
    variance: float

    @property
    def explained(self) -> float | None:
        """The share of the variance that held-out predictions from the selected inputs explain."""
        return 1 - float(self.selection.score) / self.variance if self.variance > 0 else None

    @property
    def ranks(self) -> bool:
        """Whether ranks say more, because strengths belong to one set and not to all inputs."""
        return self.selection.method != "anova"

    @property
    def reason(self) -> str:
        """Why this set was chosen, without a capital and a full stop."""
        history = self.selection.history
        best, chosen = int(np.argmin(history["error"].values)), int(history.attrs["chosen"])
        rule = str(history.attrs["rule"])
        if "reason" in history.attrs:
            text = str(history.attrs["reason"])
        elif history.sizes["step"] == 1:
            text = "this set is the only candidate"
        elif best == chosen:
            text = f"of {history.sizes['step']} candidate sets, this one has the least error"
        elif rule == "1se":
            text = "this set is the smallest whose error is within a standard error of the least"
        else:
            text = "of the sets with nearly the least error, this one has the clearest norms"
        return text

    def text(self) -> str:
        """The whole answer, for a screen of 80 columns."""
        parts = [self._which(), self._why(), self._error(), self._tests(), self._predictions()]
        said = "".join(paragraph(part) for part in parts if part)
        return f"{said}\n{paragraph(self._strength())}"

    def _which(self) -> str:
        s = self.selection
        names = [cell(s.features[a]) for a in s.order if s.support[a]]
        d = len(s.features)
        head = f"Selected {len(names) or 'none'} of {d} input{'s' * (d != 1)} by {s.method}"
        if not names:
            return f"{head}."
        if s.groups is not None:
            used = {group for group, on in zip(s.groups, s.support, strict=True) if on}
            head += f", in {len(used)} of {len(set(s.groups))} groups"
        more = len(names) - NAMED
        return f"{head}: {', '.join(names[:NAMED])}{f' and {more} more' if more > 0 else ''}."

    def _why(self) -> str:
        why = f"{self.reason[:1].upper()}{self.reason[1:]}."
        if self.selection.support.any() or self.selection.history.attrs["rule"] == "k":
            return why
        return (
            f"As far as {self.n} rows can tell, {self.target} depends on none of them: no set of "
            f"inputs predicts it clearly better than its mean does. {why}"
        )

    def _error(self) -> str:
        said = f"Expected mean squared error {self.selection.score:.4g} (held-out rows)"
        if not self.selection.support.any():
            return f"{said}: the error of the mean."
        if self.explained is None or self.explained < SURELY:
            return f"{said}: no less than the error of the mean."
        return f"{said}: {self.explained:.0%} of variance explained."

    def _tests(self) -> str:
        """How sure the selection is of each input."""
        history = self.selection.history
        if "q_value" not in history:
            return ""
        q = history["q_value"].values
        sure = q <= SURE_RATE
        unit = "input" if self.selection.groups is None else "input's group"
        said = f"p_value tests whether {self.target} depends on the {unit} given the others"
        on = self.selection.support & ~sure
        unsure = [cell(self.selection.features[a]) for a in np.flatnonzero(on)]
        at = f"at a false discovery rate of {SURE_RATE:.0%}"
        if unsure and len(unsure) <= NAMED:
            return f"{said}; {at} that is not shown for {', '.join(unsure)}."
        return f"{said}; {int(sure.sum())} pass {at}."

    def _predictions(self) -> str:
        uses = self.selection.predicts_with
        if not self.selection.predictor.fit.features.any():
            return f"Predictions are the mean of {self.target}."
        if np.array_equal(self.selection.predictor.fit.features, self.selection.support):
            return "Predictions use the selected inputs."
        return (
            f"Predictions have the least error with {uses}; the model that --out writes uses only "
            "the selected inputs."
        )

    def _strength(self) -> str:
        history = self.selection.history
        method = str(history["method"].values[int(history.attrs["chosen"])])
        what = STRENGTHS.get(method, "the derivative norm that they were ranked by")
        chance = "" if self.selection.support.any() else ", here not distinguishable from chance"
        rank = "; rank is the size of the smallest set that has them" if self.ranks else ""
        return f"Inputs by strength, {what.format(target=self.target)}{chance}{rank}:"
