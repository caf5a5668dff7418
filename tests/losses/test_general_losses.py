"""Logistic, Huber and quantile loss: each formula against numbers, brute force and identities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from nvsd.losses import Huber, Logistic, Loss, Parabola, Quantile, Squared
from nvsd.losses.roots import increasing_root

LOSSES = [
    Squared(),
    Parabola(0.3),
    Logistic(),
    Huber(0.7),
    Huber(20.0),
    Quantile(0.5),
    Quantile(0.1),
]
SMOOTH = [loss for loss in LOSSES if not isinstance(loss, Quantile)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)
a_loss = st.sampled_from(LOSSES)
numbers = st.floats(-100, 100)
sizes = st.floats(-300, 300).map(lambda e: 10.0**e)
# Up to here squares and their products stay finite.
large = st.one_of(st.floats(-1e3, 1e3), st.sampled_from([1e-150, -1e-150, 1e75, -1e75, 0.0]))


def target(loss: Loss, y: float) -> np.ndarray:
    """The nearest y that the loss takes."""
    return np.array([1.0 if y > 0 else -1.0]) if loss.of_classes else np.array([y])


def targets(loss: Loss, rng: np.random.Generator, n: int) -> np.ndarray:
    return (
        rng.permutation(np.resize([-1.0, 1.0, 1.0], n)) if loss.of_classes else rng.normal(size=n)
    )


# --- values and slopes ---------------------------------------------------------------------------


def test_values_are_those_of_the_definitions() -> None:
    y, f = np.array([1.0, 1.0, 1.0]), np.array([0.5, 4.0, -1.0])
    np.testing.assert_allclose(Huber(1.0).pointwise(y, f), [0.25, 2 * 3 - 1, 2 * 2 - 1])
    np.testing.assert_allclose(Quantile(0.25).pointwise(y, f), [0.125, 2.25, 0.5])
    np.testing.assert_allclose(Logistic().pointwise(y, f), np.log(1 + np.exp(-f)))
    np.testing.assert_allclose(Logistic().pointwise(-y, f), np.log(1 + np.exp(f)))


@every_loss
def test_the_value_is_the_mean_of_each_row(loss: Loss, rng) -> None:
    y, F = targets(loss, rng, 5), rng.standard_normal((3, 2, 5))
    expected = [[np.mean([loss.pointwise(y, f)]) for f in two] for two in F]
    np.testing.assert_allclose(loss.value(y, F), expected, rtol=1e-12)
    assert loss.value(y, F[0, 0]) == pytest.approx(expected[0][0])


def test_the_quantile_is_the_median_unless_another_is_given() -> None:
    assert Quantile() == Quantile(0.5)


@every_loss
def test_gradients_are_those_of_the_values(loss: Loss, rng) -> None:
    y, F, step = targets(loss, rng, 40), 3 * rng.standard_normal((3, 40)), 1e-6
    slopes = (loss.pointwise(y, F + step) - loss.pointwise(y, F - step)) / (2 * step)
    np.testing.assert_allclose(loss.gradient(y, F), slopes, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_second_derivatives_are_those_of_the_gradients(loss: Loss, rng) -> None:
    y, F, step = targets(loss, rng, 40), 3 * rng.standard_normal((3, 40)), 1e-6
    bends = (loss.gradient(y, F + step) - loss.gradient(y, F - step)) / (2 * step)
    np.testing.assert_allclose(loss.second_derivative(y, F), bends, rtol=1e-6, atol=1e-8)


@given(loss=a_loss, y=numbers, f=numbers, other=numbers, way=st.floats(0, 1))
def test_losses_are_convex(loss: Loss, y: float, f: float, other: float, way: float) -> None:
    between = way * f + (1 - way) * other
    value, *ends = (
        float(loss.pointwise(target(loss, y), np.array([p]))[0]) for p in (between, f, other)
    )
    chord = way * ends[0] + (1 - way) * ends[1]
    assert value <= chord + 1e-12 * (1 + chord)


# --- conjugates ----------------------------------------------------------------------------------


@every_loss
def test_conjugates_are_suprema(loss: Loss, rng) -> None:
    grid = np.linspace(-80.0, 80.0, 320_001)
    for y, v in rng.uniform(-3, 3, (12, 2)):
        at = target(loss, y)
        inside = float(loss.feasible(at, np.array([v]))[0])
        inside = 0.98 * inside + 0.02 * float(loss.gradient(at, at)[0])  # the supremum is attained
        gain = inside * grid - loss.pointwise(at, grid)
        conjugate = float(loss.conjugate(at, np.array([inside]))[0])
        assert 0 < gain.argmax() < len(grid) - 1
        assert gain.max() <= conjugate + 1e-12 * (1 + abs(conjugate))
        assert conjugate <= gain.max() + 3.0 * (grid[1] - grid[0])


@pytest.mark.parametrize("loss", [Logistic(), Huber(0.7), Quantile(0.1)], ids=str)
def test_conjugates_are_infinite_outside(loss: Loss) -> None:
    y = np.ones(1)
    for v in (-3.0, 3.0):
        edge = loss.feasible(y, np.array([v]))
        assert np.isfinite(loss.conjugate(y, edge)).all()
        assert np.isinf(loss.conjugate(y, edge + 1e-6 * v)).all()


@given(loss=a_loss, y=numbers, f=numbers, v=numbers)
def test_fenchel_young(loss: Loss, y: float, f: float, v: float) -> None:
    """ℓ(f) + ℓ*(v) ≥ vf, with equality where v is a slope at f."""
    at, f_ = target(loss, y), np.array([f])
    some, slope = loss.feasible(at, np.array([v])), loss.gradient(at, f_)
    for each in (some, slope):
        parts = loss.pointwise(at, f_), loss.conjugate(at, each), -each * f_
        size = 1.0 + sum(float(np.abs(part)[0]) for part in parts)
        excess = float(sum(parts)[0])
        assert excess >= -1e-13 * size
        if each is slope:
            assert excess <= 1e-12 * size


# --- prox ----------------------------------------------------------------------------------------


@every_loss
def test_the_prox_is_the_minimiser(loss: Loss, rng) -> None:
    for y, w, step in zip(*rng.uniform(-4, 4, (2, 15)), 10 ** rng.uniform(-3, 3, 15), strict=True):
        at = target(loss, y)

        def value(t, at=at, w=w, step=step) -> float:
            return float(step * loss.pointwise(at, np.array([t]))[0] + 0.5 * (t - w) ** 2)

        found = float(loss.prox(at, np.array([w]), step)[0])
        best = minimize_scalar(value, bracket=(w - 1, w + 1), options={"xtol": 1e-12})
        assert value(found) <= best.fun + 1e-12 * (1 + best.fun)
        assert found == pytest.approx(best.x, abs=1e-5 * (1 + abs(w)))


@given(loss=a_loss, y=numbers, w=numbers, step=st.floats(1e-3, 1e3))
def test_moreau(loss: Loss, y: float, w: float, step: float) -> None:
    """(w − prox(w))/step is in the domain of ℓ*, and equality holds in Fenchel and Young."""
    at, w_ = target(loss, y), np.array([w])
    t = loss.prox(at, w_, step)
    v = (w_ - t) / step
    inside = loss.feasible(at, v)
    rounding = 1e-12 * (1 + abs(w) + abs(y)) / min(step, 1.0)
    np.testing.assert_allclose(v, inside, atol=rounding)
    excess = loss.pointwise(at, t) + loss.conjugate(at, inside) - inside * t
    assert abs(float(excess[0])) <= 300 * rounding


@given(loss=a_loss, y=numbers, one=numbers, two=numbers, step=st.floats(1e-3, 1e3))
def test_the_prox_is_firmly_nonexpansive(loss, y, one, two, step) -> None:
    at = target(loss, y)
    s, t = (float(loss.prox(at, np.array([w]), step)[0]) for w in (one, two))
    assert (s - t) ** 2 <= (s - t) * (one - two) + 1e-10 * (1 + (one - two) ** 2)


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_the_slope_of_the_prox(loss: Loss, rng) -> None:
    y, W, h = targets(loss, rng, 30), 4 * rng.standard_normal((2, 30)), 1e-6
    slopes = (loss.prox(y, W + h, 0.6) - loss.prox(y, W - h, 0.6)) / (2 * h)
    found = loss.prox_slope(y, loss.prox(y, W, 0.6), 0.6)
    np.testing.assert_allclose(found, slopes, atol=1e-6)


def test_the_slope_of_the_prox_of_a_kink() -> None:
    loss, y = Quantile(0.3), np.zeros(1)
    for w, slope in ((0.1, 0.0), (-0.1, 0.0), (5.0, 1.0), (-5.0, 1.0)):
        assert loss.prox_slope(y, loss.prox(y, np.array([w]), 1.0), 1.0) == slope


def test_a_guess_changes_nothing(rng) -> None:
    y, W = targets(Logistic(), rng, 30), 5 * rng.standard_normal((4, 30))
    exact = Logistic().prox(y, W, 2.0)
    for start in (exact, W, np.full_like(W, 1e3), -exact):
        np.testing.assert_allclose(Logistic().prox(y, W, 2.0, start), exact, rtol=1e-12, atol=1e-13)


@dataclass(frozen=True)
class PlainLogistic(Logistic):
    """The logistic loss with nothing but the general prox."""

    short_name: ClassVar[str] = ""
    prox = Loss.prox


def test_the_general_prox_is_the_special_one(rng) -> None:
    y, W = targets(Logistic(), rng, 30), 10 * rng.standard_normal((4, 30))
    for step in (1e-3, 1.0, 1e3):
        ours, theirs = (each.prox(y, W, step) for each in (PlainLogistic(), Logistic()))
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


# --- the constant --------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@every_loss
def test_the_best_constant(loss: Loss, weighted: bool, rng) -> None:
    n = 21
    y, W = targets(loss, rng, n), rng.standard_normal((3, n))
    weights = 10 ** rng.uniform(-1, 1, n) if weighted else None
    share = np.ones(n) if weights is None else weights
    found = loss.best_constant(y, W, weights)
    assert found.shape == (3, 1)
    for row, c in zip(W, found[:, 0], strict=True):

        def total(c: float, row=row) -> float:
            return float(loss.pointwise(y, row + c) @ share)

        best = minimize_scalar(total, bounds=(-20, 20), method="bounded", options={"xatol": 1e-9})
        assert total(c) <= best.fun * (1 + 1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@every_loss
def test_the_origin_is_the_best_constant_alone(loss: Loss, weighted: bool, rng) -> None:
    y = targets(loss, rng, 15)
    weights = rng.uniform(0.1, 3, 15) if weighted else None
    if not isinstance(loss, Quantile):
        share = np.ones(15) if weights is None else weights
        slopes = loss.gradient(y, np.full(15, loss.origin(y, weights)))
        assert slopes @ share == pytest.approx(0, abs=1e-12)
    best = loss.best_constant(y, np.zeros((1, 15)), weights)[0, 0]
    assert loss.origin(y, weights) == pytest.approx(best, rel=1e-12)


def test_known_constants(rng) -> None:
    y = rng.standard_normal(15)
    assert Quantile(0.5).origin(y) == np.median(y)
    assert Huber(100.0).origin(y) == pytest.approx(y.mean(), rel=1e-12)
    signs = np.array([1.0, 1.0, 1.0, -1.0])
    assert Logistic().origin(signs) == pytest.approx(np.log(3))
    assert Logistic().origin(signs, np.array([1.0, 1.0, 1.0, 3.0])) == pytest.approx(0, abs=1e-15)


def test_one_class_has_no_constant() -> None:
    with pytest.raises(ValueError, match="one class only"):
        Logistic().origin(np.ones(4))


def test_delta_from_the_data(rng) -> None:
    y = 5 + 2 * rng.standard_normal(2000)
    y[:50] = 1e6
    assert Huber().bound(y).delta == pytest.approx(1.345 * 2, rel=0.1)
    assert Huber(3.0).bound(y) == Huber(3.0)
    assert Huber().bound(np.ones(5)).delta == pytest.approx(1.345)
    assert Huber().bound(np.array([0.0] * 9 + [10.0])).delta == pytest.approx(1.345 * 3)
    with pytest.raises(ValueError, match="delta is not known yet"):
        Huber().pointwise(y, y)


# --- extreme numbers -----------------------------------------------------------------------------


@given(loss=a_loss, y=large, f=large, v=large)
def test_no_number_is_lost_at_extremes(loss: Loss, y: float, f: float, v: float) -> None:
    at, f_ = target(loss, y), np.array([f])
    some = loss.feasible(at, np.array([v]))
    for found in (loss.pointwise(at, f_), loss.gradient(at, f_), loss.conjugate(at, some)):
        assert np.isfinite(found).all()
    assert (loss.pointwise(at, f_) >= 0).all()


@given(loss=a_loss, y=large, w=large, step=sizes)
def test_the_prox_is_finite_at_extremes(loss: Loss, y: float, w: float, step: float) -> None:
    assume(step < 1e75 or not isinstance(loss, Squared | Parabola | Huber))
    at = target(loss, y)
    t = float(loss.prox(at, np.array([w]), step)[0])
    assert np.isfinite(t)
    # It lies between w and the minimiser of the loss, which for classes is infinite.
    if not loss.of_classes:
        low, high = sorted((w, float(at[0])))
        slack = 1e-12 * max(abs(low), abs(high))
        assert low - slack <= t <= high + slack


@pytest.mark.parametrize("margin", [-1e3, -40.0, 40.0, 1e3])
def test_large_margins(margin: float) -> None:
    y, f = np.ones(1), np.array([margin])
    loss = Logistic()
    assert loss.pointwise(y, f) == pytest.approx(max(-margin, 0.0), abs=1e-15)
    assert loss.gradient(y, f) == pytest.approx(-1.0 if margin < 0 else 0.0, abs=1e-15)
    assert loss.prox(y, f, 5.0) == pytest.approx(margin + (5.0 if margin < 0 else 0.0), abs=1e-12)


# --- roots ---------------------------------------------------------------------------------------

FUNCTIONS = {
    "line": (lambda t: t, lambda t: np.ones_like(t)),
    "cube": (lambda t: t**3, lambda t: 3 * t**2),
    "flat start": (np.expm1, np.exp),
    "arctan": (np.arctan, lambda t: 1 / (1 + t**2)),
    "steps": (lambda t: np.sign(t), lambda t: np.zeros_like(t)),
    "wrong slope": (lambda t: t, lambda t: np.full_like(t, 0.01)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_roots(name: str, rng) -> None:
    function, slope = FUNCTIONS[name]
    roots = rng.uniform(-5, 5, (6, 7))
    low, high = roots - rng.uniform(0, 9, roots.shape), roots + rng.uniform(0, 9, roots.shape)
    for start in (None, roots, low, high, roots + 100.0):
        found = increasing_root(lambda T: (function(T - roots), slope(T - roots)), low, high, start)
        # Three equal roots lose two thirds of the digits.
        np.testing.assert_allclose(found, roots, atol=1e-5 if name == "cube" else 1e-11)


def test_roots_at_the_ends_and_in_a_point() -> None:
    low, high = np.array([1.0, -2.0, 3.0]), np.array([2.0, 1.0, 3.0])
    roots = np.array([1.0, 1.0, 3.0])
    found = increasing_root(lambda T: (T - roots, np.ones_like(T)), low, high)
    np.testing.assert_allclose(found, roots, rtol=1e-14)


# --- descriptions --------------------------------------------------------------------------------


@every_loss
def test_json(loss: Loss) -> None:
    again = Loss.from_json(loss.to_json())
    assert again == loss
    assert type(again) is type(loss)


def test_json_without_a_delta() -> None:
    assert Loss.from_json(Huber().to_json()) == Huber()


@pytest.mark.parametrize("q", [0, 1, 0.0, 1.0, -0.1, 2, np.nan, "half", None, True])
def test_quantiles_outside_are_refused(q) -> None:
    with pytest.raises(
        ValueError, match=r"q = .* is not allowed; give a number between 0 and 1\.$"
    ):
        Quantile(q)


@pytest.mark.parametrize("delta", [0, -1.0, np.inf, np.nan, "one", True])
def test_deltas_that_are_not_positive_are_refused(delta) -> None:
    with pytest.raises(ValueError, match=r"^delta [^\n]*\.$"):
        Huber(delta)
