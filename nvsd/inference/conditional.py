"""A model of one input given the others: mean, scale, and a check of both.

The input is first replaced by the normal scores t of its ranks, so that tails and units do not
matter:

    t = m(x_others) + s(x_others) e,       e independent of x_others

m and s are fits of the engine, which is reweighted kernel ridge, with leave-one-out predictions at
the rows they were fitted to. If a scan finds no dependence, they are constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.engine.features import Base
from nvsd.engine.race import BOTH, LINE, ROUGH, Bench, Config, Race
from nvsd.engine.reweight import Round
from nvsd.engine.scan import Single, by_chance, cosines, scan, scan_main
from nvsd.engine.sets import SetFit

Array = NDArray[Any]
Index = NDArray[np.intp]

# All constants here were tuned on the designs of docs/scripts/significance_tuning.py.
FIT_ROWS = 1000  # largest number of rows that a model is fitted to
INNER_ROWS, INNER_SHARE = 400, 0.7  # rows on which configurations are compared, share to fit
MOST = 128  # largest number of other inputs in a model: those with the largest main effects
CONFIGS = (
    Config(LINE, 1, 1.0, "flat", 2),
    Config((Base(0.3),), 1, 1.0, "scan", 2),
    Config(BOTH, 2, 1.0, "scan", 3),
    Config(ROUGH, 1, 1.0, "scan", 2),
)
LOWEST_SCALE = 0.1  # share of the mean scale: no row has a smaller scale
SURE = 1.0  # normal scores above chance beyond which a dependence of the scale is modelled


@dataclass(frozen=True, eq=False)
class Others:
    """The inputs that a model may use: all rows, rows to fit, and their cosines and features."""

    X: Array
    rows: Index
    bench: Bench

    @classmethod
    def of(cls, X: Array, seed: int) -> Others:
        """All inputs; if there are many rows, models are fitted to some drawn at random."""
        n = len(X)
        rows = np.arange(n)
        if n > FIT_ROWS:
            rows = np.sort(np.random.default_rng(seed).choice(n, FIT_ROWS, replace=False))
        return cls(X, rows, Bench(X[rows], cosines(X[rows])))

    def without(self, inputs: Index) -> Others:
        """All but some of the inputs."""
        rest = np.setdiff1d(np.arange(self.X.shape[1]), inputs)
        return Others(self.X[:, rest], self.rows, self.bench.take(rest))

    def showing(self, target: Array) -> Others:
        """The inputs with the largest main effects in the target, at most MOST."""
        if self.X.shape[1] <= MOST:
            return self
        main = scan_main(self.bench.C, target)
        best = np.sort(np.argsort(-main, kind="stable")[:MOST])
        return Others(self.X[:, best], self.rows, self.bench.take(best))


def excess(C: Single, target: Array) -> float:
    """The largest normal score of inputs and pairs, minus what chance would give.

    It is negative if no dependence of the target on the inputs is visible.
    """
    d = C.shape[2]
    if d == 0 or not np.ptp(target):
        return -np.inf
    found = scan(C, target, target)
    pair = found.pairs[0][0] - by_chance(d * (d - 1) / 2) if found.pairs else -np.inf
    return float(max(found.main.max() - by_chance(d), pair))


def smoothed(others: Others, target: Array, seed: int) -> Array:
    """Predictions of a target at all rows, leave-one-out at those it is fitted to.

    Parameters
    ----------
    target : (rows,) array
        The target at the rows to fit.
    """
    n = len(target)
    order = np.random.default_rng(seed).permutation(n)
    cut = min(int(INNER_SHARE * n), INNER_ROWS)
    race = Race(others.bench, order[:cut], order[cut : cut + INNER_ROWS], target)
    for config in CONFIGS:
        race.run(config)
    best = race.leaders()[0]
    errors = [each.error for each in race.runs[best]]
    held = target[race.held]
    if min(errors) >= float(np.mean(np.square(held - target[order[:cut]].mean()))):
        return np.full(len(others.X), target.mean())
    final = Race(others.bench, np.arange(n), None, target, race)
    if best.start == "scan":
        final.run(CONFIGS[0])
    return _predicted(others, best, target, final, int(np.argmin(errors)) + 1)


def _predicted(others: Others, best: Config, target: Array, race: Race, rounds: int) -> Array:
    """Leave-one-out predictions at the rows of the fit, and plain ones at all others."""
    last: Round = race.round(Config(best.bases, best.order, best.s, best.start, rounds))
    predicted = np.empty(len(others.X))
    predicted[others.rows] = target - last.fit.errors
    rest = np.setdiff1d(np.arange(len(others.X)), others.rows)
    if len(rest):
        units = others.bench.units(best.bases)
        fit = SetFit(np.arange(others.X.shape[1]), units, best.order, last)
        for part in np.array_split(rest, -(-len(rest) // FIT_ROWS)):
            predicted[part] = fit.predict(others.X[part])
    return predicted


@dataclass(frozen=True, eq=False)
class Conditional:
    """Mean, scale and standardised residuals of normal scores at all rows.

    Attributes
    ----------
    explained : float
        The share of the variance that the other inputs explain.
    check : float
        The largest dependence on the others that is left in the residuals or in their sizes, in
        normal scores above chance: it is negative for a good model.
    """

    mean: Array
    scale: Array
    residual: Array
    explained: float
    check: float


def conditional(others: Others, t: Array, seed: int) -> Conditional:
    """Model normal scores t given the other inputs."""
    others = others.showing(t[others.rows])
    C, rows = others.bench.C, others.rows
    mean = np.zeros(len(t))
    if excess(C, t[rows]) > 0:
        mean = smoothed(others, t[rows], seed)
    error = t - mean
    size = np.abs(error)
    scale = np.full(len(t), size[rows].mean())
    if excess(C, size[rows]) > SURE:
        scale = np.maximum(smoothed(others, size[rows], seed), LOWEST_SCALE * scale)
    residual = error / scale
    check = max(excess(C, residual[rows]), excess(C, np.abs(residual[rows])))
    explained = 1 - float(np.var(error)) / max(float(np.var(t)), 1e-300)
    return Conditional(mean, scale, residual, explained, check)
