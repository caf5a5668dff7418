"""A race of configurations: all run on the same rows and are compared on others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.engine.features import Base, Bases, Scaler, Units
from nvsd.engine.kernel import ALL
from nvsd.engine.reweight import Round, next_weights, reweight
from nvsd.engine.scan import Scan, Single, by_chance, scan

Array = NDArray[Any]
Index = NDArray[np.intp]

# Widths in standard deviations: fine enough for a sine of four periods, and nearly straight.
FINE, MIDDLE, SMOOTH = (Base(0.3),), (Base(0.7),), (Base(1.5),)
LINE, ROUGH = (Base(1.5, linear=0.5),), (Base(1.0, rough=True),)
BOTH = (Base(0.3), Base(1.5, linear=0.5))  # each input finds its own width
PLAIN = (Base(1.0, linear=1.0),)  # the input itself, for the product kernel

EARLY, ROUNDS = 2, 4  # rounds that all configurations get, and that the leaders get
FINALISTS, RETRIED = 3, 4  # leaders that go on, and that meet again on a second split
CHANCE_WEIGHT = 0.5  # of inputs that came by chance, where 1 is as good as the largest by chance
# Triples, pairs and single inputs that a start from the scan holds.
TRIPLES_IN, PAIRS_IN, MAINS_IN = 4, 10, 10
SHARED = 256  # inputs up to which a part of a bench takes its features from the whole
JOINT = 2  # rounds of two configurations together


@dataclass(frozen=True)
class Config:
    """Bases, order, scale s of the weights, start ("flat", "scan" or "joint") and rounds."""

    bases: Bases
    order: int
    s: float
    start: str
    rounds: int


FIRST = (
    *(Config(bases, 1, 1.0, "flat", EARLY) for bases in (FINE, SMOOTH, LINE)),
    *(Config(LINE, order, 0.5, "flat", EARLY) for order in (2, 3)),
    *(Config(PLAIN, order, 1.0, "flat", EARLY) for order in (2, 3)),  # polynomials
    Config(PLAIN, ALL, 2.0, "flat", ROUNDS),  # its effects show late
    *(Config(bases, 2, 1.0, "scan", EARLY) for bases in (FINE, MIDDLE, SMOOTH, LINE, ROUGH, BOTH)),
)


# For what the scan of triples has found.
THIRD = (
    *(Config(bases, 3, 1.0, "scan", EARLY) for bases in (SMOOTH, LINE)),
    Config(PLAIN, ALL, 2.0, "scan", EARLY),
)


def variants(c: Config) -> list[Config]:
    """Neighbours of the leader: other scales of the weights, the next order, the other start."""
    c = replace(c, rounds=EARLY)
    other = replace(c, start="scan" if c.start == "flat" else "flat")
    if c.order == 1:
        return [other, *(replace(c, bases=b, start="scan") for b in (MIDDLE, ROUGH, BOTH))]
    if c.order == ALL:
        c = replace(c, rounds=ROUNDS)
        return [*(replace(c, s=factor * c.s) for factor in (1 / 4, 1 / 2, 2))]
    near = [replace(c, s=c.s / 4), replace(c, s=2 * c.s), replace(c, order=5 - c.order)]
    # BOTH from a flat start is slow, and seldom the best.
    return near if c.bases == BOTH else [*near, other]


class Bench:
    """The data of one ranking: inputs, their cosines, and features for each base, made once."""

    def __init__(self, X: Array, C: Single, scaler: Scaler | None = None) -> None:
        self.X, self.C, self.scaler = X, C, Scaler.fit(X) if scaler is None else scaler
        self._units: dict[Bases, Units] = {}
        self._whole: tuple[Bench, Index] | None = None

    def take(self, inputs: Index) -> Bench:
        """The bench of some of the inputs; of few, features are made once for all of them."""
        part = Bench(self.X[:, inputs], self.C[:, :, inputs], self.scaler.take(inputs))
        part._whole = (self, inputs) if self.X.shape[1] <= SHARED else None
        return part

    def units(self, bases: Bases) -> Units:
        """The features of these bases."""
        if bases not in self._units and self._whole is not None:
            whole, inputs = self._whole
            self._units[bases] = whole.units(bases).take(inputs)
        elif bases not in self._units:
            self._units[bases] = Units.make(self.X, bases, self.scaler)
        return self._units[bases]


class Race:
    """Configurations on some rows, compared on others; every round is kept.

    Parameters
    ----------
    rows, held : index arrays
        Where weights are found, and where errors are taken; None: leave-one-out errors.
    target : (n,) array
        y, or what another configuration has left of it.
    before : Race, optional
        Whose λ are a good start.
    """

    def __init__(
        self,
        bench: Bench,
        rows: Index,
        held: Index | None,
        target: Array,
        before: Race | None = None,
    ) -> None:
        self.bench, self.rows, self.held, self.target = bench, rows, held, target
        self.runs: dict[Config, list[Round]] = {}
        self._features: dict[Bases, tuple[Array, tuple[Array, Array] | None]] = {}
        self._scan: Scan | None = None
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
        """Take a configuration to its number of rounds."""
        done = self.runs.setdefault(replace(c, rounds=0), [])
        more = c.rounds - len(done)
        if more > 0 and (not done or done[-1].effect.any()):
            eta = next_weights(done[-1].effect, c.order) if done else self.start(c)
            lam = done[-1].fit.lam if done else self._lam.get(c.order)
            Phi, held = self.features(c.bases)
            done += reweight(Phi, self.target[self.rows], c.order, c.s, eta, more, held, lam)
            self._lam[c.order] = done[-1].fit.lam
        return done

    def round(self, c: Config) -> Round:
        """The last round of a configuration, or the one before it had nothing left to weigh."""
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
        return np.tile(start_weights(self.scan(), d), len(c.bases))

    def scan(self) -> Scan:
        """What the scan of the rows finds, after the additive fits that have been made."""
        if self._scan is None:
            y = self.target[self.rows]
            self._scan = scan(self.bench.C[:, self.rows], y, self._left(y))
        return self._scan

    def _left(self, y: Array) -> Array:
        """Leave-one-out residual of the best additive fit so far."""
        fits = [each for c, runs in self.runs.items() if c.order == 1 for each in runs]
        if fits:
            errors = min(fits, key=lambda each: each.error).fit.errors
            if np.isfinite(errors).all() and errors.var() < y.var():
                return errors
        return np.asarray(y - y.mean())

    def residual(self, c: Config) -> Race:
        """A race for what this configuration leaves: leave-one-out and held errors."""
        last = self.round(c)
        target = np.zeros_like(self.target)
        target[self.rows] = last.fit.errors
        if self.held is not None:
            target[self.held] = last.held
        return Race(self.bench, self.rows, self.held, target, self)


def start_weights(found: Scan, d: int) -> Array:
    """Weights on the inputs of the best triples, pairs and main effects, less what chance explains.

    The largest of N normal scores is about √(2 log N); what is above it is the weight, so that one
    clear pair is not drowned by twenty inputs that came along.
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
    """Both together: units of both, weights that start at the effects which each one found."""
    one, two = race.round(first), left.run(second)[-1]
    start = np.concatenate([one.effect, two.effect])
    bases, order = first.bases + second.bases, max(first.order, second.order)
    both = Config(bases, order, first.s, "joint", JOINT)
    Phi, held = race.features(bases)
    y, lam = race.target[race.rows], race.run(first)[-1].fit.lam
    return both, reweight(Phi, y, order, both.s, start, JOINT, held, lam)[-1]
