"""How f changes along one input, and along two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nvsd.data.along import Along
from nvsd.data.random import Rng, seed_of
from nvsd.plots._draw import GREY, INK, PALETTE, Array, label, labels, new_axes, tidy
from nvsd.plots._functions import Function, as_function

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLAT = 1e-9  # relative differences of values or slopes that count as rounding
WIDEST = 60  # characters that fit side by side under a plot of the usual width


def plot_effect(
    model: Any,
    X: ArrayLike,
    feature: str | float,
    *,
    derivative: bool = True,
    n_curves: int = 60,
    n_points: int = 50,
    random_state: int | None = None,
    rng: Rng = None,
    ax: Axes | None = None,
) -> Axes:
    """The effect of one input: f along it, one line for each of some samples, and their mean.

    Every thin line is f with the other inputs held at the values of one sample; if the lines are
    not parallel, the effect depends on the other inputs. The panel below shows the derivative ∂f/∂x
    along the same lines. Ticks at the bottom are the samples; the lines cover the central 98 %.

    A category or boolean has a point for each level in place of a line, and no derivative. A column
    whose missing values were imputed has one more point, for a missing value. Of classes, the
    probability of the last one is drawn.

    Parameters
    ----------
    model : Selection, fitted estimator, or Dataset of one τ
        Anything that predicts: the result of `nvsd.select`, an estimator, ``path.isel(tau=20)``.
    X : (n, d) array or table
        Samples.
    feature : str, int or float
        Name of the input (which may be a number), or its column index.
    derivative : bool
        Whether to draw the derivative in a panel below.
    n_curves : int
        Largest number of samples to draw and average.
    n_points : int
        Points on each line.
    random_state : int, optional
        Seed for the choice of the samples; 0 by default.
    rng : int or numpy Generator, optional
        In place of random_state.
    ax : Axes, optional

    Returns
    -------
    Axes
        The upper panel; ``ax.figure.axes[-1]`` is the lower one.

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> from nvsd.plots import plot_effect
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 4))
    >>> selection = nvsd.select(X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
    >>> ax = plot_effect(selection, X, "x0")
    >>> ax.get_ylabel()
    'prediction f'
    """
    function = as_function(model)
    points = function.points(X)
    a = function.index(feature)
    rows = _some_rows(points, n_curves, seed_of(random_state, rng))
    way = function.along(a, points, n_points)
    lines = function.moved(rows[:, None], a, way.values[None])
    values = function.at(lines)
    derivative = derivative and function.gradient is not None and not way.texts
    ax = new_axes(ax, (5.6, 5.0 if derivative else 3.6))
    bottom = _below(ax) if derivative else ax
    ax.set_ylabel(function.what, fontsize=9.5)
    bottom.set_xlabel(label(function.features[a]), fontsize=9.5)
    if way.texts:
        _levels(ax, way, values)
        return ax
    m, seen = len(way.numbers), function.seen(a, points)
    _curves(ax, way.numbers, values[:, :m], PALETTE[0])
    if derivative:
        _slopes(bottom, function, lines[:, :m], values, (a, way.numbers))
        ax.tick_params(labelbottom=False)
    _rug(bottom, seen[~np.isnan(seen)])
    ends = way.numbers[[0, -1]]
    bottom.set_xlim(*ends)
    if way.missing:
        _missing(ax, bottom, ends, values[:, -1])
    return ax


def plot_pair(
    model: Any,
    X: ArrayLike,
    features: tuple[str | float, str | float],
    *,
    n_rows: int = 60,
    n_points: int = 25,
    random_state: int | None = None,
    rng: Rng = None,
    ax: Axes | None = None,
) -> Axes:
    """The joint effect of two inputs, as contours of f averaged over some samples.

    Parameters
    ----------
    model, X, random_state, rng, ax
        As in `plot_effect`.
    features : two of str, int or float
        The inputs along the horizontal and the vertical axis.
    n_rows : int
        Number of samples that give the other inputs their values.
    n_points : int
        Points along each axis.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> from nvsd.plots import plot_pair
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 4))
    >>> selection = nvsd.select(X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
    >>> ax = plot_pair(selection, X, ("x1", "x2"))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x1', 'x2')
    """
    function = as_function(model)
    points = function.points(X)
    try:
        first, second = features
    except (TypeError, ValueError) as error:
        raise ValueError(f"features = {features!r} is not a pair; give two inputs.") from error
    a, b = function.index(first), function.index(second)
    if a == b:
        raise ValueError(f"both features are {function.features[a]!r}; give two different inputs.")
    rows = _some_rows(points, n_rows, seed_of(random_state, rng))
    ways = [function.along(c, points, n_points) for c in (a, b)]
    U, V = np.meshgrid(*(way.numbers for way in ways))
    places = function.moved(function.moved(rows[:, None], a, U.ravel()[None]), b, V.ravel()[None])
    ax = new_axes(ax, (5.8, 4.6))
    shown = function.at(places).mean(axis=0).reshape(U.shape)
    _surface(
        ax, U, V, shown, any(way.texts for way in ways), f"mean {function.what.removesuffix(' f')}"
    )
    at = [function.seen(c, points) for c in (a, b)]
    if not any(way.texts for way in ways):
        ax.scatter(at[0], at[1], s=7, color="white", edgecolor=INK, lw=0.5, alpha=0.8)
        ax.set(xlim=(U[0, 0], U[0, -1]), ylim=(V[0, 0], V[-1, 0]))
    for axis, c, way in zip((ax.xaxis, ax.yaxis), (a, b), ways, strict=True):
        axis.set_label_text(label(function.features[c]), fontsize=9.5)
        if way.texts:
            axis.set_ticks(way.numbers, labels(way.texts[: len(way.numbers)], 12))
    ax.tick_params(labelsize=9)
    return ax


def _some_rows(points: Array, size: int, seed: int) -> Array:
    if len(points) <= size:
        return points
    chosen = np.random.default_rng(seed).choice(len(points), max(1, int(size)), replace=False)
    return points[np.sort(chosen)]


def _curves(ax: Axes, grid: Array, values: Array, shade: str) -> None:
    thin = float(np.clip(12 / len(values), 0.12, 0.6))
    ax.plot(grid, values.T, color=GREY, lw=0.7, alpha=min(1.0, 2 * thin + 0.2), zorder=2)
    ax.plot(grid, values.mean(axis=0), color="white", lw=4, zorder=3)
    ax.plot(grid, values.mean(axis=0), color=shade, lw=2.2, zorder=4)
    tidy(ax)


def _slopes(
    ax: Axes, function: Function, lines: Array, values: Array, along: tuple[int, Array]
) -> None:
    """The derivative along the same lines."""
    a, grid = along
    assert function.gradient is not None
    gradient = function.gradient(lines.reshape(-1, lines.shape[-1]))
    slopes = gradient[function.columns.inputs_of(a)[0]].reshape(lines.shape[:-1])
    slopes[np.abs(slopes) <= FLAT * np.abs(values).max() / np.ptp(grid)] = 0.0
    _curves(ax, grid, slopes, PALETTE[1])
    ax.axhline(0.0, color=INK, lw=0.8, zorder=1)
    if not slopes.any():
        ax.set_ylim(-1.0, 1.0)
    ax.set_ylabel("derivative ∂f/∂x", fontsize=9.5)


def _levels(ax: Axes, way: Along, values: Array) -> None:
    """A point for each level, over a thin line for each sample."""
    places = np.arange(len(way.texts), dtype=float)
    thin = float(np.clip(12 / len(values), 0.12, 0.6))
    ax.plot(places, values.T, color=GREY, lw=0.7, alpha=min(1.0, 2 * thin + 0.2), zorder=2)
    ax.plot(
        places, values.mean(axis=0), "o", color=PALETTE[0], ms=8, mec="white", mew=1.5, zorder=4
    )
    texts = labels(way.texts, 14)
    slanted = sum(len(text) + 2 for text in texts) > WIDEST
    turned: dict[str, Any] = (
        {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    )
    ax.set_xticks(places, texts, **turned)
    ax.set_xlim(-0.5, len(places) - 0.5)
    tidy(ax)


def _missing(ax: Axes, bottom: Axes, ends: Array, values: Array) -> None:
    """A point for a missing value, to the right of the lines."""
    room = 0.14 * float(np.ptp(ends))
    place = float(ends[1]) + 0.6 * room
    bottom.set_xticks([tick for tick in bottom.get_xticks() if ends[0] <= tick <= ends[1]])
    bottom.set_xlim(float(ends[0]), float(ends[1]) + room)
    low, high = np.quantile(values, [0.1, 0.9])
    ax.plot([place, place], [low, high], color=GREY, lw=2, zorder=2)
    ax.plot(place, values.mean(), "o", color=PALETTE[0], ms=8, mec="white", mew=1.5, zorder=4)
    ax.annotate(
        "missing", (place, high), xytext=(0, 4), textcoords="offset points", ha="center",
        fontsize=8.5, color=INK,
    )  # fmt: skip


def _below(ax: Axes) -> Axes:
    """A panel below, in space taken from the given axes."""
    figure = ax.get_figure(root=False)
    assert figure is not None
    slot = ax.get_subplotspec()
    if slot is not None:
        halves = slot.subgridspec(2, 1, height_ratios=(3, 2), hspace=0.03)
        ax.set_subplotspec(halves[0])
        return figure.add_subplot(halves[1], sharex=ax)
    left, bottom, width, height = ax.get_position().bounds
    ax.set_position((left, bottom + 0.44 * height, width, 0.56 * height))
    return figure.add_axes((left, bottom, width, 0.4 * height), sharex=ax)


def _rug(ax: Axes, values: Array) -> None:
    ax.plot(
        values, np.full(len(values), 0.0), "|", color=INK, ms=5, mew=0.6, alpha=0.5,
        transform=ax.get_xaxis_transform(), clip_on=True, zorder=1,
    )  # fmt: skip


def _surface(ax: Axes, U: Array, V: Array, values: Array, levels: bool, what: str) -> None:
    """Contours, or cells where there is nothing between two levels of a category."""
    if levels:
        _bar(ax, ax.pcolormesh(U, V, values, cmap="cividis", shading="nearest"), what, None)
        return
    if np.ptp(values) <= FLAT * np.abs(values).max():
        level = float(values.mean())
        width = max(abs(level), 1.0)
        filled = ax.contourf(
            U, V, np.full_like(values, level), levels=[level - width, level + width], cmap="cividis"
        )
        _bar(ax, filled, what, [level])
        return
    filled = ax.contourf(U, V, values, levels=14, cmap="cividis")
    lines = ax.contour(
        U, V, values, levels=np.asarray(filled.levels)[::2], colors="white", linewidths=0.6
    )
    ax.clabel(lines, fontsize=7.5, fmt="%.3g")
    _bar(ax, filled, what, None)


def _bar(ax: Axes, filled: Any, what: str, ticks: list[float] | None) -> None:
    bar = ax.figure.colorbar(filled, ax=ax, pad=0.02, aspect=30, ticks=ticks)
    bar.set_label(what, fontsize=9)
    bar.ax.tick_params(labelsize=8.5)
    bar.outline.set_visible(False)
