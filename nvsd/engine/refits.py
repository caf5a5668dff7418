"""The last fit on a set: a kernel of the library, on all rows.

y is used as given if the fit explains its extreme values, and clipped if it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.data.rows import ArrayRows, Rows
from nvsd.data.scaling import centred
from nvsd.data.weights import mean, weights_at
from nvsd.engine.features import Scaler
from nvsd.engine.forms import (
    ROUNDS,
    Form,
    kernel_of,
    kernel_with,
    search,
    tuning_of,
)
from nvsd.engine.race import Config
from nvsd.engine.sets import floored
from nvsd.engine.tails import clip_bounds, misfit
from nvsd.kernels import Kernel, blocks
from nvsd.kernels.anova import Anova
from nvsd.kernels.warped import Warped
from nvsd.ridge.dense import RidgeFit
from nvsd.ridge.leave_one_out import best_loo_ridge
from nvsd.ridge.nystrom import fit_nystrom

Array = NDArray[Any]

TUNE_ROWS = 400  # rows on which the form is tuned
MANY_ROWS = 3000  # with more rows, sums over them are faster than an n by n matrix
SAMPLE = 1500  # rows drawn from many, to scale inputs and to choose λ and whether to clip y
SECTIONS = 1000  # kernel sections of the fit to many rows


@dataclass(frozen=True, eq=False)
class View:
    """How a fit sees rows: some inputs, standardised, and y clipped."""

    scaler: Scaler
    features: NDArray[np.bool_]
    low: float
    high: float

    def __call__(self, X: Array, y: Array | None) -> tuple[Array, Array | None]:
        """X and y as the fit sees them."""
        used = self.scaler.take(np.flatnonzero(self.features))
        points: Array = centred(X[:, self.features], used.centre, used.scale)
        return np.ascontiguousarray(points), None if y is None else np.clip(y, self.low, self.high)


def refit(
    X: Array,
    y: Array,
    features: NDArray[np.bool_],
    effect: Array,
    config: Config,
    seed: int,
    rows: Rows | None = None,
    weights: Array | None = None,
) -> tuple[RidgeFit, Scaler]:
    """The tuned fit on some inputs, and how the kernel sees all of them.

    Parameters
    ----------
    X, y : (n, d) and (n,) arrays
        As given by the user; if there are more than MANY_ROWS rows, some are drawn.
    features : (d,) bool array
        The inputs to use.
    effect : (d,) array
        The effect of every input, from the ranking.
    config : Config
        The configuration of the ranking, from which the search for a form starts.
    rows : Rows, optional
        All rows, if X and y are a sample of them; they have no weights then.
    weights : (n,) array, optional
        Of the rows of X, with mean 1.
    """
    if rows is None and len(y) > MANY_ROWS:
        rows = ArrayRows(X, y, False, checked=True)
    order, of_all = np.random.default_rng(seed).permutation(len(y)), weights
    if rows is not None:
        X, y, weights = X[order[:SAMPLE]], y[order[:SAMPLE]], weights_at(weights, order[:SAMPLE])
    scaler = Scaler.fit(X)
    if not features.any():
        return _mean_alone(X, y, features, rows, of_all), scaler
    view = View(scaler, features, *clip_bounds(y))
    inner, clipped = view(X, None)[0], np.clip(y, view.low, view.high)
    tune = order[:TUNE_ROWS] if rows is None else slice(TUNE_ROWS)
    first = Form(kernel_of(config.bases), min(config.order, int(features.sum())), config.s)
    few = inner[tune], y[tune], clipped[tune]
    tuning = tuning_of(*few, floored(effect[features]), first, weights_at(weights, tune))
    form = search(tuning, first)
    best = tuning.fit(form, ROUNDS)
    kernel = kernel_with(form, best.weights)
    fit, as_it_came = _on_all(inner, y, clipped, kernel, best.fit.lam, features, weights)
    if rows is None:
        return fit, scaler
    # Many rows: kernel sections at some of them and the loss of all, in one pass. The sample has
    # decided on λ, and on whether to clip y.
    if as_it_came:
        view = replace(view, low=-np.inf, high=np.inf)
    nus = fit.nus * len(y) / rows.count()
    seen = rows.seen_as(view)
    if of_all is not None:
        seen = ArrayRows(*view(rows.points(), rows.target()), False, checked=True)
    summed = fit_nystrom(seen, inner[:SECTIONS], kernel, nus, weights=of_all)
    return replace(summed, features=features), scaler


def _mean_alone(
    X: Array, y: Array, features: NDArray[np.bool_], rows: Rows | None, weights: Array | None
) -> RidgeFit:
    """The fit on no inputs."""
    kernel, nus = Warped(Anova()), np.ones(1)
    if rows is not None:
        return fit_nystrom(rows, X[:1], kernel, nus, features, weights=weights)
    alpha, origin = np.zeros((1, len(y))), float(mean(y, weights))
    return RidgeFit(kernel, X[:, features], features, nus, alpha, origin)


def _on_all(
    X: Array,
    y: Array,
    clipped: Array,
    kernel: Kernel,
    lam: float,
    features: NDArray[np.bool_],
    weights: Array | None = None,
) -> tuple[RidgeFit, bool]:
    """The fit to y as given or clipped, whichever explains y better; and whether it is as given."""
    K = blocks.K(kernel, X)
    fit, extreme = best_loo_ridge(K, y, lam, weights), y != clipped
    given = True
    if extreme.any():
        cut = best_loo_ridge(K, clipped, lam, weights)
        of_cut = misfit(cut.errors + (y - clipped), extreme, weights)
        given = misfit(fit.errors, extreme, weights) < of_cut
        fit = fit if given else cut
    nus = np.array([fit.lam * float(mean(K.diagonal(), weights)) / len(X)])
    return RidgeFit(kernel, X, features, nus, fit.alpha[None], fit.mean), given
