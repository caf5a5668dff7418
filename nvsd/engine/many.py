"""More rows than fit in an n by n matrix: a ranking is made again, and sets are fitted.

A first ranking is made from some of the rows. Some of these are the landmarks. The weights and the
fit then learn from more rows, with kernel sections at the landmarks (Nyström), so that weak effects
become visible:

    minimise Σ_i (y_i − mean − f(x_i))² + λ ‖f‖²   over f = Σ_j α_j k(v_j, ·)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.data.near_copies import kin
from nvsd.engine.features import Scaler, Units
from nvsd.engine.kernel import effects, gram
from nvsd.engine.ranking import Ranking, left_over
from nvsd.engine.reweight import Round, next_weights, scaled
from nvsd.engine.scan import cosines, counted, scan_main
from nvsd.engine.sets import SetFit, fit_all, floored
from nvsd.ridge.leave_one_out import nystrom_loo_ridge

Array = NDArray[Any]
Index = NDArray[np.intp]

MORE_ROWS, MORE_NUMBERS = 8000, 4_000_000  # largest numbers of rows, and of entries of X, in a fit
LANDMARKS = 500  # kernel sections: with more, fits take longer and errors hardly fall
NEW = 0.5  # first effect of inputs that only more rows show, as a share of the largest effect
PIECE = 1000  # rows whose features are computed at once


@dataclass(frozen=True, eq=False)
class More:
    """The rows that weights and fits learn from: all inputs, y clipped, and weights of the rows."""

    X: Array
    y: Array
    weights: Array | None = None


def rows_to_learn_from(X: Array) -> int:
    """The largest number of rows to learn from."""
    return min(MORE_ROWS, MORE_NUMBERS // max(int(X.shape[1]), 1))


def at_rows(units: Units, X: Array) -> Array:
    """Features of many rows, in single precision, computed in pieces."""
    pieces = np.array_split(X, -(-len(X) // PIECE))
    return np.concatenate([units.at(piece).astype(np.float32) for piece in pieces])


def one_round(
    units: Units, A: Array, more: More, order: int, eta: Array, with_effects: bool = True
) -> Round:
    """Fit to rows with features A, with these weights; find total effects at the landmarks.

    Parameters
    ----------
    units : Units
        Features at the landmarks.
    more : More
        The rows.
    """
    active = np.flatnonzero(eta > 0)
    w, B = eta[active], units.Phi[:, active].astype(np.float32)  # single precision is twice as fast
    W = gram(B, B, w, order)
    fit = nystrom_loo_ridge(gram(A[:, active], B, w, order).K, W.K, more.y, more.weights)
    effect = np.zeros(len(eta))
    if with_effects:
        copies = None if units.kin is None else units.kin[active]
        effect[active] = effects(W, B, w, fit.alpha, order, kin=copies)
    return Round(eta, effect, fit, None)


def learned(ranking: Ranking, X: Array, more: More) -> Ranking:
    """The ranking made again from more rows.

    Parameters
    ----------
    ranking : Ranking
        Made from the rows X.
    """
    before = fit_all(ranking)
    errors = more.y - before.predict(more.X)
    C = cosines(more.X)
    active = ranking.columns[ranking.units.per_input(ranking.last.effect) > 0]
    columns = np.union1d(active, left_over(C, errors, more.weights))
    if not len(columns):
        return ranking
    config = ranking.config
    landmarks = X[np.linspace(0, len(X) - 1, min(len(X), LANDMARKS)).round().astype(int)]
    scaler, copies = Scaler.fit(X[:, columns]), kin(X[:, columns])
    units = Units.make(landmarks[:, columns], config.bases, scaler, copies)
    strength = np.zeros(X.shape[1])
    strength[ranking.columns] = ranking.units.per_input(ranking.last.effect)
    # Inputs that only the scan has found start with a large effect; the fit then measures it.
    start = np.where(strength[columns] > 0, strength[columns], NEW * strength.max())
    eta = scaled(next_weights(np.tile(start, len(config.bases)), config.order), config.s)
    last = one_round(units, at_rows(units, more.X[:, columns]), more, config.order, eta)
    if not last.effect.any():
        return ranking
    score, outside = np.zeros(X.shape[1]), np.ones(X.shape[1], dtype=bool)
    score[columns], outside[columns] = units.per_input(last.effect), False
    main = scan_main(C, counted(more.y, more.weights))
    order = np.lexsort((-main, outside, -score))
    return replace(ranking, order=order, score=score, columns=columns, units=units, last=last)


def fit_set(ranking: Ranking, more: More, inputs: Index) -> SetFit:
    """A fit on some inputs of a ranking, learned from more rows."""
    units, config = ranking.units.take(np.searchsorted(ranking.columns, inputs)), ranking.config
    eta = scaled(next_weights(floored(ranking.effects(inputs)), config.order), config.s)
    A = at_rows(units, more.X[:, inputs])
    fit = one_round(units, A, more, config.order, eta, False)
    return SetFit(inputs, units, config.order, fit)
