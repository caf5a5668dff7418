"""A and its inverse by way of the samples, against dense matrices and the factor of A."""

from __future__ import annotations

import numpy as np
import pytest

from nvsd.linalg import cholesky
from nvsd.representations.maps import DenseMap, MonomialMap
from nvsd.representations.monomials import Monomials
from nvsd.representations.quadratic import DenseQuadratic, SampleQuadratic

N, D, CURVATURE = 6, 3, 2.0


def both(nu: float, rng):
    monomials = Monomials(D, 3, 1.0)
    X = rng.standard_normal((N, D))
    Phi = np.ascontiguousarray(monomials.features(X))
    A = CURVATURE / N * Phi.T @ Phi + 2 * nu * np.eye(monomials.r)
    found = SampleQuadratic(Phi, nu, 2 * nu * N / CURVATURE)
    return (
        A,
        found,
        DenseQuadratic(A, cholesky(A.copy()), nu),
        MonomialMap(monomials.lower(X), monomials),
    )


@pytest.mark.parametrize("nu", [1e-3, 1.0])
def test_both_are_the_dense_matrix(nu: float, rng) -> None:
    A, *kinds, _ = both(nu, rng)
    R = rng.standard_normal((4, len(A)))
    inverse = np.linalg.inv(A)
    for kind in kinds:
        np.testing.assert_allclose(kind.times(R), R @ A, rtol=1e-10)
        np.testing.assert_allclose(kind.solve(R), R @ inverse, rtol=1e-8)
        half = np.einsum("kp,pq,kq->k", R, inverse, R) / 2
        np.testing.assert_allclose(kind.half_square(R), half, rtol=1e-8)
        assert kind.inverse_trace() == pytest.approx(np.trace(inverse), rel=1e-8)


@pytest.mark.parametrize("nu", [1e-3, 1.0])
def test_a_vector_that_the_samples_nearly_explain_keeps_its_digits(nu: float, rng) -> None:
    A, found, dense, _ = both(nu, rng)
    theta = rng.standard_normal((1, len(A)))
    R = 1e8 * theta @ (A - 2 * nu * np.eye(len(A)))
    np.testing.assert_allclose(found.half_square(R), dense.half_square(R), rtol=1e-9)
    assert (found.half_square(R) > 0).all()


@pytest.mark.parametrize("nu", [1e-3, 1.0])
def test_curve_norms_bound_those_of_the_dense_matrix(nu: float, rng) -> None:
    A, *kinds, sparse = both(nu, rng)
    Z = sparse.forward(np.eye(len(A))).reshape(len(A), -1).T
    exact = [
        np.linalg.norm(each @ np.linalg.solve(A, each.T), 2) for each in Z.reshape(D, N, len(A))
    ]
    for kind in kinds:
        for Z_map in (sparse, DenseMap(np.ascontiguousarray(Z), D)):
            norms = kind.curve_norms(Z_map)
            np.testing.assert_allclose(norms, exact, rtol=1e-7)
            assert (norms >= np.array(exact) * (1 - 1e-12)).all()


def test_products_against_features_are_those_of_dense_blocks(rng) -> None:
    A, found, _, sparse = both(1e-2, rng)
    Z = sparse.forward(np.eye(len(A))).reshape(len(A), -1).T
    for Z_map in (sparse, DenseMap(np.ascontiguousarray(Z), D)):
        for block, (L, across) in zip(
            Z.reshape(D, N, len(A)), Z_map.against(found.Phi), strict=True
        ):
            np.testing.assert_allclose(L, block @ block.T, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(across, block @ found.Phi.T, rtol=1e-12, atol=1e-12)
