"""How f changes along one input, and along two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from nvsd.data.checks import check_points
from nvsd.data.names import find_column, take_columns
from nvsd.data.random import Rng, seed_of
from nvsd.plots._draw import GREY, INK, PALETTE, Array, label, new_axes, tidy
from nvsd.results.order import in_column_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLAT = 1e-9  # relative differences of values or slopes that count as rounding


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

    Parameters
    ----------
    model : Selection, fitted estimator, or Dataset of one τ
        Anything that predicts: the result of `nvsd.select`, an estimator, ``path.isel(tau=20)``.
    X : (n, d) array or DataFrame
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
    grid = _grid(points[:, a], n_points)
    lines = np.repeat(rows[:, None], len(grid), axis=1)
    lines[:, :, a] = grid
    flat = lines.reshape(-1, points.shape[1])
    ax = new_axes(ax, (5.6, 5.0 if derivative else 3.6))
    bottom = _below(ax) if derivative else ax
    values = function.predict(flat).reshape(len(rows), -1)
    _curves(ax, grid, values, PALETTE[0])
    ax.set_ylabel("prediction f", fontsize=9.5)
    if derivative:
        slopes = function.gradient(flat)[a].reshape(len(rows), -1)
        slopes[np.abs(slopes) <= FLAT * np.abs(values).max() / np.ptp(grid)] = 0.0
        _curves(bottom, grid, slopes, PALETTE[1])
        bottom.axhline(0.0, color=INK, lw=0.8, zorder=1)
        if not slopes.any():
            bottom.set_ylim(-1.0, 1.0)
        bottom.set_ylabel("derivative ∂f/∂x", fontsize=9.5)
        ax.tick_params(labelbottom=False)
    _rug(bottom, points[:, a])
    bottom.set_xlim(grid[0], grid[-1])
    bottom.set_xlabel(label(function.features[a]), fontsize=9.5)
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
    U, V = np.meshgrid(_grid(points[:, a], n_points), _grid(points[:, b], n_points))
    places = np.repeat(rows[:, None], U.size, axis=1)
    places[:, :, a], places[:, :, b] = U.ravel(), V.ravel()
    values = function.predict(places.reshape(-1, points.shape[1])).reshape(len(rows), -1)
    ax = new_axes(ax, (5.8, 4.6))
    _surface(ax, U, V, values.mean(axis=0).reshape(U.shape))
    ax.scatter(points[:, a], points[:, b], s=7, color="white", edgecolor=INK, lw=0.5, alpha=0.8)
    ax.set(xlim=(U[0, 0], U[0, -1]), ylim=(V[0, 0], V[-1, 0]))
    ax.set_xlabel(label(function.features[a]), fontsize=9.5)
    ax.set_ylabel(label(function.features[b]), fontsize=9.5)
    ax.tick_params(labelsize=9)
    return ax


@dataclass(frozen=True)
class Function:
    """A fitted function for the plots: f (m,) and its gradient (d, m) at points (m, d)."""

    features: tuple[str, ...]
    predict: Callable[[Array], Array]
    gradient: Callable[[Array], Array]
    named: bool = True  # whether the names are column names

    def index(self, feature: Any) -> int:
        """The index of an input that is given by name or number."""
        found, d = find_column(feature, self.features, from_end=True), len(self.features)
        if found is not None:
            return found
        if isinstance(feature, int | np.integer):
            raise ValueError(f"there is no input number {feature}; give 0 to {d - 1}, or a name.")
        raise ValueError(
            f"there is no input {str(feature)!r}; give one of {', '.join(self.features[:8])}"
            f"{', ...' if d > 8 else ''}."
        )

    def points(self, X: ArrayLike) -> Array:
        """The samples; named columns are matched by name."""
        points = check_points(take_columns(X, self.features) if self.named else X)
        if points.shape[1] != len(self.features):
            raise ValueError(
                f"X has {points.shape[1]} columns but the model has {len(self.features)} inputs; "
                "give the same inputs."
            )
        return points


def as_function(model: Any) -> Function:
    """A Selection, an estimator or the Dataset of one τ, seen as a function."""
    if isinstance(model, xr.Dataset):
        return _dataset_function(model)
    model = getattr(model, "refit", model)
    if hasattr(model, "features") and hasattr(model, "gradient"):
        return Function(tuple(map(str, model.features)), model.predict, model.gradient)
    if hasattr(model, "predict_gradient"):
        return _estimator_function(model)
    raise ValueError(
        f"{type(model).__name__} cannot be plotted as a function; give a Selection, a fitted "
        "estimator of nvsd, or a path at one tau."
    )


def _dataset_function(dataset: xr.Dataset) -> Function:
    if "n_selected" not in dataset or dataset["n_selected"].ndim:
        raise ValueError(
            "the Dataset holds several functions, or none; give one tau of a path, as in "
            "path.isel(tau=20) or path.sel(tau=0.1, method='nearest')."
        )
    dataset = in_column_order(dataset)
    return Function(
        tuple(str(name) for name in dataset["feature"].values),
        lambda X: np.asarray(dataset.nvsd.predict(X).values),
        lambda X: np.asarray(dataset.nvsd.gradient(X).values),
    )


def _estimator_function(model: Any) -> Function:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{a}" for a in range(model.n_features_in_)]
        return Function(tuple(names), model.predict, lambda X: model.predict_gradient(X).T, False)
    from pandas import DataFrame

    # An estimator that was fitted with names warns about points without names.
    return Function(
        tuple(map(str, names)),
        lambda X: np.asarray(model.predict(DataFrame(X, columns=names))),
        lambda X: np.asarray(model.predict_gradient(DataFrame(X, columns=names))).T,
    )


def _some_rows(points: Array, size: int, seed: int) -> Array:
    if len(points) <= size:
        return points
    chosen = np.random.default_rng(seed).choice(len(points), max(1, int(size)), replace=False)
    return points[np.sort(chosen)]


def _grid(values: Array, size: int) -> Array:
    low, high = np.quantile(values, [0.01, 0.99])
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, max(2, int(size)))


def _curves(ax: Axes, grid: Array, values: Array, shade: str) -> None:
    thin = float(np.clip(12 / len(values), 0.12, 0.6))
    ax.plot(grid, values.T, color=GREY, lw=0.7, alpha=min(1.0, 2 * thin + 0.2), zorder=2)
    ax.plot(grid, values.mean(axis=0), color="white", lw=4, zorder=3)
    ax.plot(grid, values.mean(axis=0), color=shade, lw=2.2, zorder=4)
    tidy(ax)


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


def _surface(ax: Axes, U: Array, V: Array, values: Array) -> None:
    if np.ptp(values) <= FLAT * np.abs(values).max():
        level = float(values.mean())
        width = max(abs(level), 1.0)
        filled = ax.contourf(
            U, V, np.full_like(values, level), levels=[level - width, level + width], cmap="cividis"
        )
        _bar(ax, filled, [level])
        return
    filled = ax.contourf(U, V, values, levels=14, cmap="cividis")
    lines = ax.contour(
        U, V, values, levels=np.asarray(filled.levels)[::2], colors="white", linewidths=0.6
    )
    ax.clabel(lines, fontsize=7.5, fmt="%.3g")
    _bar(ax, filled, None)


def _bar(ax: Axes, filled: Any, ticks: list[float] | None) -> None:
    bar = ax.figure.colorbar(filled, ax=ax, pad=0.02, aspect=30, ticks=ticks)
    bar.set_label("mean prediction", fontsize=9)
    bar.ax.tick_params(labelsize=8.5)
    bar.outline.set_visible(False)
