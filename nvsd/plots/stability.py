"""Stability selection: how often each input was selected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from nvsd.plots._draw import GREY, INK, PALETTE, Array, labels, new_axes, tidy, write_legend
from nvsd.results.schema import FALSE_SELECTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_stability(selection: Any, *, n_features: int = 40, ax: Axes | None = None) -> Axes:
    """The share of the halves of the samples that selected each input, the most frequent on top.

    A line marks the threshold. The title has the bounds on the expected number of false selections,
    each with what it assumes; see `Selection.false_selections`.

    Parameters
    ----------
    selection : Selection or Dataset
        The result of ``nvsd.select(X, y, method="stability")``, or its history.
    n_features : int
        How many inputs are shown at most.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.plots import plot_stability
    >>> data = nvsd.datasets.make_e3(60, seed=0)
    >>> found = nvsd.select(data.X, data.y, method="stability", n_pairs=3, cv=2, nus=[0.01, 0.1])
    >>> plot_stability(found).get_xlabel()
    'share of the halves of the samples that select the input'
    """
    history = getattr(selection, "history", selection)
    known = isinstance(history, xr.Dataset) and history.attrs.get("method") == "stability"
    if not known or any(name not in history for name in ("strength", "support")):
        raise ValueError(
            "this is not a stability selection; give what nvsd.select(X, y, method='stability') "
            "returned."
        )
    chosen = history.isel(step=int(history.attrs["chosen"]))
    share = np.asarray(chosen["strength"].values, dtype=float)
    on = np.asarray(chosen["support"].values, dtype=bool)
    order = np.lexsort((-share, ~on))
    shown = order[: max(1, int(n_features))]
    ax = new_axes(ax, (7.0, 1.5 + 0.2 * max(len(shown), 6)))
    texts = labels(history["feature"].values)
    _bars(ax, share[shown], on[shown], [texts[a] for a in shown])
    if "threshold" in history.attrs:
        threshold = float(history.attrs["threshold"])
        ax.axvline(threshold, color=INK, lw=1, ls=(0, (4, 3)), label=f"threshold {threshold:g}")
        write_legend(ax, *ax.get_legend_handles_labels(), loc="lower right")
    if len(shown) < len(order):
        rest = share[order[len(shown) :]].max()
        ax.text(
            0.0, len(shown) - 0.2, f" … and {len(order) - len(shown)} more, at most {rest:.2f}",
            fontsize=8.5, va="top", color=INK,
        )  # fmt: skip
        ax.set_ylim(len(shown) + 0.8, -0.7)
    ax.set_title(_title(history, int(on.sum())), fontsize=9.5)
    tidy(ax)
    return ax


def _bars(ax: Axes, share: Array, on: Any, texts: list[str]) -> None:
    rows = np.arange(len(share))
    shades = [PALETTE[0] if each else GREY for each in on]
    ax.barh(rows, share, color=shades, height=0.7)
    # A share of zero is an answer too: it has a mark at the axis.
    ax.plot(np.zeros_like(share), rows, ls="none", marker="|", color=INK, ms=4, clip_on=False)
    ax.set_yticks(rows, texts, fontsize=8.5)
    ax.set_ylim(len(share) - 0.3, -0.7)
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("share of the halves of the samples that select the input", fontsize=9.5)


def _title(history: xr.Dataset, selected: int) -> str:
    attrs = history.attrs
    head = f"{selected} of {history.sizes['feature']} inputs selected"
    if "n_pairs" in attrs:
        head += f", from {2 * int(attrs['n_pairs'])} halves"
    found = {short: float(attrs[name]) for short, name in FALSE_SELECTIONS.items() if name in attrs}
    if not found:
        return f"{head}; no bound on the false ones"
    if min(found.values()) >= selected:
        bound = f"bound on the false ones, {min(found.values()):.2g}, says nothing"
        return f"{head}\nthe {bound}: raise the threshold"
    listed = ", ".join(f"{bound:.2g} ({short})" for short, bound in found.items())
    return f"{head}\nexpected false selections ≤ {listed}"
