"""A regularisation path: norms as lines, support as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from nvsd.plots._draw import (
    GREY,
    INK,
    PALETTE,
    Array,
    colour,
    count_axis,
    end_labels,
    every_few,
    labels,
    legend_below,
    line_style,
    mark_tau,
    nearest,
    new_axes,
    one_path,
    tau_axis,
    tidy,
)
from nvsd.results.order import entry_order
from nvsd.results.schema import groups_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Shades(NamedTuple):
    """How each input is drawn, and the legend of the groups."""

    colours: list[str]
    styles: list[str]
    legend: dict[str, str]


def plot_path(
    path: xr.Dataset,
    *,
    chosen: float | None = None,
    n_labels: int = 8,
    ax: Axes | None = None,
) -> Axes:
    """Derivative norms ‖∂_a f‖ of all inputs against τ.

    Large τ is on the left, so that inputs enter from left to right. The strongest inputs are named
    at the end of their lines. Colours show the groups or, without groups, the named inputs.

    Parameters
    ----------
    path : Dataset
        The result of `nvsd_path`; of several μ, one: ``path.sel(mu=0.5)``.
    chosen : float, optional
        A τ to mark; the strongest inputs are then those at this τ.
    n_labels : int
        Largest number of inputs to name.
    ax : Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.plots import plot_path
    >>> data = nvsd.datasets.make_e3(60, seed=0)
    >>> penalty = nvsd.penalties.GroupLasso(data.groups)
    >>> path = nvsd.nvsd_path(data.X, data.y, penalty=penalty, n_taus=10)
    >>> ax = plot_path(path, chosen=path.tau.values[3])
    >>> ax.get_ylabel()
    'derivative norm ‖∂f/∂x‖'
    """
    path = one_path(path)
    ax = new_axes(ax, (7.0, 4.8))
    taus = np.asarray(path["tau"].values, dtype=float)
    norms = np.asarray(path["derivative_norm"].transpose("tau", "feature").values, dtype=float)
    ax.margins(y=0.04)
    tau_axis(ax, taus)
    counts = path["n_selected"].values if "n_selected" in path else None
    strength = norms.mean(axis=0)
    if chosen is not None:
        index = nearest(taus, chosen)
        mark_tau(ax, taus, index, counts)
        strength = norms[index]
    named = _strongest(strength, norms, _on(path, chosen), n_labels)
    shades = _shades(path, named, strength)
    # The strongest lines are drawn last, on top of the others.
    for a in np.argsort(strength):
        ax.plot(
            taus, norms[:, a], color=shades.colours[a], ls=shades.styles[a],
            lw=1.6 if a in named else 0.8, marker="o" if len(taus) == 1 else None,
            zorder=3 if a in named else 2,
        )  # fmt: skip
    ax.set_ylim(bottom=0)
    ax.set_ylabel("derivative norm ‖∂f/∂x‖", fontsize=9.5)
    texts = labels(path["feature"].values)
    end_labels(
        ax, norms[-1, named], [texts[a] for a in named],
        [shades.colours[a] if shades.colours[a] != GREY else INK for a in named],
    )  # fmt: skip
    _finish(ax, shades, taus, counts)
    return ax


def _finish(ax: Axes, shades: Shades, taus: Array, counts: Array | None) -> None:
    from matplotlib.lines import Line2D

    marked, texts = ax.get_legend_handles_labels()
    handles = [Line2D([], [], color=shade, lw=2) for shade in shades.legend.values()] + marked
    legend_below(ax, handles, [*shades.legend, *texts])
    if counts is not None and len(taus) > 1:
        count_axis(ax, taus, counts)
    tidy(ax)


def _on(path: xr.Dataset, chosen: float | None) -> NDArray[np.bool_]:
    """The inputs in the support at the τ that counts, or if none is, anywhere along the path."""
    on = np.asarray(path["support"].transpose("tau", "feature").values, dtype=bool)
    at = None if chosen is None else on[nearest(path["tau"].values, chosen)]
    return at if at is not None and at.any() else np.asarray(on.any(axis=0))


def _strongest(strength: Array, norms: Array, on: NDArray[np.bool_], n_labels: int) -> list[int]:
    """The inputs to name: the strongest of those that are on."""
    order = np.lexsort((-norms.mean(axis=0), -strength, ~on))[: max(0, int(n_labels))]
    return [int(a) for a in order if on[a]]


def _shades(path: xr.Dataset, named: list[int], strength: Array) -> Shades:
    """Colours by group if there are groups, otherwise one for each named input."""
    d = path.sizes["feature"]
    groups = groups_of(path)
    colours, styles = [GREY] * d, ["-"] * d
    if groups is None:
        for i, a in enumerate(named):
            colours[a], styles[a] = colour(i), line_style(i)
        return Shades(colours, styles, {})
    best = dict.fromkeys(groups, 0.0)
    for group, value in zip(groups, strength, strict=True):
        best[group] = max(best[group], float(value))
    ranked = sorted(best, key=lambda group: -best[group])[: len(PALETTE)]
    by_group = {group: colour(i) for i, group in enumerate(ranked)}
    colours = [by_group.get(group, GREY) for group in groups]
    legend = dict(zip(labels(ranked), by_group.values(), strict=True))
    if len(best) > len(ranked):
        legend[f"{len(best) - len(ranked)} other groups"] = GREY
    return Shades(colours, styles, legend)


def plot_support(
    path: xr.Dataset,
    *,
    chosen: float | None = None,
    n_features: int = 40,
    ax: Axes | None = None,
) -> Axes:
    """Which inputs are switched on at which τ, as a heat map of their derivative norms.

    White means not in the support. Inputs are sorted by the largest τ at which
    they are switched on, from top to bottom.

    Parameters
    ----------
    path : Dataset
        The result of `nvsd_path`; of several μ, one.
    chosen : float, optional
        A τ to mark.
    n_features : int
        Largest number of inputs to show: the first to enter.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.plots import plot_support
    >>> data = nvsd.datasets.make_e3(60, seed=0)
    >>> penalty = nvsd.penalties.GroupLasso(data.groups)
    >>> path = nvsd.nvsd_path(data.X, data.y, penalty=penalty, n_taus=10)
    >>> ax = plot_support(path)
    >>> sorted(text.get_text() for text in ax.get_yticklabels())[:3]
    ['x0', 'x1', 'x10']
    """
    path = one_path(path)
    taus = np.asarray(path["tau"].values, dtype=float)
    norms = np.asarray(path["derivative_norm"].transpose("tau", "feature").values, dtype=float)
    on = np.asarray(path["support"].transpose("tau", "feature").values, dtype=bool)
    order = entry_order(on, norms)
    shown = order[: max(1, int(n_features))]
    ax = new_axes(ax, (7.0, 1.6 + 0.17 * max(len(shown), 8)))
    _heat(ax, norms[:, shown].T, on[:, shown].T)
    _heat_labels(ax, path, shown, taus)
    if chosen is not None:
        index = nearest(taus, chosen)
        mark_tau(ax, taus, index, on.sum(axis=1), at=index)
        legend_below(ax, *ax.get_legend_handles_labels())
    if len(shown) < len(order):
        rest = len(order) - len(shown)
        ax.text(
            0.01, len(shown) - 0.4, f"… and {rest} more, which enter later or never",
            transform=ax.get_yaxis_transform(), fontsize=8.5, va="top", color=INK,
        )  # fmt: skip
        ax.set_ylim(len(shown) + 0.6, -0.5)
    return ax


def _heat(ax: Axes, values: Array, on: NDArray[np.bool_]) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    # The colours do not start at white: the smallest norm must still differ from zero.
    shades = colormaps["YlGnBu"](np.linspace(0.15, 1.0, 256))
    heat = LinearSegmentedColormap.from_list("norm", shades).with_extremes(bad="white")
    top = float(values.max()) or 1.0
    image = ax.imshow(
        np.ma.masked_where(~on, values), aspect="auto", interpolation="none", cmap=heat,
        norm=PowerNorm(0.5, 0.0, top),
    )  # fmt: skip
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02, aspect=30)
    bar.set_label("derivative norm (white: off)", fontsize=9)
    bar.ax.tick_params(labelsize=8.5)
    bar.outline.set_visible(False)


def _heat_labels(ax: Axes, path: xr.Dataset, shown: NDArray[np.intp], taus: Array) -> None:
    texts = labels(path["feature"].values)
    ax.set_yticks(np.arange(len(shown)), [texts[a] for a in shown], fontsize=8.5)
    ticks = list(every_few(len(taus), 8))
    ax.set_xticks(ticks, [f"{taus[i]:.2g}" for i in ticks], fontsize=8.5)
    ax.set_xlabel("penalty weight τ   (left: strong;  right: weak)", fontsize=9.5)
    ax.tick_params(length=2)
    groups = groups_of(path)
    if groups is not None:
        known = list(dict.fromkeys(groups[a] for a in shown))[: len(PALETTE)]
        for text, a in zip(ax.get_yticklabels(), shown, strict=True):
            text.set_color(colour(known.index(groups[a])) if groups[a] in known else INK)
    ax.spines[:].set_color(GREY)
