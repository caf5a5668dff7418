"""The paper's tables from stored results, with the paper's numbers beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

from nvsd.experiments.layout import TABLES, Block
from nvsd.experiments.methods import (
    METHODS,
)
from nvsd.experiments.store import selection_error, support_size

__all__ = ["TABLES", "Block", "BlockReport", "Cell", "Comparison", "Report", "Verdict", "report"]

Array = NDArray[np.float64]

LEVEL = 0.05
FEW = 13  # up to this number of differences the distribution of the test is enumerated
RIVALS = ("baseline", "linear", "competitor")  # families that the library is compared with


class Cell(NamedTuple):
    """One method in one column, for one measure.

    Attributes
    ----------
    significant : bool
        Whether an NVSD method is better than every rival that has all its replications, each by a
        Wilcoxon signed-rank test.
    """

    mean: float
    se: float
    median: float
    replications: int
    paper: float
    best: bool = False
    significant: bool = False


class Comparison(NamedTuple):
    """One of our methods and a rival on the replications that both have.

    Attributes
    ----------
    ours, theirs : float
        Both means.
    p_value, side : float, int
        Two-sided Wilcoxon signed-rank test; our ranks are smaller if side < 0.
    """

    rival: str
    replications: int
    ours: float
    theirs: float
    p_value: float
    side: int

    @property
    def lost(self) -> bool:
        """Whether the rival has the smaller mean."""
        return compared(self.ours, self.theirs) > 0

    @property
    def clearly_lost(self) -> bool:
        """Whether the test says so too."""
        return self.lost and self.side > 0 and self.p_value < LEVEL


class Verdict(NamedTuple):
    """Both comparisons for one column and measure.

    Attributes
    ----------
    method : str
        The method that represents this library.
    ours : float
        Its mean over all its replications.
    rival : Comparison
        With the best competitor among those that have all our replications.
    slower : Comparison or None
        The same among those that have fewer.
    """

    method: str
    column: str
    measure: str
    ours: float
    rival: Comparison
    slower: Comparison | None
    clearly_lost: bool
    paper_method: str
    paper_best: float

    @property
    def comparisons(self) -> list[Comparison]:
        """One or two."""
        return [self.rival] if self.slower is None else [self.rival, self.slower]


@dataclass(frozen=True)
class BlockReport:
    """Numbers of one block: cells[measure][method][column]."""

    block: Block
    cells: dict[str, dict[str, list[Cell]]]
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def replications(self) -> int:
        """The largest number of replications of a cell."""
        rows = self.cells["rmse"].values()
        return max((cell.replications for row in rows for cell in row), default=0)


@dataclass(frozen=True)
class Report:
    """A table."""

    name: str
    blocks: list[BlockReport]


def report(name: str, results: Mapping[str, xr.Dataset]) -> Report:
    """Make a table of the available results; blocks and columns without any are left out."""
    blocks = [_block_report(block, results) for block in TABLES[name]]
    return Report(name, [block for block in blocks if block.replications])


def _block_report(block: Block, results: Mapping[str, xr.Dataset]) -> BlockReport:
    cells: dict[str, dict[str, list[Cell]]] = {"rmse": {}, "selection": {}}
    verdicts = []
    for j, (column, (experiment, n)) in enumerate(block.columns.items()):
        known = results.get(experiment)
        for measure, rows in cells.items():
            values = {} if known is None else _values(known, measure, n)
            values = {m.key: values.get(m.key, np.empty(0)) for m in block.methods()}
            if not any(np.isfinite(v).any() for v in values.values()):
                values = {key: np.empty(0) for key in values}
            for key, cell in _column(values, block, measure, j).items():
                rows.setdefault(key, []).append(cell)
            if block.selection == "selection error" or measure == "rmse":
                found = (_verdict(key, values, block, measure, column, j) for key in block.ours)
                verdicts += [verdict for verdict in found if verdict is not None]
    return BlockReport(block, cells, verdicts)


def _values(results: xr.Dataset, measure: str, n: int) -> dict[str, Array]:
    """The replications of every method."""
    if measure == "rmse":
        array = results["rmse"]
    else:
        array = (selection_error if "relevant" in results.coords else support_size)(results)
    if n not in results["n"].values:
        return {}
    chosen = array.sel(n=n).transpose("method", "replication").values.astype(float)
    return dict(zip(map(str, results["method"].values), chosen, strict=True))


def _column(values: Mapping[str, Array], block: Block, measure: str, j: int) -> dict[str, Cell]:
    """One column, with its best and its significant cells."""
    means = {key: _mean(v) for key, v in values.items() if METHODS[key].family != "oracle"}
    # A small support is not necessarily a good one.
    judged = measure == "rmse" or block.selection == "selection error"
    # Means over fewer replications are not comparable.
    count = {key: int(np.isfinite(values[key]).sum()) for key in means}
    full = {key: mean for key, mean in means.items() if count[key] == max(count.values()) > 0}
    lowest = min(full.values(), default=math.nan)
    cells = {}
    for key, all_values in values.items():
        v = all_values[np.isfinite(all_values)]
        mine = METHODS[key].family in ("ours", "paper") and len(v) > 0
        rivals, _ = _comparisons(all_values, values) if judged and mine else ([], [])
        se = float(v.std(ddof=1) / np.sqrt(len(v))) if len(v) > 1 else math.nan
        row = block.paper[measure].get(key)
        cells[key] = Cell(
            _mean(v),
            se,
            float(np.median(v)) if len(v) else math.nan,
            len(v),
            math.nan if row is None else row[j],
            judged and round(full.get(key, math.nan), 4) == round(lowest, 4),
            bool(rivals) and all(r.side < 0 and r.p_value < LEVEL for r in rivals),
        )
    return cells


def _verdict(
    method: str, values: Mapping[str, Array], block: Block, measure: str, column: str, j: int
) -> Verdict | None:
    full, fewer = _comparisons(values.get(method, np.empty(0)), values)
    best = [min(some, key=lambda c: c.theirs - c.ours) for some in (full, fewer) if some]
    if not best:
        return None
    printed = {key: row[j] for key, row in block.paper[measure].items() if not math.isnan(row[j])}
    paper = min(printed, key=lambda key: printed[key])
    return Verdict(
        method,
        column,
        measure,
        _mean(values[method]),
        best[0],
        best[1] if len(best) > 1 else None,
        any(comparison.clearly_lost for comparison in full + fewer),
        paper,
        printed[paper],
    )


def _comparisons(
    ours: Array, values: Mapping[str, Array]
) -> tuple[list[Comparison], list[Comparison]]:
    """With the rivals that have all our replications, and with those that have fewer."""
    found = []
    for key, theirs in values.items():
        a, b = _paired(ours, theirs)
        if METHODS[key].family in RIVALS and len(a):
            found.append(Comparison(key, len(a), _mean(a), _mean(b), *signed_rank(a, b)))
    most = int(np.isfinite(ours).sum())
    full = [comparison for comparison in found if comparison.replications == most]
    return full, [comparison for comparison in found if comparison.replications < most]


def compared(ours: float, other: float) -> int:
    """-1 if ours is less, 1 if it is greater, 0 if they differ by rounding at most."""
    return 0 if math.isclose(ours, other, rel_tol=1e-9, abs_tol=1e-12) else 1 - 2 * (ours < other)


def _mean(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else math.nan


def _paired(a: Array, b: Array) -> tuple[Array, Array]:
    """The replications that both have."""
    m = min(len(a), len(b))
    both = np.isfinite(a[:m]) & np.isfinite(b[:m])
    return a[:m][both], b[:m][both]


def signed_rank(a: Array, b: Array) -> tuple[float, int]:
    """Wilcoxon signed-rank test, two-sided, over the replications that both have.

    Returns p and the side: -1 if the ranks say that a is smaller, 1 if larger.
    """
    first, second = _paired(a, b)
    difference = (first - second)[first != second]
    if not len(difference):
        return 1.0, 0
    ranks = rankdata(np.abs(difference))
    statistic = float(np.sign(difference) @ ranks)
    side = int(np.sign(statistic))
    if len(difference) > FEW:
        return float(wilcoxon(difference).pvalue), side
    # All possible signs; scipy does the same if ranks are tied, but takes seconds.
    signs = np.array(list(product((-1.0, 1.0), repeat=len(ranks))))
    return float(np.mean(np.abs(signs @ ranks) >= abs(statistic))), side
