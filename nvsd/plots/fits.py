"""How well the predictions fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from nvsd.data.checks import check_target
from nvsd.plots._draw import GREY, PALETTE, label, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_predictions(
    observed: ArrayLike,
    predicted: ArrayLike,
    *,
    name: str = "y",
    ax: Axes | None = None,
) -> Axes:
    """Predicted against observed values, with the root mean squared error and R².

    Parameters
    ----------
    observed, predicted : (n,) arrays
        Preferably of samples that were not used for the fit.
    name : str
        Name of y, for the labels.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> from nvsd.plots import plot_predictions
    >>> X = np.random.default_rng(0).uniform(-2, 2, (80, 4))
    >>> selection = nvsd.select(X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
    >>> ax = plot_predictions(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2], selection.predict(X))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('observed y', 'predicted y')
    """
    y = check_target(observed, np.size(observed))
    f = check_target(predicted, len(y))
    ax = new_axes(ax, (4.8, 4.6))
    both = np.concatenate([y, f])
    low, high = float(both.min()), float(both.max())
    margin = 0.04 * (high - low) or 1.0
    limits = (low - margin, high + margin)
    ax.plot(limits, limits, color=GREY, lw=1, zorder=1)
    size = float(np.clip(4000 / len(y), 4, 24))
    ax.scatter(y, f, s=size, color=PALETTE[0], alpha=0.6, linewidths=0, zorder=2)
    ax.set(xlim=limits, ylim=limits, aspect="equal")
    ax.set_xlabel(f"observed {label(name)}", fontsize=9.5)
    ax.set_ylabel(f"predicted {label(name)}", fontsize=9.5)
    error = float(np.mean((y - f) ** 2))
    variance = float(y.var())
    text = f"RMSE {error**0.5:.3g}" + (f"\nR² {1 - error / variance:.3f}" if variance else "")
    ax.text(0.03, 0.97, text, transform=ax.transAxes, va="top", fontsize=9)
    tidy(ax)
    return ax
