"""Fits on some of the inputs, with the features and the configuration of a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.engine.features import Units
from nvsd.engine.kernel import exponent, gram, values
from nvsd.engine.ranking import Ranking
from nvsd.engine.reweight import Round, Weights, next_weights, one_round, scaled

Array = NDArray[Any]
Index = NDArray[np.intp]

ROUNDS, MANY = 2, 250  # rounds of reweighting in a set; only one above MANY rows, to save time
FLOOR = 0.1  # share of the largest effect: no input of a set starts with less


@dataclass(frozen=True, eq=False)
class SetFit:
    """f = mean + k(·, X) α on some inputs of X."""

    inputs: Index
    units: Units
    order: int
    round: Round

    def predict(self, X: Array) -> Array:
        """Predictions at new rows; X has all inputs."""
        eta = self.round.eta
        used = np.flatnonzero(self.units.per_input(eta) > 0)
        units, eta = self.units.take(used), eta[self.units.of(used)]
        K = gram(units.at(X[:, self.inputs[used]]), units.Phi, eta, self.order).K
        return np.asarray(self.round.fit.mean + K @ self.round.fit.alpha)

    def with_copies(self, X: Array, inputs: Index, copies: Array) -> Array:
        """Predictions at rows where copies replace some inputs, (copies, m).

        The exponent of the kernel is a sum over inputs, so only their part is computed again.

        Parameters
        ----------
        X : (m, d) array
            Rows with all inputs.
        inputs : int array
            Inputs of this set.
        copies : (c, m, len(inputs)) array
        """
        places = np.searchsorted(self.inputs, inputs)
        changed, eta = self.units.take(places), self.round.eta[self.units.of(places)]
        rest = np.setdiff1d(np.arange(len(self.inputs)), places)
        others = self.units.take(rest)

        def part(units: Units, X: Array, eta: Array) -> Array:
            A, B = (Phi.astype(np.float32) for Phi in (units.at(X), units.Phi))
            return exponent(A, B, eta, self.order)

        fixed = part(others, X[:, self.inputs[rest]], self.round.eta[self.units.of(rest)])
        alpha = self.round.fit.alpha.astype(np.float32)
        found = [values(fixed + part(changed, copy, eta), self.order) @ alpha for copy in copies]
        return np.asarray(self.round.fit.mean + np.array(found, dtype=float))


def floored(effect: Array) -> Array:
    """Effects raised to at least FLOOR times the largest, so that every input has a chance."""
    return np.asarray(np.maximum(effect, FLOOR * effect.max(initial=0.0)) + 1e-12)


def fit_set(ranking: Ranking, y: Array, inputs: Index, lam: float | None = None) -> SetFit:
    """A fit on some inputs of a ranking, to its rows, with weights that start at their effects."""
    units = ranking.units.take(np.searchsorted(ranking.columns, inputs))
    config = ranking.config
    eta = next_weights(floored(ranking.effects(inputs)), config.order)
    lam = ranking.last.fit.lam if lam is None else lam
    few, best, of_rows = len(y) <= MANY, None, Weights(ranking.last.fit.weights)
    for _ in range(ROUNDS if few else 1):
        weights = scaled(eta, config.s)
        given = units.Phi, y, config.order, weights, lam
        now = one_round(*given, effects=few, weights=of_rows, kin=units.kin)
        if best is None or now.fit.error < best.fit.error:
            best = now
        eta, lam = next_weights(now.effect, config.order), now.fit.lam
        if not eta.any():
            break
    assert best is not None
    return SetFit(inputs, units, config.order, best)


def fit_all(ranking: Ranking) -> SetFit:
    """The fit on all inputs that made the ranking."""
    return SetFit(ranking.columns, ranking.units, ranking.config.order, ranking.last)
