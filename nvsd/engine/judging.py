"""Judging: the whole procedure, from data to set, is repeated in each fold.

The i-th candidate is the set of the first s_i units of a ranking, and every fold makes its own
ranking. The empty set competes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nvsd.engine import many
from nvsd.engine.many import More, rows_to_learn_from
from nvsd.engine.ranking import Ranked, Ranking, rank
from nvsd.engine.reweight import error_bound, huber
from nvsd.engine.sets import SetFit, fit_all, fit_set
from nvsd.tolerances import TINY

Array = NDArray[Any]
Index = NDArray[np.intp]
Split = tuple[Index, Index]

SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40)
PATIENCE = 4  # after this many sizes without a new least error, no larger sets are fitted
ROWS_PER_INPUT = 4  # training rows that a set needs for each of its units
# Largest number of rows that a first ranking is made from, and that judge it in a fold: a Cholesky
# factor of order 1500 takes a tenth of a second, and 3000 errors distinguish sets that differ by
# one percent.
RANK_ROWS, TEST_ROWS = 1500, 3000
# A squared error below this share of the variance of y counts as that of an exact fit, which is not
# 0 because λ has a lower limit.
NEGLIGIBLE = 1e-10
# Standard errors of paired differences. They were tuned on noise and on problems with known inputs
# (docs/scripts/selection_problems.py). At that time 3 % of 207 runs on noise selected something.
EMPTY_Z = 1.5  # by which a set must beat the mean
SIZE_Z = 1.0  # by which a larger set must beat a smaller one
SLIGHT, SLIGHT_Z = 0.01, 3.0  # the same, if the gain is less than this share of the error


@dataclass(frozen=True, eq=False)
class Structure:
    """Which inputs form a unit, and which units are always in.

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

    def order(self, ranking: Ranked) -> Index:
        """Units best first; those that are kept come before all others."""
        place = np.empty(len(ranking.order), dtype=float)
        place[ranking.order] = np.arange(len(ranking.order))
        first = np.full(self.n_units, np.inf)
        np.minimum.at(first, self.units, place)
        return np.lexsort((first, -self.strength(ranking.score), ~self.keep))

    def support(self, ranking: Ranked, size: int) -> NDArray[np.bool_]:
        """Whether each input is in one of the first `size` units."""
        return np.isin(self.units, self.order(ranking)[:size])

    def limits(self, ranking: Ranked, rows: int) -> tuple[int, int]:
        """The least and the largest number of units of a set that is fitted to some rows."""
        least = int(self.keep.sum())
        entered = len(np.unique(self.units[ranking.columns]))
        return least, max(least, min(entered, rows // ROWS_PER_INPUT))

    def inputs(self, ranking: Ranked, size: int) -> Index:
        """The inputs of the first `size` units that entered the race, ascending."""
        return np.intersect1d(np.flatnonzero(self.support(ranking, size)), ranking.columns)


@dataclass(frozen=True, eq=False)
class Judged:
    """Errors of each size on the held-out rows of all folds.

    Attributes
    ----------
    sizes : list of int
        Numbers of units.
    errors : (rows, sizes) array
        Errors on held-out rows, with y clipped as in the fold.
    all_inputs : (rows,) array
        The same for the reweighted fit on all inputs.
    """

    sizes: list[int]
    errors: Array
    all_inputs: Array
    size_z: ClassVar[float] = SIZE_Z

    def times(self, factor: float) -> Judged:
        """The same with errors in other units."""
        return Judged(self.sizes, factor * self.errors, factor * self.all_inputs)

    @property
    def costs(self) -> Array:
        """What is reported: squared errors."""
        return np.asarray(np.square(self.errors))

    @cached_property
    def losses(self) -> Array:
        """The losses by which sets are compared, (rows, sizes + 1); the last is that of all inputs.

        They are squared errors up to a bound, which comes from the errors of the best set, and
        linear beyond it. Otherwise a few outliers would decide.
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
        """The position of the smallest set whose error is not clearly larger than the least.

        The first set, which is empty unless some units are kept, wins unless the best set beats it
        by more than EMPTY_Z standard errors. For the other sets the limit is SIZE_Z, or SLIGHT_Z if
        the difference is slight. Differences between exact fits are rounding and do not count.
        """
        (mean, se), loss = self.differences(), self.loss
        z = mean / np.maximum(se, NEGLIGIBLE * loss[0] + TINY)
        best = int(np.argmin(mean))
        if best == 0 or z[0] <= EMPTY_Z:
            return 0
        needed = np.where(mean <= SLIGHT * loss[best], SLIGHT_Z, self.size_z)
        return next(j for j in range(1, len(z)) if j == best or z[j] <= needed[j])


def size_grid(least: int, most: int) -> list[int]:
    """Sizes to judge, from the least to the most, but not beyond the last of SIZES."""
    sizes = [size for size in SIZES if least < size < most]
    return [least, *sizes, *([most] if least < most <= SIZES[-1] else [])]


def some_rows(rows: Index, most: int, rng: np.random.Generator) -> Index:
    """All rows, or `most` of them drawn at random, in their original order."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


class Fold:
    """One fold: its ranking, fits on the first units of it, and their errors on held-out rows.

    Attributes
    ----------
    held : index array
        The rows held out.
    y, target : arrays
        y of the rows to fit, and of those held out, clipped as in the ranking.
    """

    def __init__(self, X: Array, y: Array, split: Split, seed: int) -> None:
        self.held = some_rows(split[1], TEST_ROWS, np.random.default_rng(seed))
        self.ranking, self.more = rank_rows(X, y, split[0], seed)
        self.y, self.target = self.more.y, np.clip(y[self.held], *self.ranking.clip)
        self._fits: dict[int, SetFit | None] = {}
        self._lam: float | None = None

    def fit(self, structure: Structure, size: int) -> SetFit | None:
        """The fit on the first `size` units; None if there is no input to fit."""
        if size not in self._fits:
            inputs = structure.inputs(self.ranking, size)
            if not len(inputs):
                self._fits[size] = None
            elif len(self.y) > RANK_ROWS:
                self._fits[size] = many.fit_set(self.ranking, self.more, inputs)
            else:
                found = fit_set(self.ranking, self.y, inputs, self._lam)
                self._fits[size], self._lam = found, found.round.fit.lam
        return self._fits[size]

    def errors(self, X: Array, structure: Structure, size: int) -> Array:
        """Errors of the fit on the first `size` units, or of the mean."""
        fit = self.fit(structure, size)
        predicted = self.y.mean() if fit is None else fit.predict(X[self.held])
        return np.asarray(self.target - predicted)

    def all_errors(self, X: Array) -> Array:
        """Errors of the fit on all inputs."""
        return np.asarray(self.target - fit_all(self.ranking).predict(X[self.held]))

    def model(self, structure: Structure) -> SetFit | None:
        """The fit of least leave-one-out error, which uses no held-out rows; None for the mean."""
        best, least, since = None, float(np.var(self.y)), 0
        for size in size_grid(*self.limits(structure)):
            fit = self.fit(structure, size)
            if fit is not None and fit.round.fit.error < least:
                best, least, since = fit, fit.round.fit.error, 0
            since += 1
            if since > PATIENCE:
                break
        return best

    def limits(self, structure: Structure) -> tuple[int, int]:
        """The smallest and the largest number of units in a set."""
        return structure.limits(self.ranking, len(self.y))


def rank_rows(X: Array, y: Array, rows: Index, seed: int) -> tuple[Ranking, More]:
    """A ranking from some of the rows, made again from more if there are more; and these rows."""
    rng = np.random.default_rng(seed)
    some, more = (some_rows(rows, most, rng) for most in (RANK_ROWS, rows_to_learn_from(X)))
    ranking = rank(X[some], y[some], seed)
    if len(more) <= RANK_ROWS:
        return ranking, More(X[some], np.clip(y[some], *ranking.clip))
    seen = More(X[more], np.clip(y[more], *ranking.clip))
    return many.learned(ranking, X[some], seen), seen


def _make_fold(X: Array, y: Array, split: Split, seed: int) -> Fold:
    with threadpool_limits(1):
        return Fold(X, y, split, seed)


def _rank_all(X: Array, y: Array, rows: Index, seed: int) -> Ranking:
    with threadpool_limits(1):
        return rank_rows(X, y, rows, seed)[0]


def rank_in_folds(
    X: Array,
    y: Array,
    splits: Sequence[Split],
    seed: int = 0,
    n_jobs: int | None = None,
    tick: Callable[[int], object] = lambda done: None,
    rows: Index | None = None,
) -> tuple[list[Fold], Ranking | None]:
    """A fold for every split, ranked without its held-out rows; and a ranking of `rows`, if given.

    y must have a standard deviation of about 1.
    """
    calls = [delayed(_make_fold)(X, y, split, seed + k) for k, split in enumerate(splits)]
    if rows is not None:
        calls.append(delayed(_rank_all)(X, y, rows, seed))
    done = in_parallel(calls, n_jobs, tick)
    return done[: len(splits)], None if rows is None else done[-1]


def in_parallel(calls: Any, n_jobs: int | None, tick: Callable[[int], object]) -> list[Any]:
    """The results of delayed calls, each told of when it is done."""
    done: list[Any] = []
    for each in Parallel(n_jobs, return_as="generator")(calls):
        done.append(each)
        tick(1)
    return done


class Judging(Protocol):
    """What judging needs of a fold: see `Fold`."""

    def limits(self, structure: Structure) -> tuple[int, int]: ...  # noqa: D102
    def errors(self, X: Array, structure: Structure, size: int) -> Array: ...  # noqa: D102
    def all_errors(self, X: Array) -> Array: ...  # noqa: D102


def judge(
    X: Array, folds: Sequence[Judging], structure: Structure, kind: type[Judged] = Judged
) -> Judged:
    """Errors of larger and larger sets on held-out rows, until they no longer improve."""
    limits = [fold.limits(structure) for fold in folds]
    sizes: list[int] = []
    columns: list[Array] = []
    for size in size_grid(limits[0][0], min(most for _, most in limits)):
        sizes.append(size)
        columns.append(np.concatenate([fold.errors(X, structure, size) for fold in folds]))
        best = int(np.argmin(kind(sizes, np.stack(columns, axis=1), columns[-1]).loss))
        if len(sizes) - 1 - best >= PATIENCE:
            break
    everything = np.concatenate([fold.all_errors(X) for fold in folds])
    return kind(sizes, np.stack(columns, axis=1), everything)
