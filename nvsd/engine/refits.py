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

from nvsd.data.rows import ArrayRows, Rows
from nvsd.engine.features import Base, Bases, Scaler
from nvsd.engine.kernel import ALL, effects, gram
from nvsd.engine.race import Config
from nvsd.engine.ranking import clip_bounds
from nvsd.engine.reweight import next_weights
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
LINE = 4  # the base that a search starts from where the ranking has none
SCALES = (0.4, 2.5)  # of the weights, against which the orders balance
PRODUCT_SCALE, PRODUCT_SCALES = 2.0, (0.3, 3.0)  # of the weights of a product, and steps from it
TUNE_ROWS = 400  # rows on which the form is tuned
MANY_ROWS = 3000  # rows above which sums over them are faster than a matrix of their square
SAMPLE = 1500  # of many rows: those that scale inputs, and that choose λ and whether to clip y
SECTIONS = 1000  # kernel sections of the fit to many rows
ROUNDS = 2  # of reweighting for each form
BETTER = 0.98  # a form replaces the leader where its error is 2 % less: fits tie often


@dataclass(frozen=True)
class Form:
    """Base, order and scale of the weights of a refit; a product of Gaussians has no base."""

    base: Kernel | None
    order: int
    s: float


class Fitted(NamedTuple):
    """A fit and the weights of its inputs."""

    weights: tuple[float, ...]
    fit: LooFit


def kernel_with(form: Form, weights: tuple[float, ...]) -> Kernel:
    """The library's kernel of a form, on squashed inputs."""
    if form.base is None:
        return Gaussian(tuple(1 / np.sqrt(weights)))
    return Anova(form.base, form.order, weights)


def kernel_of(bases: Bases) -> Kernel | None:
    """The library's kernel that is nearest to the bases of a race; None for a product."""
    if bases[0].linear == 1:
        return None
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
            one_round = self._product_round if form.base is None else self._anova_round
            for _ in range(ROUNDS if len(self.effect) > 1 else 1):
                weights = next_weights(effect, form.order)
                weights = weights * (form.s / np.sqrt(np.sum(weights**2)))
                fit, effect = one_round(form, weights, lam)
                effect, lam = floored(effect), fit.lam
                fits.append(Fitted(tuple(weights.tolist()), fit))
            self.known[form] = min(fits, key=lambda one: one.fit.error)
        return self.known[form]

    def _anova_round(self, form: Form, weights: Array, lam: float | None) -> tuple[LooFit, Array]:
        """The fit of an ANOVA kernel, and sd(t_a) of each input."""
        assert form.base is not None
        z = [w * kappa for w, kappa in zip(weights, self.kappas(form.base), strict=True)]
        e = elementary(z, form.order, z[0].shape)
        fit = best_loo_ridge(sum(e[1:], np.zeros_like(e[0])), self.y, lam)
        t = [(each * sum(without(e, each)[: form.order])) @ fit.alpha for each in z]
        return fit, np.std(t, axis=1)

    def _product_round(self, form: Form, weights: Array, lam: float | None) -> tuple[LooFit, Array]:
        """The fit of a product of Gaussians, and the size of each input's effect."""
        A = self.X[:, :, None]
        known = gram(A, A, weights, ALL)
        fit = best_loo_ridge(known.K, self.y, lam)
        return fit, effects(known, A, weights, fit.alpha, ALL)

    def kappas(self, base: Kernel) -> list[Array]:
        """κ of each input between the rows."""
        if base not in self._kappas:
            units = [Unit((a,)) for a in range(self.X.shape[1])]
            self._kappas[base] = [u.parts(base, self.X, self.X, False).value for u in units]
        return self._kappas[base]


def search(tuning: Tuning, form: Form) -> Form:
    """Walk from the ranking's form: bases, then orders, then scales, then bases again.

    Products of Gaussians compete with the result.
    """
    scale = robust_scale(tuning.fit(form).fit.errors)

    def error(form: Form) -> float:
        return loss(tuning.fit(form).fit.errors, scale)

    def better(form: Form, trials: list[Form]) -> Form:
        for trial in trials:
            if trial != form and error(trial) < BETTER * error(form):
                form = trial
        return form

    orders = [order for order in ORDERS if order <= len(tuning.effect)]
    if form.base is None:
        product, form = form, Form(BASES[LINE], orders[-1] if len(orders) < 2 else 2, form.s)
    else:
        product = Form(None, ALL, PRODUCT_SCALE)
    steps: list[Callable[[Form], list[Form]]] = [
        lambda f: [replace(f, base=base) for base in BASES],
        lambda f: [replace(f, order=order) for order in orders],
        lambda f: [replace(f, s=f.s * factor) for factor in SCALES],
        lambda f: [replace(f, base=base) for base in BASES[3:6]],
    ]
    for step in steps:
        form = better(form, step(form))
    for _ in range(2):
        product = better(product, [replace(product, s=product.s * f) for f in PRODUCT_SCALES])
    return better(form, [product])


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
        points: Array = (X[:, self.features] - used.centre) / used.scale
        return np.ascontiguousarray(points), None if y is None else np.clip(y, self.low, self.high)


def refit(
    X: Array,
    y: Array,
    features: NDArray[np.bool_],
    effect: Array,
    config: Config,
    seed: int,
    rows: Rows | None = None,
) -> tuple[RidgeFit, Scaler]:
    """The tuned fit on some inputs, and how the kernel sees all of them.

    Parameters
    ----------
    X, y : (n, d) and (n,) arrays
        As given by the user; of more rows than MANY_ROWS some are drawn.
    features : (d,) bool array
        The inputs to use.
    effect : (d,) array
        Of every input, from the ranking.
    config : Config
        Of the ranking: where the search for a form starts.
    rows : Rows, optional
        All rows, if X and y are a sample of them.
    """
    if rows is None and len(y) > MANY_ROWS:
        rows = ArrayRows(X, y, False, checked=True)
    order = np.random.default_rng(seed).permutation(len(y))
    if rows is not None:
        X, y = X[order[:SAMPLE]], y[order[:SAMPLE]]
    scaler = Scaler.fit(X)
    if not features.any():
        return _mean_alone(X, y, features, rows), scaler
    view = View(scaler, features, *clip_bounds(y))
    inner, clipped = view(X, None)[0], np.clip(y, view.low, view.high)
    tune = order[:TUNE_ROWS] if rows is None else slice(TUNE_ROWS)
    tuning = Tuning(inner[tune], clipped[tune], floored(effect[features]))
    first = min(config.order, int(features.sum()))
    form = search(tuning, Form(kernel_of(config.bases), first, config.s))
    best = tuning.fit(form)
    kernel = Warped(kernel_with(form, best.weights))
    fit, as_it_came = _on_all(inner, y, clipped, kernel, best.fit.lam, features)
    if rows is None:
        return fit, scaler
    # Many rows: kernel sections at some of them, the loss of all, one pass. λ, and whether to clip
    # y, come from the sample.
    if as_it_came:
        view = replace(view, low=-np.inf, high=np.inf)
    nus = fit.nus * len(y) / rows.count()
    summed = fit_nystrom(rows.seen_as(view), inner[:SECTIONS], kernel, nus)
    return replace(summed, features=features), scaler


def _mean_alone(X: Array, y: Array, features: NDArray[np.bool_], rows: Rows | None) -> RidgeFit:
    """The fit on no inputs."""
    kernel, nus = Warped(Anova()), np.ones(1)
    if rows is not None:
        return fit_nystrom(rows, X[:1], kernel, nus, features)
    return RidgeFit(kernel, X[:, features], features, nus, np.zeros((1, len(y))), float(y.mean()))


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
