"""A pursuit finds what strong effects and many inputs hide."""

from __future__ import annotations

import numpy as np
import pytest

from nvsd.engine.pursuit import STEPS, pursue
from nvsd.engine.ranking import rank
from nvsd.engine.scan import by_chance, cosines, pairs_with, scan, scan_main


def wide(seed: int, n: int = 100, d: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Three inputs of many act: the first hides the others from a scan of y."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = 2 * X[:, 0] + X[:, 1] ** 2 + 1.5 * np.sin(2 * X[:, 2]) + rng.standard_normal(n)
    return X, y / y.std()


@pytest.mark.parametrize("seed", range(3))
def test_hidden_inputs_enter(seed: int) -> None:
    X, y = wide(seed)
    start = pursue(X, cosines(X), y)
    assert start[:3].all()
    assert np.count_nonzero(start) <= STEPS
    assert (start[start > 0] > 1).all()


def test_the_partner_of_an_input_enters() -> None:
    """x₁ has no effect of its own; a scan of single inputs does not see it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 300))
    y = X[:, 0] + 1.5 * X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(150)
    C = cosines(X)
    assert scan_main(C, y)[1] < by_chance(300)
    assert set(np.flatnonzero(pursue(X, C, y))) >= {0, 1}


def test_an_input_without_rows_to_tell_does_not_enter() -> None:
    X, y = wide(0)
    shuffled = np.random.default_rng(0).permutation(y)
    assert np.count_nonzero(pursue(X, cosines(X), shuffled)) <= STEPS // 2
    assert not pursue(np.ones_like(X), cosines(np.ones_like(X)), y).any()


def test_nothing_enters_with_more_rows_than_inputs() -> None:
    X, y = wide(0, n=120, d=100)
    assert not pursue(X, cosines(X), y).any()


def test_weights_count_as_copies_of_rows() -> None:
    X, y = wide(1, n=60, d=130)
    twice = np.tile(X, (2, 1)), np.tile(y, 2)
    weights = np.ones(120)
    plain, weighted = (pursue(twice[0], cosines(twice[0]), twice[1], w) for w in (None, weights))
    np.testing.assert_allclose(plain, weighted, rtol=1e-3)


def test_pairs_with_some_inputs_are_those_of_the_scan() -> None:
    X, y = wide(2, n=80, d=12)
    C = cosines(X)
    score = {frozenset(pair): z for z, *pair in scan(C, y, y).pairs}
    found = pairs_with(C, y, np.array([3]))
    for b in (0, 1, 7):
        assert found[b] == pytest.approx(score[frozenset((3, b))], rel=1e-3, abs=1e-3)


def test_a_ranking_finds_a_gate_among_many() -> None:
    """Without a pursuit it had two of the four inputs."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 800))
    y = 1.5 * X[:, 0] - X[:, 1] + 1.5 * np.abs(X[:, 2]) + X[:, 3] * X[:, 0]
    y += 0.7 * rng.standard_normal(120)
    assert set(rank(X, y / y.std()).order[:4]) == {0, 1, 2, 3}
