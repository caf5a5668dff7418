"""A ranking of all inputs: by total effect, in the configuration that wins the race."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nvsd.data.weights import joined, mean, variance
from nvsd.engine.features import Units
from nvsd.engine.kernel import ALL
from nvsd.engine.pursuit import pursue
from nvsd.engine.race import (
    EARLY,
    FINALISTS,
    FINE,
    FIRST,
    LINE,
    PURSUIT,
    RETRIED,
    ROUNDS,
    SMOOTH,
    THIRD,
    Bench,
    Config,
    Race,
    again,
    joint,
    variants,
)
from nvsd.engine.reweight import Round
from nvsd.engine.scan import Single, by_chance, cosines, counted, scan, scan_main
from nvsd.engine.tails import CLEARLY, Clip, clip_bounds, misfit
from nvsd.tolerances import TINY

Array = NDArray[Any]
Index = NDArray[np.intp]

# All constants here were tuned on the tuning problems of docs/scripts/selection_problems.py.
CLIPPED = 0.02  # if more than this share of y is clipped, y as given competes
SCREEN = 256  # largest number of inputs in the reweighting; if there are more, a scan chooses them
# Rows on which configurations are compared: first few, then more unless the winner explains more
# than a share CLEAR of the variance on the held-out rows.
INNER_ROWS, CLEAR = (400, 1050), 0.2
INNER_SHARE = 0.7  # share of the rows on which weights are found, if there are few rows
TWO_SPLITS = 250  # with fewer rows the leaders also run on a second split
WORTH = 0.97  # two configurations are used if their error is less than this share of the first's

SECOND = (
    Config(LINE, 2, 1.0, "flat", EARLY),
    Config(LINE, 3, 1.0, "flat", EARLY),
    Config(SMOOTH, 2, 1.0, "scan", EARLY),
    Config(FINE, 2, 2.0, "scan", EARLY),
)


class Ranked(Protocol):
    """Inputs best first, a score for each, those that entered the race, those with a weight."""

    @property
    def order(self) -> Index: ...  # noqa: D102
    @property
    def score(self) -> Array: ...  # noqa: D102
    @property
    def columns(self) -> Index: ...  # noqa: D102
    @property
    def active(self) -> Index: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Ranking:
    """All inputs, best first, with a score for each, and the fit that ranked them.

    Attributes
    ----------
    order : (d,) int array
        All inputs, best first: by total effect. Inputs without one follow, by the score of their
        main effect; those that did not enter the race are last.
    score : (d,) array
        Standard deviation of the total effect, in units of y; 0 for inputs of weight 0.
    config : Config
        The winner of the race.
    columns : int array
        The inputs that entered it, ascending.
    units : Units
        Their features on all rows.
    last : Round
        The last fit.
    clip : tuple of float
        The bounds at which y was clipped.
    """

    order: Index
    score: Array
    config: Config
    columns: Index
    units: Units
    last: Round
    clip: tuple[float, float]

    @property
    def active(self) -> Index:
        """The inputs that have a weight."""
        return self.columns[self.units.per_input(self.last.eta) > 0]

    def times(self, unit: float) -> Ranking:
        """The same ranking with scores in other units of y."""
        return replace(self, score=unit * self.score)

    def effects(self, inputs: Index) -> Array:
        """The effects of the units of some inputs."""
        return self.last.effect[self.units.of(np.searchsorted(self.columns, inputs))]


def rank(
    X: Array, y: Array, seed: int = 0, clip: Clip | None = None, weights: Array | None = None
) -> Ranking:
    """Rank all inputs of X for y, clipped at robust bounds or at those given."""
    clip = clip_bounds(y) if clip is None else clip
    clipped = np.clip(y, *clip)
    C = cosines(X)
    few = X.shape[1] <= SCREEN
    pursued = pursue(X, C, clipped, weights)
    columns = np.arange(X.shape[1]) if few else _screened(C, counted(clipped, weights), pursued)
    bench = Bench(X[:, columns], C[:, :, columns], weights=weights)
    race, best = _raced(bench, clipped, seed)
    if np.mean(clipped != y) > CLIPPED:
        whole = _raced(bench, y, seed)
        if _misfit(*whole, y, clipped) < CLEARLY * _misfit(race, best, y, clipped):
            (race, best), clip = whole, (-np.inf, np.inf)
            pursued = pursue(X, C, y, weights)
    y = np.clip(y, *clip)
    final = Race(bench, np.arange(len(y)), None, y, race, pursued[columns])
    best, last = _or_pursuit(final, best)
    left = left_over(C, last.fit.errors, weights)
    if len(left):
        wider = np.union1d(columns, left)
        if len(wider) > len(columns):
            columns, bench = wider, Bench(X[:, wider], C[:, :, wider], weights=weights)
            final = Race(bench, np.arange(len(y)), None, y, race, pursued[columns])
            last = again(final, best)
        second = _second_pass(bench, y, best, race, seed)
        if second is not None:
            best, last = joint(final, best, second, final.residual(best))
    return _ranked(C, y, columns, bench, best, last, clip)


def _or_pursuit(race: Race, best: Config) -> tuple[Config, Round]:
    """The winner and its last round, or a pursuit's if its leave-one-out errors are clearly less.

    The winner was found on some of the rows. If rows are few, a pursuit finds inputs in all of them
    that it misses in some. Only inputs above chance enter its fit, so its errors may be trusted.
    """
    found = best, again(race, best)
    if best.order == ALL or not race.pursued().any():
        return found
    for c in (PURSUIT, replace(PURSUIT, order=1)):
        errors = [each.error for each in race.run(c)]
        if min(errors) < WORTH * found[1].error:
            c = replace(c, rounds=1 + int(np.argmin(errors)))
            found = c, race.round(c)
    return found


def left_over(C: Single, errors: Array, weights: Array | None = None) -> Index:
    """The inputs whose main effects, pairs or triples are above chance in the errors of a fit."""
    if not np.isfinite(errors).all():
        return np.empty(0, dtype=np.intp)
    errors, d = counted(errors, weights), C.shape[2]
    found = scan(C, errors, errors)
    inputs = np.flatnonzero(found.main > by_chance(d)).tolist()
    for score, *two in found.pairs:
        inputs += two if score > by_chance(d * (d - 1) / 2) else []
    for _, *three in found.triples:
        inputs += three
    return np.unique(np.array(inputs, dtype=np.intp))


def _raced(bench: Bench, y: Array, seed: int) -> tuple[Race, Config]:
    """The race on few rows, or on more if few explain too little; and its winner."""
    rng = np.random.default_rng(seed)
    for most in INNER_ROWS:
        races = [Race(bench, *split, y) for split in _splits(len(y), most, rng)]
        best = _best(races, _first_race(races[0], races[1:]))
        if len(y) <= most or _explained(races[0], best) > CLEAR:
            break
    return races[0], best


def _misfit(race: Race, best: Config, y: Array, clipped: Array) -> float:
    """The misfit on the held-out rows, for y as given."""
    errors, rows = race.round(best).held, race.held
    assert errors is not None
    extreme = (clipped != y)[rows]
    return misfit(errors + (y - race.target)[rows], extreme, race.weights.held)


def _splits(n: int, most: int, rng: np.random.Generator) -> list[tuple[Index, Index]]:
    """Rows on which to find weights, and rows on which to compare; two such splits of few rows."""
    found = []
    for _ in range(2 if n < TWO_SPLITS else 1):
        order = rng.permutation(n)
        cut = min(int(INNER_SHARE * n), most)
        found.append((order[:cut], order[cut : cut + most]))
    return found


def _explained(race: Race, best: Config) -> float:
    """The share of the variance that a configuration explains on the rows held out."""
    whole = float(variance(race.target[race.held], race.weights.held))
    return 1 - race.round(best).error / max(whole, TINY)


def _first_race(race: Race, others: list[Race]) -> list[Config]:
    """Run all configurations for a few rounds, the leaders for more, and neighbours of the best.

    The leaders, and the best additive configuration, then run on the other splits too. They are
    returned.
    """
    for c in FIRST:
        race.run(c)
    for c in THIRD if race.scan().triples else ():
        race.run(c)
    if race.pursued().any():
        race.run(PURSUIT)
    for c in race.leaders()[:FINALISTS]:
        race.run(replace(c, rounds=ROUNDS))
    for c in variants(race.leaders()[0]):
        race.run(c)
    for c in race.leaders()[:FINALISTS]:
        race.run(replace(c, rounds=ROUNDS))
    leaders = race.leaders()
    additive = [c for c in leaders if c.order == 1][:1]
    chosen = list(dict.fromkeys(leaders[:RETRIED] + additive))
    for other in others:
        for bases in dict.fromkeys(c.bases for c in chosen):
            other.run(Config(bases, 1, 1.0, "flat", EARLY))
        for c in chosen:
            other.run(replace(c, rounds=ROUNDS))
    return chosen


def _best(races: list[Race], configs: list[Config]) -> Config:
    """The configuration and number of rounds of least mean error over the races."""
    found: list[tuple[float, int, Config]] = []
    for c in configs:
        for k in range(min(len(race.runs[c]) for race in races)):
            held = [race.runs[c][k].held for race in races]
            squares = np.concatenate([np.square(e) for e in held if e is not None])
            error = float(mean(squares, joined([race.weights.held for race in races])))
            found.append((error, len(found), replace(c, rounds=k + 1)))
    return min(found)[2]


def _second_pass(bench: Bench, y: Array, first: Config, before: Race, seed: int) -> Config | None:
    """A configuration for the errors of the first, if both together do better on held-out rows."""
    if first.order == ALL:  # nothing can be added to a product
        return None
    race = before
    if bench is not before.bench or len(y) > INNER_ROWS[0]:  # more rows show weaker effects
        split = _splits(len(y), INNER_ROWS[-1], np.random.default_rng(seed))[0]
        race = Race(bench, *split, y, before)
        again(race, first)
    left = race.residual(first)
    for c in (*SECOND, *THIRD[:-1]) if left.scan().triples else SECOND:
        left.run(c)
    second = left.leaders()[0]
    rounds = left.runs[second]
    errors = [each.error for each in rounds]
    if min(errors) >= float(mean(np.square(left.target[left.held]), left.weights.held)):
        return None
    second = replace(second, rounds=1 + int(np.argmin(errors)))
    left.runs[replace(second, rounds=0)] = rounds[: second.rounds]
    together = joint(race, first, second, left)[1].error
    return second if together < WORTH * race.round(first).error else None


def _screened(C: Single, y: Array, pursued: Array) -> Index:
    """The SCREEN best inputs: those of a pursuit, then in turn by main effect and by best pair."""
    found = scan(C, y, y)
    lists = [np.argsort(-found.main, kind="stable"), np.argsort(-found.best, kind="stable")]
    in_turn = np.stack(lists, axis=1).ravel()
    merged = dict.fromkeys([*np.flatnonzero(pursued).tolist(), *in_turn.tolist()])
    return np.sort(np.array(list(merged)[:SCREEN], dtype=np.intp))


def _ranked(
    C: Single, y: Array, columns: Index, bench: Bench, best: Config, last: Round, clip: Clip
) -> Ranking:
    """Order by total effect; inputs without one follow, by the score of their main effect."""
    units, d = bench.units(best.bases), C.shape[2]
    score, outside = np.zeros(d), np.ones(d, dtype=bool)
    score[columns], outside[columns] = units.per_input(last.effect), False
    order = np.lexsort((-scan_main(C, counted(y, bench.weights)), outside, -score))
    return Ranking(order, score, best, columns, units, last, clip)
