"""Judging by a loss that is not quadratic: every fold ranks anew, by squares, and fits by the loss.

Each target has a ranking of its own; strengths are put together, the root of their sum of squares,
so that one set serves all targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from joblib import delayed
from numpy.typing import NDArray

from nvsd.data.weights import mean
from nvsd.engine import many
from nvsd.engine.aims import Aim
from nvsd.engine.judged import Judged
from nvsd.engine.judging import (
    PATIENCE,
    RANK_ROWS,
    TEST_ROWS,
    Split,
    Structure,
    alone,
    in_parallel,
    seeds_of,
    size_grid,
    some_rows,
)
from nvsd.engine.loss_sets import Learned, fit_all_by, fit_set_by
from nvsd.engine.many import More, rows_to_learn_from
from nvsd.engine.ranking import rank
from nvsd.engine.scan import cosines, counted, scan_main
from nvsd.engine.sets import SetFit
from nvsd.tolerances import TINY

Array = NDArray[Any]
Index = NDArray[np.intp]

# As in `judging`, tuned on the problems of docs/scripts/classification_problems.py: the log-loss of
# few rows on the wrong side of a sharp border may be most of a difference.
SIZE_Z = 1.5
MOST_ROWS = 4000  # that a set is fitted to: a step takes time in proportion
UNCLIPPED = (-np.inf, np.inf)  # a code has no far values


class JudgedLosses(Judged):
    """What the folds say of each size; `errors` are losses, compared as they are."""

    size_z: ClassVar[float] = SIZE_Z

    @property
    def costs(self) -> Array:
        """What is reported: the losses."""
        return self.errors

    @cached_property
    def losses(self) -> Array:
        """What sets are compared by, the last one of all inputs."""
        return np.column_stack([self.errors, self.all_inputs])


@dataclass(frozen=True, eq=False)
class AimRanking:
    """One ranking for all targets, and what each of them has learned.

    Attributes
    ----------
    order, score, columns
        As of a `Ranking`; scores in units of the targets' codes.
    parts : list of Learned or None
        None for a target that is the same in all rows.
    aim : Aim
        On the rows that were learned from.
    """

    order: Index
    score: Array
    columns: Index
    parts: list[Learned | None]
    aim: Aim

    @property
    def active(self) -> Index:
        """The inputs that have a weight for a target."""
        found = [part.ranking.active for part in self.parts if part is not None]
        return np.unique(np.concatenate([np.empty(0, dtype=np.intp), *found]))


def rank_aim(X: Array, aim: Aim, rows: Index, seed: int) -> AimRanking:
    """A ranking by some of the rows, made again from more where there are more."""
    rng = np.random.default_rng(seed)
    some, more = (some_rows(rows, most, rng) for most in (RANK_ROWS, rows_to_learn_from(X)))
    first, last = aim.take(some), aim.take(more if len(more) > RANK_ROWS else some)
    score, main = np.zeros((len(first.targets), X.shape[1])), np.zeros(X.shape[1])
    C, parts, columns = cosines(X[some]), list[Learned | None](), np.empty(0, dtype=np.intp)
    fitted = more[:MOST_ROWS] if len(more) > RANK_ROWS else some
    known = aim.take(fitted)
    for k, code in enumerate(first.codes):
        if not np.ptp(first.targets[k]):
            parts.append(None)
            continue
        unit = max(float(code.std()), TINY)
        ranking = rank(X[some], code / unit, seed, UNCLIPPED, first.weights)
        if len(more) > RANK_ROWS:
            seen = More(X[more], last.codes[k] / unit, last.weights)
            ranking = many.learned(ranking, X[some], seen)
        of_rows = last.codes[k][: len(fitted)] / unit, aim.targets[k][fitted]
        parts.append(Learned(X[fitted], *of_rows, ranking, known.weights))
        main = np.maximum(main, scan_main(C, counted(code, first.weights)))
        score[k] = unit * ranking.score
        columns = np.union1d(columns, ranking.columns)
    strength = np.sqrt(np.square(score).sum(axis=0))
    order = np.lexsort((-main, ~np.isin(np.arange(X.shape[1]), columns), -strength))
    return AimRanking(order, strength, columns, parts, known)


@dataclass(frozen=True, eq=False)
class AimFit:
    """Fits of all targets on one set; None for a target that has its constant.

    Attributes
    ----------
    parts : list of SetFit or None
    known : Aim
        On the rows that were fitted.
    """

    parts: list[SetFit | None]
    known: Aim

    def predict(self, X: Array) -> Array:
        """f of every target at new rows, (c, m)."""
        found = [
            np.full(len(X), c) if part is None else part.predict(X)
            for part, c in zip(self.parts, self.known.origin, strict=True)
        ]
        return np.array(found)

    def uses(self, unit: Index) -> Index:
        """The inputs of a unit that a fit uses."""
        used = [
            part.inputs[part.units.per_input(part.round.eta) > 0]
            for part in self.parts
            if part is not None
        ]
        return np.intersect1d(unit, np.concatenate([np.empty(0, dtype=np.intp), *used]))

    def with_copies(self, X: Array, inputs: Index, copies: Array) -> Array:
        """f of every target at rows of which some inputs were drawn anew, (copies, c, m)."""
        found = []
        for part, c in zip(self.parts, self.known.origin, strict=True):
            of_part = np.intersect1d(inputs, [] if part is None else part.inputs)
            if part is None:
                found.append(np.full(copies.shape[:2], c))
            elif not len(of_part):
                found.append(np.broadcast_to(part.predict(X), copies.shape[:2]))
            else:
                some = copies[:, :, np.searchsorted(inputs, of_part)]
                found.append(part.with_copies(X, of_part.astype(np.intp), some))
        return np.stack(found, axis=1)

    @property
    def error(self) -> float:
        """The mean leave-one-out loss, summed over the targets."""
        constants = self.known.loss.pointwise(self.known.targets, self.known.origin[:, None])
        found = [
            float(mean(cost, self.known.weights)) if part is None else part.round.fit.error
            for part, cost in zip(self.parts, constants, strict=True)
        ]
        return sum(found)


class LossFold:
    """One fold: its ranking, fits on its first units, and their losses on held-out rows.

    Attributes
    ----------
    held : index array
        The rows held out.
    ranking : AimRanking
    weights : array or None
        Of the rows held out, if they differ.
    """

    def __init__(self, X: Array, aim: Aim, split: Split, seed: int) -> None:
        self.held = some_rows(split[1], TEST_ROWS, np.random.default_rng(seed))
        self.ranking, self.target = rank_aim(X, aim, split[0], seed), aim.take(self.held)
        self.weights = None if aim.weights is None else aim.weights[self.held]
        self._fits: dict[int, AimFit] = {}
        self._lam: list[float | None] = [None] * len(aim.targets)

    def fit(self, structure: Structure, size: int) -> AimFit:
        """The fit on the first units."""
        if size not in self._fits:
            inputs, known = structure.inputs(self.ranking, size), self.ranking.aim
            parts: list[SetFit | None] = []
            for k, part in enumerate(self.ranking.parts):
                found = None
                if part is not None and len(some := np.intersect1d(inputs, part.ranking.columns)):
                    found = fit_set_by(part, known.loss, some, self._lam[k])
                    self._lam[k] = found.round.fit.lam
                parts.append(found)
            self._fits[size] = AimFit(parts, known)
        return self._fits[size]

    def predicted(self, X: Array, structure: Structure, size: int) -> Array:
        """f of every target at the rows held out, (c, m)."""
        return self.fit(structure, size).predict(X[self.held])

    def left_out(self, structure: Structure, size: int) -> float:
        """The mean leave-one-out loss of the first `size` units, at the rows fitted."""
        return self.fit(structure, size).error

    def errors(self, X: Array, structure: Structure, size: int) -> Array:
        """Losses of the set of the first units."""
        return self.target.costs(self.predicted(X, structure, size), self.ranking.aim)

    def all_errors(self, X: Array) -> Array:
        """Losses of the fit on all inputs."""
        known = self.ranking.aim
        parts = [
            None if part is None else fit_all_by(part, known.loss) for part in self.ranking.parts
        ]
        return self.target.costs(AimFit(parts, known).predict(X[self.held]), known)

    def model(self, structure: Structure) -> AimFit:
        """The fit of least leave-one-out loss, which knows nothing of the rows held out."""
        sizes, since = size_grid(*self.limits(structure)), 0
        best = self.fit(structure, sizes[0])
        for size in sizes[1:]:
            fit = self.fit(structure, size)
            if fit.error < best.error:
                best, since = fit, 0
            since += 1
            if since > PATIENCE:
                break
        return best

    def limits(self, structure: Structure) -> tuple[int, int]:
        """The least and the largest number of units of a set."""
        return structure.limits(self.ranking, self.ranking.aim.n)


def rank_aim_in_folds(
    X: Array,
    aim: Aim,
    splits: Sequence[Split],
    seed: int = 0,
    n_jobs: int | None = None,
    tick: Callable[[int], object] = lambda done: None,
) -> list[LossFold]:
    """A fold for every split, ranked without its held-out rows."""
    given = zip(splits, seeds_of(splits, seed), strict=True)
    calls = [delayed(alone)(LossFold, X, aim, *each) for each in given]
    return in_parallel(calls, n_jobs, tick)
