"""What must hold between paths, and between a path and the solvers of others."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model
import xarray as xr
from path_problems import Case, Twin, kernels, penalties, representations, sample
from sklearn.kernel_ridge import KernelRidge

import nvsd
from nvsd.kernels import Gaussian, Kernel, Linear, Matern52, Polynomial, neighbour_width
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty, SparseGroupLasso
from nvsd.solvers import Status, flat_point

N, D = 8, 3
NU = 1e-2
ROUGH = Gaussian(0.7)  # narrow enough for a Z of full row rank and a condition number near 100
TIGHT = 1e-12
# A gap of 1e-12 leaves norms free by the root of gap/ν, in units of the root mean square of y.
NORMS = 1e-4

every_kernel = pytest.mark.parametrize("kernel", kernels(D), ids=str)
every_penalty = pytest.mark.parametrize("penalty", penalties(D), ids=str)


def solve(X, y, kernel: Kernel, penalty: Penalty, taus=None, **options) -> xr.Dataset:
    options = {"nu": NU, "tol": TIGHT} | options
    return nvsd.nvsd_path(X, y, kernel=kernel, penalty=penalty, taus=taus, **options)


def assert_same(one: xr.Dataset, other: xr.Dataset, atol: float = NORMS) -> None:
    """The same functions: objectives within the gaps, norms and fits close."""
    np.testing.assert_allclose(one.tau, other.tau, rtol=1e-12)
    distance = np.abs(one.objective.values - other.objective.values)
    slack = 1e-11 * one.attrs["scale"]
    assert (distance <= one.gap.values + other.gap.values + slack).all()
    scale = np.sqrt(one.attrs["scale"])
    for name in ("derivative_norm", "fitted"):
        if name in one and name in other:
            np.testing.assert_allclose(one[name], other[name], rtol=0, atol=atol * scale)


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    return sample(1, N, D)


@pytest.fixture
def taus(data) -> np.ndarray:
    return Case(*data, ROUGH, Lasso(), NU).tau_unit * np.array([0.5, 0.1, 0.02])


# Ends of the path.


@pytest.mark.parametrize("center", [True, False])
@every_kernel
def test_without_penalty_it_is_kernel_ridge(kernel: Kernel, center: bool, rng) -> None:
    X, y = sample(2, N, D, "both")
    X_new, mean = rng.standard_normal((5, D)), y.mean() if center else 0.0
    for representation in representations(kernel):
        path = solve(X, y, kernel, Lasso(), [0.0], center=center, representation=representation)
        ridge = KernelRidge(alpha=N * NU, kernel="precomputed").fit(kernel.K(X), y - mean)
        expected = ridge.predict(kernel.K(X_new, X)) + mean
        np.testing.assert_allclose(path.nvsd.predict(X_new)[0], expected, rtol=1e-7, atol=1e-7)
        assert float(path.gap[0]) <= 1e-12 * y.var()
        assert int(path.status[0]) == Status.CLOSED_FORM


@every_penalty
@every_kernel
def test_the_first_point_is_exactly_flat(kernel: Kernel, penalty: Penalty) -> None:
    X, y = sample(3, N, D, "rows")
    for representation in representations(kernel):
        path = solve(X, y, kernel, penalty, n_taus=4, tol=1e-6, representation=representation)
        first = path.isel(tau=0)
        assert not first.derivative_norm.values.any()
        assert not first.support.values.any()
        assert int(first.n_selected) == 0
        assert float(first.gap) <= 1e-6 * y.var()
        assert path.n_selected[-1] > 0


def test_the_first_point_of_an_ill_conditioned_path(rng) -> None:
    """A wide kernel on few inputs: Z has full row rank, but no derivative is free of the others."""
    X = rng.standard_normal((60, 2))
    y = X[:, 0] ** 2 + X[:, 0] + 0.1 * rng.standard_normal(60)
    path = nvsd.nvsd_path(X, y, n_taus=6)
    assert Kernel.from_json(path.kernel.item()) == Gaussian(neighbour_width(X))
    assert not path.support[0].values.any()
    assert (path.derivative_norm[0] <= 1e-6 * path.derivative_norm.max()).all()
    assert (path.gap <= 1e-6 * y.var()).all()


def flat_multiplier(X, y, kernel: Kernel) -> np.ndarray:
    """The u of Zᵀu = b − Aθ at the best θ with Zθ = 0, (D, N); it is unique here."""
    twin = Twin(X, y, kernel, NU)
    _, singular, Vt = np.linalg.svd(twin.Z)
    assert singular.min() > 1e-4 * singular.max()  # full row rank
    null = Vt[len(singular) :].T
    theta = null @ np.linalg.solve(null.T @ twin.A @ null, null.T @ twin.b)
    u = np.linalg.lstsq(twin.Z.T, twin.b - twin.A @ theta)[0]
    return u.reshape(D, N)


@pytest.mark.parametrize("kernel", [ROUGH, Matern52(1.0)], ids=str)
def test_tau_max_is_where_the_first_input_enters(data, kernel: Kernel) -> None:
    X, y = data
    r = np.linalg.norm(flat_multiplier(X, y, kernel), axis=1)
    weights = np.array([1.0, 0.5, 2.0])
    expected = {
        Lasso(): r.max(),
        Lasso(weights=weights.tolist()): (r / weights).max(),
        GroupLasso(["a", "b", "a"]): max(np.hypot(r[0], r[2]) / 2, r[1]),
        ElasticNet(0.25): r.max() / 0.25,
    }
    for penalty, tau_max in expected.items():
        path = solve(X, y, kernel, penalty, n_taus=5, tol=1e-9)
        assert float(path.tau[0]) == pytest.approx(tau_max, rel=1e-5)
        assert path.n_selected[0] == 0
        below = solve(X, y, kernel, penalty, [0.99 * tau_max])
        assert below.n_selected[0] > 0
        above = solve(X, y, kernel, penalty, [1.01 * tau_max])
        assert above.n_selected[0] == 0


def test_the_grid_is_even_in_the_logarithm(data) -> None:
    path = solve(*data, ROUGH, Lasso(), n_taus=7, tau_ratio=1e-2, tol=1e-4)
    assert path.sizes["tau"] == 7
    np.testing.assert_allclose(np.diff(np.log(path.tau)), np.log(1e-2) / 6, rtol=1e-9)


def test_tau_max_of_the_elastic_net(data) -> None:
    top = float(solve(*data, ROUGH, Lasso(), n_taus=2, tol=1e-4).tau[0])
    for mu in (0.1, 0.5):
        path = solve(*data, ROUGH, ElasticNet(mu), n_taus=2, tol=1e-4)
        assert float(path.tau[0]) == pytest.approx(top / mu, rel=1e-6)
    both = solve(*data, ROUGH, ElasticNet([0.5, 0.1]), n_taus=4, tau_ratio=1e-2, tol=1e-4)
    assert float(both.tau[0]) == pytest.approx(top / 0.1, rel=1e-6)
    assert float(both.tau[-1]) == pytest.approx(1e-2 * top / 0.5, rel=1e-6)
    assert (both.n_selected.isel(tau=0) == 0).all()


@pytest.mark.parametrize("kernel", [ROUGH, Linear(), Polynomial(2)], ids=str)
def test_a_constant_target_gives_a_constant(kernel: Kernel, data) -> None:
    X, _ = data
    path = solve(X, np.full(N, 2.5), kernel, Lasso(), n_taus=3)
    assert not path.derivative_norm.values.any()
    np.testing.assert_allclose(path.nvsd.predict(X), 2.5)
    np.testing.assert_array_equal(path.gap, 0)


@pytest.mark.parametrize("value", [0.1, 0.3, -7e8, 1e-9])
@pytest.mark.parametrize("n", [3, 7, 12])
def test_nor_does_a_constant_whose_mean_is_rounded_select_anything(value: float, n: int) -> None:
    X, _ = sample(0, n, 3)
    path = solve(X, np.full(n, value), ROUGH, Lasso(), n_taus=3)
    assert not path.derivative_norm.values.any()
    np.testing.assert_allclose(path.nvsd.predict(X), value)


@pytest.mark.parametrize("value", [0.1, 0.3, -7e8, 1e-9])
def test_nor_does_a_constant_that_comes_in_blocks(value: float, tmp_path) -> None:
    (X, _), y = sample(0, 30, 3), np.full(30, value)
    blocks = [(X[:7], y[:7]), (X[7:], y[7:])]
    many = [(X[i : i + 2], y[i : i + 2]) for i in range(0, 30, 2)] * 300
    for path in (
        nvsd.nvsd_path(many, kernel=Polynomial(1), n_taus=3),
        nvsd.nvsd_path(blocks, kernel=Polynomial(2), n_taus=3),
        nvsd.nvsd_path(X, y, kernel=ROUGH, value_points=10, n_taus=3),
        nvsd.nvsd_path(X, y, kernel=Polynomial(2), checkpoint=tmp_path / "sums.npz", n_taus=3),
    ):
        assert not path.derivative_norm.values.any()
        np.testing.assert_allclose(path.nvsd.predict(X), value)


def test_the_grid_is_not_wasted_on_empty_models_where_tau_max_is_a_bound() -> None:
    data = nvsd.datasets.make_e1(30, seed=0)
    X, y = data.X[:, :5], data.y  # nd = 150 > rank of Z
    prepared = nvsd.prepare(X, kernel=Polynomial(3), nu=1e-3)
    problem, _ = prepared.problem(y, True)
    bound = flat_point(problem, Lasso().bind(prepared.features)).tau_max
    path = nvsd.nvsd_path(prepared, y, tau_ratio=0.5, n_taus=8)
    assert float(path.tau[0]) < 0.97 * bound
    assert path.n_selected.values[0] == 0
    assert (path.n_selected.values[2:] > 0).all()


# Penalties that are special cases of others.


@every_kernel
def test_groups_of_one_are_the_lasso(kernel: Kernel, data, taus) -> None:
    lasso = solve(*data, kernel, Lasso(), taus)
    assert_same(solve(*data, kernel, GroupLasso(list("abc")), taus), lasso)
    assert_same(solve(*data, kernel, SparseGroupLasso(list("abc"), 0.4), taus), lasso)


@every_kernel
def test_ends_of_the_mixtures(kernel: Kernel, data, taus) -> None:
    lasso, groups = solve(*data, kernel, Lasso(), taus), ["a", "b", "a"]
    assert_same(solve(*data, kernel, ElasticNet(1.0), taus), lasso)
    assert_same(solve(*data, kernel, SparseGroupLasso(groups, 1.0), taus), lasso)
    group_lasso = solve(*data, kernel, GroupLasso(groups), taus)
    assert_same(solve(*data, kernel, SparseGroupLasso(groups, 0.0), taus), group_lasso)


def test_weights_scale_tau(data, taus) -> None:
    one = solve(*data, ROUGH, Lasso(), taus)
    two = solve(*data, ROUGH, Lasso(weights=[2.0] * D), taus / 2)
    assert_same(one, two.assign_coords(tau=one.tau))


def test_an_input_without_weight_is_never_off(data) -> None:
    path = solve(*data, ROUGH, Lasso(weights=[0.0, 1.0, 1.0]), [100.0, 0.01], tol=1e-8)
    assert path.support.values[0].tolist() == [True, False, False]


@pytest.mark.parametrize("mu", [0.0, 0.3, 0.9])
@every_kernel
def test_the_squares_may_go_into_either_step(kernel: Kernel, mu: float, data, taus) -> None:
    s1, s2 = (solve(*data, kernel, ElasticNet(mu), taus, quadratic=q) for q in ("S1", "S2"))
    assert_same(s1, s2)
    if mu == 0:
        assert s1.support.all()


# Symmetries of the problem.


@pytest.mark.parametrize("c", [1e-4, 1e5])
@every_penalty
def test_scaling_y_and_tau_scales_f(penalty: Penalty, c: float, data, taus) -> None:
    """The squares of the elastic net keep their weight only if mu changes too: left out."""
    if isinstance(penalty, ElasticNet):
        penalty = Lasso(penalty.weights)
    X, y = data
    one, scaled = (solve(X, s * y, ROUGH, penalty, s * taus) for s in (1.0, c))
    np.testing.assert_allclose(scaled.fitted / c, one.fitted, atol=NORMS * y.std())
    np.testing.assert_allclose(
        scaled.derivative_norm / c, one.derivative_norm, atol=NORMS * y.std()
    )
    np.testing.assert_allclose(scaled.objective / c**2, one.objective, rtol=1e-9)


@every_kernel
def test_every_row_twice_is_the_same_problem(kernel: Kernel, data, taus) -> None:
    """Loss and norms are means over the samples."""
    X, y = data
    once = solve(X, y, kernel, Lasso(), taus)
    twice = solve(np.vstack([X, X]), np.append(y, y), kernel, Lasso(), taus, tol=1e-10)
    np.testing.assert_allclose(twice.objective, once.objective, rtol=1e-7)
    np.testing.assert_allclose(
        twice.nvsd.predict(X), once.nvsd.predict(X), atol=1e-3 * y.std(), rtol=0
    )


def test_the_order_of_rows_and_inputs_does_not_matter(data, taus, rng) -> None:
    X, y = data
    rows, inputs = rng.permutation(N), np.array([2, 0, 1])
    path = solve(X, y, ROUGH, GroupLasso(["a", "b", "a"]), taus)
    mixed = solve(X[rows][:, inputs], y[rows], ROUGH, GroupLasso(["a", "a", "b"]), taus)
    np.testing.assert_allclose(
        mixed.derivative_norm, path.derivative_norm[:, inputs], atol=NORMS * y.std()
    )
    np.testing.assert_allclose(mixed.fitted, path.fitted[:, rows], atol=NORMS * y.std())


def test_centring_is_a_shift(data, taus) -> None:
    X, y = data
    centred = solve(X, y, ROUGH, Lasso(), taus)
    by_hand = solve(X, y - y.mean(), ROUGH, Lasso(), taus, center=False)
    np.testing.assert_allclose(by_hand.fitted + y.mean(), centred.fitted, atol=1e-12 * abs(y).max())
    assert float(by_hand.y_mean) == 0


@every_penalty
def test_a_path_is_monotone(penalty: Penalty, data) -> None:
    """The minimum is concave and increasing in τ, and its slope, J, decreases."""
    path = solve(*data, ROUGH, penalty, n_taus=12)
    slack = 1e-9 * path.attrs["scale"]
    assert (np.diff(path.objective) <= slack).all()
    assert (np.diff(path.penalty) >= -1e-5 * path.penalty.values.max()).all()
    steps = -np.diff(path.tau)
    assert (-np.diff(path.objective) >= steps * path.penalty.values[:-1] - slack).all()
    assert (-np.diff(path.objective) <= steps * path.penalty.values[1:] + slack).all()


# One call or many.


@pytest.mark.parametrize("kernel", [ROUGH, Polynomial(2)], ids=str)
@every_penalty
def test_a_batch_is_each_tau_alone(kernel: Kernel, penalty: Penalty, data, taus) -> None:
    path = solve(*data, kernel, penalty, taus)
    alone = [solve(*data, kernel, penalty, [tau]) for tau in path.tau.values]
    for i, one in enumerate(alone):
        assert_same(path.isel(tau=[i]), one)


def test_several_mu_are_separate_calls(data, taus) -> None:
    mus = [0.2, 1.0, 0.6]
    both = solve(*data, ROUGH, ElasticNet(mus), taus)
    assert both.derivative_norm.dims == ("mu", "tau", "feature")
    assert both.mu.values.tolist() == mus
    for mu in mus:
        one = solve(*data, ROUGH, ElasticNet(mu), taus)
        assert float(one.mu) == mu
        assert_same(both.sel(mu=mu), one)


def test_one_preparation_serves_penalties_and_targets(data, taus) -> None:
    X, y = data
    prepared = nvsd.prepare(X, kernel=ROUGH, nu=NU)
    for penalty in penalties(D):
        for target in (y, y[::-1] ** 2):
            shared = nvsd.nvsd_path(prepared, target, penalty=penalty, taus=taus, tol=TIGHT)
            xr.testing.assert_identical(shared, solve(X, target, ROUGH, penalty, taus))


# At τ = 1e9 the rounding errors of the derivatives cost more than tol, and that is said.
@pytest.mark.filterwarnings("ignore:1 tau .1e.09. have a gap:nvsd.ConvergenceWarning")
def test_a_grid_in_any_order_comes_back_descending(data) -> None:
    given = [0.1, 2.0, 0.0, 0.1, 1e9, 0.5]
    path = solve(*data, ROUGH, Lasso(), given, tol=1e-8)
    assert path.tau.values.tolist() == [1e9, 2.0, 0.5, 0.1, 0.0]
    xr.testing.assert_identical(path, solve(*data, ROUGH, Lasso(), sorted(given), tol=1e-8))
    assert path.n_selected[0] == 0
    assert solve(*data, ROUGH, Lasso(), 0.5).tau.values.tolist() == [0.5]


@every_penalty
@every_kernel
def test_representations_agree(kernel: Kernel, penalty: Penalty, data) -> None:
    X, y = data
    taus = Case(X, y, kernel, penalty, NU).tau_unit * np.array([0.3, 0.03])
    first, *others = [
        solve(X, y, kernel, penalty, taus, representation=kind) for kind in representations(kernel)
    ]
    for other in others:
        assert_same(first, other)
        np.testing.assert_array_equal(first.support, other.support)


@every_penalty
def test_factors_or_one_diagonalisation(penalty: Penalty, data, taus) -> None:
    one, other = (solve(*data, ROUGH, penalty, taus, s1=s1) for s1 in ("cholesky", "diagonal"))
    assert_same(one, other)


# Solvers of others: with the linear kernel f(x) = w·x.


def coefficients(path: xr.Dataset) -> np.ndarray:
    """w, one row per τ: the gradient is the same everywhere."""
    gradient = path.nvsd.gradient(np.zeros((1, path.sizes["feature"])))
    return gradient.isel(sample=0).values


def sklearn_elastic_net(X, y, l1: float, l2: float) -> np.ndarray:
    """argmin (1/n)|y − Xw|² + l1 |w|_1 + l2 |w|²."""
    alpha = l1 / 2 + l2
    model = sklearn.linear_model.ElasticNet(
        alpha=alpha, l1_ratio=l1 / 2 / alpha, fit_intercept=False, tol=1e-14, max_iter=10**6
    )
    return model.fit(X, y - y.mean()).coef_


@pytest.mark.parametrize("representation", ["derivative", "factor", "monomial"])
@pytest.mark.parametrize("mu", [1.0, 0.7, 0.2])
def test_a_linear_path_is_that_of_scikit_learn(mu: float, representation: str, rng) -> None:
    X = rng.standard_normal((30, 5))
    y = X @ [2.0, 0.0, -1.0, 0.0, 0.3] + 0.5 * rng.standard_normal(30)
    path = solve(X, y, Linear(), ElasticNet(mu), n_taus=12, representation=representation)
    w = coefficients(path)
    for tau, found, norm in zip(path.tau.values, w, path.derivative_norm.values, strict=True):
        expected = sklearn_elastic_net(X, y, tau * mu, tau * (1 - mu) + NU)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        np.testing.assert_allclose(norm, np.abs(found), atol=1e-5)
        clear = np.abs(expected) > 1e-4
        np.testing.assert_array_equal((norm > 0)[clear], True)
        np.testing.assert_array_equal((norm > 0)[expected == 0], False)


def test_a_linear_group_lasso_is_that_of_celer(rng) -> None:
    """Rows √(nν) e_a with y = 0 make ν|w|²; celer divides by 2(n + d)."""
    celer = pytest.importorskip("celer")
    n, d = 30, 5
    X = rng.standard_normal((n, d))
    y = X @ [2.0, 0.0, -1.0, 0.0, 0.3] + 0.5 * rng.standard_normal(n)
    rows = np.vstack([X, np.sqrt(n * NU) * np.eye(d)])
    target = np.append(y - y.mean(), np.zeros(d))
    path = solve(X, y, Linear(), GroupLasso(["a", "b", "a", "b", "c"]), n_taus=8)
    for tau, w in zip(path.tau.values, coefficients(path), strict=True):
        model = celer.GroupLasso(
            groups=[[0, 2], [1, 3], [4]],
            weights=np.array([2.0, 2.0, 1.0]),
            alpha=tau / 2 * n / (n + d),
            fit_intercept=False,
            tol=1e-14,
        )
        np.testing.assert_allclose(w, model.fit(rows, target).coef_, atol=1e-4)
