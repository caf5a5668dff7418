"""What the plots share: axes, colours, names as labels, labels that do not overlap."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

# Okabe and Ito's colours, without the yellow, which is hard to see on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6A51A3")
GREY = "#B8B8B8"
INK = "#333333"
LINES = ("-", "--", ":", "-.")
LONGEST = 24  # characters of a label


def new_axes(ax: Axes | None, size: tuple[float, float] = (7.0, 4.5)) -> Axes:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed; run: pip install 'nvsd[plot]'."
        ) from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def tidy(ax: Axes) -> None:
    """Remove the spines that carry no information."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=9)


def label(name: object, longest: int = LONGEST) -> str:
    """A name as text of a plot: on one line, not too long, and never a formula."""
    text = re.sub(r"\s+", " ", str(name)).strip() or "(blank)"
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    if len(text) > longest:
        text = f"{text[: longest - longest // 3 - 1]}…{text[-(longest // 3) :]}"
    return text.replace("$", r"\$")


def labels(names: Iterable[object], longest: int = LONGEST) -> list[str]:
    """Names as labels; names that become equal when shortened get a number."""
    texts = [label(name, longest) for name in names]
    return [
        f"{text} #{number}" if texts.count(text) > 1 else text
        for number, text in enumerate(texts, 1)
    ]


def colour(index: int) -> str:
    """The colour with this index; after the last colour they repeat."""
    return PALETTE[index % len(PALETTE)]


def line_style(index: int) -> str:
    """Solid for the first round of colours, then dashed and dotted."""
    return LINES[index // len(PALETTE) % len(LINES)]


def spread(positions: Array, distance: float, low: float, high: float) -> Array:
    """Move positions as little as possible so that neighbours are at least a distance apart.

    With q_i = r_i + i·distance, in the order of the positions, r is an isotonic regression.
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(positions, kind="stable")
    steps = distance * np.arange(len(positions))
    room = max(low, high - steps[-1]) if len(steps) else high
    moved = np.clip(isotonic_regression(positions[order] - steps).x, low, room)
    result = np.empty_like(positions)
    result[order] = moved + steps
    return result


def end_labels(ax: Axes, y: Array, texts: Sequence[str], colours: Sequence[str]) -> None:
    """Write each text to the right of the axes, beside the height y at which its line ends."""
    if not len(texts):
        return
    low, high = ax.get_ylim()
    ends = (y - low) / (high - low)
    height = ax.get_window_extent().height / ax.get_figure(root=True).dpi * 72  # type: ignore[union-attr]
    places = spread(ends, 10.5 / height, 0.0, 1.0)
    for text, end, place, shade in zip(texts, ends, places, colours, strict=True):
        # The slanted piece ends before the text, so that no connector crosses a name.
        way = [1.0, 1.008, 1.032, 1.04], [end, end, place, place]
        ax.plot(*way, color=shade, lw=0.6, transform=ax.transAxes, clip_on=False)
        ax.text(1.045, place, text, transform=ax.transAxes, fontsize=8.5, va="center", color=shade)


def write_legend(ax: Axes, handles: Sequence[Any], texts: Sequence[str], **place: Any) -> None:
    """A legend that also shows texts with a leading underscore, which matplotlib leaves out."""
    if not handles:
        return
    legend = ax.legend(handles, [str(i) for i in range(len(texts))], fontsize=8.5, **place)
    legend.get_frame().set(edgecolor="none", alpha=0.8)
    for entry, text in zip(legend.get_texts(), texts, strict=True):
        entry.set_text(text)


def legend_below(ax: Axes, handles: Sequence[Any], texts: Sequence[str]) -> None:
    """A legend under the axes, where it hides no line."""
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure(root=True)
    assert figure is not None
    below_label = ScaledTranslation(0, -36 / 72, figure.dpi_scale_trans)
    columns = int(np.clip(80 / (np.mean([len(text) for text in texts or " "]) + 6), 1, 5))
    write_legend(
        ax, handles, texts, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=columns,
        bbox_transform=ax.transAxes + below_label, borderaxespad=0.0, columnspacing=1.5,
    )  # fmt: skip


def one_path(path: Any) -> xr.Dataset:
    """Refuse anything but a single path."""
    needed = {"derivative_norm", "support", "tau"}
    if not isinstance(path, xr.Dataset) or not needed <= {*path.data_vars, *path.dims}:
        raise ValueError("this is not a path over tau; give the Dataset that nvsd_path returned.")
    if "mu" in path.dims:
        values = ", ".join(f"{mu:g}" for mu in path["mu"].values)
        raise ValueError(f"the path has several mu ({values}); give one, as in path.sel(mu=...).")
    return path


def tau_axis(ax: Axes, taus: Array) -> None:
    """Large τ on the left, as in glmnet and scikit-learn: inputs enter from left to right."""
    positive = taus[taus > 0]
    if len(positive) == len(taus):
        ax.set_xscale("log")
        _log_labels(ax, float(positive.max() / positive.min()))
    elif len(positive):
        ax.set_xscale("symlog", linthresh=float(positive.min()), linscale=0.3)
    if len(taus) > 1:
        ax.set_xlim(float(taus.max()), float(taus.min()))
    else:
        ax.xaxis.set_inverted(True)
    ax.set_xlabel("penalty weight τ   (left: strong, few inputs;  right: weak, many)", fontsize=9.5)


def _log_labels(ax: Axes, ratio: float) -> None:
    """Labels at 1, 2 and 5 of a decade or two; matplotlib's own overlap there."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    if 5 <= ratio <= 200:
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())


def every_few(n: int, most: int) -> range:
    """At most `most` of the numbers 0 to n - 1, evenly spaced from the first."""
    return range(0, n, max(1, -(-n // most)))


def count_axis(ax: Axes, taus: Array, counts: Array) -> None:
    """The number of inputs selected, above the plot."""
    for i in every_few(len(taus), 10):
        ax.annotate(
            str(int(counts[i])),
            (taus[i], 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            fontsize=8.5,
            ha="center",
        )
    ax.set_title("number of inputs in the support", fontsize=8.5, pad=17)


def nearest(taus: Array, chosen: float) -> int:
    """The index of the τ nearest to the chosen one."""
    if not 0 <= float(chosen) < np.inf:
        raise ValueError(f"chosen = {chosen!r} is not a tau; give a finite number >= 0.")
    return int(np.argmin(np.abs(taus - float(chosen))))


def mark_tau(
    ax: Axes, taus: Array, index: int, counts: Array | None = None, at: float | None = None
) -> None:
    """A line at a τ, labelled in the legend."""
    text = f"chosen τ = {taus[index]:.3g}"
    if counts is not None:
        text += f" ({int(counts[index])} input{'' if counts[index] == 1 else 's'})"
    ax.axvline(
        taus[index] if at is None else at, color=INK, lw=1, ls=(0, (4, 3)), zorder=1, label=text
    )
