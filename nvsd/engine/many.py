"""More rows than a matrix of their square allows: a ranking made again, and fits of sets.

A ranking is made on some of the rows, which also are the landmarks here. The weights and the fit
then learn from more of them, with kernel sections at the landmarks (Nyström), so that weak effects
are seen:

    minimise Σ_i (y_i − mean − f(x_i))² + λ ‖f‖²   over f = Σ_j α_j k(v_j, ·)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.engine.features import Scaler, Units
from nvsd.engine.kernel import effects, gram
from nvsd.engine.ranking import Ranking, left_over
from nvsd.engine.reweight import Round, next_weights, scaled
from nvsd.engine.scan import cosines, scan_main
from nvsd.engine.sets import SetFit, fit_all, floored
from nvsd.ridge.leave_one_out import nystrom_loo_ridge

Array = NDArray[Any]
Index = NDArray[np.intp]

MORE_ROWS, MORE_NUMBERS = 8000, 4_000_000  # rows, and numbers of X, that a fit learns from
LANDMARKS = 500  # kernel sections: with more, fits take longer and errors hardly fall
NEW = 0.5  # weight of inputs that only more rows show, as a share of the largest
PIECE = 1000  # rows whose features are made at once


@dataclass(frozen=True, eq=False)
class More:
    """Rows beyond those of a ranking, these among them: all inputs, and y clipped."""

    X: Array
    y: Array


def rows_to_learn_from(X: Array) -> int:
    """How many rows at most."""
    return min(MORE_ROWS, MORE_NUMBERS // max(int(X.shape[1]), 1))


def at_rows(units: Units, X: Array) -> Array:
    """Features of many rows, in single precision and in pieces."""
    pieces = np.array_split(X, -(-len(X) // PIECE))
    return np.concatenate([units.at(piece).astype(np.float32) for piece in pieces])


def one_round(
    units: Units, A: Array, y: Array, order: int, eta: Array, with_effects: bool = True
) -> Round:
    """Fit with these weights to rows with features A; total effects at the landmarks.

    Parameters
    ----------
    units : Units
        At the landmarks.
    """
    active = np.flatnonzero(eta > 0)
    w, B = eta[active], units.Phi[:, active].astype(np.float32)  # twice as fast
    W = gram(B, B, w, order)
    fit = nystrom_loo_ridge(gram(A[:, active], B, w, order).K, W.K, y)
    effect = np.zeros(len(eta))
    if with_effects:
        effect[active] = effects(W, B, w, fit.alpha, order)
    return Round(eta, effect, fit, None)


def learned(ranking: Ranking, X: Array, more: More) -> Ranking:
    """The ranking made again from more rows.

    Parameters
    ----------
    ranking : Ranking
        By the rows X.
    """
    before = fit_all(ranking)
    errors = more.y - before.predict(more.X)
    C = cosines(more.X)
    active = ranking.columns[ranking.units.per_input(ranking.last.effect) > 0]
    columns = np.union1d(active, left_over(C, errors))
    if not len(columns):
        return ranking
    config = ranking.config
    landmarks = X[np.linspace(0, len(X) - 1, min(len(X), LANDMARKS)).round().astype(int)]
    units = Units.make(landmarks[:, columns], config.bases, Scaler.fit(X[:, columns]))
    strength = np.zeros(X.shape[1])
    strength[ranking.columns] = ranking.units.per_input(ranking.last.effect)
    # What the scan has found starts large: the fit says how large it is.
    start = np.where(strength[columns] > 0, strength[columns], NEW * strength.max())
    eta = scaled(next_weights(np.tile(start, len(config.bases)), config.order), config.s)
    last = one_round(units, at_rows(units, more.X[:, columns]), more.y, config.order, eta)
    if not last.effect.any():
        return ranking
    score, outside = np.zeros(X.shape[1]), np.ones(X.shape[1], dtype=bool)
    score[columns], outside[columns] = units.per_input(last.effect), False
    order = np.lexsort((-scan_main(C, more.y), outside, -score))
    return replace(ranking, order=order, score=score, columns=columns, units=units, last=last)


def fit_set(ranking: Ranking, more: More, inputs: Index) -> SetFit:
    """A fit on some inputs of a ranking, which learns from more rows."""
    units, config = ranking.units.take(np.searchsorted(ranking.columns, inputs)), ranking.config
    eta = scaled(next_weights(floored(ranking.effects(inputs)), config.order), config.s)
    A = at_rows(units, more.X[:, inputs])
    fit = one_round(units, A, more.y, config.order, eta, False)
    return SetFit(inputs, units, config.order, fit)
