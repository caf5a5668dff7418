"""Comparisons of stored results: means, ranks over cells, and tests against each peer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from nvsd.benchmark.methods import OURS
from nvsd.experiments.tables import LEVEL, signed_rank

__all__ = [
    "Loss",
    "Ranks",
    "Verdict",
    "against",
    "critical_difference",
    "losses",
    "mean_and_error",
    "mean_ranks",
    "not_worse",
    "overview",
    "score",
]

Array = NDArray[np.float64]

LOWEST_R2 = -1.0  # below, R² counts as this: one bad run would be the mean of all
COMPLETE = 0.9  # share of the cells that a method must have run to be ranked


class Ranks(NamedTuple):
    """Mean ranks over cells, 1 is best, and the difference that is significant."""

    methods: list[str]
    ranks: list[float]
    cells: int
    difference: float


class Verdict(NamedTuple):
    """Cells in which ours is better, equal and worse than a peer, and a test over the cells."""

    peer: str
    better: int
    equal: int
    worse: int
    p: float
    side: int  # 1 if the test over the cells favours ours, -1 if the peer


class Loss(NamedTuple):
    """A cell in which ours is significantly worse than a peer, with both means."""

    cell: str
    peer: str
    ours: float
    theirs: float
    p: float


def score(results: xr.Dataset, name: str) -> xr.DataArray:
    """A score of all runs; `error` and `refit_error` are 1 − R², or log-loss for classes."""
    if name.endswith("error"):
        before = name.removesuffix("error")
        numbers = 1 - score(results, f"{before}r2")
        return numbers.fillna(results[f"{before}log_loss"]).rename(name)
    values = results[name]
    return values.clip(min=LOWEST_R2) if name.endswith("r2") else values


def mean_and_error(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Means over the replications, and their standard errors; NaN for one replication."""
    count = values.notnull().sum("replication")
    errors = values.std("replication", ddof=1) / np.sqrt(count.where(count > 1))
    return values.mean("replication"), errors


def overview(results: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Mean of each score over the cells that a method has; seconds are medians."""
    found = {name: score(results, name).mean("replication").mean("cell") for name in names}
    found["seconds"] = results["seconds"].median(("cell", "replication"))
    found["cells"] = results["seconds"].notnull().any("replication").sum("cell")
    return xr.Dataset(found)


def mean_ranks(values: xr.DataArray, sign: int, share: float = COMPLETE) -> Ranks | None:
    """Mean ranks of the methods over the cells that they all have; ties share their ranks.

    Methods that have less than a share of the cells are left out. None if fewer than two methods
    or cells are left.
    """
    means = values.mean("replication").transpose("method", "cell")
    means = means[:, means.notnull().any("method").values]
    if not means.size:
        return None
    means = means[(means.notnull().mean("cell") >= share).values]
    means = means[:, means.notnull().all("method").values]
    k, cells = means.shape
    if k < 2 or cells < 2:
        return None
    ranks = stats.rankdata(-sign * means.values, axis=0).mean(axis=1)
    methods = [str(key) for key in means["method"].values]
    return Ranks(methods, ranks.tolist(), cells, critical_difference(k, cells))


def critical_difference(k: int, cells: int, level: float = LEVEL) -> float:
    """Nemenyi's: mean ranks of two of k methods over cells differ by chance up to this."""
    quantile = float(stats.studentized_range.ppf(1 - level, k, np.inf)) / np.sqrt(2)
    return float(quantile * np.sqrt(k * (k + 1) / (6 * cells)))


def against(values: xr.DataArray, sign: int, ours: str = OURS) -> list[Verdict]:
    """How ours does against each peer, in the cells that both have.

    In a cell the Wilcoxon test over the replications decides; over the cells, the same test on
    their means.
    """
    if ours not in values["method"].values:
        return []
    values = values.transpose("method", "cell", "replication")
    mine, verdicts = values.sel({"method": ours}), []
    for peer in (str(key) for key in values["method"].values if key != ours):
        theirs = values.sel({"method": peer})
        both = (mine.notnull() & theirs.notnull()).any("replication").values
        if not both.any():
            continue
        sides = [_side(mine[c].values, theirs[c].values, sign) for c in np.flatnonzero(both)]
        paired = mine.where(theirs.notnull()), theirs.where(mine.notnull())
        a, b = (x.mean("replication").values[both] for x in paired)
        p, side = signed_rank(a, b)
        better, equal, worse = (sides.count(verdict) for verdict in (1, 0, -1))
        verdicts.append(Verdict(peer, better, equal, worse, p, sign * side))
    return verdicts


def _side(mine: Array, theirs: Array, sign: int) -> int:
    """1 if ours is significantly better, -1 if worse, otherwise 0."""
    p, side = signed_rank(mine, theirs)
    return sign * side if p < LEVEL else 0


def losses(values: xr.DataArray, sign: int, ours: str = OURS) -> list[Loss]:
    """Every cell and peer in which ours is significantly worse over the replications."""
    found: list[Loss] = []
    if ours not in values["method"].values:
        return found
    for cell in values["cell"].values:
        here = values.sel(cell=cell)
        mine = here.sel({"method": ours}).values
        for peer in (str(key) for key in here["method"].values if key != ours):
            theirs = here.sel({"method": peer}).values
            p, side = signed_rank(mine, theirs)
            if p < LEVEL and sign * side < 0:
                both = np.isfinite(mine) & np.isfinite(theirs)
                means = float(mine[both].mean()), float(theirs[both].mean())
                found.append(Loss(str(cell), peer, *means, p))
    return found


def not_worse(values: xr.DataArray, sign: int, ours: str = OURS) -> tuple[int, int]:
    """Cells in which ours is not significantly worse than any peer, and all cells that it has."""
    if ours not in values["method"].values:
        return 0, 0
    has = values.sel({"method": ours}).notnull().any("replication")
    lost = {loss.cell for loss in losses(values, sign, ours)}
    cells = int(has.sum())
    return cells - len(lost), cells
