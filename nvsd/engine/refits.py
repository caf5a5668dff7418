"""The last fit on a set: a kernel of the library, its form tuned by leave-one-out errors.

The set is small and fixed, so that the leave-one-out error is nearly honest here. y is taken as it
came where the fit explains its far values, and clipped where it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.data.rows import ArrayRows
from nvsd.engine.features import Base, Bases, Scaler
from nvsd.engine.race import Config
from nvsd.engine.ranking import clip_bounds
from nvsd.engine.sets import floored
from nvsd.kernels import Gaussian, Kernel, Linear, Matern52, blocks
from nvsd.kernels.anova import Anova
from nvsd.kernels.symmetric import elementary, without
from nvsd.kernels.units import Unit
from nvsd.kernels.warped import Warped, squash
from nvsd.ridge.dense import RidgeFit
from nvsd.ridge.leave_one_out import LooFit, best_loo_ridge
from nvsd.ridge.nystrom import fit_nystrom
from nvsd.tolerances import TINY

Array = NDArray[Any]

BASES: tuple[Kernel, ...] = (
    Gaussian(0.15),
    Gaussian(0.3),
    Gaussian(0.7),
    Gaussian(1.5),
    0.5 * Gaussian(1.5) + 0.5 * Linear(),
    0.5 * Gaussian(3.0) + 0.5 * Linear(),  # nearly a polynomial of low degree
    Matern52(0.5),
    0.5 * Gaussian(0.3) + 0.25 * Gaussian(1.5) + 0.25 * Linear(),
)
ORDERS = (1, 2, 3, 4)
SCALES = (0.4, 2.5)  # of the weights, against which the orders balance
TUNE_ROWS = 400  # rows on which the form is tuned
MANY_ROWS = 3000  # rows above which sums over them are faster than a matrix of their square
SECTIONS = 1000  # kernel sections of the fit to many rows
ROUNDS = 2  # of reweighting for each form
BETTER = 0.98  # a form replaces the leader where its error is 2 % less: fits tie often


@dataclass(frozen=True)
class Form:
    """Base, order and scale of the weights of a refit."""

    base: Kernel
    order: int
    s: float


class Fitted(NamedTuple):
    """A fit and the weights of its inputs."""

    weights: tuple[float, ...]
    fit: LooFit


def kernel_of(bases: Bases) -> Kernel:
    """The library's kernel that is nearest to the bases of a race."""
    parts = [_base(base) for base in bases]
    return parts[0] if len(parts) == 1 else sum(parts[1:], parts[0])


def _base(base: Base) -> Kernel:
    plain: Kernel = Matern52(0.5) if base.rough else Gaussian(base.width)
    return (1 - base.linear) * plain + base.linear * Linear() if base.linear else plain


def loss(errors: Array, scale: float) -> float:
    """Mean Huber loss of leave-one-out errors: outliers of y do not choose the form."""
    e = np.abs(errors)
    return float(np.mean(np.where(e <= scale, 0.5 * e * e, scale * (e - 0.5 * scale))))


def robust_scale(errors: Array) -> float:
    """Three robust standard deviations."""
    return max(3 * 1.4826 * float(np.median(np.abs(errors))), TINY)


class Tuning:
    """Forms on one set of inputs and rows; every fit, and the κ of every base, is kept.

    Parameters
    ----------
    X : (n, s) array
        The inputs of the set, standardised.
    y : (n,) array
    effect : (s,) array
        Of each input: the weights to start from.
    """

    def __init__(self, X: Array, y: Array, effect: Array) -> None:
        self.X, self.y, self.effect = squash(X), y, effect
        self.known: dict[Form, Fitted] = {}
        self._kappas: dict[Kernel, list[Array]] = {}

    def fit(self, form: Form) -> Fitted:
        """Weights by a few rounds of reweighting, then λ."""
        if form not in self.known:
            effect, fits = self.effect, list[Fitted]()
            lam: float | None = None
            for _ in range(ROUNDS if len(self.effect) > 1 else 1):
                weights = effect * (form.s / np.sqrt(np.sum(effect**2)))
                z = [w * kappa for w, kappa in zip(weights, self.kappas(form.base), strict=True)]
                e = elementary(z, form.order, z[0].shape)
                fit = best_loo_ridge(sum(e[1:], np.zeros_like(e[0])), self.y, lam)
                lam = fit.lam
                fits.append(Fitted(tuple(weights.tolist()), fit))
                t = [(each * sum(without(e, each)[: form.order])) @ fit.alpha for each in z]
                effect = floored(np.std(t, axis=1))
            self.known[form] = min(fits, key=lambda one: one.fit.error)
        return self.known[form]

    def kappas(self, base: Kernel) -> list[Array]:
        """κ of each input between the rows."""
        if base not in self._kappas:
            units = [Unit((a,)) for a in range(self.X.shape[1])]
            self._kappas[base] = [u.parts(base, self.X, self.X, False).value for u in units]
        return self._kappas[base]


def search(tuning: Tuning, form: Form) -> Form:
    """Walk from the ranking's form: bases, then orders, then scales, then bases again."""
    scale = robust_scale(tuning.fit(form).fit.errors)
    least = loss(tuning.fit(form).fit.errors, scale)
    orders = [order for order in ORDERS if order <= len(tuning.effect)]
    steps: list[Callable[[Form], list[Form]]] = [
        lambda f: [replace(f, base=base) for base in BASES],
        lambda f: [replace(f, order=order) for order in orders],
        lambda f: [replace(f, s=f.s * factor) for factor in SCALES],
        lambda f: [replace(f, base=base) for base in BASES[3:6]],
    ]
    for step in steps:
        for trial in step(form):
            error = loss(tuning.fit(trial).fit.errors, scale)
            if trial != form and error < BETTER * least:
                least, form = error, trial
    return form


def refit(
    X: Array, y: Array, features: NDArray[np.bool_], effect: Array, config: Config, seed: int
) -> tuple[RidgeFit, Scaler]:
    """The tuned fit on some inputs, and how the kernel sees all of them.

    Parameters
    ----------
    X : (n, d) array
        As given by the user.
    features : (d,) bool array
        The inputs to use.
    effect : (d,) array
        Of every input, from the ranking.
    config : Config
        Of the ranking: where the search for a form starts.
    """
    scaler = Scaler.fit(X)
    inner = np.ascontiguousarray(((X - scaler.centre) / scaler.scale)[:, features])
    if not features.any():
        nothing = np.zeros((1, len(y)))
        mean, nus = float(y.mean()), np.ones(1)
        return RidgeFit(Warped(Anova()), inner, features, nus, nothing, mean), scaler
    start = floored(effect[features])
    clipped = np.clip(y, *clip_bounds(y))
    rows = np.random.default_rng(seed).permutation(len(y))[:TUNE_ROWS]
    tuning = Tuning(inner[rows], clipped[rows], start)
    first = Form(kernel_of(config.bases), min(config.order, len(start)), config.s)
    form = search(tuning, first)
    best = tuning.fit(form)
    kernel = Warped(Anova(form.base, form.order, best.weights))
    if len(y) > MANY_ROWS:
        return _by_sums(inner, y, clipped, kernel, best.fit.lam, features, seed), scaler
    return _on_all(inner, y, clipped, kernel, best.fit.lam, features)[0], scaler


def _by_sums(
    X: Array,
    y: Array,
    clipped: Array,
    kernel: Kernel,
    lam: float,
    features: NDArray[np.bool_],
    seed: int,
) -> RidgeFit:
    """Many rows: kernel sections at some of them, the loss of all, one pass over the rows.

    λ comes from the rows on which the form was tuned. Whether to clip y is judged there too.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    some, points = np.sort(order[:MANY_ROWS]), X[np.sort(order[:SECTIONS])]
    judged, as_it_came = _on_all(X[some], y[some], clipped[some], kernel, lam, features)
    rows = ArrayRows(X, y if as_it_came else clipped, False, checked=True)
    fit = fit_nystrom(rows, points, kernel, judged.nus * len(some) / len(y))
    return replace(fit, features=features)


def _on_all(
    X: Array,
    y: Array,
    clipped: Array,
    kernel: Kernel,
    lam: float,
    features: NDArray[np.bool_],
) -> tuple[RidgeFit, bool]:
    """The fit on all rows: to y as it came, or clipped, whichever explains y better; if as it came.

    Both are judged against y as it came; the errors' own size limits what an outlier can say.
    """
    K = blocks.K(kernel, X)
    targets = [y] if np.array_equal(clipped, y) else [y, clipped]
    fits = [best_loo_ridge(K, target, lam) for target in targets]
    against = [fit.errors + (y - target) for fit, target in zip(fits, targets, strict=True)]
    scale = min(robust_scale(errors) for errors in against)
    chosen = int(np.argmin([loss(errors, scale) for errors in against]))
    best = fits[chosen]
    nus = np.array([best.lam * float(np.mean(K.diagonal())) / len(X)])
    return RidgeFit(kernel, X, features, nus, best.alpha[None], best.mean), targets[chosen] is y
