"""Copies have the law of the input given the others; the check says where a model fails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from nvsd.engine.scan import cosines
from nvsd.inference.conditional import Others, conditional, excess
from nvsd.inference.copies import Copier, from_normal_scores, normal_scores
from nvsd.inference.together import near_copies


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
