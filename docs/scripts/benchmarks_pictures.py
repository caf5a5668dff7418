"""The picture of docs/benchmarks.md: bars that say it in ten seconds, and critical differences."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from nvsd.benchmark.comparison import Ranks, mean_ranks
from nvsd.benchmark.methods import METHODS, OURS
from nvsd.plots._draw import PALETTE

GREY = "#b8bec4"


def name_of(method: str) -> str:
    """As people call it."""
    return "nvsd.select" if method == OURS else METHODS[method].label.strip("`")


def bars(ax: plt.Axes, values: xr.DataArray) -> bool:
    """Mean share of true inputs on top, over the cells that all shown methods have."""
    ranks = mean_ranks(values, 1)
    if ranks is None:
        return False
    means = values.sel({"method": ranks.methods}).mean("replication")
    means = means[:, means.notnull().all("method").values].mean("cell")
    order = np.argsort(-means.values, kind="stable")
    for place, i in enumerate(order):
        key, value = ranks.methods[i], 100 * float(means[i])
        ax.barh(-place, value, color=PALETTE[0] if key == OURS else GREY, height=0.7)
        ax.text(value - 1, -place, f"{value:.0f} %", ha="right", va="center", color="white")
    ax.set_yticks(-np.arange(len(order)), [name_of(ranks.methods[i]) for i in order])
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_title(f"True inputs on top, mean over {ranks.cells} cells", loc="left", fontsize=11)
    return True


def groups(ranks: Ranks) -> list[tuple[float, float]]:
    """Widest runs of mean ranks that do not differ significantly."""
    places = sorted(ranks.ranks)
    found: list[tuple[float, float]] = []
    for first in places:
        last = max(place for place in places if place - first <= ranks.difference)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def critical_differences(ax: plt.Axes, ranks: Ranks) -> None:
    """Mean ranks on a line; methods under one bar do not differ significantly."""
    order = np.argsort(ranks.ranks, kind="stable")
    half, runs = (len(order) + 1) // 2, groups(ranks)
    low, high = 1, len(order)
    ax.hlines(0, low, high, color="black", lw=1)
    for tick in range(low, high + 1):
        ax.vlines(tick, 0, 0.12, color="black", lw=1)
        ax.text(tick, 0.2, str(tick), ha="center", va="bottom", fontsize=8)
    below = 0.25 * len(runs) + 0.3
    for level, (a, b) in enumerate(runs):
        ax.hlines(-0.25 * (level + 1), a - 0.04, b + 0.04, color="#33658a", lw=3)
    for i, m in enumerate(order):
        left = i < half
        depth = below + 0.4 * (i if left else len(order) - 1 - i)
        edge, rank = (low - 0.3 if left else high + 0.3), ranks.ranks[m]
        colour = PALETTE[0] if ranks.methods[m] == OURS else "#33404a"
        ax.plot([rank, rank, edge], [0, -depth, -depth], color=colour, lw=1)
        ax.text(
            edge, -depth, f" {name_of(ranks.methods[m])} ({rank:.1f}) ",
            ha="right" if left else "left", va="center", fontsize=9, color=colour,
        )  # fmt: skip
    ax.hlines(0.75, low, low + ranks.difference, color="black", lw=2)
    ax.text(low, 0.82, f"critical difference {ranks.difference:.1f}", fontsize=8, va="bottom")
    ax.set_xlim(low - 0.45 * high, high + 0.45 * high)
    ax.set_ylim(-below - 0.4 * half, 1.3)
    ax.set_axis_off()


def picture(path: Path, share: xr.DataArray, precision: xr.DataArray) -> bool:
    """Both; False, and no file, if there is too little to compare."""
    ranks = mean_ranks(precision, 1)
    if ranks is None:
        return False
    height = 1.6 + 0.27 * len(ranks.methods)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(13, height), width_ratios=(1, 1.7), layout="constrained"
    )
    bars(left, share)
    critical_differences(right, ranks)
    right.set_title(f"Mean rank over {ranks.cells} cells, 1 is best", loc="left", fontsize=11)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True
