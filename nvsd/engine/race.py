"""A race of configurations: all run on the same rows and are compared on others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.data.near_copies import kin
from nvsd.data.weights import variance, weights_at
from nvsd.engine.features import Base, Bases, Scaler, Units
from nvsd.engine.kernel import ALL
from nvsd.engine.pursuit import pursue
from nvsd.engine.reweight import Round, Weights, next_weights, reweight
from nvsd.engine.scan import Scan, Single, by_chance, counted, scan

Array = NDArray[Any]
Index = NDArray[np.intp]

# Widths in standard deviations, from fine enough for a sine of four periods to nearly straight.
FINE, MIDDLE, SMOOTH = (Base(0.3),), (Base(0.7),), (Base(1.5),)
LINE, ROUGH = (Base(1.5, linear=0.5),), (Base(1.0, rough=True),)
BOTH = (Base(0.3), Base(1.5, linear=0.5))  # each input can find its own width
PLAIN = (Base(1.0, linear=1.0),)  # the input itself, for the product kernel

EARLY, ROUNDS = 2, 4  # rounds of all configurations, and of the leaders
FINALISTS, RETRIED = 3, 4  # leaders that get more rounds, and that also run on a second split
CHANCE_WEIGHT = 0.5  # least weight in a start; 1 is that of the largest score expected by chance
# Numbers of triples, pairs and single inputs in a start from the scan.
TRIPLES_IN, PAIRS_IN, MAINS_IN = 4, 10, 10
SHARED = 256  # parts of a bench of at most this many inputs take their features from the whole
JOINT = 2  # rounds of reweighting of two configurations together


@dataclass(frozen=True)
class Config:
    """Bases, order, scale s of the weights, start and rounds.

    The start is "flat", "scan" or "pursuit"; or "joint", of two configurations together.
    """

    bases: Bases
    order: int
    s: float
    start: str
    rounds: int


FIRST = (
    *(Config(bases, 1, 1.0, "flat", EARLY) for bases in (FINE, SMOOTH, LINE)),
    *(Config(LINE, order, 0.5, "flat", EARLY) for order in (2, 3)),
    *(Config(PLAIN, order, 1.0, "flat", EARLY) for order in (2, 3)),  # polynomials
    Config(PLAIN, ALL, 2.0, "flat", ROUNDS),  # its effects need more rounds to show
    *(Config(bases, 2, 1.0, "scan", EARLY) for bases in (FINE, MIDDLE, SMOOTH, LINE, ROUGH, BOTH)),
)


# These run only if the scan of triples has found something.
THIRD = (
    *(Config(bases, 3, 1.0, "scan", EARLY) for bases in (SMOOTH, LINE)),
    Config(PLAIN, ALL, 2.0, "scan", EARLY),
)
# This runs only if an input enters the pursuit.
PURSUIT = Config(LINE, 2, 1.0, "pursuit", EARLY)


def variants(c: Config) -> list[Config]:
    """Neighbours of the leader: other bases or scales of the weights, another order or start."""
    c = replace(c, rounds=EARLY)
    other = replace(c, start="scan" if c.start == "flat" else "flat")
    if c.order == 1:
        return [other, *(replace(c, bases=b, start="scan") for b in (MIDDLE, ROUGH, BOTH))]
    if c.order == ALL:
        c = replace(c, rounds=ROUNDS)
        return [*(replace(c, s=factor * c.s) for factor in (1 / 4, 1 / 2, 2))]
    near = [replace(c, s=c.s / 4), replace(c, s=2 * c.s), replace(c, order=5 - c.order)]
    # BOTH from a flat start is slow, and rarely the best.
    return near if c.bases == BOTH else [*near, other]


class Bench:
    """The data of one ranking: inputs, their cosines, and features for each base, computed once.

    Rows may have weights, of mean 1.
    """

    def __init__(
        self,
        X: Array,
        C: Single,
        scaler: Scaler | None = None,
        weights: Array | None = None,
    ) -> None:
        self.X, self.C, self.scaler = X, C, Scaler.fit(X) if scaler is None else scaler
        self.weights = weights
        self._units: dict[Bases, Units] = {}
        self._whole: tuple[Bench, Index] | None = None

    def take(self, inputs: Index) -> Bench:
        """The bench of some of the inputs; features come from this one if it has few inputs."""
        scaler = self.scaler.take(inputs)
        part = Bench(self.X[:, inputs], self.C[:, :, inputs], scaler, self.weights)
        part._whole = (self, inputs) if self.X.shape[1] <= SHARED else None
        return part

    def units(self, bases: Bases) -> Units:
        """The features of these bases."""
        if bases not in self._units and self._whole is not None:
            whole, inputs = self._whole
            self._units[bases] = whole.units(bases).take(inputs)
        elif bases not in self._units:
            self._units[bases] = Units.make(self.X, bases, self.scaler, self.kin)
        return self._units[bases]

    @cached_property
    def kin(self) -> Index | None:
        """Which inputs are near copies of each other."""
        return kin(self.X)


class Race:
    """Configurations on some rows, compared on others; every round is kept.

    Parameters
    ----------
    rows, held : index arrays
        The rows on which weights are found, and those on which errors are measured; if `held` is
        None, errors are leave-one-out.
    target : (n,) array
        y, or the errors of another configuration.
    before : Race, optional
        An earlier race, whose λ are good starts.
    pursued : (d,) array, optional
        What a pursuit of the same rows has found, if more inputs took part in it.
    """

    def __init__(
        self,
        bench: Bench,
        rows: Index,
        held: Index | None,
        target: Array,
        before: Race | None = None,
        pursued: Array | None = None,
    ) -> None:
        self.bench, self.rows, self.held, self.target = bench, rows, held, target
        self.runs: dict[Config, list[Round]] = {}
        self._features: dict[Bases, tuple[Array, tuple[Array, Array] | None]] = {}
        self._scan: Scan | None = None
        self._pursued = pursued
        of_rows, of_held = weights_at(bench.weights, rows), None
        if held is not None:
            of_held = weights_at(bench.weights, held)
        self.weights = Weights(of_rows, of_held)
        self._lam: dict[int, float] = {} if before is None else dict(before._lam)

    def features(self, bases: Bases) -> tuple[Array, tuple[Array, Array] | None]:
        """Features of the rows, and features and target of the rows held out."""
        if bases not in self._features:
            Phi = self.bench.units(bases).Phi
            if self.held is None:
                self._features[bases] = Phi[self.rows], None
            else:  # single precision is enough to compare, and twice as fast
                held = Phi[self.held].astype(np.float32), self.target[self.held]
                self._features[bases] = Phi[self.rows].astype(np.float32), held
        return self._features[bases]

    def run(self, c: Config) -> list[Round]:
        """Run a configuration up to its number of rounds; return all its rounds."""
        done = self.runs.setdefault(replace(c, rounds=0), [])
        more = c.rounds - len(done)
        if more > 0 and (not done or done[-1].effect.any()):
            eta = next_weights(done[-1].effect, c.order) if done else self.start(c)
            lam = done[-1].fit.lam if done else self._lam.get(c.order)
            Phi, held = self.features(c.bases)
            y, weights = self.target[self.rows], self.weights
            kin = self.bench.units(c.bases).kin
            done += reweight(Phi, y, c.order, c.s, eta, more, held, lam, weights, kin)
            self._lam[c.order] = done[-1].fit.lam
        return done

    def round(self, c: Config) -> Round:
        """The last round of a configuration; rounds end early if no effect is left."""
        done = self.run(c)
        return done[min(c.rounds, len(done)) - 1]

    def leaders(self) -> list[Config]:
        """Configurations by the least error of their rounds."""
        return sorted(self.runs, key=lambda c: min(each.error for each in self.runs[c]))

    def start(self, c: Config) -> Array:
        """The weights that a configuration starts from."""
        d = self.bench.X.shape[1]
        if c.start == "flat":
            return np.ones(d * len(c.bases))
        if c.start == "pursuit":
            return np.tile(self.pursued(), len(c.bases))
        return np.tile(start_weights(self.scan(), d), len(c.bases))

    def scan(self) -> Scan:
        """Scan the rows: y for main effects, errors of the best additive fit for the rest."""
        if self._scan is None:
            y, weights = self.target[self.rows], self.weights.rows
            both = counted(y, weights), counted(self._left(y), weights)
            self._scan = scan(self.bench.C[:, self.rows], *both)
        return self._scan

    def pursued(self) -> Array:
        """The weights of a start from a pursuit of the rows; all are 0 if no input enters."""
        if self._pursued is None:
            bench, rows = self.bench, self.rows
            given = bench.X[rows], bench.C[:, rows], self.target[rows]
            self._pursued = pursue(*given, self.weights.rows)
        return self._pursued

    def _left(self, y: Array) -> Array:
        """Leave-one-out errors of the best additive fit so far, or centred y if none is useful."""
        fits = [each for c, runs in self.runs.items() if c.order == 1 for each in runs]
        if fits:
            errors = min(fits, key=lambda each: each.error).fit.errors
            weights = self.weights.rows
            if np.isfinite(errors).all() and variance(errors, weights) < variance(y, weights):
                return errors
        return np.asarray(y - y.mean())

    def residual(self, c: Config) -> Race:
        """A race for the errors of this configuration: leave-one-out, and on the held-out rows."""
        last = self.round(c)
        target = np.zeros_like(self.target)
        target[self.rows] = last.fit.errors
        if self.held is not None:
            target[self.held] = last.held
        return Race(self.bench, self.rows, self.held, target, self)


def again(race: Race, best: Config) -> Round:
    """The last round of a configuration on other rows."""
    if best.start == "scan":  # the scan needs the errors of an additive fit
        race.run(Config(best.bases, 1, 1.0, "flat", EARLY))
    return race.round(best)


def start_weights(found: Scan, d: int) -> Array:
    """Weights on the inputs of the best triples, pairs and main effects, corrected for chance.

    By chance the largest of N normal scores is about √(2 log N). The weight is the score minus this
    value, plus 1. So twenty inputs that are there by chance do not hide one clear pair.
    """
    start = np.zeros(d)
    chance = by_chance(d**3 / 6)
    for score, *three in found.triples[:TRIPLES_IN]:
        start[three] = np.maximum(start[three], score - chance + 1)
    chance = by_chance(d * (d - 1) / 2)
    for score, *two in found.pairs[:PAIRS_IN]:
        start[two] = np.maximum(start[two], max(score - chance + 1, CHANCE_WEIGHT))
    best = np.argsort(-found.main, kind="stable")[:MAINS_IN]
    above = found.main[best] - by_chance(d) + 1
    start[best] = np.maximum(start[best], np.maximum(above, CHANCE_WEIGHT))
    return start


def joint(race: Race, first: Config, second: Config, left: Race) -> tuple[Config, Round]:
    """Fit two configurations together: the units of both, with weights from their effects."""
    one, two = race.round(first), left.run(second)[-1]
    start = np.concatenate([one.effect, two.effect])
    bases, order = first.bases + second.bases, max(first.order, second.order)
    both = Config(bases, order, first.s, "joint", JOINT)
    Phi, held = race.features(bases)
    y, lam = race.target[race.rows], race.run(first)[-1].fit.lam
    kin = race.bench.units(bases).kin
    return both, reweight(Phi, y, order, both.s, start, JOINT, held, lam, race.weights, kin)[-1]
