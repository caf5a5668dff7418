"""ANOVA kernels: the decomposition of f, units, weights and levels, against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import nvsd
import reference
from nvsd.kernels import Anova, Gaussian, Kernel, Linear, Matern52, RationalQuadratic, Warped
from nvsd.kernels.units import normal_law
from nvsd.kernels.warped import squash, squash_slope

D = 5
BASES = [Gaussian(0.7), Matern52(1.1), Gaussian(1.0) + 0.5 * Linear(), RationalQuadratic(1.5, 0.8)]
KINDS = {
    "plain": {},
    "weights": {"weights": (1.0, 0.5, 0.0, 2.0, 0.3)},
    "groups": {"units": ("a", "a", "b", "c", "b"), "weights": (0.7, 1.2, 0.4)},
    "levels": {"levels": (0, 0, 3, 0, 2)},
}
every = pytest.mark.parametrize(
    "kernel",
    [Anova(base, q, **more) for base in BASES for q in (1, 2, 3, 4) for more in KINDS.values()],
    ids=str,
)


def draw(n: int, kernel: Anova, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    for a, levels in enumerate(kernel.levels or ()):
        if levels:
            X[:, a] = rng.integers(0, levels, n)
    return X


@every
def test_all_blocks_are_those_of_brute_force(kernel: Anova) -> None:
    X = draw(5, kernel)
    K, B, L = kernel.blocks(X)
    for found, known in zip((K, B, L), reference.gram(X, kernel), strict=True):
        np.testing.assert_allclose(found, known, atol=1e-10 * max(1.0, np.abs(known).max()))


@every
def test_the_gram_matrix_is_positive_and_its_products_need_no_matrix(kernel: Anova, rng) -> None:
    X = draw(6, kernel)
    G = kernel.G(X)
    size = np.abs(G).max()
    assert np.linalg.eigvalsh(G).min() > -1e-12 * size * len(G)
    np.testing.assert_allclose(G, G.T, atol=1e-13 * size)
    v = rng.standard_normal((len(G), 3))
    np.testing.assert_allclose(kernel.G_product(X, v), G @ v, atol=1e-11 * size * len(G))


@every
def test_components_sum_to_f(kernel: Anova, rng) -> None:
    X, X_new, alpha = draw(6, kernel), draw(4, kernel, 1), rng.standard_normal(6)
    units = range(len(dict.fromkeys(kernel.units or range(D))))
    sets = [s for size in range(1, kernel.order + 1) for s in combinations(units, size)]
    parts = kernel.components(X_new, X, alpha, sets)
    f, _ = kernel.apply(X_new, X, alpha, gradient=False)
    np.testing.assert_allclose(parts.sum(axis=0), f, atol=1e-11 * np.abs(parts).max())


@every
def test_a_total_effect_is_f_minus_f_without_the_unit(kernel: Anova, rng) -> None:
    X, alpha = draw(6, kernel), rng.standard_normal(6)
    names = list(dict.fromkeys(kernel.units or range(D)))
    effects = kernel.total_effects(X, alpha)
    weights = list(kernel.weights or (1.0,) * len(names))
    for u, effect in enumerate(effects):
        without = [0.0 if v == u else w for v, w in enumerate(weights)]
        rest = Anova(kernel.base, kernel.order, without, kernel.units, kernel.levels)
        expected = kernel.K(X) @ alpha - rest.K(X) @ alpha
        np.testing.assert_allclose(effect, expected, atol=1e-10 * np.abs(expected).max(initial=1))


@pytest.mark.parametrize("base", BASES, ids=str)
def test_every_kappa_has_mean_zero_and_mean_diagonal_one(base: Kernel) -> None:
    """Under the standard normal law, by an integration of its own."""
    t = np.linspace(-9, 9, 4001)
    density = np.exp(-0.5 * t**2)
    density /= density.sum()
    kernel = Anova(base, order=1)
    K = kernel.K(t[:, None], np.array([[-1.0], [0.3], [2.0]]))
    diagonal = [kernel.K(np.array([[x]]))[0, 0] for x in t[::40]]
    weights = density[::40] / density[::40].sum()
    # Gauss-Hermite points see a Matérn's kink at the diagonal to four digits.
    np.testing.assert_allclose(density @ K, 0.0, atol=2e-4)
    assert weights @ diagonal == pytest.approx(1.0, abs=2e-3)
    assert normal_law(base).diagonal > 0


def test_the_closed_mean_of_a_gaussian_is_that_of_the_quadrature() -> None:
    x = np.linspace(-3, 3, 7)
    for width in (0.5, 1.0, 3.0):
        closed = Gaussian(width).normal_mean(x)
        by_points = Kernel.normal_mean(Gaussian(width), x)
        np.testing.assert_allclose(closed, by_points, atol=1e-9)


def test_l_is_block_diagonal_for_an_additive_kernel() -> None:
    X = draw(4, Anova())
    L = Anova(order=1).L(X).reshape(D, 4, D, 4)
    for a, b in combinations(range(D), 2):
        assert not L[a, :, b].any()


@every
def test_a_restriction_is_the_kernel_without_the_others(kernel: Anova) -> None:
    """Whole units are kept: what is left out has weight 0."""
    labels = list(kernel.units or map(str, range(D)))
    names = list(dict.fromkeys(labels))
    kept = [a for a in range(D) if labels[a] in names[:2]]
    weights = list(kernel.weights or (1.0,) * len(names))
    zero = [w if i < 2 else 0.0 for i, w in enumerate(weights)]
    same = Anova(kernel.base, kernel.order, zero, kernel.units, kernel.levels)
    X = draw(5, kernel)
    np.testing.assert_allclose(kernel.restrict(kept).K(X[:, kept]), same.K(X), atol=1e-12)
    mask = np.isin(np.arange(D), kept)
    assert kernel.restrict(mask) == kernel.restrict(kept)


@every
def test_json_brings_it_back(kernel: Anova) -> None:
    assert Kernel.from_json(kernel.to_json()) == kernel
    assert Kernel.from_json(Warped(kernel).to_json()) == Warped(kernel)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"order": 0}, "order = 0 is not allowed; give 1 to 4"),
        ({"order": 5}, "give 1 to 4"),
        ({"base": "gaussian"}, "is not a kernel"),
        ({"base": Gaussian((1.0, 2.0))}, "several widths"),
        ({"weights": (1.0, -1.0)}, "finite numbers >= 0"),
        ({"levels": (1, 0)}, "at least 2"),
        ({"levels": (2, 0), "units": ("a", "a")}, "a unit of its own"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Anova(**arguments)


def test_weights_and_units_must_fit_the_inputs() -> None:
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match="3 weights for 2 units"):
        Anova(weights=(1.0, 1.0, 1.0)).K(X)
    with pytest.raises(ValueError, match="do not fit 2 inputs"):
        Anova(units=("a",)).K(X)
    with pytest.raises(ValueError, match="do not fit 3 inputs"):
        Anova(weights=(1.0, 1.0, 1.0)).restrict([7])


def test_an_additive_path_is_certified_and_finds_the_inputs() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 2] ** 2 + 0.1 * rng.standard_normal(150)
    path = nvsd.nvsd_path(X, y, kernel=Anova(order=1), n_taus=12)
    assert (path.gap <= 1e-6 * path.attrs["scale"]).all()
    norms = path.derivative_norm.isel(tau=8).values
    np.testing.assert_array_equal(np.flatnonzero(norms > 0.01 * norms.max()), [0, 2])


def test_squashing_bends_far_values_and_nothing_else() -> None:
    x = np.linspace(-2.5, 2.5, 11)
    np.testing.assert_array_equal(squash(x), x)
    assert np.abs(squash(np.array([-1e9, 1e9]))).max() <= 4.0
    step = 1e-6
    far = np.array([-6.0, -2.6, 2.499, 3.0, 5.0])
    slope = (squash(far + step) - squash(far - step)) / (2 * step)
    np.testing.assert_allclose(squash_slope(far), slope, atol=1e-6)
    X = 3 * np.random.default_rng(1).standard_normal((6, 3))
    kernel = Warped(Anova(order=2))
    for found, known in zip(kernel.blocks(X), reference.gram(X, kernel), strict=True):
        np.testing.assert_allclose(found, known, atol=1e-10 * np.abs(known).max())
