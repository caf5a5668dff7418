"""Main effects and pairs against means taken by brute force, and against scikit-learn."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from nvsd.kernels import Anova, Gaussian, Kernel, Linear, Matern52, Polynomial
from nvsd.kernels.warped import Warped
from nvsd.ridge.decomposition import (
    Decomposition,
    by_draws,
    by_factors,
    decompose,
    evenly,
    independent,
    mixed_norms,
    values,
)
from nvsd.ridge.dense import RidgeFit, fit_ridge

S = 3  # inputs
FACTORED: list[Kernel] = [
    Anova(Gaussian(0.7), 1),
    Anova(Gaussian(0.7), 2, (0.5, 1.5, 0.2)),
    Anova(0.5 * Gaussian(1.5) + 0.5 * Linear(), 3, (0.4, 2.0, 0.0)),
    Gaussian(1.3),
    Gaussian((0.8, 2.0, 1.1)),
    Warped(Anova(Matern52(0.5), 2)),
    Warped(Gaussian(1.0)),
]
OTHERS: list[Kernel] = [Polynomial(3), Linear(), Matern52(2.0), Gaussian(1.0) + Linear()]


def fit_with(kernel: Kernel, n: int = 9, classes: int = 1) -> RidgeFit:
    rng = np.random.default_rng(3)
    X = 1.5 * rng.standard_normal((n, S))
    X[:, 1] += X[:, 0]  # the law of the decomposition does not know of this
    alpha = rng.standard_normal((classes, n))
    return RidgeFit(kernel, X, np.ones(S, dtype=bool), np.ones(classes), alpha, 0.3)


def brute_force(fit: RidgeFit) -> Decomposition:
    """Means of f over every combination of the values of the inputs, n^S of them."""
    n = len(fit.X)
    places = np.array(list(product(range(n), repeat=S)))
    grid = np.take_along_axis(fit.X, places, axis=0)
    f = fit.kernel.K(grid, fit.X) @ fit.alpha.T
    F = np.moveaxis(f, -1, 0).reshape(-1, *[n] * S)
    F = F - F.mean(axis=(1, 2, 3), keepdims=True)
    axes = set(range(1, S + 1))
    one = {a: F.mean(axis=tuple(axes - {a + 1}), keepdims=True) for a in range(S)}
    pair = np.zeros((S, S))
    for a, b in combinations(range(S), 2):
        both = F.mean(axis=tuple(axes - {a + 1, b + 1}), keepdims=True) - one[a] - one[b]
        pair[a, b] = pair[b, a] = np.mean(both**2, axis=(1, 2, 3)).sum()
    main = np.array([np.mean(one[a] ** 2, axis=(1, 2, 3)).sum() for a in range(S)])
    return Decomposition(float(np.mean(F**2, axis=(1, 2, 3)).sum()), main, pair)


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("kernel", FACTORED, ids=repr)
def test_factors_give_the_exact_parts(kernel: Kernel, classes: int) -> None:
    fit = fit_with(kernel, classes=classes)
    factors = kernel.factors(fit.X, fit.X)
    assert factors is not None
    main, pair = by_factors(fit.alpha, *factors)
    expected = brute_force(fit)
    np.testing.assert_allclose(main, expected.main, atol=1e-10 * expected.total)
    np.testing.assert_allclose(pair, expected.pair, atol=1e-10 * expected.total)
    total = decompose(fit).total
    if factors[1] <= 2:
        assert total == pytest.approx(expected.total, rel=1e-10)
    else:
        assert total == pytest.approx(expected.total, rel=0.1)  # over draws
        assert total >= (main.sum() + pair.sum() / 2) * (1 - 1e-12)


@pytest.mark.parametrize("kernel", FACTORED, ids=repr)
def test_factors_are_of_the_kernel(kernel: Kernel) -> None:
    """Σ_{s≤q} e_s(z), by its definition, is the kernel up to a constant."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((4, S)), rng.standard_normal((5, S))
    found = kernel.factors(X, Y)
    assert found is not None
    z, q = found
    sets = [c for size in range(1, min(q, S) + 1) for c in combinations(range(S), size)]
    total = sum(np.prod([z[a] for a in each], axis=0) for each in sets)
    difference = kernel.K(X, Y) - total
    np.testing.assert_allclose(difference, difference[0, 0], atol=1e-12)


def test_kernels_without_factors_say_so() -> None:
    X = np.zeros((2, S))
    for kernel in [*OTHERS, 2.0 * Gaussian(1.0), Anova(units=("u", "u", "v"))]:
        assert kernel.factors(X, X) is None


@pytest.mark.parametrize("kernel", [*OTHERS, *FACTORED[:2], *FACTORED[3:4]], ids=repr)
def test_draws_come_close_for_any_kernel(kernel: Kernel) -> None:
    fit = fit_with(kernel, 12)
    expected = brute_force(fit)
    main, pair = by_draws(fit, fit.X)
    np.testing.assert_allclose(main / expected.total, expected.main / expected.total, atol=0.15)
    np.testing.assert_allclose(pair / expected.total, expected.pair / expected.total, atol=0.05)


def test_an_additive_function_has_no_pairs() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, S))
    for kernel in (Polynomial(3), Gaussian(2.0)):
        fit = fit_ridge(X, X[:, 0] ** 2 + X[:, 1], kernel, 1e-8)
        parts = decompose(fit)
        shares = parts.main / parts.total
        assert shares[:2].sum() > 0.98
        assert parts.pair.max() / parts.total < 0.01
        together = decompose(fit_ridge(X, X[:, 0] * X[:, 2], kernel, 1e-8))
        assert together.pair[0, 2] / together.total > 0.85  # means are not quite 0


@pytest.mark.parametrize("kernel", [*FACTORED, *OTHERS], ids=repr)
def test_mixed_norms_are_second_differences(kernel: Kernel) -> None:
    fit = fit_with(kernel, 10, classes=2)
    rows, h = np.clip(fit.X[:6], -2, 2), 1e-3  # no kink of a warped kernel is near

    def second(a: int, b: int) -> np.ndarray:
        u, v = h * np.eye(S)[a], h * np.eye(S)[b]
        signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
        return sum(s * t * values(fit, rows + s * u + t * v) for s, t in signs) / (4 * h * h)

    found = mixed_norms(fit, rows)
    for a, b in combinations(range(S), 2):
        twin = np.sqrt(np.mean(np.sum(second(a, b) ** 2, axis=0)))
        assert found[a, b] == pytest.approx(twin, rel=1e-3, abs=1e-5)
        assert found[a, b] == found[b, a]


def test_mixed_norms_of_a_product_are_one() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, S))
    fit = fit_ridge(X, X[:, 0] * X[:, 1], Polynomial(2), 1e-10)
    norms = mixed_norms(fit, X)
    assert norms[0, 1] == pytest.approx(1, rel=1e-5)
    assert norms[0, 2] < 1e-4


def test_main_effects_are_scikit_learns_partial_dependence() -> None:
    """Where inputs are independent in the samples: a full grid of their values."""
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.inspection import partial_dependence

    values_of = np.array([-1.3, -0.2, 0.4, 1.1])
    X = np.array(list(product(values_of, repeat=S)))
    fit = fit_ridge(X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2], Gaussian(1.0), 1e-4)

    class Model(RegressorMixin, BaseEstimator):
        def fit(self, X: np.ndarray, y: object = None) -> Model:
            self.fitted_ = True
            return self

        def predict(self, X: np.ndarray) -> np.ndarray:
            return fit.predict(np.asarray(X, dtype=float))[0]

    parts, model = decompose(fit), Model().fit(X)
    for a in range(S):
        curve = partial_dependence(model, X, [a], kind="average", custom_values={a: values_of})
        assert parts.main[a] == pytest.approx(curve["average"][0].var(), rel=1e-8, abs=1e-12)


def test_nothing_and_one_input() -> None:
    nothing = RidgeFit(
        Gaussian(1.0), np.empty((4, 0)), np.zeros(3, bool), np.ones(1), np.zeros((1, 4)), 0.0
    )
    total, main, pair = decompose(nothing)
    assert (total, main.shape, pair.shape) == (0, (0,), (0, 0))
    X = np.linspace(-1, 1, 20)[:, None]
    alone = decompose(fit_ridge(X, X[:, 0] ** 2, Gaussian(1.0), 1e-6))
    assert alone.total == pytest.approx(float(alone.main[0]))


def test_rows_of_the_law() -> None:
    X = np.arange(20.0).reshape(10, 2)
    np.testing.assert_array_equal(evenly(X, 20), X)
    np.testing.assert_array_equal(evenly(X, 4)[[0, -1]], X[[0, -1]])
    drawn = independent(X, 500)
    assert set(drawn[:, 0]) == set(X[:, 0])
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.2
