"""The result of a selection, in sentences."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nvsd.cli._screen import cell, paragraph
from nvsd.data.weights import mean, variance
from nvsd.losses import Loss
from nvsd.results.facts import facts_of, reason_of, strength_words, treated
from nvsd.selection import Selection
from nvsd.selection.classes import ClassSelection

NAMED = 12  # number of inputs that a sentence lists
SURE_RATE = 0.1  # false discovery rate below which a test is called passed
SURELY = 0.005  # smallest share of the variance that is shown as a number


class Answer(NamedTuple):
    """A selection, the name of its target, and the rows behind it.

    Attributes
    ----------
    selection : Selection
    target : str
    n : int
        Number of rows that were fitted.
    constant : float
        What the best constant costs: the variance of the target over the held-out rows, or its mean
        loss.
    """

    selection: Selection
    target: str
    n: int
    constant: float

    @classmethod
    def of(
        cls, selection: Selection, target: str, n: int, judged: Any, weights: Any = None
    ) -> Answer:
        """With what a constant would cost on the rows that judged."""
        text, empty = selection.history.attrs.get("loss"), facts_of(selection).empty
        if empty is not None:  # judged as the others are, with the same bound on far values of y
            constant = empty.error
        elif isinstance(selection, ClassSelection):
            _, codes = np.unique(judged, return_inverse=True)
            counts = np.bincount(codes, weights)
            shares = counts[counts > 0] / counts.sum()
            constant = -float(shares @ np.log(shares))
        elif text is None:
            constant = float(variance(judged, weights))
        else:
            loss = Loss.from_json(text)
            best = np.full(len(judged), loss.origin(judged, weights))
            constant = float(mean(loss.pointwise(judged, best), weights))
        return cls(selection, target, n, constant)

    @property
    def classes(self) -> list[str]:
        """The labels, if the target has classes."""
        found = self.selection
        return list(map(str, found.classes)) if isinstance(found, ClassSelection) else []

    @property
    def explained(self) -> float | None:
        """The share of a constant's loss that held-out predictions from the set explain."""
        return 1 - float(self.selection.score) / self.constant if self.constant > 0 else None

    @property
    def ranks(self) -> bool:
        """Whether ranks say more, because strengths belong to one set and not to all inputs."""
        return self.selection.method != "anova"

    @property
    def reason(self) -> str:
        """Why this set was chosen, without a capital and a full stop."""
        return reason_of(self.selection.history)

    def text(self) -> str:
        """The whole answer, for a screen of 80 columns."""
        parts = [self._which(), self._what(), self._why(), self._error(), self._scores()]
        parts += [self._tests(), self._predictions(), treated(self.selection)]
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

    def _what(self) -> str:
        """That the target was taken as classes."""
        names, more = self.classes[:NAMED], len(self.classes) - NAMED
        if not names:
            return ""
        listed = ", ".join(map(cell, names)) + (f" and {more} more" if more > 0 else "")
        return f"{self.target} was taken as {len(self.classes)} classes: {listed}."

    def _scores(self) -> str:
        """How good the probabilities are."""
        if not isinstance(self.selection, ClassSelection):
            return ""
        found = self.selection.held_out
        return (
            f"Held-out probabilities: AUC {found['auc']:.3f}, accuracy {found['accuracy']:.0%}, "
            f"Brier score {found['brier']:.3g}, calibration error {found['calibration_error']:.3f}."
        )

    @property
    def _constant(self) -> str:
        """What predicts without inputs."""
        if self.classes:
            return "the classes' shares"
        return "the mean" if "loss" not in self.selection.history.attrs else "a constant"

    def _why(self) -> str:
        why = f"{self.reason[:1].upper()}{self.reason[1:]}."
        if self.selection.support.any() or self.selection.history.attrs["rule"] == "k":
            return why
        than = "its mean does" if self._constant == "the mean" else f"{self._constant} would"
        return (
            f"As far as {self.n} rows can tell, {self.target} depends on none of them: no set of "
            f"inputs predicts it clearly better than {than}. {why}"
        )

    def _error(self) -> str:
        squares = self._constant == "the mean"
        what = "error" if squares else "loss"
        said = f"Expected {self.selection.measure} {self.selection.score:.4g} (held-out rows)"
        if not self.selection.support.any():
            return f"{said}: the {what} of {self._constant}."
        if self.explained is None or self.explained < SURELY:
            return f"{said}: no less than the {what} of {self._constant}."
        if not squares:
            return f"{said}: {self.explained:.0%} less than the {what} of {self._constant}."
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
            said = f"{said}; {at} that is not shown for {', '.join(unsure)}."
        else:
            said = f"{said}; {int(sure.sum())} pass {at}."
        for each in facts_of(self.selection).near_copies:
            said += f" Near copies, tested together: {cell(each, 60)}."
        return said

    def _predictions(self) -> str:
        uses = self.selection.predicts_with
        if not self.selection.predictor.fit.features.any():
            constant = "the mean" if self._constant == "the mean" else uses
            return f"Predictions are {constant} of {self.target}."
        if uses == "the selected inputs":
            return "Predictions use the selected inputs."
        return (
            f"Predictions have the least error with {uses}; the model that --out writes uses only "
            "the selected inputs."
        )

    def _strength(self) -> str:
        what = strength_words(self.selection, self.target)
        chance = "" if self.selection.support.any() else ", here not distinguishable from chance"
        rank = "; rank is the size of the smallest set that has them" if self.ranks else ""
        return f"Inputs by strength, {what}{chance}{rank}:"
