"""What must hold between paths of different losses, and beside the solvers of others."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from loss_problems import LossCase, sample
from path_problems import representations
from path_problems import sample as numbers
from sklearn.linear_model import HuberRegressor, LogisticRegression, QuantileRegressor

import nvsd
from nvsd.kernels import Gaussian, Kernel, Linear, Polynomial
from nvsd.losses import Huber, Logistic, Loss, Quantile, Squared
from nvsd.penalties import GroupLasso, Lasso, Penalty

NU = 1e-2
TIGHT = {"tol": 1e-11, "max_iter": 50_000}
ROUGH = Gaussian(0.7)
# ν‖f − f'‖² is at most the gaps: the root of 1e-11/ν, in units of f.
FITS = 1e-4
LOSSES = [Logistic(), Huber(0.5), Quantile(0.3)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)


def solve(X, y, loss: Loss, taus, kernel: Kernel = ROUGH, **options) -> xr.Dataset:
    return nvsd.nvsd_path(
        X, y, kernel=kernel, loss=loss, taus=taus, **({"nu": NU} | TIGHT | options)
    )


def assert_same(one: xr.Dataset, other: xr.Dataset, c: float = 1.0, squared: float = 1.0) -> None:
    """The second function is c times the first, with an objective of `squared` times the first."""
    slack = squared * one.gap.values + other.gap.values + 1e-9 * other.attrs["scale"]
    assert (np.abs(squared * one.objective.values - other.objective.values) <= slack).all()
    size = np.abs(other.fitted.values).max()
    for name in ("fitted", "derivative_norm"):
        np.testing.assert_allclose(c * one[name], other[name], rtol=0, atol=FITS * size)


# --- scikit-learn: linear functions --------------------------------------------------------------


def test_linear_logistic_lasso_is_that_of_scikit_learn() -> None:
    """A linear f has derivatives |coef_a| at every sample, and ‖f‖² = ‖coef‖².

    scikit-learn minimises C Σ_i ℓ_i + (1 − r)/2 ‖coef‖² + r‖coef‖₁; ours divided by its terms gives
    C = 1/(n(2ν + τ)) and r = τ/(2ν + τ).
    """
    X, y = sample(3, 40, 4, Logistic())
    n, nu = len(X), 0.01
    for tau in (0.1, 0.02, 0.002):
        total = 2 * nu + tau
        model = LogisticRegression(
            C=1 / (n * total), l1_ratio=tau / total, solver="saga", tol=1e-10, max_iter=100_000
        )
        model.fit(X, y)
        path = solve(X, y, Logistic(), [tau], Linear(), nu=nu)
        np.testing.assert_allclose(path.derivative_norm[0], np.abs(model.coef_[0]), atol=2e-5)
        np.testing.assert_allclose(path.fitted[0], model.decision_function(X), atol=1e-4)
        assert float(path.intercept[0]) == pytest.approx(float(model.intercept_[0]), abs=1e-4)


def test_linear_huber_is_that_of_scikit_learn() -> None:
    """It minimises Σ_i [σ + H_ε(r_i/σ)σ] + α‖w‖² over w, c and σ; ours is this at its σ, times σ/n.

    Hence δ = εσ and ν = ασ/n.
    """
    X, y = sample(4, 40, 3, Huber(), "outliers")
    epsilon, alpha = 1.35, 0.5
    model = HuberRegressor(epsilon=epsilon, alpha=alpha, tol=1e-10, max_iter=10_000).fit(X, y)
    sigma = float(model.scale_)
    path = solve(X, y, Huber(epsilon * sigma), [0.0], Linear(), nu=alpha * sigma / len(X))
    np.testing.assert_allclose(path.derivative_norm[0], np.abs(model.coef_), rtol=1e-4)
    np.testing.assert_allclose(path.fitted[0], model.predict(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("q", [0.5, 0.2])
def test_linear_quantiles_approach_those_of_scikit_learn(q: float) -> None:
    X, y = sample(5, 31, 3, Quantile(q))
    model = QuantileRegressor(quantile=q, alpha=0.0, solver="highs").fit(X, y)
    least = np.mean(Quantile(q).pointwise(y, model.predict(X)))
    nus = (1e-2, 1e-3, 1e-4)
    losses = []
    for nu in nus:
        path = solve(X, y, Quantile(q), [0.0], Linear(), nu=nu, tol=1e-8)
        losses.append(float(path.loss[0]))
        # The minimum is at most the objective of scikit-learn's function.
        bound = least + nu * float(model.coef_ @ model.coef_)
        assert float(path.objective[0]) - float(path.gap[0]) <= bound + 1e-12
        assert least <= losses[-1] + 1e-12
    assert losses[-1] - least <= nus[-1] * float(model.coef_ @ model.coef_) + 2e-8
    np.testing.assert_allclose(path.fitted[0], model.predict(X), atol=1e-2)


# --- one loss is another -------------------------------------------------------------------------


@pytest.mark.parametrize("center", [True, False])
def test_huber_with_a_large_delta_is_squared(center: bool) -> None:
    """Without a constant exactly; with one, Squared subtracts the mean, and Huber's c is free.

    A kernel that holds the constants makes the difference: its f is orthogonal to nothing.
    """
    X, y = numbers(1, 10, 3)
    taus = [0.5, 0.05]
    huber = solve(X, y, Huber(1e3), taus, center=center)
    squared = solve(X, y, Squared(), taus, center=center)
    if not center:
        assert_same(squared, huber)
        return
    # c = mean(y) is one of the constants that Huber may take.
    assert (huber.objective <= squared.objective + huber.gap).all()
    moved = y - (huber.intercept.values[0])
    fixed = solve(X, moved, Squared(), taus[:1], center=False)
    np.testing.assert_allclose(fixed.objective[0], huber.objective[0], rtol=1e-8)


def test_the_median_is_half_the_least_absolute_deviation() -> None:
    X, y = numbers(1, 10, 3)
    path = solve(X, y, Quantile(0.5), [0.5, 0.05])
    deviation = np.abs(y - path.fitted.values).mean(axis=1)
    np.testing.assert_allclose(path.loss, deviation / 2, rtol=1e-10)


def test_opposite_quantiles_mirror_f() -> None:
    X, y = numbers(1, 10, 3)
    low, high = (solve(X, s * y, Quantile(q), [0.3, 0.03]) for s, q in ((1, 0.2), (-1, 0.8)))
    np.testing.assert_allclose(high.fitted, -low.fitted, atol=1e-3)
    np.testing.assert_allclose(high.objective, low.objective, rtol=1e-8)
    np.testing.assert_allclose(high.derivative_norm, low.derivative_norm, atol=1e-3)


def test_other_labels_mirror_f() -> None:
    X, y = sample(1, 12, 3, Logistic())
    swapped = np.where(y == "yes", "a no", "the yes")  # sorted the other way round
    one, other = (solve(X, labels, Logistic(), [0.05, 0.01]) for labels in (y, swapped))
    np.testing.assert_allclose(other.fitted, -one.fitted, atol=FITS)
    np.testing.assert_allclose(other.intercept, -one.intercept, atol=FITS)
    np.testing.assert_allclose(other.derivative_norm, one.derivative_norm, atol=FITS)
    np.testing.assert_allclose(other.objective, one.objective, rtol=1e-9)


# --- units ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1e-4, 1e4])
@pytest.mark.parametrize("penalty", [Lasso(), GroupLasso(["a", "b", "a"])], ids=str)
def test_units_of_y(penalty: Penalty, c: float) -> None:
    """ℓ(cy, cf) is c² times Huber with δ/c, and c times Quantile: τ and ν follow."""
    X, y = numbers(1, 10, 3)
    taus = np.array([0.5, 0.05])
    one = solve(X, y, Huber(0.5), taus, penalty=penalty)
    other = solve(X, c * y, Huber(c * 0.5), c * taus, penalty=penalty)
    assert_same(one, other, c, c**2)
    one = solve(X, y, Quantile(0.3), taus, penalty=penalty)
    other = solve(X, c * y, Quantile(0.3), taus, nu=NU / c, penalty=penalty)
    assert_same(one, other, c, c)


@pytest.mark.parametrize("loss", [Huber(0.5), Quantile(0.3)], ids=str)
def test_shifting_y_shifts_the_constant(loss: Loss) -> None:
    X, y = numbers(1, 10, 3)
    one, other = (solve(X, y + shift, loss, [0.5, 0.05]) for shift in (0.0, 50.0))
    np.testing.assert_allclose(other.objective, one.objective, rtol=1e-8)
    np.testing.assert_allclose(other.fitted, one.fitted + 50.0, atol=1e-3)


# --- weights -------------------------------------------------------------------------------------


@every_loss
def test_equal_weights_are_none(loss: Loss) -> None:
    X, y = sample(1, 10, 3, loss)
    plain = solve(X, y, loss, [0.05, 0.01])
    xr.testing.assert_identical(
        plain, solve(X, y, loss, [0.05, 0.01], sample_weight=np.full(10, 3))
    )


def test_nearly_equal_weights_of_squares_are_nearly_none() -> None:
    """Weights that differ take another way to the minimum: S2 has the loss then."""
    X, y = numbers(1, 10, 3)
    weights = 1.0 + 1e-9 * np.arange(10)
    for center in (True, False):
        plain = solve(X, y, Squared(), [0.5, 0.05], center=center)
        assert_same(
            plain, solve(X, y, Squared(), [0.5, 0.05], sample_weight=weights, center=center)
        )


@every_loss
def test_integer_weights_are_repeated_rows(loss: Loss) -> None:
    """In the loss and ‖f‖² they are the same at τ = 0; in J repeated rows count repeatedly too.

    So the paths agree at τ = 0, and for τ > 0 where all rows are repeated equally.
    """
    X, y = sample(1, 8, 3, loss)
    times = np.array([1, 2, 3, 1, 1, 2, 1, 1])
    weighted = solve(X, y, loss, [0.0], sample_weight=times)
    repeated = solve(np.repeat(X, times, axis=0), np.repeat(y, times), loss, [0.0])
    np.testing.assert_allclose(repeated.objective, weighted.objective, rtol=1e-7)
    np.testing.assert_allclose(
        repeated.fitted.values[0], np.repeat(weighted.fitted.values[0], times), atol=1e-3
    )
    once = solve(X, y, loss, [0.05, 0.01])
    twice = solve(np.repeat(X, 2, axis=0), np.repeat(y, 2), loss, [0.05, 0.01])
    np.testing.assert_allclose(twice.objective, once.objective, rtol=1e-7)
    np.testing.assert_allclose(twice.derivative_norm, once.derivative_norm, atol=1e-3)


def test_balanced_classes_move_the_constant() -> None:
    X, y = sample(1, 12, 3, Logistic(), "imbalanced")
    flat = solve(X, y, Logistic(), [1e3], Linear(), class_weight="balanced")
    assert float(flat.intercept[0]) == pytest.approx(0.0, abs=1e-6)
    plain = solve(X, y, Logistic(), [1e3], Linear())
    assert float(plain.intercept[0]) == pytest.approx(-np.log(11), abs=1e-6)
    for taus in ([0.1], [0.01]):
        one = solve(X, y, Logistic(), taus, class_weight="balanced")
        other = solve(X, y, Logistic(), taus, class_weight={"yes": 11.0})
        np.testing.assert_allclose(one.fitted, other.fitted, atol=FITS)


# --- representations -----------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(3), Linear()], ids=str)
@every_loss
def test_representations_agree(loss: Loss, kernel: Kernel) -> None:
    X, y = sample(1, 10, 3, loss, "rows")
    case = LossCase(X, y, kernel, GroupLasso(["a", "b", "a"]), NU, loss)
    taus = [0.3 * case.tau_unit, 0.03 * case.tau_unit, 0.0]
    paths = [
        solve(X, y, loss, taus, kernel, penalty=case.penalty, representation=kind, tol=1e-9)
        for kind in representations(kernel)
    ]
    assert {path.attrs["representation"] for path in paths} == {*representations(kernel)}
    for path in paths[1:]:
        gaps = path.gap.values + paths[0].gap.values + 1e-10 * case.unit
        assert (np.abs(path.objective.values - paths[0].objective.values) <= gaps).all()
        np.testing.assert_allclose(path.fitted, paths[0].fitted, atol=1e-2)


@every_loss
def test_blocks_and_landmarks_refuse(loss: Loss) -> None:
    X, y = sample(1, 10, 3, loss)
    for kind, options in (("matrix-free", {}), ("landmarks", {"value_points": 5})):
        with pytest.raises(ValueError, match=f"^[^\n]*{kind!r} needs a quadratic loss[^\n]*$"):
            nvsd.prepare(X, y=y, loss=loss, kernel=ROUGH, representation=kind, **options)
    codes = np.arange(10) % 2
    with pytest.raises(ValueError, match=r"needs all samples in memory, but they come in blocks"):
        nvsd.prepare([(X, codes)], loss=loss, kernel=Polynomial(2))


# --- the warm start ------------------------------------------------------------------------------


def test_a_path_goes_on_below_a_flat_end_that_was_not_certified() -> None:
    """A solution at τ_max must not be the start of later τ: it is the flat point itself."""
    data = nvsd.datasets.make_e1(40, 0)
    path = nvsd.nvsd_path(
        data.X, data.y, kernel=Polynomial(3), loss=Quantile(0.5), n_taus=6, tol=1e-10
    )
    assert (path.gap <= 1e-10 * path.attrs["scale"]).all()
    assert path.n_iter[0] > 0
