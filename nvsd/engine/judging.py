"""Judging: the whole procedure, from data to set, is repeated in each fold.

The i-th candidate is the set of the first s_i units of a ranking, and every fold ranks anew. The
empty set competes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nvsd.engine.ranking import Ranking, rank
from nvsd.engine.reweight import error_bound, huber
from nvsd.engine.sets import fit_all, fit_set
from nvsd.tolerances import TINY

Array = NDArray[Any]
Index = NDArray[np.intp]
Split = tuple[Index, Index]

SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40)
PATIENCE = 4  # sizes without a new least error after which larger sets are not fitted
ROWS_PER_INPUT = 4  # training rows that a set needs for each of its units
# Of many rows, those that a ranking is made on, and that judge it in a fold: a Cholesky factor of
# order 1500 takes a tenth of a second, and 3000 errors tell sets apart that differ by a percent.
RANK_ROWS, TEST_ROWS = 1500, 3000
NEGLIGIBLE = 1e-10  # squared error, in variances of y, below which fits are exact: λ has a floor
# Standard errors of paired differences, tuned on noise and on problems with known inputs
# (docs/scripts/selection_problems.py): 3 % of 207 runs on noise select something.
EMPTY_Z = 1.5  # by which a set must beat the mean
SIZE_Z = 1.0  # by which a larger set must beat a smaller one
SLIGHT, SLIGHT_Z = 0.01, 3.0  # the same where the gain is under a hundredth of the error


@dataclass(frozen=True, eq=False)
class Structure:
    """How inputs belong together, and which are always in.

    Attributes
    ----------
    units : (d,) int array
        The unit 0..U−1 of each input: itself, or its group.
    keep : (U,) bool array
        Units that are in every set.
    """

    units: Index
    keep: NDArray[np.bool_]

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return len(self.keep)

    def strength(self, score: Array) -> Array:
        """One number per unit: the root of the sum of squares over its inputs."""
        return np.asarray(np.sqrt(np.bincount(self.units, np.square(score), self.n_units)))

    def order(self, ranking: Ranking) -> Index:
        """Units best first; those that are kept come before all others."""
        place = np.empty(len(ranking.order), dtype=float)
        place[ranking.order] = np.arange(len(ranking.order))
        first = np.full(self.n_units, np.inf)
        np.minimum.at(first, self.units, place)
        return np.lexsort((first, -self.strength(ranking.score), ~self.keep))

    def support(self, ranking: Ranking, size: int) -> NDArray[np.bool_]:
        """Whether each input is in one of the first units."""
        return np.isin(self.units, self.order(ranking)[:size])

    def inputs(self, ranking: Ranking, size: int) -> Index:
        """The inputs of the first units that entered the race, ascending."""
        return np.intersect1d(np.flatnonzero(self.support(ranking, size)), ranking.columns)


@dataclass(frozen=True, eq=False)
class Judged:
    """What the folds say of each size.

    Attributes
    ----------
    sizes : list of int
        Numbers of units.
    errors : (rows, sizes) array
        Errors on held-out rows, y clipped as in its fold.
    all_inputs : (rows,) array
        The same of the reweighted fit on all inputs.
    """

    sizes: list[int]
    errors: Array
    all_inputs: Array

    def times(self, factor: float) -> Judged:
        """The same with errors in other units."""
        return Judged(self.sizes, factor * self.errors, factor * self.all_inputs)

    @property
    def squares(self) -> Array:
        """Squared errors."""
        return np.asarray(np.square(self.errors))

    @cached_property
    def losses(self) -> Array:
        """What sets are compared by, (rows, sizes + 1), the last one of all inputs.

        These are squared errors that grow with |e| only beyond the bound of the best set's errors:
        else a few outliers decide.
        """
        e = np.abs(np.column_stack([self.errors, self.all_inputs]))
        return huber(e, error_bound(e[:, int(np.argmin(np.median(e[:, :-1], axis=0)))]))

    @property
    def loss(self) -> Array:
        """The mean loss of each size."""
        return np.asarray(self.losses[:, :-1].mean(axis=0))

    def differences(self) -> tuple[Array, Array]:
        """Mean difference of each size from the best, and its standard error, over paired rows."""
        losses = self.losses[:, :-1]
        gap = losses - losses[:, [int(np.argmin(self.loss))]]
        return gap.mean(axis=0), gap.std(axis=0) / np.sqrt(len(gap))

    def smallest(self) -> int:
        """The position of the smallest set that the errors cannot tell from the best.

        The empty set, or the least there is, wins unless the best beats it by EMPTY_Z standard
        errors; among the others SIZE_Z counts, and SLIGHT_Z for slight differences. Fits that are
        exact differ by rounding only, which tells nothing.
        """
        (mean, se), loss = self.differences(), self.loss
        z = mean / np.maximum(se, NEGLIGIBLE * loss[0] + TINY)
        best = int(np.argmin(mean))
        if best == 0 or z[0] <= EMPTY_Z:
            return 0
        needed = np.where(mean <= SLIGHT * loss[best], SLIGHT_Z, SIZE_Z)
        return next(j for j in range(1, len(z)) if j == best or z[j] <= needed[j])


def size_grid(least: int, most: int) -> list[int]:
    """Sizes from the units that are kept up to as many as there can be."""
    sizes = [size for size in SIZES if least < size < most]
    return [least, *sizes, *([most] if least < most <= SIZES[-1] else [])]


def some_rows(rows: Index, most: int, rng: np.random.Generator) -> Index:
    """All rows, or `most` of them drawn at random, in their order."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


class _Fold:
    """One fold: its ranking, and errors of sets on its held-out rows."""

    def __init__(self, X: Array, y: Array, split: Split, seed: int) -> None:
        rng = np.random.default_rng(seed)
        train, held = some_rows(split[0], RANK_ROWS, rng), some_rows(split[1], TEST_ROWS, rng)
        self.ranking = rank(X[train], y[train], seed)
        self.y, self.target = (np.clip(y[rows], *self.ranking.clip) for rows in (train, held))
        self.X = X[held]
        self._lam: float | None = None

    def errors(self, structure: Structure, size: int) -> Array:
        """Errors of the set of the first units."""
        inputs = structure.inputs(self.ranking, size)
        if not len(inputs):
            return np.asarray(self.target - self.y.mean())
        fit = fit_set(self.ranking, self.y, inputs, self._lam)
        self._lam = fit.round.fit.lam
        return np.asarray(self.target - fit.predict(self.X))

    def all_errors(self) -> Array:
        """Errors of the fit on all inputs."""
        return np.asarray(self.target - fit_all(self.ranking).predict(self.X))


def _make_fold(X: Array, y: Array, split: Split, seed: int) -> _Fold:
    with threadpool_limits(1):
        return _Fold(X, y, split, seed)


def _rank_all(X: Array, y: Array, rows: Index, seed: int) -> Ranking:
    rows = some_rows(rows, RANK_ROWS, np.random.default_rng(seed))
    with threadpool_limits(1):
        return rank(X[rows], y[rows], seed)


def rank_and_judge(
    X: Array,
    y: Array,
    rows: Index,
    splits: Sequence[Split],
    structure: Structure,
    seed: int = 0,
    n_jobs: int | None = None,
    tick: Callable[[int], object] = lambda done: None,
) -> tuple[Ranking, Judged]:
    """The ranking by the rows to fit, and errors of nested sets on rows not seen.

    In each fold neither ranking nor fit has seen the rows that judge. y has a standard deviation of
    about 1.
    """
    calls = [delayed(_make_fold)(X, y, split, seed + k) for k, split in enumerate(splits)]
    calls.append(delayed(_rank_all)(X, y, rows, seed))
    done: list[Any] = []
    for each in _results(Parallel(n_jobs, return_as="generator"), calls):
        done.append(each)
        tick(1)
    *folds, ranking = done
    return ranking, _judged(folds, structure)


def _judged(folds: list[_Fold], structure: Structure) -> Judged:
    """Errors of larger and larger sets, until these get no better."""
    entered = min(len(np.unique(structure.units[fold.ranking.columns])) for fold in folds)
    rows = min(len(fold.y) for fold in folds)
    least = int(structure.keep.sum())
    most = max(least, min(entered, rows // ROWS_PER_INPUT))
    sizes: list[int] = []
    columns: list[Array] = []
    for size in size_grid(least, most):
        sizes.append(size)
        columns.append(np.concatenate([fold.errors(structure, size) for fold in folds]))
        best = int(np.argmin(Judged(sizes, np.stack(columns, axis=1), columns[-1]).loss))
        if len(sizes) - 1 - best >= PATIENCE:
            break
    everything = np.concatenate([fold.all_errors() for fold in folds])
    return Judged(sizes, np.stack(columns, axis=1), everything)


def _results(parallel: Any, calls: Any) -> Iterator[Any]:
    yield from parallel(calls)
