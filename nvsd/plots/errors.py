"""Error on held-out data: along a path, and against the number of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from nvsd.plots._draw import (
    INK,
    PALETTE,
    Array,
    colour,
    count_axis,
    label,
    labels,
    line_style,
    mark_tau,
    nearest,
    new_axes,
    tau_axis,
    tidy,
    write_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = 30  # with more inputs than this the axis is compressed
LINEAR = 10  # the compression starts at this number of inputs, and fewer are named


class Errors(NamedTuple):
    """Error over τ and, if known, its standard error, the numbers of inputs and the chosen τ."""

    taus: Array
    error: Array
    se: Array | None
    counts: Array | None
    chosen: float | None


def plot_error(results: Any, *, chosen: float | None = None, ax: Axes | None = None) -> Axes:
    """Error on held-out data against τ, with a band of one standard error.

    Marks the τ of least error, and the largest τ whose error is within one standard error of it
    (the 1-SE rule). Large τ is on the left.

    Parameters
    ----------
    results : fitted NVSDRegressorCV, or Dataset
        A Dataset has `error` and, for the band, `error_se`, both over tau. If μ, ν or widths were
        also compared, the slice with the least error is drawn.
    chosen : float, optional
        A τ to mark; by default the choice of the estimator.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.plots import plot_error
    >>> data = nvsd.datasets.make_e1(50, seed=0)
    >>> model = nvsd.NVSDRegressorCV(kernel="polynomial", n_taus=6, cv=3).fit(data.X, data.y)
    >>> plot_error(model).get_xscale()
    'log'
    """
    taus, error, se, counts, tuned = _errors(results)
    chosen = tuned if chosen is None else chosen
    ax = new_axes(ax)
    tau_axis(ax, taus)
    ax.plot(taus, error, color=PALETTE[0], lw=1.6, marker="o", ms=3, clip_on=False)
    best = int(np.argmin(error))
    _flag(ax, taus[best], error[best], f"least error, τ = {taus[best]:.3g}", PALETTE[0], "o")
    if se is not None:
        ax.fill_between(taus, error - se, error + se, color=PALETTE[0], alpha=0.18, lw=0)
        level = error[best] + se[best]
        simple = int(np.argmax(np.where(error <= level, taus, -1.0)))
        ax.axhline(level, color=INK, lw=0.8, ls=":")
        text = f"1-SE rule, τ = {taus[simple]:.3g}"
        _flag(ax, taus[simple], error[simple], text, PALETTE[1], "s")
    _log_if_wide(ax, error, error if se is None else error - se)
    if chosen is not None:
        mark_tau(ax, taus, nearest(taus, chosen), counts)
    ax.set_ylabel("mean squared error on held-out data", fontsize=9.5)
    if counts is not None and len(taus) > 1:
        count_axis(ax, taus, counts)
    write_legend(ax, *ax.get_legend_handles_labels(), loc="best")
    tidy(ax)
    return ax


def _errors(results: Any) -> Errors:
    """Error over τ alone; of several μ, ν or widths, the slice with the least error."""
    chosen = None
    if not isinstance(results, xr.Dataset):
        chosen = getattr(results, "tau_", None)
        results = getattr(results, "cv_results_", None)
    mean = _mean_error(results) if isinstance(results, xr.Dataset) else None
    if mean is None:
        raise ValueError(
            "there is no error over tau to plot; give a fitted NVSDRegressorCV, or a Dataset with "
            "the variables error and error_se over tau."
        )
    best: Any = mean.argmin(...)
    others = {dim: int(index) for dim, index in best.items() if dim != "tau"}

    def over_tau(name: str) -> Array | None:
        if name not in results or "tau" not in results[name].dims:
            return None
        array = results[name].isel(others, missing_dims="ignore")
        return np.asarray(array.values, dtype=float)

    taus = over_tau("tau_value")
    if taus is None:
        taus = results["tau"].values.astype(float)
    error = np.asarray(mean.isel(others).values, dtype=float)
    return Errors(taus, error, over_tau("error_se"), over_tau("n_selected"), chosen)


def _mean_error(results: xr.Dataset) -> xr.DataArray | None:
    """`mean_error`, or `error` averaged over the folds."""
    error = results.get("mean_error", results.get("error"))
    if error is None or "tau" not in error.dims:
        return None
    return error.mean("fold") if "fold" in error.dims else error


def _flag(ax: Axes, x: float, y: float, text: str, shade: str, marker: str) -> None:
    style: dict[str, Any] = {"ms": 9, "mfc": "none", "mec": shade, "mew": 1.8, "ls": "none"}
    ax.plot([x], [y], marker, zorder=5, label=text, clip_on=False, **style)


def _log_if_wide(ax: Axes, values: Array, lowest: Array) -> None:
    positive = values[values > 0]
    if len(positive) == len(values) and values.max() > 30 * values.min():
        ax.set_yscale("log")
        if (lowest <= 0).any():
            ax.set_ylim(bottom=0.5 * float(values.min()))


def plot_elimination(history: Any, *, ax: Axes | None = None) -> Axes:
    """Error on held-out data against the number of inputs that are left.

    Each method that proposed candidates has one line: its best candidate of each size. Beside each
    number is the input, or group, that was dropped next in the sequence of the winner.

    Parameters
    ----------
    history : Selection or Dataset
        The result of `nvsd.select`, or its history.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.plots import plot_elimination
    >>> data = nvsd.datasets.make_e2(50, seed=0)
    >>> found = nvsd.select(data.X, data.y, kernel="polynomial", method="eliminate")
    >>> plot_elimination(found).get_xlabel()
    'number of inputs left   (beside it: the input dropped next)'
    """
    groups = getattr(history, "groups", None)
    history = getattr(history, "history", history)
    needed = ("error", "n_selected", "support")
    if not isinstance(history, xr.Dataset) or any(name not in history for name in needed):
        raise ValueError("this is not the history of a selection; give what nvsd.select returned.")
    ax = new_axes(ax)
    history = history.transpose("step", ...)
    size, error = history["n_selected"].values.astype(float), history["error"].values.astype(float)
    chosen = int(history.attrs.get("chosen", int(np.argmin(error))))
    methods, origins = _labels(history, "method"), _labels(history, "origin")
    for i, method in enumerate(dict.fromkeys(methods)):
        steps = _best_of_size(np.flatnonzero(methods == method), size, error)
        ax.plot(
            size[steps], error[steps], color=colour(i), ls=line_style(i), lw=1.5, marker="o", ms=3,
            label=label(method),
        )  # fmt: skip
        if method == methods[chosen] and "error_se" in history:
            se = np.nan_to_num(history["error_se"].values[steps])
            low, high = error[steps] - se, error[steps] + se
            ax.fill_between(size[steps], low, high, color=colour(i), alpha=0.15, lw=0)
    _log_if_wide(ax, error, error)
    text = f"chosen: {int(size[chosen])} of {history.sizes['feature']} inputs"
    _flag(ax, size[chosen], error[chosen], text, INK, "o")
    same = np.flatnonzero((methods == methods[chosen]) & (origins == origins[chosen]))
    _size_axis(ax, size, _dropped_next(history.isel(step=same), groups))
    measure = history["error"].attrs.get("long_name", "mean squared error on held-out data")
    ax.set_ylabel(measure, fontsize=9.5)
    write_legend(ax, *ax.get_legend_handles_labels(), loc="best")
    tidy(ax)
    return ax


def _labels(history: xr.Dataset, name: str) -> Any:
    """The method, or the sequence, that each step belongs to."""
    if name in history and history[name].dims == ("step",):
        return history[name].values.astype(str)
    return np.full(history.sizes["step"], str(history.attrs.get(name, "error")))


def _best_of_size(steps: Any, size: Array, error: Array) -> list[int]:
    best: dict[float, int] = {}
    for step in steps:
        old = best.get(size[step])
        if old is None or error[step] < error[old]:
            best[size[step]] = int(step)
    return [best[k] for k in sorted(best)]


def _size_axis(ax: Axes, size: Array, dropped: dict[int, str]) -> None:
    """Number of inputs, and which one is dropped next; compressed if there are many."""
    top = int(size.max())
    if top > NAMED:
        ax.set_xscale("symlog", linthresh=LINEAR, linscale=1.3)
        round_numbers = (20, 50, 100, 200, 500, 1000, 5000)
        ticks = [*range(LINEAR + 1), *(t for t in round_numbers if 1.3 * t < top), top]
    else:
        ticks = sorted({int(k) for k in size})
    dropped = {k: name for k, name in dropped.items() if top <= NAMED or k <= LINEAR}
    texts = [f"{dropped[k]} · {k}" if k in dropped else str(k) for k in ticks]
    ax.set_xticks(ticks, texts, rotation=90 if dropped else 0)
    ax.set_xticks([], minor=True)
    ax.set_xlim(int(size.min()) - 0.5, top * 1.1 if top > NAMED else top + 0.5)
    after = "   (beside it: the input dropped next)" if dropped else ""
    ax.set_xlabel(f"number of inputs left{after}", fontsize=9.5)


def _dropped_next(sequence: xr.Dataset, groups: Any) -> dict[int, str]:
    """For each size the input, or group, that leaves next; empty if the sets are not nested."""
    order = np.argsort(-sequence["n_selected"].values, kind="stable")
    support = sequence["support"].values.astype(bool)[order]
    texts = labels(sequence["feature"].values, 16)
    names = {}
    for before, after in zip(support, [*support[1:], np.zeros_like(support[0])], strict=True):
        left = np.flatnonzero(before & ~after)
        if (after & ~before).any():
            return {}
        if groups is not None and len({groups[a] for a in left}) == 1:
            names[int(before.sum())] = label(groups[left[0]], 16)
        elif len(left):
            more = f" +{len(left) - 1}" if len(left) > 1 else ""
            names[int(before.sum())] = f"{texts[left[0]]}{more}"
    return names
