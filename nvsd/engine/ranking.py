"""A ranking of all inputs: by total effect, in the configuration that wins the race."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.engine.features import Units
from nvsd.engine.kernel import ALL
from nvsd.engine.race import (
    EARLY,
    FINALISTS,
    FINE,
    FIRST,
    LINE,
    RETRIED,
    ROUNDS,
    SMOOTH,
    Bench,
    Config,
    Race,
    joint,
    variants,
)
from nvsd.engine.reweight import Round
from nvsd.engine.scan import cosines, scan, scan_main
from nvsd.tolerances import TINY

Array = NDArray[Any]
Index = NDArray[np.intp]

# All constants here were tuned on the tuning problems of docs/scripts/selection_problems.py.
CLIP = 5.0  # robust sds of y: of x₁e^{2x₂} + x₃² all inputs are found, .58 of them without
SCREEN = 256  # inputs that enter the reweighting; more are screened first
# Rows on which configurations are compared: few, and more only where nothing is CLEAR yet, a share
# of the variance on the rows held out.
INNER_ROWS, CLEAR = (400, 1050), 0.2
INNER_SHARE = 0.7  # of few rows: those on which weights are found
TWO_SPLITS = 250  # rows below which the leaders meet on a second split
WORTH = 0.97  # share of the first configuration's error that two together must reach

SECOND = (
    Config(LINE, 2, 1.0, "flat", EARLY),
    Config(LINE, 3, 1.0, "flat", EARLY),
    Config(SMOOTH, 2, 1.0, "scan", EARLY),
    Config(FINE, 2, 2.0, "scan", EARLY),
)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Inputs best first, one number each, and the fit that ranked them.

    Attributes
    ----------
    order : (d,) int array
        All inputs, best first: by total effect; those at rest follow by their main-effect score.
    score : (d,) array
        sd of the total effect, in units of y; 0 for inputs at rest.
    config : Config
        What won the race.
    columns : int array
        The inputs that entered it, ascending.
    units : Units
        Their features on all rows.
    last : Round
        The last fit.
    """

    order: Index
    score: Array
    config: Config
    columns: Index
    units: Units
    last: Round

    def times(self, unit: float) -> Ranking:
        """The same with scores in other units of y."""
        return replace(self, score=unit * self.score)

    def effects(self, inputs: Index) -> Array:
        """The effects of the units of some inputs."""
        return self.last.effect[self.units.of(np.searchsorted(self.columns, inputs))]


def clip_bounds(y: Array) -> tuple[float, float]:
    """Bounds at CLIP robust standard deviations of y."""
    centre = float(np.median(y))
    sd = 1.4826 * float(np.median(np.abs(y - centre)))
    low, high = np.quantile(y, (0.05, 0.95))
    if sd < 1e-2 * (high - low):  # half of y is one value, as with counts or rare classes
        sd = float(high - low) / 3.29
    if sd <= 0:
        return -np.inf, np.inf
    return centre - CLIP * sd, centre + CLIP * sd


def rank(X: Array, y: Array, seed: int = 0) -> Ranking:
    """Rank all inputs of X for y."""
    rng = np.random.default_rng(seed)
    y = np.clip(y, *clip_bounds(y))
    columns = _screened(X, y) if X.shape[1] > SCREEN else np.arange(X.shape[1])
    bench = Bench(X[:, columns], y)
    for most in INNER_ROWS:
        races = [Race(bench, *split, y) for split in _splits(len(y), most, rng)]
        best = _best(races, _first_race(races[0], races[1:]))
        if len(y) <= most or _explained(races[0], best) > CLEAR:
            break
    second = _second_pass(races[0], best)
    final = Race(bench, np.arange(len(y)), None, y, races[0])
    if best.start == "scan":
        final.run(Config(best.bases, 1, 1.0, "flat", EARLY))
    last = final.run(best)[-1]
    if second is not None:
        best, last = joint(final, best, second, final.residual(best))
    return _ranked(X, y, columns, bench, best, last)


def _splits(n: int, most: int, rng: np.random.Generator) -> list[tuple[Index, Index]]:
    """Pairs of rows to weigh on and rows to compare on; two pairs where rows are few."""
    found = []
    for _ in range(2 if n < TWO_SPLITS else 1):
        order = rng.permutation(n)
        cut = min(int(INNER_SHARE * n), most)
        found.append((order[:cut], order[cut : cut + most]))
    return found


def _explained(race: Race, best: Config) -> float:
    """The share of the variance that a configuration explains on the rows held out."""
    return 1 - race.round(best).error / max(float(np.var(race.target[race.held])), TINY)


def _first_race(race: Race, others: list[Race]) -> list[Config]:
    """All enter for a few rounds; the leaders go on; the winner's neighbours try.

    The leaders then run on the other splits too.
    """
    for c in FIRST:
        race.run(c)
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
            error = float(np.mean(np.concatenate([np.square(e) for e in held if e is not None])))
            found.append((error, len(found), replace(c, rounds=k + 1)))
    return min(found)[2]


def _second_pass(race: Race, first: Config) -> Config | None:
    """A configuration for what the first leaves, if together they do better on the held rows."""
    if first.order == ALL:  # nothing can be added to a product
        return None
    left = race.residual(first)
    for c in SECOND:
        left.run(c)
    second = left.leaders()[0]
    rounds = left.runs[second]
    errors = [each.error for each in rounds]
    if min(errors) >= float(np.mean(np.square(left.target[left.held]))):
        return None
    second = replace(second, rounds=1 + int(np.argmin(errors)))
    left.runs[replace(second, rounds=0)] = rounds[: second.rounds]
    together = joint(race, first, second, left)[1].error
    return second if together < WORTH * race.round(first).error else None


def _screened(X: Array, y: Array) -> Index:
    """The SCREEN best inputs, in turn by main effect and by best pair."""
    found = scan(cosines(X), y, y)
    lists = [np.argsort(-found.main, kind="stable"), np.argsort(-found.best, kind="stable")]
    merged = dict.fromkeys(np.stack(lists, axis=1).ravel().tolist())
    return np.sort(np.array(list(merged)[:SCREEN], dtype=np.intp))


def _ranked(X: Array, y: Array, columns: Index, bench: Bench, best: Config, last: Round) -> Ranking:
    """Order by total effect; inputs at rest follow by main-effect score."""
    units = bench.units(best.bases)
    score, outside = np.zeros(X.shape[1]), np.ones(X.shape[1], dtype=bool)
    score[columns], outside[columns] = units.per_input(last.effect), False
    main = scan_main(bench.C if len(columns) == X.shape[1] else cosines(X), y)
    return Ranking(np.lexsort((-main, outside, -score)), score, best, columns, units, last)
