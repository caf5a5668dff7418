"""Reweighted kernel ridge: fit, measure every unit's total effect, make it a weight, repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.data.weights import mean
from nvsd.engine.kernel import ALL, gram
from nvsd.engine.kernel import effects as size_of_effects
from nvsd.ridge.leave_one_out import LOWEST_SINGLE, LooFit, best_loo_ridge
from nvsd.tolerances import TINY

Array = NDArray[Any]

REST = 0.02  # share of the largest weight: smaller weights become 0, which changes no ranking


class Weights(NamedTuple):
    """Weights of the rows that are fitted, and of those held out; None if they are equal."""

    rows: Array | None = None
    held: Array | None = None


NO_WEIGHTS = Weights()


@dataclass(frozen=True, eq=False)
class Round:
    """One fit with given weights.

    Attributes
    ----------
    eta : (units,) array
        The weights.
    effect : (units,) array
        sd(t_u), from which the weights of the next round follow.
    fit : LooFit
    held : (m,) array or None
        Errors on the held-out rows.
    held_weights : (m,) array or None
        Weights of these rows, if they differ.
    """

    eta: Array
    effect: Array
    fit: LooFit
    held: Array | None
    held_weights: Array | None = None

    @property
    def error(self) -> float:
        """Mean squared error on the held-out rows, or leave-one-out if there are none."""
        if self.held is None:
            return self.fit.error
        return float(mean(np.square(self.held), self.held_weights))


def scaled(eta: Array, s: float) -> Array:
    """Weights with sum of squares s², where small ones become 0."""
    top = float(eta.max(initial=0.0))
    if top <= 0:
        return np.full(len(eta), s / np.sqrt(len(eta)))
    eta = np.where(eta >= REST * top, eta, 0.0)
    return np.asarray(eta * (s / np.sqrt(np.sum(eta**2))))


def one_round(
    Phi: Array,
    y: Array,
    order: int,
    eta: Array,
    lam: float | None = None,
    held: tuple[Array, Array] | None = None,
    effects: bool = True,
    weights: Weights = NO_WEIGHTS,
    kin: Array | None = None,
) -> Round:
    """Fit with these weights; find total effects at the samples, and errors on held-out rows.

    `kin` is that of the units: which of them are near copies.

    Features in double precision are first rounded to single precision, which is twice as fast. They
    are used as given only if λ becomes too small for single precision.
    """
    active = np.flatnonzero(eta > 0)
    w = eta[active]
    for precision in _precisions(Phi, lam):
        A: Array = Phi[:, active].astype(precision, copy=False)
        known = gram(A, A, w, order)
        fit = best_loo_ridge(known.K, y, lam, weights.rows)
        lam = fit.lam
        if lam > LOWEST_SINGLE and np.isfinite(fit.error):
            break
    effect, errors = np.zeros(len(eta)), None
    if effects:
        kin = None if kin is None else kin[active]
        effect[active] = size_of_effects(known, A, w, fit.alpha, order, weights.rows, kin)
    if held is not None:
        errors = held[1] - fit.mean - gram(held[0][:, active], A, w, order).K @ fit.alpha
    return Round(eta, effect, fit, errors, weights.held)


def next_weights(effect: Array, order: int) -> Array:
    """η_u ← sd(t_u), but its square in a product: there η_a = 1/width², so width ∝ 1/effect."""
    return np.square(effect) if order == ALL else effect


def error_bound(errors: Array) -> float:
    """A bound that few errors exceed: three robust sds, or the 95 % quantile if that is larger."""
    size = np.abs(errors)
    return max(3 * 1.4826 * float(np.median(size)), float(np.quantile(size, 0.95)), TINY)


def huber(errors: Array, bound: float) -> Array:
    """Squares that grow linearly beyond the bound, so that a few outliers do not decide."""
    e = np.abs(errors)
    return np.asarray(np.where(e <= bound, e * e, bound * (2 * e - bound)))


def beyond(errors: Array) -> Array:
    """The part of errors beyond the bound; taking it from y limits the influence of outliers."""
    if not np.isfinite(errors).all():
        return np.zeros_like(errors)
    bound = error_bound(errors)
    return np.asarray(errors - np.clip(errors, -bound, bound))


def _precisions(Phi: Array, lam: float | None) -> tuple[type, ...]:
    """The precisions to try in turn, until λ is not too small for one."""
    if Phi.dtype == np.float32:
        return (np.float32,)
    if lam is not None and lam <= LOWEST_SINGLE:
        return (np.float64,)
    return np.float32, np.float64


def reweight(
    Phi: Array,
    y: Array,
    order: int,
    s: float,
    eta: Array,
    rounds: int,
    held: tuple[Array, Array] | None = None,
    lam: float | None = None,
    weights: Weights = NO_WEIGHTS,
    kin: Array | None = None,
) -> list[Round]:
    """Several rounds of fit and η_u ← sd(t_u), scaled to Σ η_u² = s²."""
    done: list[Round] = []
    for _ in range(rounds):
        target = y if not done else y - beyond(done[-1].fit.errors)
        given = Phi, target, order, scaled(eta, s), lam, held
        done.append(one_round(*given, weights=weights, kin=kin))
        eta, lam = next_weights(done[-1].effect, order), done[-1].fit.lam
        if not eta.any():
            break
    return done
