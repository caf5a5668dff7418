"""Landmarks: all points against the exact path, some points against CVXPY and plain sums."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import xarray as xr
from path_problems import kernels, penalties

import nvsd
from nvsd.data.landmarks import HELD_OUT, Landmarks
from nvsd.data.sources import rows_of
from nvsd.kernels import Gaussian, Matern52, Polynomial
from nvsd.penalties import ElasticNet, Lasso

KERNEL = Gaussian(2.0)
TAUS = np.geomspace(0.5, 0.005, 5)


def data(n: int = 30, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    return X, 2 + np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(n)


def some(path: xr.Dataset, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which rows of X are value points, and which are derivative points."""
    return tuple(
        np.array([int(np.flatnonzero((point == X).all(axis=1))[0]) for point in path[name].values])
        for name in ("value_points", "derivative_points")
    )


def assert_same_path(path: xr.Dataset, expected: xr.Dataset, X: np.ndarray) -> None:
    gaps = np.maximum(path.gap, expected.gap) + 1e-10 * expected.attrs["scale"]
    assert (abs(path.objective - expected.objective) <= gaps).all()
    np.testing.assert_allclose(path.derivative_norm, expected.derivative_norm, atol=2e-3)
    np.testing.assert_allclose(path.nvsd.predict(X), expected.nvsd.predict(X), atol=1e-3)


# --- the problem that is solved ------------------------------------------------------------------


@pytest.mark.parametrize("kernel", kernels(3), ids=str)
def test_all_points_give_the_exact_path(kernel) -> None:
    X, y = data(16)
    exact = nvsd.nvsd_path(X, y, kernel=kernel, taus=TAUS, tol=1e-10, max_iter=20_000)
    path = nvsd.nvsd_path(
        X, y, kernel=kernel, taus=TAUS, tol=1e-10, max_iter=20_000, value_points=16
    )
    assert_same_path(path, exact, X)
    assert "derivative_norm_held_out" not in path  # no row is left to hold out


@pytest.mark.parametrize("penalty", penalties(3), ids=str)
def test_some_points_solve_the_stated_problem(penalty) -> None:
    """The minimum in ω, from CVXPY and dense matrices."""
    cp = pytest.importorskip("cvxpy")
    X, y = data()
    tau, nu, n = 0.1, 1e-2, len(X)
    path = nvsd.nvsd_path(
        X, y, kernel=KERNEL, penalty=penalty, nu=nu, taus=[tau], tol=1e-8,
        value_points=6, derivative_points=9,
    )  # fmt: skip
    V, M = (X[index] for index in some(path, X))
    D = KERNEL.D(M, V)
    G = np.block([[KERNEL.K(V), D.T], [D, KERNEL.L(M)]])
    F = np.hstack([KERNEL.K(X, V), KERNEL.D(M, X).T])
    values, vectors = np.linalg.eigh(G)
    kept = values > 1e-12 * values[-1]
    root = vectors[:, kept] * np.sqrt(values[kept])
    back = vectors[:, kept] / np.sqrt(values[kept])  # ω = back θ
    theta = cp.Variable(kept.sum())
    z = (root[len(V) :] / np.sqrt(len(M))) @ theta
    bound = penalty.bind(3)
    blocks = [z[a * len(M) : (a + 1) * len(M)] for a in range(3)]
    J = sum(v * cp.norm(b) for v, b in zip(bound.feature_weights, blocks, strict=True))
    for g, w in enumerate(bound.group_weights):
        J += w * cp.norm(cp.hstack([blocks[a] for a in range(3) if bound.labels[a] == g]))
    J += bound.ridge * cp.sum_squares(z)
    loss = cp.sum_squares(y - y.mean() - (F @ back) @ theta) / n
    minimum = cp.Problem(cp.Minimize(loss + tau * J + nu * cp.sum_squares(theta))).solve(
        solver="CLARABEL"
    )
    row = path.isel(tau=0)
    assert abs(row.objective.item() - minimum) <= row.gap.item() + 1e-6 * path.attrs["scale"]
    omega = row.theta.values
    assert row.rkhs_norm.item() == pytest.approx(omega @ G @ omega, rel=1e-8)
    assert row.loss.item() == pytest.approx(np.mean((y - y.mean() - F @ omega) ** 2), rel=1e-8)
    norms = np.linalg.norm((G @ omega)[len(V) :].reshape(3, -1), axis=1) / np.sqrt(len(M))
    assert row.penalty.item() == pytest.approx(bound.value(norms), rel=1e-6)


def test_predictions_are_sums_over_the_points() -> None:
    X, y = data(40)
    path = nvsd.nvsd_path(
        X, y, kernel=Matern52(2.0), taus=TAUS, value_points=7, derivative_points=11,
        standardize=True,
    )  # fmt: skip
    X_new = np.random.default_rng(0).standard_normal((6, 3))
    kernel = Matern52(2.0)
    inside = (X_new - X.mean(axis=0)) / X.std(axis=0)
    V, M = path.value_points.values, path.derivative_points.values
    expected = path.theta.values @ np.vstack([kernel.K(V, inside), kernel.D(M, inside)])
    np.testing.assert_allclose(path.nvsd.predict(X_new), expected + y.mean(), atol=1e-9)
    step = 1e-5 * np.eye(3)
    for a in range(3):
        up, down = (path.nvsd.predict(X_new + sign * step[a]) for sign in (1, -1))
        slope = path.nvsd.gradient(X_new).isel(feature=a)
        np.testing.assert_allclose(slope, (up - down) / 2e-5, atol=1e-5)


def test_norms_on_held_out_rows_stand_beside_those_on_the_points() -> None:
    X, y = data(60)
    path = nvsd.nvsd_path(X, y, kernel=KERNEL, taus=TAUS, value_points=40, derivative_points=4)
    V, M = some(path, X)
    others = np.setdiff1d(np.arange(60), np.union1d(V, M))
    assert len(others) == 20
    np.testing.assert_allclose(
        path.derivative_norm_held_out, path.nvsd.derivative_norm(X[others]), atol=1e-10
    )
    # With few derivative points f is flat there and steep elsewhere.
    flat = ~path.support.values
    assert flat.any()
    assert (path.derivative_norm_held_out.values[flat] > 0.01).any()
    assert path.attrs["representation"] == "landmarks"
    assert path.attrs["n_value_points"] == 40
    assert path.attrs["n_derivative_points"] == 4


# --- drawing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "derivatives", "sizes"),
    [(None, None, (30, 30)), (5, None, (5, 5)), (None, 6, (6, 6)), (4, 9, (4, 9)), (9, 4, (9, 4))],
)
def test_numbers_of_points(values, derivatives, sizes) -> None:
    rows = rows_of(data()[0])
    one, two, other = (Landmarks.draw(rows, values, derivatives, seed) for seed in (0, 0, 1))
    assert (len(one.values), len(one.derivatives)) == sizes
    assert np.array_equal(one.values, two.values)
    assert sizes == (30, 30) or not np.array_equal(one.values, other.values)
    small, large = sorted((one.values, one.derivatives), key=len)
    assert np.array_equal(large[: len(small)], small)
    assert len(one.held_out) == 30 - max(sizes)
    together = np.vstack([large, one.held_out])
    assert len(np.unique(together, axis=0)) == 30


def test_default_number_and_held_out_rows_are_bounded() -> None:
    rows = rows_of(np.random.default_rng(0).standard_normal((5000, 9)))
    drawn = Landmarks.draw(rows, None, None, 0)
    assert len(drawn.values) == len(drawn.derivatives) == 300
    assert len(drawn.held_out) == HELD_OUT


def test_points_by_number_of_row() -> None:
    X, _ = data()
    drawn = Landmarks.draw(rows_of(X), [7, 3], np.array([3, 9, 20]), 0)
    assert np.array_equal(drawn.values, X[[7, 3]])
    assert np.array_equal(drawn.derivatives, X[[3, 9, 20]])
    mixed = Landmarks.draw(rows_of(X), [7, 3], 5, 0)
    assert np.array_equal(mixed.derivatives[:2], X[[7, 3]])
    assert len(mixed.derivatives) == 5


@pytest.mark.parametrize("points", [0, 31, -1, 2.5, [1, 1], [30], [-1], [], [[1]], ["a"], True])
def test_points_that_there_cannot_be_are_refused(points) -> None:
    for name in ("value_points", "derivative_points"):
        with pytest.raises(ValueError, match=f"{name}.*give"):
            nvsd.prepare(data()[0], kernel=KERNEL, **{name: points})


def test_points_are_for_landmarks_only() -> None:
    with pytest.raises(ValueError, match="points were given for 'derivative'"):
        nvsd.prepare(data()[0], kernel=KERNEL, representation="derivative", value_points=3)


# --- sources and results -------------------------------------------------------------------------


def test_every_source_gives_the_same_path(tmp_path) -> None:
    da = pytest.importorskip("dask.array")
    X, y = data(50)
    solve = partial(
        nvsd.nvsd_path, taus=TAUS, value_points=8, derivative_points=12, random_state=4,
        standardize=True,
    )  # fmt: skip
    expected = solve(X, y)
    np.save(tmp_path / "X.npy", X)
    blocks = [(X[:13], y[:13]), (X[13:], y[13:])]
    for source in (
        (blocks,),
        (np.load(tmp_path / "X.npy", mmap_mode="r"), y),
        (da.from_array(X, chunks=(17, 2)), da.from_array(y, chunks=9)),
    ):
        path = solve(*source)
        np.testing.assert_allclose(path.value_points, expected.value_points, atol=1e-12)
        np.testing.assert_allclose(path.objective, expected.objective, rtol=1e-8)
        np.testing.assert_allclose(path.nvsd.predict(X[:3]), expected.nvsd.predict(X[:3]), 1e-5)
    with pytest.raises(ValueError, match="only once"):
        nvsd.nvsd_path(iter(blocks), value_points=8)


def test_prepared_landmarks_serve_several_targets() -> None:
    X, y = data(50)
    options = {"kernel": KERNEL, "value_points": 10}
    prepared = nvsd.prepare(X, **options)
    for target in (y, y**2):
        path = nvsd.nvsd_path(prepared, target, taus=TAUS)
        expected = nvsd.nvsd_path(X, target, taus=TAUS, **options)
        np.testing.assert_allclose(path.objective, expected.objective, rtol=1e-9)


def test_checkpoints_know_their_landmarks(tmp_path) -> None:
    X, y = data(50)
    options = {"kernel": KERNEL, "taus": TAUS, "checkpoint": tmp_path / "a.npz"}
    path = nvsd.nvsd_path(X, y, value_points=5, **options)
    assert nvsd.nvsd_path(X, y, value_points=5, **options).identical(path)
    for other in ({"value_points": 6}, {"value_points": 5, "random_state": 1}):
        with pytest.raises(ValueError, match="was made with a different"):
            nvsd.nvsd_path(X, y, **other, **options)


def test_a_saved_path_predicts_the_same(tmp_path) -> None:
    X, y = data(50)
    penalty = ElasticNet([0.4, 0.9])
    path = nvsd.nvsd_path(X, y, penalty=penalty, taus=TAUS, value_points=5, derivative_points=8)
    assert path.value_points.dims == ("value_point", "feature")
    assert path.derivative_norm_held_out.dims == ("mu", "tau", "feature")
    path.to_netcdf(tmp_path / "path.nc", engine="h5netcdf")
    read = xr.load_dataset(tmp_path / "path.nc", engine="h5netcdf")
    for method in ("predict", "gradient", "derivative_norm"):
        assert getattr(path.nvsd, method)(X).equals(getattr(read.nvsd, method)(X))


def test_polynomial_kernels_are_exact_with_points_that_span_them() -> None:
    X, y = data(60)
    exact = nvsd.nvsd_path(X, y, kernel=Polynomial(2), penalty=Lasso(), taus=TAUS, tol=1e-9)
    path = nvsd.nvsd_path(
        X, y, kernel=Polynomial(2), taus=TAUS, tol=1e-9, value_points=10, derivative_points=60
    )
    assert_same_path(path, exact, X)


def test_too_many_functions_are_refused() -> None:
    with pytest.raises(ValueError, match="GiB are allowed"):
        nvsd.prepare(data()[0], kernel=KERNEL, value_points=20, max_memory=1e4)
