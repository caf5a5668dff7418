"""Kernels against numerical derivatives, plain loops and the paper's formulas.

Every concrete subclass of Kernel in nvsd is found and tested with its defaults; one that has no
defaults, or that deserves more, has examples in SPECIAL.
"""

from __future__ import annotations

import json
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import reference
from nvsd.kernels import (
    Anova,
    DotProduct,
    Gaussian,
    Isotropic,
    Kernel,
    Linear,
    Matern52,
    Polynomial,
    RationalQuadratic,
    Scaled,
    Sum,
    Warped,
    blocks,
    neighbour_width,
)

D = 3
WIDTHS = (0.7, 2.0, 5.0)
DEFAULT = {Gaussian: 4.0}  # widths of kernels made without one; of the others 1
SPECIAL = {
    Gaussian: [Gaussian(width=1.3), Gaussian(width=WIDTHS)],
    Matern52: [Matern52(width=WIDTHS)],
    RationalQuadratic: [RationalQuadratic(alpha=0.4, width=WIDTHS)],
    Polynomial: [Polynomial(degree=p, offset=c) for p, c in [(1, 0.0), (2, 0.0), (5, 0.5)]],
    Sum: [Gaussian(width=WIDTHS) + Polynomial() + 0.5 * Linear()],
    Anova: [
        Anova(Matern52(1.1), order=1),
        Anova(order=3, weights=(0.5, 0.0, 2.0)),
        Anova(Gaussian(0.8) + 0.5 * Linear(), order=2, units=("a", "b", "a"), weights=(1.5, 0.4)),
    ],
    Warped: [Warped(Gaussian(1.0)), Warped(Anova(order=2, weights=(1.0, 2.0, 0.5)))],
    Scaled: [2.5 * Matern52(width=2.0), 0.5 * (Linear() + 3.0 * Gaussian(width=WIDTHS))],
}


def concrete(kind: type) -> list[type]:
    found = [] if kind.__abstractmethods__ else [kind]
    return found + [leaf for child in kind.__subclasses__() for leaf in concrete(child)]


def examples() -> list[Kernel]:
    """At least one kernel of each class; a class that cannot be built by default is an error."""
    kernels = []
    for kind in concrete(Kernel):
        if kind.__module__.startswith("nvsd"):
            kernels += SPECIAL.get(kind, [])
            if kind not in (Sum, Scaled, Warped):
                kernels.append(kind().filled(DEFAULT.get(kind, 1.0)))
    return kernels


every_kernel = pytest.mark.parametrize("kernel", examples(), ids=str)


def points(n: int, seed: int = 0, d: int = D) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def assert_close(actual, expected, rtol=1e-12):
    """Compare at a tolerance relative to the largest entry."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * np.abs(expected).max())


# Naive twins: one entry at a time.


def value(kernel: Kernel, x, y) -> float:
    """k(x, y) by the formula of each kernel."""
    t = sum(float(a) * float(b) for a, b in zip(x, y, strict=True))
    w = np.broadcast_to(getattr(kernel, "width", 1.0), len(x))
    r = math.sqrt(sum(((a - b) / c) ** 2 for a, b, c in zip(x, y, w, strict=True)))
    match kernel:
        case Linear():
            return t
        case Polynomial(degree, offset):
            return (t + offset) ** degree
        case Gaussian():
            return math.exp(-(r**2) / 2)
        case Matern52():
            return (1 + math.sqrt(5) * r + 5 * r**2 / 3) * math.exp(-math.sqrt(5) * r)
        case RationalQuadratic(alpha):
            return (1 + r**2 / (2 * alpha)) ** -alpha
        case Sum(kernels):
            return sum(value(part, x, y) for part in kernels)
        case Scaled(factor, part):
            return factor * value(part, x, y)
        case Anova() | Warped():
            return reference.kernels.entry(kernel, np.asarray(x), np.asarray(y))[0]
        case Isotropic():
            return kernel.profile(np.array([r**2 / 2]))[0].item()
        case DotProduct():
            return kernel.profile(np.array([t]))[0].item()
    raise NotImplementedError(f"write the formula of {kernel!r} here")


def naive_blocks(kernel: Kernel, X, Y):
    """K (n, m), D (d, n, m), L (d, n, d, m) of a profile kernel by the formulas in plain loops."""
    (n, d), m = X.shape, len(Y)
    K, B, L = np.empty((n, m)), np.empty((d, n, m)), np.empty((d, n, d, m))
    w = np.broadcast_to(getattr(kernel, "width", 1.0), d)
    for i in range(n):
        for j in range(m):
            x, y = X[i], Y[j]
            if isinstance(kernel, Isotropic):
                t = sum(((x[a] - y[a]) / w[a]) ** 2 for a in range(d)) / 2
                left, right, cross = (x - y) / w**2, (y - x) / w**2, -1 / w**2
            else:
                t, left, right, cross = sum(x * y), y, x, np.ones(d)
            h, h1, h2 = (part.item() for part in kernel.profile(np.array([t])))
            K[i, j] = h
            for a in range(d):
                B[a, i, j] = h1 * left[a]
                for b in range(d):
                    L[a, i, b, j] = h2 * left[a] * right[b] + (a == b) * h1 * cross[a]
    return K, B.reshape(d * n, m), L.reshape(d * n, d * m)


def numerical_D(kernel: Kernel, X, Y, step=1e-5):
    shifts = step * np.eye(X.shape[1])
    return np.concatenate([(kernel.K(X + s, Y) - kernel.K(X - s, Y)) / (2 * step) for s in shifts])


def numerical_L(kernel: Kernel, X, Y, step=1e-5):
    shifts = step * np.eye(X.shape[1])
    return np.hstack([(kernel.D(X, Y + s) - kernel.D(X, Y - s)) / (2 * step) for s in shifts])


# The blocks.


@every_kernel
def test_values_follow_the_formula(kernel):
    X, Y = points(6), points(4, seed=1)
    assert_close(kernel.K(X, Y), [[value(kernel, x, y) for y in Y] for x in X])


@every_kernel
def test_derivatives_agree_with_numerical_ones(kernel):
    X, Y = points(6), points(4, seed=1)
    Y[0] = X[0]  # coincident points: the least smooth place of an isotropic kernel
    assert_close(kernel.D(X, Y), numerical_D(kernel, X, Y), rtol=1e-6)
    assert_close(kernel.L(X, Y), numerical_L(kernel, X, Y), rtol=1e-6)


@pytest.mark.parametrize(
    "kernel", [k for k in examples() if isinstance(k, Isotropic | DotProduct)], ids=str
)
def test_blocks_agree_with_plain_loops(kernel):
    X, Y = points(5), points(4, seed=1)
    for actual, expected in zip(
        (kernel.K(X, Y), kernel.D(X, Y), kernel.L(X, Y)), naive_blocks(kernel, X, Y), strict=True
    ):
        assert_close(actual, expected)


@every_kernel
@pytest.mark.parametrize("repeated", [False, True])
def test_G_is_a_symmetric_positive_semidefinite_matrix(kernel, repeated):
    X = points(12)
    if repeated:
        X[6:] = X[:6]
    G = kernel.G(X)
    assert (G == G.T).all()
    eigenvalues = np.linalg.eigvalsh(G)
    assert eigenvalues[0] >= -1e-10 * eigenvalues[-1]
    assert_close(G, np.block([[kernel.K(X), kernel.D(X).T], [kernel.D(X), kernel.L(X)]]))
    assert (kernel.L(X) == kernel.L(X).T).all()
    for shared, alone in zip(
        kernel.blocks(X), (kernel.K(X), kernel.D(X), kernel.L(X)), strict=True
    ):
        assert (shared == alone).all()


def test_G_is_assembled_in_the_memory_given():
    X, out = points(5), np.full((20, 20), np.nan)
    kernel = Gaussian(4.0) + Polynomial()
    assert kernel.G(X, out) is out
    assert (out == kernel.G(X)).all()


def test_repeated_rows_have_distance_exactly_zero():
    X = points(4) + 1e3
    for kind in concrete(Isotropic):
        kernel = kind().filled(DEFAULT.get(kind, 1.0))
        h, h1, _ = (part.item() for part in kernel.profile(np.zeros(1)))
        assert (np.diag(kernel.K(X, X.copy())) == h).all()
        assert (np.diag(kernel.D(X, X.copy())[:4]) == 0).all()
        assert (np.diag(kernel.L(X)) == -h1 / kernel.width**2).all()


@pytest.mark.parametrize("kernel", [k for k in examples() if isinstance(k, Isotropic)], ids=str)
def test_a_far_origin_costs_no_accuracy(kernel):
    # On this grid adding 1e6 is exact, so that the translated problem is the same problem.
    X, X_new = (np.round(points(n, seed=n) * 2**20) / 2**20 for n in (8, 5))
    assert_close(kernel.G(X + 1e6), kernel.G(X), rtol=1e-12)
    alpha, beta = np.ones(8), points(D, d=8)
    for far, near in zip(
        kernel.apply(X_new + 1e6, X + 1e6, alpha, beta),
        kernel.apply(X_new, X, alpha, beta),
        strict=True,
    ):
        assert_close(far, near, rtol=1e-12)


def test_the_formulas_of_the_appendix():
    """Worked by hand from the supplement of the paper; entries of L are L^ab with a, b = 1, 2."""
    x, y = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])
    assert Linear().K(x, y) == 1
    assert (Linear().D(x, y) == [[3], [-1]]).all()
    assert (Linear().L(x, y) == np.eye(2)).all()
    cubic = Polynomial(degree=3, offset=1.0)
    assert cubic.K(x, y) == 8
    assert (cubic.D(x, y) == [[36], [-12]]).all()
    assert (cubic.L(x, y) == [[48, 72], [-12, -12]]).all()
    y = np.array([[3.0, 1.0]])
    e = math.exp(-5 / 8)
    gauss = Gaussian(width=2.0)
    assert_close(gauss.K(x, y), [[e]])
    assert_close(gauss.D(x, y), [[e / 2], [-e / 4]])
    assert_close(gauss.L(x, y), [[0, e / 8], [e / 8, 3 * e / 16]])


def test_equal_widths_are_one_width():
    X = points(6)
    for kind in concrete(Isotropic):
        assert_close(kind(width=[1.7] * D).G(X), kind(width=1.7).G(X))


def test_a_width_per_input_rescales_the_input():
    X = points(6)
    W = np.repeat(WIDTHS, 6)
    scaled = Gaussian(width=1.0)
    assert_close(Gaussian(width=WIDTHS).D(X), scaled.D(X / WIDTHS) / W[:, None])
    assert_close(Gaussian(width=WIDTHS).L(X), scaled.L(X / WIDTHS) / np.outer(W, W))


# Evaluation without the blocks.


def dense(kernel: Kernel, X_new, X, alpha, beta):
    """f and its gradient from K, D and L."""
    (n, d), m, k = X.shape, len(X_new), alpha.shape[1]
    b = beta.reshape(d * n, k)
    f = kernel.K(X_new, X) @ alpha + kernel.D(X, X_new).T @ b
    grad = kernel.D(X_new, X) @ alpha + kernel.L(X, X_new).T @ b
    return f, grad.reshape(d, m, k)


def coefficients(n: int, k: int, d: int = D, seed: int = 5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)), rng.normal(size=(d, n, k))


@every_kernel
@pytest.mark.parametrize("chunk", [1, 200, 2**23])
def test_apply_agrees_with_the_dense_product(kernel, chunk, monkeypatch):
    monkeypatch.setattr(blocks, "CHUNK", chunk)
    X, X_new = points(7), points(5, seed=1)
    alpha, beta = coefficients(7, k=2)
    for a, b in [(alpha, beta), (alpha, None), (None, beta)]:
        f, grad = dense(
            kernel, X_new, X, 0 * alpha if a is None else a, 0 * beta if b is None else b
        )
        together = kernel.apply(X_new, X, a, b)
        assert_close(together[0], f)
        assert_close(together[1], grad)
        single = kernel.apply(X_new, X, *(None if c is None else c[..., 1] for c in (a, b)))
        assert_close(single[0], f[:, 1])
        assert_close(single[1], grad[:, :, 1])
        values, nothing = kernel.apply(X_new, X, a, b, gradient=False)
        assert_close(values, f)
        assert nothing is None


@every_kernel
def test_gradients_agree_with_numerical_ones(kernel):
    X, X_new, step = points(7), points(4, seed=1), 1e-5
    alpha, beta = coefficients(7, k=2)
    _, grad = kernel.apply(X_new, X, alpha, beta)
    for a, shift in enumerate(step * np.eye(D)):
        above, _ = kernel.apply(X_new + shift, X, alpha, beta, gradient=False)
        below, _ = kernel.apply(X_new - shift, X, alpha, beta, gradient=False)
        assert_close(grad[a], (above - below) / (2 * step), rtol=1e-6)


@every_kernel
def test_G_product_agrees_with_the_dense_product(kernel):
    X = points(6)
    V = np.random.default_rng(2).normal(size=(6 * (D + 1), 3))
    assert_close(kernel.G_product(X, V), kernel.G(X) @ V)
    assert_close(kernel.G_product(X, V[:, 0]), kernel.G(X) @ V[:, 0])


@every_kernel
def test_products_agree_with_the_blocks(kernel):
    X, factor = points(6), 0.7
    alpha, beta = (np.moveaxis(each, -1, 0) for each in coefficients(6, k=3))
    D, L = factor * kernel.D(X), factor * kernel.L(X)
    products, flat = kernel.products(X, factor), beta.reshape(3, -1)
    values, known = products.values(beta)
    assert_close(values, flat @ D)
    assert_close(products.gradient(alpha), (alpha @ D.T).reshape(beta.shape))
    both = (alpha @ D.T + flat @ L).reshape(beta.shape)
    assert_close(products.gradient(alpha, known), both)
    rough = products.single()
    single, known = rough.values(beta.astype(np.float32))
    atol = 1e-5 * (np.abs(D).max() + np.abs(L).max()) * 6 * D.shape[0]
    np.testing.assert_allclose(single, values, atol=atol)
    np.testing.assert_allclose(rough.gradient(alpha.astype(np.float32), known), both, atol=atol)
    for a, bound in enumerate(products.slope_norms()):
        block = L[6 * a : 6 * (a + 1), 6 * a : 6 * (a + 1)]
        norm = np.linalg.norm(block, 2)
        assert norm * (1 - 1e-12) <= bound <= np.trace(block) * (1 + 1e-12) + 1e-300


@given(
    n=st.integers(1, 5),
    m=st.integers(1, 5),
    d=st.integers(1, 4),
    k=st.integers(1, 3),
    scale=st.sampled_from([1e-3, 1.0, 30.0]),
    seed=st.integers(0, 99),
)
def test_apply_for_all_shapes(n, m, d, k, scale, seed):
    kernel = Matern52(width=2.0) + 0.3 * Polynomial(degree=2)
    X, X_new = scale * points(n, seed, d), scale * points(m, seed + 1, d)
    coefs = coefficients(n, k, d, seed)
    for actual, expected in zip(
        kernel.apply(X_new, X, *coefs), dense(kernel, X_new, X, *coefs), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12 * (1 + scale) ** 4)


def test_apply_needs_little_memory():
    n, m = 2000, 2000
    X, X_new = points(n), points(m, seed=1)
    alpha, beta = coefficients(n, k=2)
    tracemalloc.start()
    Gaussian(4.0).apply(X_new, X, alpha, beta)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 80e6  # an (m, n) array alone takes 32 MB, the derivative block 96 MB


# Building, restricting, writing.


@pytest.mark.parametrize(
    "kernel",
    # An ANOVA kernel is a sum over inputs: blanked ones stay in it. Its restriction has a test.
    [k for k in examples() if "Anova" not in str(k)],
    ids=str,
)
@pytest.mark.parametrize("features", [[2, 0], [1], np.array([True, False, True])], ids=str)
def test_restricting_equals_blanking_the_other_inputs(kernel, features):
    X = points(6)
    kept = np.arange(D)[features]
    blank = np.zeros_like(X)
    blank[:, kept] = X[:, kept]
    small = kernel.restrict(features)
    assert_close(small.K(X[:, kept]), kernel.K(blank))
    rows = (6 * kept[:, None] + np.arange(6)).ravel()
    assert_close(small.D(X[:, kept]), kernel.D(blank)[rows])
    assert_close(small.L(X[:, kept]), kernel.L(blank)[np.ix_(rows, rows)])


def test_restricting_cuts_the_widths():
    assert Gaussian(width=WIDTHS).restrict([2, 0]) == Gaussian(width=(5.0, 0.7))
    kernel = RationalQuadratic(alpha=2.0, width=3.0)
    assert kernel.restrict([1]) is kernel


@every_kernel
def test_json_round_trip(kernel):
    copy = Kernel.from_json(kernel.to_json())
    assert copy == kernel
    assert hash(copy) == hash(kernel)
    assert copy.to_json() == kernel.to_json()
    assert repr(copy) == repr(kernel)
    json.loads(kernel.to_json())


def test_sums_and_multiples():
    a, b, c = Gaussian(4.0), Linear(), Polynomial()
    assert (a + b) + c == a + (b + c) == Sum((a, b, c))
    assert 2 * a == a * 2.0 == np.float64(2) * a == Scaled(2.0, a)
    X = points(5)
    assert_close((a + 2.0 * b).G(X), a.G(X) + 2 * b.G(X))


@pytest.mark.parametrize(("n", "repeats"), [(2, 1), (12, 1), (21, 1), (60, 1), (40, 3)])
def test_neighbour_width_by_brute_force(n, repeats):
    X = np.repeat(points(n), repeats, axis=0)
    nearest = []
    for i, x in enumerate(X):
        others = [math.dist(x, y) for j, y in enumerate(X) if j != i]
        nearest += sorted(others)[:20]
    assert neighbour_width(X) == pytest.approx(np.median(nearest), rel=1e-14)


@pytest.mark.parametrize("d", [1, 8, 9, 40])
@pytest.mark.parametrize("kind", ["spread", "repeats", "far", "two far clouds", "huge", "tiny"])
def test_neighbour_width_of_any_cloud(d: int, kind: str) -> None:
    """By a tree with few inputs, by products with more: both find the nearest."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((90, d))
    if kind == "repeats":
        X[40:70] = X[:30]
    if kind == "far":
        X += 2.0**20
    if kind == "two far clouds":
        X[::2] += 2.0**34
    scale = {"huge": 2.0**500, "tiny": 2.0**-500}.get(kind, 1.0)
    distance = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(distance, np.inf)
    expected = scale * np.median(np.sort(distance, axis=1)[:, :20])
    assert neighbour_width(scale * X) == pytest.approx(expected, rel=1e-12)


def test_some_of_many_rows_tell_the_neighbour_width():
    X = np.random.default_rng(0).standard_normal((6000, 3))
    nearest = np.sort(cdist(X, X), axis=1)[:, 1:21]
    assert neighbour_width(X) == pytest.approx(np.median(nearest), rel=0.02)


@pytest.mark.parametrize("kernel", [Gaussian(1.3), Polynomial(3), Gaussian(1.0) + Polynomial(2)])
def test_blocks_in_pieces_are_those_in_one(kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((9, 3)), rng.standard_normal((7, 3))

    def all_blocks() -> list[np.ndarray]:
        return [*kernel.blocks(X), kernel.K(X, Y), kernel.D(X, Y), kernel.L(X, Y)]

    whole = all_blocks()
    monkeypatch.setattr("nvsd.kernels.blocks.PIECE", 20)
    monkeypatch.setattr("nvsd.linalg.in_pieces.FLOPS", 1.0)
    for one, other in zip(whole, all_blocks(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


@every_kernel
@pytest.mark.parametrize(("rows", "functions"), [(3, 5), (40, 3), (200, 7)])
def test_many_functions_at_once_are_the_same_as_one_by_one(
    kernel: Kernel, rows: int, functions: int, rng: np.random.Generator
) -> None:
    X, X_new = rng.standard_normal((rows, D)), rng.standard_normal((rows + 1, D))
    alpha = rng.standard_normal((rows, functions))
    beta = rng.standard_normal((D, rows, functions))
    f, slopes = blocks.evaluate(kernel, X_new, X, alpha, beta)
    for c in range(functions):
        one = blocks.evaluate(kernel, X_new, X, alpha[:, [c]], beta[:, :, [c]])
        for many, alone in zip((f, slopes), one, strict=True):
            largest = np.abs(alone).max()
            np.testing.assert_allclose(many[..., [c]], alone, rtol=0, atol=1e-12 * largest)
