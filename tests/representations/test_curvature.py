"""‖H_aa‖ and ‖(H⁻¹)_aa‖ of every representation against H = Z A⁻¹ Zᵀ in dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from path_problems import Twin, kernels, representations, sample

import nvsd
from nvsd.kernels import Anova, Gaussian, Kernel, Linear, Matern52, Polynomial, Sum, Warped
from nvsd.representations.curvature import shifted_inverse_block_norms

N, D, NU = 8, 3, 1e-2


def dense(X, kernel: Kernel, nu: float = NU) -> np.ndarray:
    twin = Twin(X, np.arange(len(X)), kernel, nu)
    return twin.Z @ np.linalg.solve(twin.A, twin.Z.T)


def norms(H: np.ndarray, d: int = D) -> np.ndarray:
    n = len(H) // d
    blocks = [slice(a * n, (a + 1) * n) for a in range(d)]
    return np.array([np.linalg.norm(H[rows, rows], 2) for rows in blocks])


@pytest.mark.parametrize("special", ["plain", "rows", "column"])
@pytest.mark.parametrize("kernel", kernels(D), ids=str)
def test_block_norms_are_those_of_the_dense_twin(kernel: Kernel, special: str) -> None:
    X, _ = sample(7, N, D, special)
    H = dense(X, kernel)
    expected, size = norms(H), np.linalg.norm(H, 2)
    for kind in representations(kernel):
        found = nvsd.prepare(X, kernel=kernel, nu=NU, representation=kind).representation
        np.testing.assert_allclose(found.curve_norms, expected, rtol=1e-6, atol=1e-9 * size)
        assert (found.curve_norms >= expected * (1 - 1e-12)).all()
        inverse = found.curve_inverse_norms
        if np.linalg.eigvalsh(H)[0] > 1e-6 * size:
            exact = norms(np.linalg.inv(H))
            assert (inverse >= exact * (1 - 1e-9)).all()
            np.testing.assert_allclose(inverse, exact, rtol=1e-2)
        assert (inverse >= norms(np.linalg.pinv(H, rcond=1e-9)) * (1 - 1e-6)).all()


@pytest.mark.parametrize("kernel", kernels(D), ids=str)
def test_without_the_matrix_the_norms_are_bounded(kernel: Kernel) -> None:
    X, _ = sample(7, 20, D)
    found = nvsd.prepare(X, kernel=kernel, nu=NU, representation="matrix-free").representation
    slopes = kernel.L(X) / (2 * NU * len(X))
    exact = norms(slopes)
    assert (found.curve_norms >= norms(dense(X, kernel)) * (1 - 1e-9)).all()
    assert (found.curve_norms >= exact * (1 - 1e-9)).all()
    traces = slopes.diagonal().reshape(D, -1).sum(axis=1)
    assert (found.curve_norms <= traces * (1 + 1e-9)).all()
    assert np.isinf(found.curve_inverse_norms).all()


def test_row_sums_are_far_below_the_trace_where_samples_are_far_apart() -> None:
    X = np.random.default_rng(0).standard_normal((40, 60))
    products = Gaussian(4.0).products(X)
    L = Gaussian(4.0).L(X)
    traces = L.diagonal().reshape(60, -1).sum(axis=1)
    assert (products.slope_norms() < 0.25 * traces).all()
    assert (products.slope_norms() >= norms(L, 60) * (1 - 1e-12)).all()


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian((1.0, 2.0, 0.5)),
        Polynomial(3),
        Sum((Linear(), Gaussian(2.0))),
        0.3 * Matern52(1.0),
        Anova(order=3, units=("a", "b", "a"), weights=(1.0, 0.2)),
        Anova(order=2, levels=(0, 0, 2)),
        Warped(Gaussian(2.0)),
        0.5 * Anova(order=1) + Warped(Linear()),
    ],
    ids=str,
)
def test_slopes_are_bounded_for_every_kind_of_products(kernel: Kernel) -> None:
    X, _ = sample(3, 15, D)
    if "levels=(0, 0, 2)" in str(kernel):
        X[:, 2] = X[:, 2] > 0
    L = 2.0 * kernel.L(X)
    bounds = kernel.products(X, 2.0).slope_norms()
    assert (bounds >= norms(L) * (1 - 1e-12)).all()
    assert (bounds <= L.diagonal().reshape(D, -1).sum(axis=1) * (1 + 1e-12)).all()


def test_landmarks_at_all_samples_have_the_norms_of_the_exact_problem() -> None:
    X, y = sample(7, N, D)
    prepared = nvsd.prepare(
        X, y=y, kernel=Gaussian(1.5), nu=NU, value_points=N, derivative_points=N
    )
    found, H = prepared.representation, dense(X, Gaussian(1.5))
    np.testing.assert_allclose(found.curve_norms, norms(H), rtol=1e-6)
    np.testing.assert_allclose(found.curve_inverse_norms, norms(np.linalg.inv(H)), rtol=1e-3)


def test_monomials_of_many_rows_have_fewer_rows_of_derivatives() -> None:
    X, _ = sample(7, 60, 2)
    found = nvsd.prepare(X, kernel=Polynomial(3), nu=NU, representation="monomial").representation
    assert found.shape[1] < 60
    np.testing.assert_allclose(found.curve_norms, norms(dense(X, Polynomial(3)), 2), rtol=1e-7)
    assert np.isinf(found.curve_inverse_norms).all()


def test_without_nu_there_are_norms_too() -> None:
    X, y = sample(7, 60, 2)
    prepared = nvsd.prepare(X, kernel=Polynomial(2), nu=0.0, representation="monomial")
    twin = Twin(X, y, Polynomial(2), 1e-12)
    H = twin.Z @ np.linalg.solve(twin.A, twin.Z.T)
    np.testing.assert_allclose(prepared.representation.curve_norms, norms(H, 2), rtol=1e-6)


def test_a_smaller_nu_widens_the_intervals() -> None:
    X, _ = sample(7, N, D)
    found = [
        nvsd.prepare(X, kernel=Gaussian(1.5), nu=nu).representation.curve_norms
        for nu in (1.0, 1e-2, 1e-4)
    ]
    assert (np.diff(found, axis=0) > 0).all()


def test_the_factor_of_the_flat_end_bounds_the_inverse_as_a_factor_of_h_does() -> None:
    X, y = sample(7, 40, 6)
    H = dense(X, Gaussian(1.5))
    exact = norms(np.linalg.inv(H), 6)
    fresh, used = (nvsd.prepare(X, kernel=Gaussian(1.5), nu=NU) for _ in range(2))
    assert len(H) > 200  # smaller systems are diagonalised and have no factors
    kappa = 1e9 * used.representation.system.kappa_unit
    assert fresh.representation.system.inverse_factor(kappa) is None
    nvsd.nvsd_path(used, y, n_taus=3)
    assert used.representation.system.inverse_factor(kappa) is not None
    for prepared in (fresh, used):
        found = prepared.representation.curve_inverse_norms
        assert (found >= exact * (1 - 1e-9)).all()
        np.testing.assert_allclose(found, exact, rtol=1e-2)


def test_a_shift_that_matters_gives_no_bound(rng) -> None:
    A = rng.standard_normal((12, 12))
    H = A @ A.T + 0.1 * np.eye(12)
    exact = norms(np.linalg.inv(H), 3)
    for shift in (1e-8, 1e-5, 1e-3, 1e-1):
        C = np.linalg.inv(np.linalg.cholesky(2.0 * (H + shift * np.eye(12))))
        found = shifted_inverse_block_norms(np.asfortranarray(C), 3, 2.0, shift)
        if found is not None:
            assert (found >= exact).all()
            assert (found <= 1.02 * exact).all()
    assert found is None
