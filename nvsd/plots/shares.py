"""What inputs do alone and in pairs: shares of the variance of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nvsd.plots._draw import INK, PALETTE, Array, labels, new_axes, tidy, write_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.28  # inches of height for each input
SHOWN = 0.005  # smallest share that is written into a cell


def plot_effects(selection: Any, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """The share of the variance of the refit that each input has, alone and in pairs.

    Parameters
    ----------
    selection : Selection or fitted Selective estimator
        What `nvsd.select` returned; see `Selection.effects` for what shares are.
    most : int
        How many inputs are drawn, the largest first.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> from nvsd.plots import plot_effects
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 4))
    >>> selection = nvsd.select(X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
    >>> ax = plot_effects(selection)
    >>> sorted(text.get_text() for text in ax.get_yticklabels())
    ['x0', 'x1', 'x2']
    """
    effects = _tables(selection).effects().head(max(1, int(most)))
    ax = new_axes(ax, (6.5, 1.2 + ROW * max(len(effects), 2)))
    places = -np.arange(len(effects))
    main, pairs = (100 * effects[name].to_numpy() for name in ("share", "interactions"))
    ax.barh(places, main, color=PALETTE[0], height=0.7, label="alone")
    ax.barh(places, pairs, left=main, color=PALETTE[1], height=0.7, label="in pairs with others")
    ax.set_yticks(places, labels(effects["feature"]))
    ax.set_ylim(-len(effects) + 0.4, 0.6)
    ax.set_xlim(left=0)
    ax.set_xlabel("share of the variance of the fit, %", fontsize=9.5)
    if len(effects):
        write_legend(ax, *ax.get_legend_handles_labels(), loc="lower right")
    else:
        ax.set_title("no input was selected", fontsize=10)
    tidy(ax)
    return ax


def plot_interactions(selection: Any, *, most: int = 12, ax: Axes | None = None) -> Axes:
    """Shares of the variance of the refit: pairs as a matrix, main effects on its diagonal.

    Parameters
    ----------
    selection : Selection or fitted Selective estimator
        What `nvsd.select` returned; see `Selection.interactions` for what shares are.
    most : int
        How many inputs are drawn, those with the largest shares.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> from nvsd.plots import plot_interactions
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 4))
    >>> selection = nvsd.select(X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
    >>> ax = plot_interactions(selection)
    >>> ax.get_title(loc="left")
    'on the diagonal: what each input does alone'
    """
    tables = _tables(selection)
    names = tables.effects()["feature"].head(max(1, int(most))).tolist()
    shares = 100 * _matrix(tables, names)
    ax = new_axes(ax, (1.9 + 0.55 * max(len(names), 3), 1.5 + 0.5 * max(len(names), 3)))
    if not names:
        ax.set_axis_off()
        ax.set_title("no input was selected", fontsize=10)
        return ax
    image = ax.imshow(shares, cmap="YlGnBu", vmin=0, vmax=max(float(shares.max()), 1.0))
    for (i, j), share in np.ndenumerate(shares):
        if share >= 100 * SHOWN:
            dark = share > 0.55 * shares.max()
            ax.text(
                j, i, f"{share:.0f}" if share >= 9.5 else f"{share:.1f}", ha="center", va="center",
                fontsize=8.5, color="white" if dark else INK,
            )  # fmt: skip
    texts = labels(names, 16)
    ax.set_xticks(range(len(names)), texts, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(names)), texts)
    ax.tick_params(length=0, labelsize=9)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(image, ax=ax, pad=0.03, shrink=0.8)
    bar.set_label("share of the variance of the fit, %", fontsize=9)
    bar.ax.tick_params(labelsize=8.5)
    bar.outline.set_visible(False)
    ax.set_title("on the diagonal: what each input does alone", fontsize=9, loc="left")
    return ax


def _tables(selection: Any) -> Any:
    """What has effects and interactions."""
    found = getattr(selection, "selection_", selection)
    if not hasattr(found, "interactions"):
        raise ValueError(
            f"{type(selection).__name__} has no effects to draw; give what nvsd.select returned, "
            "or a fitted SelectiveRegressor or SelectiveClassifier."
        )
    return found


def _matrix(tables: Any, names: list[str]) -> Array:
    """Main effects on the diagonal, pairs beside it."""
    place = {name: i for i, name in enumerate(names)}
    shares = np.zeros((len(names), len(names)))
    for name, share in tables.effects()[["feature", "share"]].to_numpy():
        if name in place:
            shares[place[name], place[name]] = share
    for (one, other), share in tables.interactions()[["pair", "share"]].to_numpy():
        if one in place and other in place:
            i, j = place[one], place[other]
            shares[i, j] = shares[j, i] = share
    return shares
