"""What must not matter does not: order, units, origins, starts, batches, threads, where rows lie.

Two paths to the same minimum agree within their gaps, whatever else is different; sums over rows
agree to 1e-10.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from reliability_record import recorder
from threadpoolctl import threadpool_limits

import nvsd
from nvsd.data.sources import rows_of
from nvsd.data.sums import Moments
from nvsd.kernels import Gaussian, Isotropic, Kernel, Linear, Matern52, Polynomial
from nvsd.penalties import (
    ElasticNet,
    GroupLasso,
    Lasso,
    Penalty,
    SparseGroupLasso,
    block_norms,
)
from nvsd.representations.monomials import Monomials
from nvsd.solvers import FlatPoint, Settings, flat_point, solve_path, solver_named

N, NU, TOL = 9, 1e-2, 1e-8
ROUNDING = 1e-10  # of |y|²/n
EXAMPLES = 12

seeds = st.integers(0, 2**32 - 1)
widths = st.floats(0.7, 3.0).map(lambda w: round(w, 3))
isotropic: st.SearchStrategy[Kernel] = st.one_of(widths.map(Gaussian), widths.map(Matern52))
kernels: st.SearchStrategy[Kernel] = st.one_of(
    isotropic, st.just(Linear()), st.integers(2, 3).map(Polynomial)
)


@st.composite
def penalties(draw: st.DrawFn, d: int) -> Penalty:
    labels = draw(st.lists(st.sampled_from("abc"), min_size=d, max_size=d))
    share = draw(st.sampled_from([0.2, 0.5, 0.9]))
    kinds: list[Penalty] = [
        Lasso(),
        Lasso(weights=draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=d, max_size=d))),
        GroupLasso(labels),
        ElasticNet(share),
        SparseGroupLasso(labels, share),
    ]
    return draw(st.sampled_from(kinds))


@st.composite
def problems(draw: st.DrawFn, kernel: st.SearchStrategy[Kernel] = kernels) -> tuple:
    """X, y, kernel and penalty; some rows may repeat."""
    d = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(seeds))
    X = rng.standard_normal((N, d))
    if draw(st.booleans()):
        X[1] = X[0]
    y = np.sin(2 * X[:, 0]) + X[:, -1] ** 2 + 0.2 * rng.standard_normal(N)
    return X, y, draw(kernel), draw(penalties(d))


def path_of(X: Any, y: Any, kernel: Kernel, penalty: Penalty, **options: Any) -> xr.Dataset:
    options = {"nu": NU, "tol": TOL, "max_iter": 20_000, "n_taus": 4, "tau_ratio": 0.03} | options
    return nvsd.nvsd_path(X, y, kernel=kernel, penalty=penalty, **options)


def assert_same_minimum(one: xr.Dataset, other: xr.Dataset, factor: float = 1.0) -> None:
    """Objectives agree within the gaps, once those of the other are multiplied by a factor."""
    distance = np.abs(one.objective.values - factor * other.objective.values)
    slack = one.gap.values + factor * other.gap.values + ROUNDING * one.attrs["scale"]
    assert (distance <= slack).all(), (distance, slack)
    if isinstance(Kernel.from_json(one.kernel.item()), Isotropic):
        # ν|f − g|² is at most twice the sum of the gaps, and |f(x) − g(x)| at most |f − g|.
        f, g = (p.fitted.values - float(p.y_mean) for p in (one, other))
        apart = np.sqrt(2 * slack / NU)[:, None]
        assert (np.abs(f - np.sqrt(factor) * g) <= apart).all()


@pytest.fixture
def check(record_property: Callable) -> Callable:
    """Run a property over many examples, and note how many there were."""

    def run(strategy: st.SearchStrategy, property_: Callable, examples: int = EXAMPLES) -> None:
        count = 0

        @settings(max_examples=examples, phases=[Phase.generate], database=None)
        @given(strategy, seeds)
        def every(problem: tuple, seed: int) -> None:
            nonlocal count
            count += 1
            property_(*problem, np.random.default_rng(seed))

        every()
        recorder(record_property, "invariances")(cases=count, certified=count)

    return run


# --- order ---------------------------------------------------------------------------------------


def test_the_order_of_the_samples(check) -> None:
    def same(X, y, kernel, penalty, rng) -> None:
        order = rng.permutation(N)
        one = path_of(X, y, kernel, penalty)
        other = path_of(X[order], y[order], kernel, penalty, taus=one.tau.values)
        back = np.argsort(order)
        other = other.isel(sample=back) if "sample" in other.dims else other
        assert_same_minimum(one, other)

    check(problems(), same)


def test_the_order_of_the_features_with_their_groups(check) -> None:
    def same(X, y, kernel, penalty, rng) -> None:
        order = rng.permutation(X.shape[1])
        one = path_of(X, y, kernel, penalty)
        other = path_of(X[:, order], y, kernel, permuted(penalty, order), taus=one.tau.values)
        assert_same_minimum(one, other)

    check(problems(), same)


def permuted(penalty: Penalty, order: np.ndarray) -> Penalty:
    if isinstance(penalty, Lasso) and penalty.weights is not None:
        return Lasso(weights=[list(penalty.weights)[a] for a in order])
    if isinstance(penalty, GroupLasso):
        return GroupLasso([list(penalty.groups)[a] for a in order])
    if isinstance(penalty, SparseGroupLasso):
        return SparseGroupLasso([list(penalty.groups)[a] for a in order], penalty.rho)
    return penalty


# --- units and origins ---------------------------------------------------------------------------


def test_the_unit_of_y_with_tau(check) -> None:
    """y → cy and τ → cτ multiplies f by c; the elastic net's squares keep their own τ."""

    def same(X, y, kernel, penalty, rng) -> None:
        if isinstance(penalty, ElasticNet):
            penalty = Lasso()
        c = float(10.0 ** rng.uniform(-6, 6))
        one = path_of(X, y, kernel, penalty)
        other = path_of(X, c * y, kernel, penalty, taus=c * one.tau.values)
        assert_same_minimum(one, other, factor=1 / c**2)

    check(problems(), same)


def test_the_origin_of_y(check) -> None:
    def same(X, y, kernel, penalty, rng) -> None:
        one = path_of(X, y, kernel, penalty)
        other = path_of(X, y + rng.uniform(-100, 100), kernel, penalty, taus=one.tau.values)
        assert_same_minimum(one, other)

    check(problems(), same)


def test_the_origin_of_x_for_isotropic_kernels(check) -> None:
    def same(X, y, kernel, penalty, rng) -> None:
        assert isinstance(kernel, Isotropic)
        one = path_of(X, y, kernel, penalty)
        shift = rng.uniform(-1000, 1000, X.shape[1])
        other = path_of(X + shift, y, kernel, penalty, taus=one.tau.values)
        assert_same_minimum(one, other)

    check(problems(isotropic), same)


# --- penalties that are the same -----------------------------------------------------------------


def test_a_group_of_one_is_a_feature(check) -> None:
    def same(X, y, kernel, penalty, rng) -> None:
        one = path_of(X, y, kernel, Lasso())
        for other in (GroupLasso(range(X.shape[1])), SparseGroupLasso(range(X.shape[1]), 0.3)):
            assert_same_minimum(one, path_of(X, y, kernel, other, taus=one.tau.values))

    check(problems(), same)


def test_splitting_a_group_of_one_off_by_name(check) -> None:
    """Labels, names of columns or numbers of columns say the same."""

    def same(X, y, kernel, penalty, rng) -> None:
        d = X.shape[1]
        labels = ["alone", *["rest"] * (d - 1)]
        named = {"alone": ["x0"], "rest": [f"x{a}" for a in range(1, d)]}
        numbered = {"alone": [0], "rest": list(range(1, d))}
        if d == 1:
            named, numbered = {"alone": ["x0"]}, {"alone": [0]}
        one = path_of(X, y, kernel, GroupLasso(labels))
        for groups in (named, numbered):
            other = path_of(X, y, kernel, GroupLasso(groups), taus=one.tau.values)
            assert_same_minimum(one, other)

    check(problems(), same)


def test_an_elastic_net_of_norms_alone_is_the_lasso(check) -> None:
    def same(X, y, kernel, penalty, rng) -> None:
        one = path_of(X, y, kernel, Lasso())
        other = path_of(X, y, kernel, ElasticNet(1.0), taus=one.tau.values)
        assert_same_minimum(one, other)
        several = path_of(X, y, kernel, ElasticNet([0.5, 1.0]), taus=one.tau.values)
        assert_same_minimum(one, several.sel(mu=1.0))

    check(problems(), same)


# --- the way there -------------------------------------------------------------------------------


def test_warm_against_cold_start(check) -> None:
    """The solver may start anywhere: at random points, at zero, or where it would by itself."""

    def same(X, y, kernel, penalty, rng) -> None:
        prepared = nvsd.prepare(X, kernel=kernel, nu=NU)
        problem, _ = prepared.problem(y, center=True)
        bound = penalty.bind(X.shape[1])
        flat = flat_point(problem, bound)
        if not 0 < flat.tau_max < np.inf:
            return
        taus = flat.tau_max * np.array([0.5, 0.05])
        options = Settings(tol=TOL, max_iter=20_000)
        solver = solver_named("auto", problem, options)
        warm = solve_path(solver(problem, bound, flat, options), taus)
        noise = rng.standard_normal(flat.u.shape) * np.abs(flat.u).max()
        for u in (np.zeros_like(flat.u), noise):
            start = FlatPoint(flat.C, u, u, flat.tau_max, flat.phi)
            cold = solve_path(solver(problem, bound, start, options), taus)
            for points in (warm, cold):
                assert (points.gap <= TOL * problem.scale).all()
            values = [objective(problem, bound, points) for points in (warm, cold)]
            slack = warm.gap + cold.gap + ROUNDING * problem.scale
            assert (np.abs(values[0] - values[1]) <= slack).all()

    check(problems(), same)


def objective(problem: Any, bound: Any, points: Any) -> np.ndarray:
    found = problem.solution(points.C, points.multiplier)
    J = bound.value(block_norms(problem.derivatives(points.C)))
    return found.loss + points.tau * J + NU * found.rkhs_norm


def test_a_batch_against_one_tau_at_a_time(check) -> None:
    def same(X, y, kernel, penalty, rng) -> None:
        together = path_of(X, y, kernel, penalty)
        alone = [path_of(X, y, kernel, penalty, taus=[tau]) for tau in together.tau.values]
        assert_same_minimum(together, xr.concat(alone, "tau", data_vars="minimal"))

    check(problems(), same)


def test_prepared_once_or_each_time(check) -> None:
    def same(X, y, kernel, penalty, rng) -> None:
        prepared = nvsd.prepare(X, kernel=kernel, nu=NU)
        nvsd.nvsd_path(prepared, y[::-1], penalty=Lasso(), n_taus=2, tol=1e-3)
        options = {"penalty": penalty, "tol": TOL, "n_taus": 3, "max_iter": 20_000}
        again = nvsd.nvsd_path(prepared, y, **options)
        fresh = nvsd.nvsd_path(X, y, kernel=kernel, nu=NU, **options)
        assert again.identical(fresh)

    check(problems(), same)


def test_one_thread_against_two(check) -> None:
    def same(X, y, kernel, penalty, rng) -> None:
        X, y = np.tile(X, (12, 1)) + 0.1 * rng.standard_normal((12 * N, X.shape[1])), np.tile(y, 12)
        with threadpool_limits(1):
            one = path_of(X, y, kernel, penalty, tol=1e-6)
            sums = sums_of(X, y)
        with threadpool_limits(2):
            other = path_of(X, y, kernel, penalty, tol=1e-6, taus=one.tau.values)
            check_sums(sums_of(X, y), sums)
        assert_same_minimum(one, other)

    check(problems(), same, examples=4)


# --- where the rows lie --------------------------------------------------------------------------


def sums_of(X: Any, y: Any = None) -> Moments:
    rows = rows_of(X, y)
    return rows.total(partial(Moments.of, Monomials(len(rows.features), 3, 1.0)))


def check_sums(one: Moments, other: Moments) -> None:
    assert one.n == other.n
    for name in ("total", "gram", "root", "correlation", "y_mean", "y_square"):
        expected = np.asarray(getattr(one, name))
        found = np.asarray(getattr(other, name))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_numpy_against_dask(check) -> None:
    array = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")

    def same(X, y, kernel, penalty, rng) -> None:
        X = rng.standard_normal((60, X.shape[1]))
        y = X[:, 0] ** 3 + X[:, -1] + 0.1 * rng.standard_normal(60)
        chunk = int(rng.integers(1, 60))
        blocks = array.from_array(X, chunks=(chunk, -1)), array.from_array(y, chunks=chunk)
        with dask.config.set(scheduler="synchronous"):
            check_sums(sums_of(X, y), sums_of(*blocks))
            one = path_of(X, y, Polynomial(2), penalty)
            other = path_of(*blocks, Polynomial(2), penalty, taus=one.tau.values)
        assert_same_minimum(one, other)

    check(problems(), same, examples=6)


def test_an_array_against_its_blocks(check) -> None:
    def same(X, y, kernel, penalty, rng) -> None:
        X = rng.standard_normal((60, X.shape[1]))
        y = X[:, 0] ** 3 + X[:, -1] + 0.1 * rng.standard_normal(60)
        cuts = np.sort(rng.integers(1, 59, 3))
        blocks = [
            (part, target)
            for part, target in zip(np.split(X, cuts), np.split(y, cuts), strict=True)
            if len(part)
        ]
        check_sums(sums_of(X, y), sums_of(blocks))
        one = path_of(X, y, Polynomial(2), penalty)
        other = path_of(blocks, None, Polynomial(2), penalty, taus=one.tau.values)
        assert_same_minimum(one, other)

    check(problems(), same, examples=6)
