"""The form of a refit's kernel: base, order and scale of the weights, by leave-one-out errors.

The set of inputs is small and fixed, so the leave-one-out error is hardly optimistic here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.data.near_copies import kin
from nvsd.data.weights import deviation, mean
from nvsd.engine.features import Base, Bases
from nvsd.engine.kernel import ALL, effects, gram, sizes
from nvsd.engine.reweight import huber, next_weights
from nvsd.engine.sets import floored
from nvsd.engine.tails import misfit
from nvsd.kernels import Gaussian, Kernel, Linear, Matern52, Polynomial, blocks
from nvsd.kernels.anova import Anova
from nvsd.kernels.symmetric import elementary, without
from nvsd.kernels.units import Unit
from nvsd.kernels.warped import Warped, squash
from nvsd.ridge.leave_one_out import LooFit, best_loo_ridge, quick_loo_ridge
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
SMOOTH = 5  # position in BASES, for the additive form from which a search starts as well
SCALES = (0.4, 2.5)  # factors on the scale of the weights, which balances the orders
PRODUCT_SCALE, PRODUCT_SCALES = 2.0, (0.3, 3.0)  # scale of the weights of a product, and factors
# Kernels of all inputs at once, which are not squashed: a cubic of squashed inputs is not cubic
# where it is largest. A polynomial is steepest at extreme rows, so it must be clearly better: its
# error must be below POLYNOMIAL_BETTER times the least. WHOLE is the order of these forms.
POLYNOMIALS = (Polynomial(2), Polynomial(3))
WHOLE, POLYNOMIAL_BETTER = -1, 0.7
ROUNDS = 2  # rounds of reweighting for the chosen form; forms that are only tried have one
BETTER = 0.98  # a form replaces the best if its error is 2 % less: many fits are nearly equal


@dataclass(frozen=True)
class Form:
    """Base, order and scale of the weights of a refit.

    A product of Gaussians has no base. If the order is WHOLE, the base is a kernel of all inputs at
    once, and there are no weights.
    """

    base: Kernel | None
    order: int
    s: float


CUBIC = Form(POLYNOMIALS[1], WHOLE, 1.0)


class Fitted(NamedTuple):
    """A fit and the weights of its inputs."""

    weights: tuple[float, ...]
    fit: LooFit


def kernel_with(form: Form, weights: tuple[float, ...]) -> Kernel:
    """The library's kernel of a form, on standardised inputs."""
    if form.base is None:
        return Warped(Gaussian(tuple(1 / np.sqrt(weights))))
    return form.base if form.order == WHOLE else Warped(Anova(form.base, form.order, weights))


def kernel_of(bases: Bases) -> Kernel | None:
    """The library's kernel that is nearest to the bases of a race; None for a product."""
    if bases[0].linear == 1:
        return None
    parts = [_base(base) for base in dict.fromkeys(bases)]
    return parts[0] if len(parts) == 1 else sum(parts[1:], parts[0])


def _base(base: Base) -> Kernel:
    plain: Kernel = Matern52(0.5) if base.rough else Gaussian(base.width)
    return (1 - base.linear) * plain + base.linear * Linear() if base.linear else plain


def loss(errors: Array, scale: float, weights: Array | None = None) -> float:
    """Mean Huber loss of leave-one-out errors, so that outliers of y do not choose the form."""
    return float(mean(huber(errors, scale), weights))


def robust_scale(errors: Array) -> float:
    """Three robust standard deviations: larger errors count linearly in the loss."""
    return max(3 * 1.4826 * float(np.median(np.abs(errors))), TINY)


class Tuning:
    """Fits forms on one set of inputs and rows; keeps every fit, and the κ of every base.

    Parameters
    ----------
    X : (n, s) array
        The inputs of the set, standardised.
    y : (n,) array
    effect : (s,) array
        The effect of each input, which gives the weights to start from.
    rows : (n,) array, optional
        Weights of the rows, with mean 1.
    """

    def __init__(self, X: Array, y: Array, effect: Array, rows: Array | None = None) -> None:
        self.points, self.X, self.y, self.effect = X, squash(X), y, effect
        self.rows, self.kin = rows, kin(X)
        self.known: dict[Form, Fitted] = {}
        self._kappas: dict[Kernel, list[Array]] = {}
        self._lam: float | None = None  # λ of the last fit, where the next one starts

    def fit(self, form: Form, rounds: int = 1) -> Fitted:
        """Fit a form: its weights by rounds of reweighting, and λ."""
        if rounds > 1 or form not in self.known:
            effect, fits = self.effect, list[Fitted]()
            lam = self._lam
            one_round = self._product_round if form.base is None else self._anova_round
            one_round = self._whole if form.order == WHOLE else one_round
            for _ in range(rounds if len(self.effect) > 1 else 1):
                weights = next_weights(effect, form.order)
                weights = weights * (form.s / np.sqrt(np.sum(weights**2)))
                fit, effect = one_round(form, weights, lam)
                effect, lam = floored(effect), fit.lam
                fits.append(Fitted(tuple(weights.tolist()), fit))
            self.known[form] = min(fits, key=lambda one: one.fit.error)
            self._lam = lam
        return self.known[form]

    def _anova_round(self, form: Form, weights: Array, lam: float | None) -> tuple[LooFit, Array]:
        """The fit of an ANOVA kernel, and sd(t_a) of each input."""
        assert form.base is not None
        z = [w * kappa for w, kappa in zip(weights, self.kappas(form.base), strict=True)]
        e = elementary(z, form.order, z[0].shape)
        fit = quick_loo_ridge(sum(e[1:], np.zeros_like(e[0])), self.y, lam, self.rows)
        t = [(each * sum(without(e, each)[: form.order])) @ fit.alpha for each in z]
        return fit, sizes(np.stack(t, axis=1), deviation, self.rows, self.kin)

    def _product_round(self, form: Form, weights: Array, lam: float | None) -> tuple[LooFit, Array]:
        """The fit of a product of Gaussians, and the size of each input's effect."""
        A = self.X[:, :, None]
        known = gram(A, A, weights, ALL)
        fit = quick_loo_ridge(known.K, self.y, lam, self.rows)
        return fit, effects(known, A, weights, fit.alpha, ALL, self.rows, self.kin)

    def _whole(self, form: Form, weights: Array, lam: float | None) -> tuple[LooFit, Array]:
        """The fit of a kernel of all inputs at once; it has no weights to learn."""
        assert form.base is not None
        K = blocks.K(form.base, self.points)
        return best_loo_ridge(K, self.y, lam, self.rows), self.effect

    def kappas(self, base: Kernel) -> list[Array]:
        """κ of each input between all rows."""
        if base not in self._kappas:
            units = [Unit((a,)) for a in range(self.X.shape[1])]
            self._kappas[base] = [u.parts(base, self.X, self.X, False).value for u in units]
        return self._kappas[base]


def starts(form: Form) -> list[Form]:
    """Where a search starts: the ranking's form, unless a product, and a smooth additive one."""
    additive = Form(BASES[SMOOTH], 1, form.s)
    return [additive] if form.base is None else [form, additive]


def tuning_of(
    X: Array,
    y: Array,
    clipped: Array,
    effect: Array,
    form: Form,
    rows: Array | None = None,
) -> Tuning:
    """The tuning with y clipped, unless a first fit to y as given explains y better.

    A sum of steep functions is no longer a sum after clipping. Without clipping, outliers of y may
    spoil the fit.
    """
    plain = Tuning(X, y, effect, rows)
    if np.array_equal(y, clipped):
        return plain
    cut = Tuning(X, clipped, effect, rows)

    def least(tuning: Tuning) -> float:
        fits = [tuning.fit(each).fit for each in (*starts(form), CUBIC)]
        return min(misfit(fit.errors + (y - tuning.y), y != clipped, rows) for fit in fits)

    return plain if least(plain) < least(cut) else cut


def search(tuning: Tuning, form: Form) -> Form:
    """The best form: from each start, try bases, then orders, then scales, then bases again.

    Products of Gaussians and polynomials compete with the forms found in this way.
    """
    scale = robust_scale(tuning.fit(form).fit.errors)

    def error(form: Form) -> float:
        return loss(tuning.fit(form).fit.errors, scale, tuning.rows)

    def better(form: Form, trials: list[Form], share: float = BETTER) -> Form:
        for trial in trials:
            if trial != form and error(trial) < share * error(form):
                form = trial
        return form

    orders = [order for order in ORDERS if order <= len(tuning.effect)]
    steps: list[Callable[[Form], list[Form]]] = [
        lambda f: [replace(f, base=base) for base in BASES],
        lambda f: [replace(f, order=order) for order in orders],
        lambda f: [replace(f, s=f.s * factor) for factor in SCALES],
        lambda f: [replace(f, base=base) for base in BASES[3:6]],
    ]
    product = Form(None, ALL, PRODUCT_SCALE) if form.base is not None else form
    found = []
    for start in starts(form):
        for step in steps:
            start = better(start, step(start))
        found.append(start)
    for _ in range(2):
        product = better(product, [replace(product, s=product.s * f) for f in PRODUCT_SCALES])
    polynomials = [Form(kernel, WHOLE, 1.0) for kernel in POLYNOMIALS]
    return better(better(found[0], [*found[1:], product]), polynomials, POLYNOMIAL_BETTER)
