"""The last fit on a set by a loss that is not quadratic: a kernel of the library, on all rows.

Squares on the codes of the targets find kernels worth a trial, which is fast. The loss itself, at
left-out predictions, chooses among them, and chooses ν.
"""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.data.scaling import centred
from nvsd.engine.aims import Aim
from nvsd.engine.features import Scaler
from nvsd.engine.forms import ROUNDS, Form, Tuning, kernel_of, kernel_with, search
from nvsd.engine.loss_judging import AimRanking
from nvsd.engine.loss_sets import Learned
from nvsd.engine.refits import MANY_ROWS, TUNE_ROWS
from nvsd.engine.sets import floored
from nvsd.kernels import Kernel, blocks
from nvsd.kernels.anova import Anova
from nvsd.kernels.warped import Warped
from nvsd.ridge.newton import CLOSE, Features, LossFit, LossProblem, SeveralFits

Array = NDArray[Any]

MOST_ROWS = 10_000  # that the last fit learns from
SECTIONS = 500  # of its kernel
TRIALS = 4  # kernels that the loss chooses among
PER_TARGET = 3  # of them, those that a target may propose
FIRST_LAM = 0.1  # from which its search starts
TRIAL_CLOSE = 1e-5  # accuracy of a trial, in losses of the best constant
TRIAL_ROUNDED = 0.05  # share of the spread of y within which kinks of its loss are rounded
ROUNDED = 0.01  # the same of the last fit


def refit_by(
    X: Array, aim: Aim, features: NDArray[np.bool_], ranking: AimRanking, seed: int
) -> tuple[SeveralFits, Scaler]:
    """The tuned fits of all targets on some inputs, and how the kernel sees all of them.

    Parameters
    ----------
    X : (n, d) array
        As given by the user.
    aim : Aim
        On these rows.
    features : (d,) bool array
        The inputs to use.
    ranking : AimRanking
        Where the search for a kernel starts.
    """
    order = np.random.default_rng(seed).permutation(len(X))[:MOST_ROWS]
    rows = np.sort(order) if len(X) > MOST_ROWS else np.arange(len(X))
    scaler = Scaler.fit(X[rows])
    if not features.any():
        return _constants(X, aim, features), scaler
    used = scaler.take(np.flatnonzero(features))
    inner = np.ascontiguousarray(centred(X[:, features], used.centre, used.scale))
    tune = order[:TUNE_ROWS]
    kernels = _proposed(inner[tune], aim.take(tune), features, ranking)
    kernel, lams = _chosen(inner[tune], aim.take(tune), kernels)
    return _on_all(inner[rows], aim.take(rows), kernel, lams, features), scaler


def _constants(X: Array, aim: Aim, features: NDArray[np.bool_]) -> SeveralFits:
    """The fit on no inputs."""
    c = len(aim.targets)
    alpha, points = np.zeros((c, 1)), X[:1, features]
    return SeveralFits(
        Warped(Anova()), points, features, np.ones(c), alpha, 0.0, constants=aim.origin
    )


def _proposed(X: Array, aim: Aim, features: NDArray[np.bool_], ranking: AimRanking) -> list[Kernel]:
    """Kernels that squares on the code of a target find good, each target's best first."""
    found = []
    for code, part in zip(aim.codes, ranking.parts, strict=True):
        if part is not None and np.ptp(code):
            found.append(_of_target(X, code / code.std(), features, part, aim.weights))
    if not found:
        return [Warped(Anova())]
    in_turn = chain.from_iterable(zip_longest(*found))
    return list(dict.fromkeys(kernel for kernel in in_turn if kernel is not None))[:TRIALS]


def _of_target(
    X: Array, code: Array, features: NDArray[np.bool_], part: Learned, weights: Array | None
) -> list[Kernel]:
    """The kernels of least leave-one-out error for one code."""
    ranking, d = part.ranking, len(features)
    effect, config = np.zeros(d), ranking.config
    effect[ranking.columns] = ranking.units.per_input(ranking.last.effect)
    first = Form(kernel_of(config.bases), min(config.order, int(features.sum())), config.s)
    tuning = Tuning(X, code, floored(effect[features]), weights)
    best = search(tuning, first)
    tuning.fit(best, ROUNDS)
    others = sorted(tuning.known, key=lambda form: tuning.known[form].fit.error)
    forms = list(dict.fromkeys([best, *others]))[:PER_TARGET]
    return [kernel_with(form, tuning.known[form].weights) for form in forms]


def _chosen(X: Array, aim: Aim, kernels: list[Kernel]) -> tuple[Kernel, list[float]]:
    """The kernel of least leave-one-out loss over all targets, and λ of each of them."""
    trials: list[tuple[float, int, list[float]]] = []
    for number, kernel in enumerate(kernels):
        features = Features.of_kernel(blocks.K(kernel, X))
        given = (FIRST_LAM, TRIAL_CLOSE, TRIAL_ROUNDED)
        fits = [_fit(features, aim, k, *given) for k in range(len(aim.targets))]
        trials.append((sum(fit.error for _, fit in fits), number, [lam for lam, _ in fits]))
    _, best, lams = min(trials)
    return kernels[best], lams


def _on_all(
    X: Array, aim: Aim, kernel: Kernel, lams: list[float], used: NDArray[np.bool_]
) -> SeveralFits:
    """The fits on all rows."""
    if len(X) > MANY_ROWS:
        points = X[np.linspace(0, len(X) - 1, SECTIONS).round().astype(int)]
        features = Features.of_sections(blocks.K(kernel, X, points), blocks.K(kernel, points))
    else:
        points, features = X, Features.of_kernel(blocks.K(kernel, X), SECTIONS)
    fits = [_fit(features, aim, k, lam)[1] for k, lam in enumerate(lams)]
    return SeveralFits(
        kernel,
        np.ascontiguousarray(points[features.pivots]),
        used,
        np.array([fit.nu for fit in fits]),
        np.array([features.coefficients(fit.theta, len(points))[features.pivots] for fit in fits]),
        0.0,
        constants=np.array([fit.constant for fit in fits]),
    )


def _fit(
    features: Features, aim: Aim, k: int, lam: float, tol: float = CLOSE, rounded: float = ROUNDED
) -> tuple[float, LossFit]:
    """λ and the fit of one target; a constant where it is the same in all rows."""
    y = aim.targets[k]
    if np.ptp(y):
        return LossProblem(features.Phi, y, aim.loss, aim.weights, tol, rounded).best(lam)
    f, theta = np.full(len(y), aim.origin[k]), np.zeros(features.Phi.shape[1])
    costs = (1.0 if aim.weights is None else aim.weights) * aim.loss.pointwise(y, f)
    return lam, LossFit(theta, float(aim.origin[k]), 1.0, f, f, costs, float(costs.mean()))
