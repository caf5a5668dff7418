"""Losses against numerical differentiation, brute force, and each other on whole paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from path_problems import Twin, kernels, penalties, representations, sample

import nvsd
from nvsd.data.sources import rows_of
from nvsd.descriptions import concrete
from nvsd.kernels import Gaussian, Kernel, Polynomial
from nvsd.losses import (
    SQUARED,
    Huber,
    Logistic,
    Loss,
    Parabola,
    QuadraticLoss,
    Quantile,
    Squared,
)
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty, block_norms
from nvsd.representations import MatrixFreeSpace, PreconditionedSpace
from nvsd.representations.base import kinds
from nvsd.ridge.dense import fit_ridge, ridge_norms
from nvsd.ridge.nystrom import fit_nystrom
from nvsd.solvers.certificate import certificate


@dataclass(frozen=True)
class HalfSquared(QuadraticLoss):
    """ℓ(y, f) = (y − f)²/2: of half the weights of everything else, half the objective."""

    short_name: ClassVar[str] = ""
    measure: ClassVar[str] = "half the mean squared error"

    @property
    def curvature(self) -> float:
        return 1.0


HALF = HalfSquared()
every_loss = pytest.mark.parametrize("loss", [Squared(), HALF], ids=str)
numbers = st.floats(-100, 100)


def test_every_loss_of_the_library_is_tested_here() -> None:
    own = [kind for kind in concrete(Loss) if kind.__module__.startswith("nvsd.")]
    assert {*own} == {Squared, Parabola, Logistic, Huber, Quantile}


# --- one loss ------------------------------------------------------------------------------------


@every_loss
def test_values_are_the_mean_of_the_definition(loss, rng) -> None:
    y, F = rng.standard_normal(7), rng.standard_normal((3, 7))
    naive = [[loss.curvature / 2 * (a - b) ** 2 for a, b in zip(y, f, strict=True)] for f in F]
    np.testing.assert_allclose(loss.pointwise(y, F), naive, rtol=1e-14)
    np.testing.assert_allclose(loss.value(y, F), np.mean(naive, axis=1), rtol=1e-14)
    np.testing.assert_allclose(loss.value(y, F[0]), np.mean(naive[0]), rtol=1e-14)
    np.testing.assert_allclose(loss.of_residuals(y - F), np.mean(naive, axis=1), rtol=1e-14)
    np.testing.assert_allclose(Loss.value(loss, y, F), loss.value(y, F), rtol=1e-14)


def test_squared_is_the_squared_error() -> None:
    y, f = np.array([1.0, 4.0]), np.array([3.0, 1.0])
    np.testing.assert_array_equal(Squared().pointwise(y, f), [4.0, 9.0])
    np.testing.assert_array_equal(Squared().gradient(y, f), [4.0, -6.0])
    assert float(Squared().value(y, f)) == 6.5
    assert Squared() == SQUARED
    assert Squared().shift(10, 0.3) == pytest.approx(10 * 0.3)
    assert HALF.shift(10, 0.3) == pytest.approx(2 * 10 * 0.3)


@every_loss
def test_the_gradient_is_that_of_the_values(loss, rng) -> None:
    y, F, step = rng.standard_normal(7), 3 * rng.standard_normal((3, 7)), 1e-6
    slopes = (loss.pointwise(y, F + step) - loss.pointwise(y, F - step)) / (2 * step)
    np.testing.assert_allclose(loss.gradient(y, F), slopes, rtol=1e-7, atol=1e-7)


@every_loss
def test_the_conjugate_is_the_supremum(loss, rng) -> None:
    grid = np.linspace(-60.0, 60.0, 240_001)
    for y, v in rng.uniform(-5, 5, (6, 2)):
        gain = v * grid - loss.pointwise(np.array(y), grid)
        assert 0 < gain.argmax() < len(grid) - 1  # it is inside the grid
        conjugate = float(loss.conjugate(np.array([y]), np.array([v]))[0])
        spacing = grid[1] - grid[0]
        assert gain.max() <= conjugate + 1e-12 * abs(conjugate)
        assert conjugate <= gain.max() + loss.curvature * spacing**2


@given(y=numbers, f=numbers, v=numbers, curvature=st.sampled_from([1.0, 2.0]))
def test_fenchel_young(y: float, f: float, v: float, curvature: float) -> None:
    """ℓ(f) + ℓ*(v) ≥ vf, with equality where v is the gradient at f."""
    loss = Squared() if curvature == 2.0 else HALF

    def excess(v: np.ndarray) -> float:
        return float((loss.pointwise(a, b) + loss.conjugate(a, v) - v * b)[0])

    a, b = np.array([y]), np.array([f])
    size = 1.0 + y**2 + f**2 + v**2
    assert excess(np.array([v])) >= -1e-13 * size
    assert abs(excess(loss.gradient(a, b))) <= 1e-13 * (1.0 + y**2 + f**2)
    assert excess(loss.gradient(a, b) + 1.0) > 0


@every_loss
def test_the_origin_is_the_constant_of_least_loss(loss, rng) -> None:
    y = 5 + rng.standard_normal(9)
    best = float(loss.value(y, np.full(9, loss.origin(y))))
    for change in (-1e-3, 1e-3):
        assert float(loss.value(y, np.full(9, loss.origin(y) + change))) > best


@every_loss
def test_json(loss) -> None:
    assert Loss.from_json(loss.to_json()) == loss
    assert type(Loss.from_json(loss.to_json())) is type(loss)


@pytest.mark.parametrize(
    "text", ["Squared", "[1]", "{}", '{"loss": "Absolute"}', '{"loss": "Squared", "c": 1}', "3"]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"does not describe a loss; .*to_json returned\.$"):
        Loss.from_json(text)


# --- the duality gap in three terms --------------------------------------------------------------


@pytest.mark.parametrize("penalty", penalties(3), ids=str)
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(3)], ids=str)
def test_the_gap_in_three_terms_is_the_certificate(kernel: Kernel, penalty: Penalty, rng) -> None:
    """Σ_i [ℓ + ℓ* − v_i f_i]/n + [τJ + (τJ)* − uᵀz] + ν‖θ − θ(v, u)‖², for any v and feasible u.

    With v the gradient of the loss at θ(u), the best v that there is for this u, it is the
    certificate in two terms; with that at θ itself it is an upper bound.
    """
    n, d, nu, tau = 8, 3, 1e-2, 0.7
    X, y = sample(3, n, d, "rows")
    twin, bound = Twin(X, y, kernel, nu), penalty.bind(d)
    target = twin.o.y

    def three_terms(theta: np.ndarray, u: np.ndarray, v: np.ndarray) -> float:
        f, z = twin.Phi @ theta, (twin.Z @ theta).reshape(1, d, n)
        first = SQUARED.pointwise(target, f) + SQUARED.conjugate(target, n * v) - n * v * f
        second = tau * bound.value(block_norms(z)) + bound.conjugate(block_norms(u), tau)
        apart = theta + (twin.Phi.T @ v + twin.Z.T @ u.ravel()) / (2 * nu)
        return float(first.mean() + second[0] - np.sum(u * z) + nu * apart @ apart)

    for kind in representations(kernel):
        made = nvsd.prepare(X, kernel=kernel, nu=nu, representation=kind)
        problem, _ = made.problem(y, center=True)
        kappa = made.representation.system.kappa_unit
        for _ in range(3):
            V, u = rng.standard_normal((1, d, n)), kappa * rng.standard_normal((1, d, n))
            if not bound.ridge:
                u *= 0.9 * tau / bound.gauge(block_norms(u))
            C, _ = problem.s1(V, np.array([kappa]))
            gap = float(certificate(problem, bound, np.array([tau]), C, u)[0])
            theta = twin.s1(V.ravel(), kappa)
            v_best, v_here = (
                SQUARED.gradient(target, twin.Phi @ point) / n
                for point in (twin.at(u.ravel()), theta)
            )
            assert three_terms(theta, u, v_best) == pytest.approx(gap, rel=1e-7)
            assert three_terms(theta, u, v_here) >= gap * (1 - 1e-7)
            other = v_best + 0.01 * rng.standard_normal(n)
            assert three_terms(theta, u, other) > gap


# --- another quadratic loss ----------------------------------------------------------------------

KINDS: dict[str, tuple[Kernel, dict[str, Any]]] = {
    "derivative": (Gaussian(1.5), {}),
    "factor": (Gaussian(1.5), {}),
    "matrix-free": (Gaussian(1.5), {}),
    "preconditioned": (Gaussian(1.5), {}),
    "monomial": (Polynomial(3), {}),
    "landmarks": (Gaussian(1.5), {"value_points": 5, "derivative_points": 6}),
}
N, D, NU = 9, 3, 1e-2


def assert_half(half: xr.Dataset, path: xr.Dataset, X_new: np.ndarray) -> None:
    """Half the objective at half the weights, and the same function."""
    scale = path.attrs["scale"]
    assert half.attrs["scale"] == pytest.approx(scale / 2, rel=1e-12)
    np.testing.assert_array_equal(2 * half.tau, path.tau)
    for each in (half, path):
        assert (each.gap <= each.attrs["tol"] * each.attrs["scale"]).all()
    slack = 2 * half.gap.values + path.gap.values + 1e-10 * scale
    assert (np.abs(2 * half.objective.values - path.objective.values) <= slack).all()
    total = half.loss + half.tau * half.penalty + half.nu * half.rkhs_norm
    np.testing.assert_allclose(half.objective, total, rtol=1e-12)
    # ν‖f − f'‖² is at most the gaps, and k(x, x) is of order one.
    for method, close in (("predict", 1e-4), ("gradient", 1e-3)):
        ours, theirs = (getattr(each.nvsd, method)(X_new).values for each in (half, path))
        np.testing.assert_allclose(ours, theirs, atol=close * np.abs(theirs).max())


def test_every_representation_is_among_them() -> None:
    own = {name for name, kind in kinds().items() if kind.__module__.startswith("nvsd.")}
    assert own == set(KINDS)


@pytest.mark.parametrize(
    "penalty", [Lasso(), GroupLasso(["a", "b", "a"]), ElasticNet(0.4)], ids=str
)
@pytest.mark.parametrize("kind", KINDS)
def test_half_the_loss_is_half_the_problem(kind: str, penalty: Penalty) -> None:
    X, y = sample(5, N, D)
    X_new, _ = sample(6, 7, D)
    kernel, options = KINDS[kind]
    given = {"kernel": kernel, "penalty": penalty, "tol": 1e-10, "max_iter": 50_000}
    given |= {"representation": kind, "n_taus": 6, "tau_ratio": 1e-2} | options
    path = nvsd.nvsd_path(X, y, nu=NU, **given)
    alone = nvsd.nvsd_path(X, y, nu=NU / 2, loss=HALF, **given)
    np.testing.assert_allclose(2 * alone.tau, path.tau, rtol=1e-6)  # features lose digits there
    half = nvsd.nvsd_path(X, y, nu=NU / 2, loss=HALF, taus=path.tau.values / 2, **given)
    assert half.attrs["representation"] == path.attrs["representation"] == kind
    assert Loss.from_json(half.attrs["loss"]) == HALF
    assert_half(half, path, X_new)


def in_blocks(X: np.ndarray, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(X[rows], y[rows]) for rows in (slice(0, 20), slice(20, 45), slice(45, None))]


@pytest.mark.parametrize("source", [in_blocks, lambda X, y: X], ids=["blocks", "array"])
def test_sums_over_rows_know_the_loss(source: Callable, monkeypatch) -> None:
    monkeypatch.setattr("nvsd.representations.monomial.KEEP", 0)
    X, y = sample(5, 60, D)
    rows = source(X, y)
    target = y if rows is X else None
    given = {"kernel": Polynomial(2), "tol": 1e-10, "n_taus": 6}
    path = nvsd.nvsd_path(rows, target, nu=NU, **given)
    half = nvsd.nvsd_path(rows, target, nu=NU / 2, loss=HALF, taus=path.tau.values / 2, **given)
    assert "fitted" not in path
    assert_half(half, path, sample(6, 7, D)[0])


@pytest.mark.parametrize("kernel", kernels(D), ids=str)
def test_kernel_ridge_knows_the_loss(kernel: Kernel) -> None:
    X, y = sample(5, N, D)
    nus = np.array([1e-3, 1e-1])
    fit, half = fit_ridge(X, y, kernel, nus), fit_ridge(X, y, kernel, nus / 2, loss=HALF)
    np.testing.assert_allclose(half.alpha, fit.alpha, rtol=1e-10)
    np.testing.assert_allclose(half.fitted(y), fit.fitted(y), rtol=1e-10)
    norms = ridge_norms(X, y, kernel, 1e-2, SQUARED)
    np.testing.assert_allclose(ridge_norms(X, y, kernel, 5e-3, HALF), norms, rtol=1e-10)
    points = X[:4]
    some = fit_nystrom(rows_of(X, y), points, kernel, nus)
    half = fit_nystrom(rows_of(X, y), points, kernel, nus / 2, loss=HALF)
    np.testing.assert_allclose(half.predict(X), some.predict(X), rtol=1e-8)


def test_a_refit_has_the_loss_of_its_path() -> None:
    X, y = sample(5, 20, D)
    given = {"kernel": Gaussian(1.5), "n_taus": 4}
    path = nvsd.nvsd_path(X, y, nu=NU, **given)
    half = nvsd.nvsd_path(X, y, nu=NU / 2, loss=HALF, **given)
    support = np.ones((4, D), dtype=bool)
    refit, other = (each.nvsd.debias(X, y, support=support) for each in (path, half))
    np.testing.assert_allclose(other.alpha, refit.alpha, rtol=1e-9)
    np.testing.assert_allclose(2 * other.loss, refit.loss, rtol=1e-9)


# --- what is no loss -----------------------------------------------------------------------------


def test_only_losses_are_taken() -> None:
    X, y = sample(5, N, D)
    for odd in ("squared", Squared, 2.0):
        with pytest.raises(ValueError, match=r"is not a loss; give one of nvsd\.losses"):
            nvsd.nvsd_path(X, y, loss=odd)
    prepared = nvsd.prepare(X, kernel=Gaussian(1.5))
    assert prepared.loss == SQUARED
    with pytest.raises(ValueError, match="loss was set by prepare"):
        nvsd.nvsd_path(prepared, y, loss=HALF)


def test_a_loss_that_is_not_quadratic_is_refused_by_name_or_solved() -> None:
    X, y = sample(5, N, D)
    refused = set()
    for kind, (kernel, options) in KINDS.items():
        given = {"kernel": kernel, "loss": Huber(0.5), "representation": kind, **options}
        if not kinds()[kind].splits:
            refused.add(kind)
            with pytest.raises(ValueError, match=f"{kind!r} needs a quadratic loss .* not Huber"):
                nvsd.prepare(X, **given)
        else:
            path = nvsd.nvsd_path(X, y, n_taus=3, **given)
            assert (path.gap <= 1e-6 * path.attrs["scale"]).all()
    assert refused == {MatrixFreeSpace.kind, PreconditionedSpace.kind, "landmarks"}
