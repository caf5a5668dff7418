"""Copies have the law of the input given the others; the check says where a model fails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from nvsd.data.near_copies import near_copies
from nvsd.engine.scan import by_chance, cosines, scan
from nvsd.inference.conditional import LOWEST_SCALE, Others, conditional, excess
from nvsd.inference.copies import Copier, _levels, from_normal_scores, normal_scores


def inputs(seed: int = 0, n: int = 400) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 5))


def copies_of(X: np.ndarray, a: int = 1, n_copies: int = 20):
    drawn = Copier(X).draw(np.array([a]), n_copies)
    return drawn, drawn.copies[:, :, 0]


def test_normal_scores_come_back() -> None:
    x = np.random.default_rng(0).standard_t(2, 300)
    np.testing.assert_allclose(from_normal_scores(normal_scores(x), x), x, atol=1e-9)
    counts = np.random.default_rng(0).poisson(6, 300).astype(float)
    assert set(from_normal_scores(np.linspace(-4, 4, 99), counts)) <= set(counts)


def test_an_independent_input_keeps_its_law_and_nothing_else() -> None:
    X = np.exp(inputs())
    drawn, copies = copies_of(X)
    assert ks_2samp(copies.ravel(), X[:, 1]).pvalue > 0.01
    assert abs(np.corrcoef(copies[0], X[:, 1])[0, 1]) < 4 / np.sqrt(len(X))
    assert drawn.explained < 0.05
    assert drawn.check < 1.0


@pytest.mark.parametrize(
    ("make", "share"),
    [
        (lambda x, e: 0.9 * x + np.sqrt(0.19) * e, 0.81),
        (lambda x, e: x**2 + 0.5 * e, 0.75),
        (lambda x, e: np.sin(3 * x) + 0.3 * e, 0.8),
    ],
    ids=["linear", "square", "sine"],
)
def test_a_dependence_is_kept(make, share: float) -> None:
    """What the copy has in common with the other input is what the input has."""
    X = inputs()
    X[:, 1] = make(X[:, 0], X[:, 1])
    drawn, copies = copies_of(X)
    assert drawn.explained > share - 0.15
    assert drawn.check < 2.0
    for g in (lambda x: x, np.square, lambda x: np.sin(3 * x)):
        truth = np.corrcoef(g(X[:, 0]), X[:, 1])[0, 1]
        drawn_too = np.mean([np.corrcoef(g(X[:, 0]), copy)[0, 1] for copy in copies])
        assert drawn_too == pytest.approx(truth, abs=0.1)


def test_a_scale_that_depends_on_another_input_is_kept() -> None:
    X = inputs()
    X[:, 1] *= np.abs(X[:, 0])
    _, copies = copies_of(X)
    truth = np.corrcoef(np.abs(X[:, 0]), np.abs(X[:, 1]))[0, 1]
    kept = np.mean([np.corrcoef(np.abs(X[:, 0]), np.abs(copy))[0, 1] for copy in copies])
    assert kept == pytest.approx(truth, abs=0.15)


def test_levels_are_drawn_by_their_probabilities() -> None:
    X = inputs()
    X[:, 1] = X[:, 0] + 0.5 * X[:, 1] > 0
    X[:, 2] = np.digitize(X[:, 0] + X[:, 2], [-1, 0, 1]) * 10.0
    for a in (1, 2):
        _, copies = copies_of(X, a)
        assert set(np.unique(copies)) <= set(np.unique(X[:, a]))
        truth = np.corrcoef(X[:, 0], X[:, a])[0, 1]
        kept = np.mean([np.corrcoef(X[:, 0], copy)[0, 1] for copy in copies])
        assert kept == pytest.approx(truth, abs=0.1)


def test_a_group_is_drawn_together() -> None:
    X = inputs()
    X[:, 2] = X[:, 1] + 0.3 * X[:, 2]
    copies = Copier(X).draw(np.array([1, 2]), 5).copies
    truth = np.corrcoef(X[:, 1], X[:, 2])[0, 1]
    for copy in copies:
        assert np.corrcoef(copy[:, 0], copy[:, 1])[0, 1] == pytest.approx(truth, abs=0.1)
        assert abs(np.corrcoef(copy[:, 0], X[:, 1])[0, 1]) < 0.2


def test_copies_do_not_depend_on_which_others_are_drawn() -> None:
    X = inputs(n=100)
    copier = Copier(X)
    first = copier.draw(np.array([1]), 3).copies
    copier.draw(np.array([3]), 3)
    np.testing.assert_array_equal(first, copier.draw(np.array([1]), 3).copies)


def test_many_rows_are_drawn_from_a_model_of_some() -> None:
    X = inputs(n=1500)
    X[:, 1] = X[:, 0] ** 2 + 0.3 * X[:, 1]
    drawn, copies = copies_of(X, n_copies=2)
    assert copies.shape == (2, 1500)
    assert drawn.explained > 0.8


def test_a_constant_input_is_its_own_copy() -> None:
    X = inputs(n=50)
    X[:, 1] = 3.0
    assert (copies_of(X)[1] == 3.0).all()


def test_the_check_sees_what_a_model_misses() -> None:
    """Residuals that depend on another input, in mean or in size, score above chance."""
    X = inputs()
    C = cosines(X)
    rng = np.random.default_rng(1)
    e = rng.standard_normal(len(X))
    assert excess(C, e) < 1.0
    assert excess(C, e + X[:, 0]) > 2.0
    assert excess(C, e + 2 * X[:, 2] * X[:, 3]) > 2.0
    assert excess(C, np.abs(e * X[:, 0])) > 2.0
    assert excess(C, np.zeros(len(X))) == -np.inf


@pytest.mark.parametrize("d", [2, 3, 5])
def test_the_excess_is_that_of_the_best_input_or_pair(d: int) -> None:
    X = inputs(n=150)[:, :d]
    C = cosines(X)
    y = np.random.default_rng(2).standard_normal(150)
    for target in (y + 2 * X[:, 0] * X[:, 1], y + X[:, 1], y):
        found = scan(C, target, target)
        single = found.main.max() - by_chance(d)
        pair = found.pairs[0][0] - by_chance(d * (d - 1) / 2)
        assert excess(C, target) == pytest.approx(max(single, pair), rel=1e-12)
    assert excess(C[:, :, :0], y) == -np.inf
    alone = scan(C[:, :, :1], y, y).main.max() - by_chance(1)
    assert excess(C[:, :, :1], y) == pytest.approx(alone, rel=1e-12)


def test_mean_and_scale_make_the_residual() -> None:
    X = inputs(n=300)
    t = X[:, 0] + np.where(X[:, 2] > 0, 1.0, 0.01) * X[:, 1]
    found = conditional(Others.of(X, 0).without(np.array([1])), t, 0)
    np.testing.assert_allclose(found.mean + found.scale * found.residual, t, atol=1e-12)
    typical = np.abs(t - found.mean).mean()
    assert found.scale.min() == pytest.approx(LOWEST_SCALE * typical)
    assert found.explained == pytest.approx(1 - np.var(t - found.mean) / np.var(t))
    noise = conditional(Others.of(X, 0).without(np.array([1])), X[:, 1], 0)
    assert np.ptp(noise.mean) == 0
    np.testing.assert_allclose(noise.scale, np.abs(X[:, 1] - noise.mean).mean())
    assert noise.explained == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("of_mean", "of_scale", "fitted"),
    [(-0.1, 0.9, 0), (0.1, 0.9, 1), (0.1, 1.1, 2), (-0.1, 1.1, 1)],
)
def test_a_dependence_is_modelled_if_it_is_above_chance(
    monkeypatch: pytest.MonkeyPatch, of_mean: float, of_scale: float, fitted: int
) -> None:
    """That of the scale if it is surely so."""
    told, calls = iter([of_mean, of_scale, -2.0, -1.0]), list[np.ndarray]()

    def constant(others: Others, target: np.ndarray, seed: int) -> np.ndarray:
        calls.append(target)
        return np.full(len(others.X), 0.5)

    monkeypatch.setattr("nvsd.inference.conditional.excess", lambda *_: next(told))
    monkeypatch.setattr("nvsd.inference.conditional.smoothed", constant)
    found = conditional(Others.of(inputs(n=40), 0), np.linspace(-1, 1, 40), 0)
    assert len(calls) == fitted
    assert (found.mean == (0.5 if of_mean > 0 else 0.0)).all()
    assert found.check == -1.0


class LastDraw:
    """The largest number below 1 that a generator may draw."""

    def random(self, shape: tuple) -> np.ndarray:
        return np.full(shape, 1 - 2.0**-53)


def test_the_last_draw_is_a_level_too() -> None:
    """The probabilities of these levels add up to a little less."""
    counts = [7, 6, 1, 4, 7, 5, 1]
    x = np.repeat(np.arange(7.0), counts)
    others = Others.of(x[:, None], 0).without(np.array([0]))
    donors = np.zeros((2, len(x)), dtype=int)
    copies, _, _ = _levels(others, x, donors, LastDraw(), 0)  # type: ignore[arg-type]
    assert (copies == 6.0).all()


def test_leave_one_out_predictions_do_not_see_their_own_row() -> None:
    """Pure noise is not explained, though the model was fitted to the same rows."""
    X = inputs(n=120)
    t = np.random.default_rng(5).standard_normal(120)
    assert conditional(Others.of(X, 0), t, 0).explained < 0.1


def test_near_copies_are_found_and_chains_are_not_joined() -> None:
    X = inputs()
    X[:, 1] = X[:, 0] + 0.05 * X[:, 1]
    X[:, 3] = -X[:, 2] + 0.05 * X[:, 3]
    found = near_copies(X, np.arange(5))
    assert sorted(each.tolist() for each in found) == [[0, 1], [2, 3]]
    assert near_copies(X, np.array([4])) == []
    chain = np.random.default_rng(0).standard_normal((400, 12))
    for a in range(1, 12):
        chain[:, a] = 0.97 * chain[:, a - 1] + np.sqrt(1 - 0.97**2) * chain[:, a]
    assert max(len(each) for each in near_copies(chain, np.arange(12))) <= 3
