"""The loss of a whole sample: weights, the constant, prox, conjugate, and what y may be."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from path_problems import sample

import nvsd
from nvsd.data.weights import row_weights
from nvsd.kernels import Gaussian
from nvsd.losses import Huber, Logistic, Loss, LossTerm, Quantile, Squared, loss_term
from reference.losses import formula

LOSSES = [Logistic(), Huber(0.7), Quantile(0.5), Quantile(0.1), Squared()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)
with_and_without = pytest.mark.parametrize("free", [True, False], ids=["free", "fixed"])


def term_of(loss: Loss, rng: np.random.Generator, n: int, free: bool, spread: float = 1.0):
    y = rng.permutation(np.resize([-1.0, 1.0, 1.0], n)) if loss.of_classes else rng.normal(size=n)
    weights = 10 ** rng.uniform(-spread, spread, n)
    return LossTerm(loss, y, weights / weights.mean(), free)


# --- prox ----------------------------------------------------------------------------------------


@with_and_without
@every_loss
def test_the_prox_is_the_minimiser(loss: Loss, free: bool, rng) -> None:
    """CVXPY minimises over s and c together."""
    n = 9
    for kappa in (0.02, 1.0):
        term = term_of(loss, rng, n, free)
        W = 3 * rng.standard_normal((2, n))
        for w, found in zip(W, term.prox(W, kappa), strict=True):
            s, c = cp.Variable(n), cp.Variable()
            of_loss = formula(loss).total(term.y, s + c, term.weights) / n
            problem = cp.Problem(
                cp.Minimize(of_loss + kappa / 2 * cp.sum_squares(s - w)), [] if free else [c == 0]
            )
            problem.solve(solver="CLARABEL")
            value = float(term.value(found[None])[0]) + kappa / 2 * np.sum((found - w) ** 2)
            assert value <= problem.value + 1e-9 * (1 + problem.value)
            assert value >= problem.value - 1e-6 * (1 + problem.value)
            np.testing.assert_allclose(found, s.value, atol=1e-3)


seeds = st.integers(0, 10_000)
a_loss = st.sampled_from(LOSSES)
strengths = st.floats(-6, 3).map(lambda e: 10.0**e)


@given(seed=seeds, loss=a_loss, kappa=strengths, size=st.floats(-3, 3))
def test_the_prox_gives_slopes_that_are_balanced(seed, loss, kappa, size) -> None:
    """κ(w − prox(w)) sums to zero, is in the domain, and proves the prox right."""
    rng = np.random.default_rng(seed)
    term = term_of(loss, rng, int(rng.integers(2, 12)), True)
    W = 10**size * rng.standard_normal((3, term.n))
    S = term.prox(W, kappa)
    V = kappa * (W - S)
    largest = np.abs(W).max() + np.abs(term.y).max() + 1 / kappa
    assert (np.abs(V.sum(axis=1)) <= 1e-10 * (np.abs(V).sum(axis=1) + kappa * largest)).all()
    near = term.feasible(V)
    np.testing.assert_allclose(near, V, atol=1e-9 * kappa * largest)
    gap = term.fenchel_gap(S, near)
    assert (gap <= 1e-9 * (1 + largest) * (1 + kappa * largest)).all()


@given(seed=seeds, loss=a_loss, kappa=strengths, free=st.booleans())
def test_the_prox_is_firmly_nonexpansive(seed, loss, kappa, free) -> None:
    rng = np.random.default_rng(seed)
    term = term_of(loss, rng, int(rng.integers(2, 12)), free)
    one, two = 5 * rng.standard_normal((2, 4, term.n))
    apart = term.prox(one, kappa) - term.prox(two, kappa)
    square, inner = (np.einsum("ki,ki->k", apart, each) for each in (apart, one - two))
    assert (square <= inner + 1e-8 * (1 + np.abs(inner))).all()


# --- conjugate and gap ---------------------------------------------------------------------------


@given(seed=seeds, loss=a_loss, free=st.booleans(), size=st.floats(-3, 3), spread=st.floats(0, 3))
def test_feasible_points_are_in_the_domain(seed, loss, free, size, spread) -> None:
    rng = np.random.default_rng(seed)
    term = term_of(loss, rng, int(rng.integers(2, 12)), free, spread)
    V = term.feasible(10**size * rng.standard_normal((5, term.n)))
    slopes = V * term.n / term.weights
    assert np.isfinite(term.loss.conjugate(term.y, slopes)).all()
    if free:
        assert (np.abs(V.sum(axis=1)) <= 1e-14 * np.abs(V).sum(axis=1)).all()
    # A second time nothing more than rounding happens.
    np.testing.assert_allclose(term.feasible(V), V, rtol=1e-13, atol=1e-18)


@given(seed=seeds, loss=a_loss, free=st.booleans())
def test_the_gap_is_never_negative_and_never_too_small(seed, loss, free) -> None:
    """L(s) + L*(v) − vᵀs bounds L(s) − L(s') − vᵀ(s − s') for every other s'."""
    rng = np.random.default_rng(seed)
    term = term_of(loss, rng, int(rng.integers(2, 12)), free)
    S, other = 3 * rng.standard_normal((2, 6, term.n))
    V = term.feasible(rng.standard_normal((6, term.n)) / term.n)
    gap = term.fenchel_gap(S, V)
    assert (gap >= 0).all()
    rise = term.value(S) - term.value(other) - np.einsum("ki,ki->k", V, S - other)
    assert (gap >= rise - 1e-12 * (1 + np.abs(rise))).all()


@every_loss
def test_the_gap_of_a_wrong_slope_is_infinite(loss: Loss, rng) -> None:
    """Slopes outside the domain prove nothing."""
    term = term_of(loss, rng, 7, True)
    V = term.feasible(rng.standard_normal((1, 7)))
    if np.isfinite(loss.conjugate(term.y, 100 * np.ones(7))).all():
        return  # there is no outside
    V[0, 0] = 100.0
    assert np.isinf(term.fenchel_gap(np.zeros((1, 7)), V)).all()


@with_and_without
@every_loss
def test_the_slopes_at_the_constant(loss: Loss, free: bool, rng) -> None:
    """They prove that c is the best constant, L(0) + L*(v) = 0, where the loss has no kink."""
    term = term_of(loss, rng, 9, free)
    gap = float(term.fenchel_gap(np.zeros((1, 9)), term.at_constant())[0])
    assert 0 <= gap <= (1.0 if isinstance(loss, Quantile) else 1e-12) * term.scale
    assert term.scale == pytest.approx(float(term.value(np.zeros((1, 9)))[0]))


# --- what y and the weights may be ---------------------------------------------------------------

LABELS = {
    "one class": ([1] * 9, "holds one class only, 1"),
    "one word": (["a"] * 9, "holds one class only, a"),
    "fractions": ([0.5, 1.0, 2.0] * 3, "numbers with fractions"),
    "missing": ([0.0, 1.0, np.nan] * 3, "3 missing labels"),
    "none": (["a", "b", None] * 3, "3 missing labels"),
    "mixed": (np.array(["a", 1, "b"] * 3, dtype=object), "mixes labels of types number and text"),
    "too few": ([0, 1], r"shape \(2,\) for 9 rows"),
    "a matrix": (np.eye(9), r"shape \(9, 9\)"),
}


@pytest.mark.parametrize("case", LABELS)
def test_labels_that_are_refused(case: str) -> None:
    y, words = LABELS[case]
    X, _ = sample(5, 9, 3)
    with pytest.raises(ValueError, match=f"^y [^\n]*{words}[^\n]*$"):
        nvsd.nvsd_path(X, y, loss=Logistic(), kernel=Gaussian(1.5), n_taus=3)


@pytest.mark.parametrize("center", [True, False])
def test_one_class_is_refused_with_and_without_a_constant(center: bool) -> None:
    X, _ = sample(5, 9, 3)
    with pytest.raises(ValueError, match="one class only"):
        nvsd.nvsd_path(X, np.ones(9), loss=Logistic(), center=center)


@pytest.mark.parametrize(
    "labels", [(0, 1), (-1, 1), ("no", "yes"), (False, True), (3.0, 7.0)], ids=str
)
def test_labels_of_every_kind(labels: tuple) -> None:
    X, y = sample(5, 9, 3)
    codes = (y > np.median(y)).astype(int)
    given = {"loss": Logistic(), "kernel": Gaussian(1.5), "n_taus": 3}
    path = nvsd.nvsd_path(X, np.array(labels)[codes], **given)
    usual = nvsd.nvsd_path(X, codes, **given)
    np.testing.assert_array_equal(path.fitted, usual.fitted)


WEIGHTS = {
    "all zero": [0.0] * 9,
    "all but one zero": [0.0] * 8 + [1.0],
    "negative": [-1.0] + [1.0] * 8,
    "missing": [np.nan] + [1.0] * 8,
    "infinite": [np.inf] + [1.0] * 8,
    "too few": [1.0] * 8,
    "text": ["a"] * 9,
}


@pytest.mark.parametrize("loss", [Logistic(), Huber(1.0), Quantile(0.3), Squared()], ids=str)
@pytest.mark.parametrize("case", WEIGHTS)
def test_weights_that_are_refused(case: str, loss: Loss) -> None:
    X, y = sample(5, 9, 3)
    y = y > np.median(y) if loss.of_classes else y
    with pytest.raises(ValueError, match=r"^sample_weight [^\n]*\.$"):
        nvsd.nvsd_path(X, y, loss=loss, kernel=Gaussian(1.5), sample_weight=WEIGHTS[case])


def test_weights_have_a_mean_of_one() -> None:
    assert row_weights(None, 3).values is None
    assert row_weights([2.0, 2.0, 2.0], 3).values is None
    np.testing.assert_allclose(row_weights([1.0, 2.0, 3.0], 3).values, [0.5, 1.0, 1.5])


CLASS_WEIGHTS = {
    "unknown label": ({"c": 1.0}, "names 'c', but the classes are"),
    "zero": ({"a": 0.0}, "a weight in class_weight"),
    "a list": ([1.0, 2.0], "is not allowed; give 'balanced'"),
    "a word": ("even", "is not allowed; give 'balanced'"),
}


@pytest.mark.parametrize("case", CLASS_WEIGHTS)
def test_class_weights_that_are_refused(case: str) -> None:
    X, y = sample(5, 9, 3)
    given, words = CLASS_WEIGHTS[case]
    labels = np.where(y > np.median(y), "b", "a")
    with pytest.raises(ValueError, match=words):
        nvsd.nvsd_path(X, labels, loss=Logistic(), kernel=Gaussian(1.5), class_weight=given)
    with pytest.raises(ValueError, match="is not a loss of classes"):
        nvsd.nvsd_path(X, y, loss=Huber(), kernel=Gaussian(1.5), class_weight=given)


def test_class_weights_are_weights_of_samples() -> None:
    labels = np.array(["a", "b", "b", "b"])
    even = loss_term(Logistic(), labels, 4, None, "balanced", True)
    np.testing.assert_allclose(even.weights, [2.0, 2 / 3, 2 / 3, 2 / 3])
    both = loss_term(Logistic(), labels, 4, np.array([1.0, 1, 1, 2]), {"b": 2.0}, True)
    np.testing.assert_allclose(both.weights, np.array([1.0, 2, 2, 4]) * 4 / 9)


@pytest.mark.parametrize("loss", [Huber(), Huber(1e-3), Quantile(0.1), Squared()], ids=str)
@pytest.mark.parametrize("center", [True, False])
def test_a_constant_y_needs_no_f(loss: Loss, center: bool) -> None:
    X, _ = sample(5, 9, 3)
    weights = np.linspace(1, 2, 9)
    y = np.full(9, 0.1) + (np.arange(9) % 2) * 1e-17  # of which rounding leaves nothing
    given = {"loss": loss, "kernel": Gaussian(1.5), "center": center, "sample_weight": weights}
    path = nvsd.nvsd_path(X, y if center else np.zeros(9), n_taus=4, **given)
    assert (path.gap == 0).all()
    assert (path.derivative_norm == 0).all()
    np.testing.assert_allclose(path.fitted, 0.1 if center else 0.0, atol=1e-16)
    assert np.isfinite(path.objective).all()


def test_the_loss_itself_tells_two_classes_apart() -> None:
    """Paths of more classes take one against the others, each with two."""
    with pytest.raises(ValueError, match="3 classes, but this loss tells two apart"):
        loss_term(Logistic(), [0, 1, 2] * 3, 9, None, None, True)
