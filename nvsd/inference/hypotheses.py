"""Tests of y ⟂ x_u given the other inputs, for a unit u: an input, or a group of them.

    Δ_i = mean over copies of ℓ(y_i, f(x_i with a copy of x_u)) − ℓ(y_i, f(x_i))

at rows i that f has not seen. If copies have the distribution of x_u given the others, then x_u and
its copies are exchangeable under the hypothesis, so E Δ_i = 0 for any f. The statistic is the mean
of Δ over its standard error, and large values speak against the hypothesis. An input that f does
not use has Δ = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from nvsd.data.weights import effective_rows, mean, unbiased_error
from nvsd.engine.judging import Fold, Structure, some_rows
from nvsd.engine.reweight import error_bound, huber
from nvsd.engine.sets import SetFit
from nvsd.inference.copies import Copier, Drawn

Array = NDArray[Any]
Index = NDArray[np.intp]

TESTED_ROWS = 1500  # largest number of held-out rows to test in a fold: more hardly change p-values


class Testable(Protocol):
    """What a test needs of a fit, and of the rows that it has not seen: see `Model`."""

    @property
    def rows(self) -> Index: ...  # noqa: D102
    def uses(self, unit: Index) -> Index: ...  # noqa: D102
    def rise(self, X: Array, unit: Index, drawn: Drawn) -> Array: ...  # noqa: D102
    def loss_of_the_mean(self) -> Array: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Model:
    """A fit of one fold, and the rows that it has not seen.

    Attributes
    ----------
    fit : SetFit or None
        None if the mean was best.
    rows : index array
    target : array
        y at these rows.
    bound : float
        Errors beyond it count linearly, so that a few outliers do not decide.
    weights : array or None
        Of these rows, if they differ.
    """

    fit: SetFit | None
    rows: Index
    target: Array
    bound: float
    weights: Array | None = None

    @classmethod
    def of(cls, fold: Fold, structure: Structure, seed: int) -> Model:
        """The model of a fold."""
        fit = fold.model(structure)
        places = np.arange(len(fold.held))
        places = some_rows(places, TESTED_ROWS, np.random.default_rng(seed))
        errors = fold.y - fold.mean if fit is None else fit.round.fit.errors
        weights = None if fold.weights is None else fold.weights[places]
        return cls(fit, fold.held[places], fold.target[places], error_bound(errors), weights)

    def uses(self, unit: Index) -> Index:
        """The inputs of a unit that the fit uses."""
        if self.fit is None:
            return unit[:0]
        active = self.fit.inputs[self.fit.units.per_input(self.fit.round.eta) > 0]
        return np.intersect1d(unit, active)

    def loss(self, predicted: Array) -> Array:
        """The loss at each row."""
        return huber(self.target - predicted, self.bound)

    def loss_of_the_mean(self) -> Array:
        """The loss if the mean of y predicts."""
        losses = self.loss(np.full(1, mean(self.target, self.weights)))
        return losses if self.weights is None else np.atleast_1d(mean(losses, self.weights))

    def rise(self, X: Array, unit: Index, drawn: Drawn) -> Array:
        """Δ at the rows of this fold."""
        used = self.uses(unit)
        if self.fit is None or not len(used):
            return np.zeros(len(self.rows))
        copies = drawn.copies[:, self.rows][:, :, np.searchsorted(unit, used)]
        rows = X[self.rows]
        with_copies = self.loss(self.fit.with_copies(rows, used, copies)).mean(axis=0)
        return np.asarray(with_copies - self.loss(self.fit.predict(rows)))


@dataclass(frozen=True, eq=False)
class Tested:
    """Results of the tests, one number for each unit.

    Attributes
    ----------
    rise, rise_se : arrays
        Mean of Δ and its standard error, as shares of the loss of the mean of y.
    statistic, p_value : arrays
        For units that no fit uses, 0 and 1.
    explained, check : arrays
        Those of `Drawn`, for the model of each unit given the others; NaN if no model was needed.
    """

    rise: Array
    rise_se: Array
    statistic: Array
    p_value: Array
    explained: Array
    check: Array


def tested(
    X: Array,
    repeats: Sequence[Sequence[Testable]],
    units: Sequence[Index],
    n_copies: int,
    seed: int,
    tick: Callable[[int], object],
    weights: Array | None,
    drawn_together: Sequence[tuple[Index, bool]],
) -> Tested:
    """Test every unit.

    Parameters
    ----------
    X : (n, d) array
    repeats : sequence of sequences of Testable
        The folds of each repeat; Δ of a row is its mean over the repeats.
    units : sequence of int arrays
        The inputs of each unit, ascending.
    tick : callable
        Called with 1 for every unit that is done.
    weights : (n,) array or None
        Of the rows of X; None if they are equal.
    drawn_together : sequence
        As for `Copier`.
    """
    copier = Copier(X, seed, drawn_together)
    whole = _loss_of_the_mean(repeats)
    columns = np.full((6, len(units)), np.nan)
    for k, unit in enumerate(units):
        if any(len(model.uses(unit)) for folds in repeats for model in folds):
            drawn = copier.draw(unit, n_copies)
            delta, held = _mean_rise(X, repeats, unit, drawn)
            of_held = None if weights is None else weights[held]
            columns[:, k] = *_t_test(delta / whole, of_held), drawn.explained, drawn.check
        else:
            columns[:4, k] = 0.0, 0.0, 0.0, 1.0
        tick(1)
    return Tested(*columns)


def _loss_of_the_mean(repeats: Sequence[Sequence[Testable]]) -> float:
    """The mean loss if the mean of y predicts: the unit of Δ."""
    losses = [model.loss_of_the_mean() for folds in repeats for model in folds]
    return max(float(np.mean(np.concatenate(losses))), 1e-300)


def _mean_rise(
    X: Array, repeats: Sequence[Sequence[Testable]], unit: Index, drawn: Drawn
) -> tuple[Array, NDArray[np.bool_]]:
    """Δ of every held-out row, as its mean over the repeats; and which rows these are."""
    total, count = np.zeros(len(X)), np.zeros(len(X))
    for folds in repeats:
        for model in folds:
            np.add.at(total, model.rows, model.rise(X, unit, drawn))
            np.add.at(count, model.rows, 1)
    held = count > 0
    return np.asarray(total[held] / count[held]), held


def _t_test(delta: Array, weights: Array | None = None) -> tuple[float, float, float, float]:
    """Mean, standard error, statistic and p-value of a one-sided test that the mean is 0."""
    rise, se = float(mean(delta, weights)), float(unbiased_error(delta, weights))
    n = len(delta) if weights is None else effective_rows(weights)
    if se <= 0:
        return rise, se, 0.0, 1.0
    return rise, se, rise / se, float(student.sf(rise / se, n - 1))
