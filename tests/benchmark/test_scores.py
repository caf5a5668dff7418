"""Scores against plain loops, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

from nvsd.benchmark.measuring import Meter
from nvsd.benchmark.methods.base import Fit
from nvsd.benchmark.methods.filters import one_by_one
from nvsd.benchmark.problems import Problem
from nvsd.benchmark.scores import (
    SCORES,
    average_precision,
    class_scores,
    ranking_scores,
    refit_set,
    scores,
    set_scores,
)


def loop_scores(ranking: list[int], chosen: set[int], true: set[int]) -> dict[str, float]:
    """The same with sets and loops."""
    first = 0
    for a in ranking[: len(true)]:
        first += a in true
    precision, seen = [], 0
    for place, a in enumerate(ranking, start=1):
        if a in true:
            seen += 1
            precision.append(seen / place)
    return {
        "share": first / len(true),
        "average_precision": sum(precision) / len(true),
        "exact": float(chosen == true),
        "distance": 1 - len(chosen & true) / len(chosen | true),
        "fdp": len(chosen - true) / len(chosen) if chosen else 0.0,
        "power": len(chosen & true) / len(true),
    }


@pytest.mark.parametrize("seed", range(20))
def test_scores_are_those_of_plain_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 12))
    true = sorted(rng.choice(d, rng.integers(1, d), replace=False).tolist())
    ranking, selected = rng.permutation(d), rng.random(d) < 0.4
    found = ranking_scores(ranking, true) | set_scores(selected, true)
    expected = loop_scores(ranking.tolist(), set(np.flatnonzero(selected).tolist()), set(true))
    assert found == pytest.approx(expected)
    truth = np.isin(np.arange(d), true)
    strength = np.empty(d)
    strength[ranking] = np.arange(d, 0, -1)
    assert found["average_precision"] == pytest.approx(average_precision_score(truth, strength))


def test_scores_by_hand() -> None:
    hits = np.array([True, False, True, False, False])
    assert average_precision(hits) == pytest.approx((1 + 2 / 3) / 2)
    selected = np.array([True, True, True, False, False])
    found = set_scores(selected, [0, 3])
    assert found["fdp"] == pytest.approx(2 / 3)
    assert found["power"] == 0.5
    assert found["distance"] == 0.75
    assert found["exact"] == 0.0
    assert set_scores(selected[3:], [])["fdp"] == 0.0
    assert set_scores(selected[:2], [])["fdp"] == 1.0
    assert math.isnan(set_scores(selected[:2], [])["power"])
    assert set_scores(selected[3:], [])["exact"] == 1.0


def test_probabilities_of_zero_have_a_log_loss() -> None:
    y, P = np.array([0, 1, 1]), np.array([[1.0, 0.0], [1.0, 0.0], [0.2, 0.8]])
    found = class_scores(y, P)
    assert found["accuracy"] == pytest.approx(2 / 3)
    least = 1e-3 / 1.001
    by_hand = -(math.log(1 / 1.001) + math.log(least) + math.log(0.8)) / 3
    assert found["log_loss"] == pytest.approx(by_hand)
    assert found["auc"] == 0.75


def test_a_class_may_be_absent_from_the_test_rows() -> None:
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 40)
    y = rng.integers(0, 3, 40)
    found = class_scores(y, P)
    assert found["log_loss"] == pytest.approx(log_loss(y, P), rel=1e-2)
    assert found["auc"] == pytest.approx(roc_auc_score(y, P, multi_class="ovr"))
    assert math.isfinite(class_scores(y % 2, P)["log_loss"])


def problem(true: list[int] | None) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 5))
    y = 2 * X[:, 1] + X[:, 4]
    return Problem(X[:120], y[:120], true, X[120:], y[120:])


def test_the_common_refit_uses_the_set_or_the_top_of_the_ranking() -> None:
    order = np.array([4, 1, 0, 2, 3])
    selected = np.array([True, False, False, False, True])
    assert refit_set(problem([1, 4]), Fit(order, selected)) is selected
    top = refit_set(problem([1, 4]), Fit(order))
    assert top is not None
    assert np.flatnonzero(top).tolist() == [1, 4]
    half = refit_set(problem(None), Fit(order))
    assert half is not None
    assert np.flatnonzero(half).tolist() == [0, 1, 4]
    assert refit_set(problem([]), Fit(order)) is None
    assert refit_set(problem([1]), Fit()) is None


def test_what_a_method_does_not_have_is_missing() -> None:
    names = {score.name for score in SCORES}
    ranked = scores(problem([1, 4]), Fit(np.array([4, 1, 0, 2, 3])), 0)
    assert set(ranked) == names
    known = {name for name, value in ranked.items() if math.isfinite(value)}
    assert known == {"share", "average_precision", "refit_r2"}
    assert ranked["share"] == 1.0
    assert ranked["refit_r2"] > 0.7
    nothing = Fit(None, np.zeros(5, bool), lambda Z: np.zeros(len(Z)))
    found = scores(problem([1, 4]), nothing, 0)
    assert found["power"] == 0.0
    assert found["refit_r2"] == pytest.approx(found["r2"], abs=0.2)


def test_memory_and_time_are_measured() -> None:
    with Meter() as meter:
        ones = np.ones((2**23,))
        total = sum(float(ones.sum()) for _ in range(20))
    assert total > 0
    assert 0 <= meter.seconds < 5
    assert math.isnan(meter.memory) or 60 < meter.memory < 80


def test_mrmr_leaves_copies_for_later() -> None:
    relevance = np.array([10.0, 9.9, 5.0, 0.1])
    correlation = np.array(
        [[1, 0.99, 0.0, 0.1], [0.99, 1, 0.0, 0.1], [0.0, 0.0, 1, 0.1], [0.1, 0.1, 0.1, 1]]
    )
    assert one_by_one(relevance, correlation).tolist() == [0, 2, 1, 3]
