"""Tests by another loss than squares: of classes, by the rise of the log-loss on copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.data.weights import mean
from nvsd.engine.aims import Aim
from nvsd.engine.judging import Structure, some_rows
from nvsd.engine.loss_judging import AimFit, LossFold
from nvsd.inference.copies import Drawn
from nvsd.inference.hypotheses import TESTED_ROWS

Array = NDArray[Any]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LossModel:
    """A fit of one fold, and the rows that it has not seen.

    Attributes
    ----------
    fit : AimFit
        Of the size with the least leave-one-out loss.
    rows : index array
    target : Aim
        At these rows.
    """

    fit: AimFit
    rows: Index
    target: Aim

    @classmethod
    def of(cls, fold: LossFold, structure: Structure, seed: int) -> LossModel:
        """The model of a fold."""
        places = np.arange(len(fold.held))
        places = some_rows(places, TESTED_ROWS, np.random.default_rng(seed))
        return cls(fold.model(structure), fold.held[places], fold.target.take(places))

    def uses(self, unit: Index) -> Index:
        """The inputs of a unit that the fit uses."""
        return self.fit.uses(unit)

    def loss_of_the_mean(self) -> Array:
        """What the best constants cost."""
        constants = np.repeat(self.fit.known.origin[:, None], len(self.rows), axis=1)
        costs = self.target.costs(constants, self.fit.known)
        return np.atleast_1d(mean(costs, self.target.weights))

    def rise(self, X: Array, unit: Index, drawn: Drawn) -> Array:
        """Δ at the rows of this fold."""
        used = self.uses(unit)
        if not len(used):
            return np.zeros(len(self.rows))
        copies = drawn.copies[:, self.rows][:, :, np.searchsorted(unit, used)]
        rows, known = X[self.rows], self.fit.known
        with_copies = self.target.costs(self.fit.with_copies(rows, used, copies), known)
        return np.asarray(
            with_copies.mean(axis=0) - self.target.costs(self.fit.predict(rows), known)
        )
