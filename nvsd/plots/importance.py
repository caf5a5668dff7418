"""How much each input matters, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from nvsd.plots._draw import GREY, INK, PALETTE, labels, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 20  # inputs that are drawn
ROW = 0.28  # inches of height for each


def plot_importance(
    significance: Any, *, level: float = 0.1, most: int = MOST, ax: Axes | None = None
) -> Axes:
    """Importance of the inputs with 95 % intervals, the largest on top, and their p-values.

    The importance of an input is the rise of the error on held-out rows when a copy drawn given the
    other inputs takes its place, as a share of the error of the mean. Inputs that pass at the false
    discovery rate `level` are coloured.

    Parameters
    ----------
    significance : Selection or Dataset
        What `nvsd.select` or `nvsd.significance` returned.
    level : float
        False discovery rate.
    most : int
        How many inputs are drawn.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> from nvsd.plots import plot_importance
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 4))
    >>> selection = nvsd.select(X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
    >>> ax = plot_importance(selection)
    >>> ax.get_xlabel()
    'rise of the error without the input, % of the error of the mean'
    """
    tests = getattr(significance, "significance", significance)
    if not isinstance(tests, xr.Dataset) or "importance_se" not in tests:
        raise ValueError("there are no tests here; give what nvsd.significance or select returned.")
    unit = "feature" if "feature" in tests.dims else "group"
    order = np.lexsort((-tests["importance"].values, tests["p_value"].values))[:most]
    shown = tests.isel({unit: order})
    ax = new_axes(ax, (7.0, 1.1 + ROW * len(order)))
    places = -np.arange(len(order))
    passed = shown["q_value"].values <= level
    low, value, high = (
        100 * shown[name].values for name in ("importance_lower", "importance", "importance_upper")
    )
    for on, shade in ((True, PALETTE[0]), (False, GREY)):
        some = passed == on
        ax.hlines(places[some], low[some], high[some], color=shade, lw=2.2)
        ax.plot(value[some], places[some], "o", color=shade, ms=5.5)
    ax.axvline(0, color=INK, lw=0.8)
    ax.set_yticks(places, labels(shown[unit].values))
    ax.set_ylim(places[-1] - 0.7, 0.7)
    for y, p in zip(places, shown["p_value"].values, strict=True):
        ax.annotate(
            _p_text(p), (1.01, y), xycoords=("axes fraction", "data"), va="center", fontsize=8.5,
            color=INK,
        )  # fmt: skip
    ax.set_xlabel("rise of the error without the input, % of the error of the mean")
    ax.set_title(
        f"{int((tests['q_value'].values <= level).sum())} of {tests.sizes[unit]} {unit}s pass at a "
        f"false discovery rate of {level:.0%}".replace("features", "inputs"),
        loc="left", fontsize=10,
    )  # fmt: skip
    tidy(ax)
    return ax


def _p_text(p: float) -> str:
    """A p-value as short text."""
    return "p < 0.001" if p < 1e-3 else "not used" if p == 1 else f"p = {p:.2g}"
