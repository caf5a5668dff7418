"""Judging: the whole procedure, from data to set, is repeated in each fold.

The i-th candidate is the set of the first s_i units of a ranking, and every fold makes its own
ranking. The empty set competes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nvsd.data.weights import joined, mean, variance, weights_at
from nvsd.engine import many
from nvsd.engine.judged import NEGLIGIBLE, Judged
from nvsd.engine.many import More, rows_to_learn_from
from nvsd.engine.ranking import Ranked, Ranking, rank
from nvsd.engine.sets import SetFit, fit_all, fit_set

Array = NDArray[Any]
Index = NDArray[np.intp]
Split = tuple[Index, Index]
T = TypeVar("T")

SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40)
PATIENCE = 4  # after this many sizes without a new least error, no larger sets are fitted
ROWS_PER_INPUT = 4  # training rows that a set needs for each of its units
# Largest number of rows that a first ranking is made from, and that judge it in a fold: a Cholesky
# factor of order 1500 takes a tenth of a second, and 3000 errors distinguish sets that differ by
# one percent.
RANK_ROWS, TEST_ROWS = 1500, 3000
# The leave-one-out error of a set may be this many times that of the sets of its size in the folds.
SHORT = 3.0


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

    def with_effect(self, ranking: Ranked) -> int:
        """How many units have an effect in the ranking, or are kept: none after these is useful."""
        return int(np.sum(self.keep | (self.strength(ranking.score) > 0)))

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
    weights : array or None
        Of the rows held out, if they differ.
    """

    def __init__(
        self, X: Array, y: Array, split: Split, seed: int, weights: Array | None = None
    ) -> None:
        self.held = some_rows(split[1], TEST_ROWS, np.random.default_rng(seed))
        self.ranking, self.more = rank_rows(X, y, split[0], seed, weights)
        self.weights = None if weights is None else weights[self.held]
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
        predicted = self.mean if fit is None else fit.predict(X[self.held])
        return np.asarray(self.target - predicted)

    @property
    def mean(self) -> float:
        """The mean of y of the rows to fit."""
        return float(mean(self.y, self.more.weights))

    @property
    def _variance(self) -> float:
        return float(variance(self.y, self.more.weights))

    def left_out(self, structure: Structure, size: int) -> float:
        """The mean squared leave-one-out error of the first `size` units, at the rows fitted."""
        fit = self.fit(structure, size)
        return self._variance if fit is None else fit.round.fit.error

    def all_errors(self, X: Array) -> Array:
        """Errors of the fit on all inputs."""
        return np.asarray(self.target - fit_all(self.ranking).predict(X[self.held]))

    def model(self, structure: Structure) -> SetFit | None:
        """The fit of least leave-one-out error, which uses no held-out rows; None for the mean."""
        best, least, since = None, self._variance, 0
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


def rank_rows(
    X: Array, y: Array, rows: Index, seed: int, weights: Array | None = None
) -> tuple[Ranking, More]:
    """A ranking from some of the rows, made again from more if there are more; and these rows."""
    rng = np.random.default_rng(seed)
    some, more = (some_rows(rows, most, rng) for most in (RANK_ROWS, rows_to_learn_from(X)))
    ranking = rank(X[some], y[some], seed, weights=weights_at(weights, some))
    seen = more if len(more) > RANK_ROWS else some
    learned = More(X[seen], np.clip(y[seen], *ranking.clip), weights_at(weights, seen))
    if len(more) <= RANK_ROWS:
        return ranking, learned
    return many.learned(ranking, X[some], learned), learned


def alone(make: Callable[..., T], *given: Any) -> T:
    """What `make` gives, with one BLAS thread."""
    with threadpool_limits(1):
        return make(*given)


def rank_in_folds(
    X: Array,
    y: Array,
    splits: Sequence[Split],
    seed: int = 0,
    n_jobs: int | None = None,
    tick: Callable[[int], object] = lambda done: None,
    weights: Array | None = None,
) -> list[Fold]:
    """A fold for every split, ranked without its held-out rows.

    y must have a standard deviation of about 1.
    """
    given = zip(splits, seeds_of(splits, seed), strict=True)
    calls = [delayed(alone)(Fold, X, y, *each, weights) for each in given]
    return in_parallel(calls, n_jobs, tick)


def and_whole(splits: Sequence[Split], rows: int) -> list[Split]:
    """The splits, and one that holds nothing out: its ranking is made from all the first rows."""
    return [*splits, (np.arange(rows), np.arange(0))]


def seeds_of(splits: Sequence[Split], seed: int) -> list[int]:
    """One for each split; the given one where nothing is held out, whatever the number of folds."""
    return [seed + k if len(held) else seed for k, (_, held) in enumerate(splits)]


def in_parallel(calls: Any, n_jobs: int | None, tick: Callable[[int], object]) -> list[Any]:
    """The results of delayed calls, each told of when it is done."""
    done: list[Any] = []
    for each in Parallel(n_jobs, return_as="generator")(calls):
        done.append(each)
        tick(1)
    return done


class Judging(Protocol):
    """What judging needs of a fold: see `Fold`."""

    @property
    def weights(self) -> Array | None: ...  # noqa: D102
    def limits(self, structure: Structure) -> tuple[int, int]: ...  # noqa: D102
    def left_out(self, structure: Structure, size: int) -> float: ...  # noqa: D102
    def errors(self, X: Array, structure: Structure, size: int) -> Array: ...  # noqa: D102
    def all_errors(self, X: Array) -> Array: ...  # noqa: D102


def judge(
    X: Array, folds: Sequence[Judging], structure: Structure, kind: type[Judged] = Judged
) -> Judged:
    """Errors of larger and larger sets on held-out rows, until they no longer improve."""
    limits = [fold.limits(structure) for fold in folds]
    weights = joined([fold.weights for fold in folds])
    sizes: list[int] = []
    columns: list[Array] = []
    for size in size_grid(limits[0][0], min(most for _, most in limits)):
        sizes.append(size)
        columns.append(np.concatenate([fold.errors(X, structure, size) for fold in folds]))
        best = int(np.argmin(kind(sizes, np.stack(columns, axis=1), columns[-1], weights).loss))
        if len(sizes) - 1 - best >= PATIENCE:
            break
    everything = np.concatenate([fold.all_errors(X) for fold in folds])
    return kind(sizes, np.stack(columns, axis=1), everything, weights)


def sufficient(
    whole: Judging, folds: Sequence[Judging], structure: Structure, size: int, most: int
) -> int:
    """How many units of the ranking of all rows explain y as `size` units do in the folds.

    Each fold has a ranking of its own. If inputs depend on each other, the first units of the
    ranking of all rows may be others, and too few. Errors are leave-one-out at the rows fitted, so
    that they flatter all rankings alike. If no number up to `most` is good enough, it is `size`.
    """
    usual = float(np.median([fold.left_out(structure, size) for fold in folds]))
    good = SHORT * usual + NEGLIGIBLE
    grid = size_grid(size, most) if 0 < size < most else []
    return next((each for each in grid if whole.left_out(structure, each) <= good), size)
