"""Explicit features of polynomial kernels against the kernel itself and finite differences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvsd.kernels import Gaussian, Linear, Polynomial
from nvsd.representations.monomials import Monomials, n_monomials

SHAPES = [
    pytest.param(d, degree, offset, id=f"d{d}-p{degree}-c{offset:g}")
    for d, degree, offset in itertools.product([1, 2, 4], [1, 2, 3, 5], [0.0, 0.5, 1.0])
]
every_shape = pytest.mark.parametrize(("d", "degree", "offset"), SHAPES)


def kernel_by_loops(X: np.ndarray, Y: np.ndarray, degree: int, offset: float) -> np.ndarray:
    value = [
        [(sum(a * b for a, b in zip(x, y, strict=True)) + offset) ** degree for y in Y] for x in X
    ]
    return np.array(value)


def exponents(d: int, degree: int, offset: float) -> set[tuple[int, ...]]:
    """All exponents (k_1, ..., k_d) of the expansion of (x·x' + c)^p, by trial."""
    sums = range(degree + 1) if offset else [degree]
    return {k for k in itertools.product(range(degree + 1), repeat=d) if sum(k) in sums}


@every_shape
def test_features_reproduce_the_kernel(d: int, degree: int, offset: float, rng) -> None:
    X, Y = rng.standard_normal((6, d)), rng.standard_normal((5, d))
    monomials = Monomials(d, degree, offset)
    Phi, Psi = monomials.features(X), monomials.features(Y)
    expected = kernel_by_loops(X, Y, degree, offset)
    assert Phi.shape == (6, monomials.r)
    np.testing.assert_allclose(Phi @ Psi.T, expected, rtol=1e-12, atol=1e-12 * abs(expected).max())


@every_shape
def test_each_feature_is_one_weighted_monomial(d: int, degree: int, offset: float) -> None:
    """Points with prime coordinates tell which monomial a feature is."""
    x = np.array([2.0, 3.0, 5.0, 7.0])[:d]
    features = Monomials(d, degree, offset).features(x[None])[0]
    expected = []
    for k in exponents(d, degree, offset):
        rest = degree - sum(k)
        ways = math.factorial(degree) / math.factorial(rest)
        ways /= math.prod(math.factorial(e) for e in k)
        expected.append(math.sqrt(ways * offset**rest) * math.prod(x**k))
    np.testing.assert_allclose(np.sort(features), np.sort(expected), rtol=1e-13)


@every_shape
def test_sizes(d: int, degree: int, offset: float) -> None:
    monomials = Monomials(d, degree, offset)
    lower = exponents(d, degree - 1, offset)
    assert monomials.r == n_monomials(d, degree, offset) == len(exponents(d, degree, offset))
    assert monomials.q == len(lower)
    assert monomials.T.shape == (d * monomials.q, monomials.r)
    np.testing.assert_array_equal(np.diff(monomials.T.indptr), 1)  # one entry in each row


@every_shape
def test_derivative_maps_are_the_derivatives_of_the_features(
    d: int, degree: int, offset: float, rng
) -> None:
    X, step = rng.standard_normal((5, d)), 1e-5
    monomials = Monomials(d, degree, offset)
    theta = rng.standard_normal(monomials.r)
    lower = (monomials.T @ theta).reshape(d, monomials.q)
    for a in range(d):
        shift = step * np.eye(d)[a]
        difference = (monomials.features(X + shift) - monomials.features(X - shift)) / (2 * step)
        exact = monomials.lower(X) @ lower[a]
        np.testing.assert_allclose(
            exact, difference @ theta, rtol=1e-6, atol=1e-6 * abs(exact).max()
        )


@every_shape
def test_maps_reproduce_the_mixed_second_derivatives(d: int, degree: int, offset: float, rng):
    """∂_a φ(x)·∂_b φ(y) is the kernel's own L, which has tests of its own."""
    X, Y = rng.standard_normal((3, d)), rng.standard_normal((4, d))
    monomials = Monomials(d, degree, offset)
    T = monomials.T.toarray().reshape(d, monomials.q, monomials.r)
    left = np.concatenate([monomials.lower(X) @ T_a for T_a in T])
    right = np.concatenate([monomials.lower(Y) @ T_a for T_a in T])
    L = Polynomial(degree, offset).L(X, Y)
    np.testing.assert_allclose(left @ right.T, L, rtol=1e-11, atol=1e-11 * abs(L).max())


@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 5),
    degree=st.integers(1, 4),
    rows=st.integers(1, 4),
)
def test_any_points_reproduce_the_kernel(seed: int, d: int, degree: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.choice([-2.0, -1.0, 0.0, 0.5, 3.0], size=(rows, d))
    offset = float(rng.choice([0.0, 2.0]))
    Phi = Monomials(d, degree, offset).features(X)
    expected = kernel_by_loops(X, X, degree, offset)
    np.testing.assert_allclose(Phi @ Phi.T, expected, rtol=1e-11, atol=1e-11 * abs(expected).max())


def test_which_kernels_have_monomials() -> None:
    assert Linear().polynomial == (1, 0.0)
    assert Polynomial(4, 0.5).polynomial == (4, 0.5)
    assert Gaussian(4.0).polynomial is None
    assert (2.0 * Linear()).polynomial is None
