"""Fits of sets by a loss that is not quadratic, with the features and weights of a ranking."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.engine import many
from nvsd.engine.features import Units
from nvsd.engine.kernel import gram
from nvsd.engine.ranking import Ranking
from nvsd.engine.reweight import Round, next_weights, scaled
from nvsd.engine.sets import MANY, SetFit, fit_set, floored
from nvsd.losses import Loss
from nvsd.ridge.leave_one_out import LooFit
from nvsd.ridge.newton import Features, LossProblem

Array = NDArray[Any]
Index = NDArray[np.intp]

SECTIONS = 400  # kernel sections of a fit that judges: more take longer, and losses hardly fall
# Of the weights, which compete; in a kernel of order 1, λ does it. Tuned as the rest, see
# `loss_judging`: log-losses fall by up to 2 %.
SCALES = (1.0, 0.3)
CLOSE = 1e-6  # accuracy of a fit that judges, in losses of the best constant
ROUNDED = 0.05  # share of the spread of y within which kinks of its loss are rounded


class LossLoo(LooFit):
    """A fit whose `errors` are the losses of its left-out predictions."""

    @property
    def error(self) -> float:
        """Mean leave-one-out loss."""
        return float(np.mean(self.errors))


@dataclass(frozen=True, eq=False)
class Learned:
    """Rows that a target is learned from, with all inputs.

    Attributes
    ----------
    X : (n, d) array
    code : (n,) array
        What squared loss ranks for, of standard deviation about 1.
    target : (n,) array
        What the loss compares with f.
    ranking : Ranking
        For the code, from these rows or some of them.
    weights : (n,) array or None
        Of these rows, with mean 1; None if they are equal.
    """

    X: Array
    code: Array
    target: Array
    ranking: Ranking
    weights: Array | None = None

    @property
    def landmarks(self) -> bool:
        """Whether kernel sections are at some of the rows only."""
        return len(self.ranking.units.Phi) < len(self.X)


def fit_set_by(learned: Learned, loss: Loss, inputs: Index, lam: float | None) -> SetFit:
    """The fit on some inputs of the ranking; weights by squared loss, f and λ by the loss."""
    ranking = learned.ranking
    if len(learned.X) <= MANY:
        base = fit_set(ranking, learned.code, inputs)
        return _fitted(learned, loss, base, base.round.fit.lam if lam is None else lam)
    units = ranking.units.take(np.searchsorted(ranking.columns, inputs))
    order = ranking.config.order
    eta = scaled(next_weights(floored(ranking.effects(inputs)), order), ranking.config.s)
    base = SetFit(inputs, units, order, replace(ranking.last, eta=eta))
    return _fitted(learned, loss, base, ranking.last.fit.lam if lam is None else lam)


def fit_all_by(learned: Learned, loss: Loss) -> SetFit:
    """The fit on all inputs, with the weights of the ranking."""
    ranking = learned.ranking
    base = SetFit(ranking.columns, ranking.units, ranking.config.order, ranking.last)
    return _fitted(learned, loss, base, ranking.last.fit.lam)


def _fitted(learned: Learned, loss: Loss, base: SetFit, lam: float) -> SetFit:
    """f by the loss, with the units and weights of a fit by squares, these smaller or as they are.

    Squares want weights that follow y to its labels; probabilities are smoother.
    """
    found: list[SetFit] = []
    for scale in SCALES if base.order != 1 else SCALES[:1]:
        eta = scale * base.round.eta
        features = _features(learned, base.units, base.inputs, eta, base.order)
        given = features.Phi, learned.target, loss, learned.weights
        lam, fit = LossProblem(*given, tol=CLOSE, rounded=ROUNDED).best(lam)
        alpha = features.coefficients(fit.theta, len(base.units.Phi))
        loo = LossLoo(alpha, fit.constant, lam, fit.costs)
        found.append(replace(base, round=Round(eta, base.round.effect, loo, None)))
    return min(found, key=lambda one: one.round.fit.error)


def _features(learned: Learned, units: Units, inputs: Index, eta: Array, order: int) -> Features:
    active = np.flatnonzero(eta > 0)
    B, w = units.Phi[:, active], eta[active]
    K = gram(B, B, w, order).K
    if not learned.landmarks:
        return Features.of_kernel(K, SECTIONS)
    A = many.at_rows(units, learned.X[:, inputs])[:, active].astype(float)
    return Features.of_sections(gram(A, B, w, order).K, K, SECTIONS)
