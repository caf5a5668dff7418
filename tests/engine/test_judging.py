"""Judging in small pieces: sizes, units, rules and folds, each against what its text says."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from nvsd.engine.judged import SIZE_Z, Judged
from nvsd.engine.judging import (
    PATIENCE,
    ROWS_PER_INPUT,
    Fold,
    Structure,
    and_whole,
    judge,
    rank_in_folds,
    size_grid,
    some_rows,
    sufficient,
)
from nvsd.engine.loss_judging import JudgedLosses, LossFold
from nvsd.engine.reweight import error_bound, huber


def ranking(score: list[float], columns: list[int] | None = None) -> SimpleNamespace:
    """What a structure needs of a ranking; without columns, all inputs entered the race."""
    order = np.argsort(-np.array(score), kind="stable")
    entered = np.arange(len(score)) if columns is None else np.array(columns)
    return SimpleNamespace(order=order, score=np.array(score), columns=entered)


def structure(units: list[int], keep: tuple[int, ...] = ()) -> Structure:
    kept = np.zeros(max(units) + 1, dtype=bool)
    kept[list(keep)] = True
    return Structure(np.array(units), kept)


# --- units ---------------------------------------------------------------------------------------


def test_the_strength_of_a_unit_is_the_root_of_squares() -> None:
    found = structure([0, 1, 1, 2]).strength(np.array([1.0, 3.0, -4.0, 0.0]))
    np.testing.assert_allclose(found, [1.0, 5.0, 0.0])


def test_units_come_by_strength_and_those_kept_before_all() -> None:
    known = ranking([1.0, 3.0, 2.0, 0.5, 2.5])
    assert structure([0, 1, 2, 3, 4]).order(known).tolist() == [1, 4, 2, 0, 3]
    assert structure([0, 1, 2, 3, 4], keep=(3, 0)).order(known).tolist()[:2] == [0, 3]
    grouped = structure([0, 1, 0, 1, 2])  # strengths √5, √9.25, 2.5
    assert grouped.order(known).tolist() == [1, 2, 0]


def test_units_of_equal_strength_come_by_their_first_input() -> None:
    known = SimpleNamespace(order=np.array([3, 1, 0, 2]), score=np.zeros(4), columns=np.arange(4))
    assert structure([0, 1, 2, 3]).order(known).tolist() == [3, 1, 0, 2]
    assert structure([0, 0, 1, 2]).order(known).tolist() == [2, 0, 1]


def test_the_support_is_that_of_the_first_units() -> None:
    known, units = ranking([1.0, 3.0, 2.0, 0.5]), structure([0, 1, 1, 2])
    assert units.support(known, 0).tolist() == [False] * 4
    assert units.support(known, 1).tolist() == [False, True, True, False]
    assert units.support(known, 2).tolist() == [True, True, True, False]


def test_only_inputs_that_entered_the_race_are_fitted() -> None:
    known, units = ranking([1.0, 3.0, 2.0, 0.5], columns=[0, 1, 3]), structure([0, 1, 1, 2])
    assert units.inputs(known, 1).tolist() == [1]
    assert units.inputs(known, 2).tolist() == [0, 1]


def test_limits_of_a_set() -> None:
    known = ranking([1.0] * 6, columns=[0, 1, 2, 3])
    every = structure([0, 1, 1, 2, 3, 4], keep=(3,))
    assert every.limits(known, 1000) == (1, 3)  # units of the four inputs
    assert every.limits(known, 2 * ROWS_PER_INPUT) == (1, 2)
    assert every.limits(known, 2 * ROWS_PER_INPUT - 1) == (1, 1)
    assert structure([0, 1, 2, 3, 4, 5], keep=(0, 1, 2)).limits(known, ROWS_PER_INPUT) == (3, 3)


def test_sizes_are_not_beyond_the_last() -> None:
    assert size_grid(0, 40)[-2:] == [30, 40]
    assert size_grid(0, 39)[-2:] == [30, 39]
    assert size_grid(0, 41)[-2:] == [30, 40]
    assert size_grid(45, 50) == [45]
    assert size_grid(0, 0) == [0]
    assert all(a < b for a, b in pairwise(size_grid(2, 33)))


def test_rows_are_drawn_only_if_there_are_more() -> None:
    rows, rng = np.arange(10, 20), np.random.default_rng(0)
    assert some_rows(rows, 10, rng) is rows
    some = some_rows(rows, 9, rng)
    assert len(set(some.tolist())) == 9
    assert set(some) <= set(rows)
    assert (np.diff(some) > 0).all()


# --- the rule ------------------------------------------------------------------------------------


class Plain(JudgedLosses):
    """Errors are losses, and a larger set needs what it needs for squares."""

    size_z = SIZE_Z


def paired(difference: float, z: float, n: int = 400) -> np.ndarray:
    """Differences with this mean, and this number of standard errors."""
    return difference * (1 + (-1.0) ** np.arange(n) * np.sqrt(n) / z)


@pytest.mark.parametrize(
    ("z_empty", "z_small", "gain", "size"),
    [
        (1.4, 9.0, 0.5, 0),  # the best set does not beat the mean by 1.5 standard errors
        (1.6, 9.0, 0.5, 2),
        (9.0, 1.1, 0.5, 2),  # the smaller set is clearly worse
        (9.0, 0.9, 0.5, 1),
        (9.0, 2.9, 0.005, 1),  # slightly worse: by less than three standard errors
        (9.0, 3.1, 0.005, 2),
        (9.0, 1.1, 0.0105, 2),  # a little more than slight
    ],
)
def test_what_a_larger_set_needs(z_empty: float, z_small: float, gain: float, size: int) -> None:
    best = np.ones(400)
    losses = np.column_stack([best + paired(0.8, z_empty), best + paired(gain, z_small), best])
    assert Plain([0, 1, 2], losses, best).smallest() == size


def test_a_set_after_the_best_is_not_chosen() -> None:
    losses = np.ones((400, 3)) + np.column_stack([paired(0.8, 9.0), np.zeros(400), np.zeros(400)])
    assert Plain([0, 1, 2], losses, losses[:, 2]).smallest() == 1
    assert Plain([0, 1, 2], losses[:, [1, 0, 2]], losses[:, 2]).smallest() == 0


def test_differences_of_exact_fits_do_not_count() -> None:
    losses = np.column_stack([np.ones(40), np.full(40, 3e-11), np.zeros(40)])
    assert Plain([0, 1, 2], losses, losses[:, 2]).smallest() == 1
    losses[:, 1] = 4e-10
    assert Plain([0, 1, 2], losses, losses[:, 2]).smallest() == 2


def test_weights_of_rows_count_in_the_rule() -> None:
    """A row of weight 3 is worth more than three rows of weight 0.01."""
    losses = np.array([[2.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]]).T
    weights = np.array([3.0, 0.01, 0.01, 0.01])
    judged = Plain([0, 1], losses, losses[:, 0], weights)
    np.testing.assert_allclose(judged.loss, np.average(losses, axis=0, weights=weights))
    np.testing.assert_allclose(judged.cost, judged.loss)
    assert judged.loss_of_all == pytest.approx(judged.loss[0])
    gap, se = judged.differences()
    assert gap.tolist() == pytest.approx([judged.loss[0] - judged.loss[1], 0.0])
    spread = weights * (losses[:, 0] - losses[:, 1] - gap[0])
    assert se.tolist() == pytest.approx([np.linalg.norm(spread) / weights.sum(), 0.0])


def test_errors_in_other_units_have_costs_in_squares_of_them() -> None:
    e = np.random.default_rng(0).standard_normal((50, 3))
    one, three = Judged([0, 1, 2], e, e[:, 0]), Judged([0, 1, 2], e, e[:, 0]).times(3.0)
    np.testing.assert_allclose(one.costs, e**2)
    np.testing.assert_allclose(one.cost_se, (e**2).std(axis=0) / np.sqrt(50))
    np.testing.assert_allclose(three.cost, 9 * one.cost)
    np.testing.assert_allclose(three.loss, 9 * one.loss)
    assert three.loss_of_all == pytest.approx(9 * one.loss_of_all)


def test_the_bound_of_losses_is_that_of_the_best_set() -> None:
    """By the median of its errors; all inputs do not compete."""
    rng = np.random.default_rng(0)
    e = rng.standard_normal((200, 2)) * [3.0, 1.0]
    e[0] = 100.0
    judged = Judged([0, 1], e, 0.1 * e[:, 1])
    bound = error_bound(e[:, 1])
    np.testing.assert_allclose(judged.losses[:, 0], huber(e[:, 0], bound))
    np.testing.assert_allclose(judged.losses[:, 2], huber(0.1 * e[:, 1], bound))
    assert judged.losses.shape == (200, 3)
    assert judged.losses[0, 0] == pytest.approx(bound * (200 - bound))


# --- folds ---------------------------------------------------------------------------------------


class Told:
    """A fold whose errors are told for each size."""

    def __init__(self, sizes: dict[int, float], limits: tuple[int, int], n: int = 30) -> None:
        self.sizes, self._limits, self.n, self.asked = sizes, limits, n, list[int]()
        self.weights = None

    def limits(self, structure: Structure) -> tuple[int, int]:
        return self._limits

    def errors(self, X: np.ndarray, structure: Structure, size: int) -> np.ndarray:
        self.asked.append(size)
        return np.full(self.n, self.sizes.get(size, 1.0))

    def all_errors(self, X: np.ndarray) -> np.ndarray:
        return np.full(self.n, 0.7)


def test_judging_ends_when_errors_no_longer_fall() -> None:
    errors = {0: 2.0, 2: 0.5}
    folds = [Told(errors, (0, 30)), Told(errors, (0, 12), n=20)]
    judged = judge(np.zeros((50, 9)), folds, structure([0]))
    assert folds[0].asked == folds[1].asked == judged.sizes == list(range(2 + PATIENCE + 1))
    np.testing.assert_allclose(judged.errors[:, 2], 0.5)
    assert judged.errors.shape == (50, 2 + PATIENCE + 1)
    np.testing.assert_allclose(judged.all_inputs, np.full(50, 0.7))


def test_judging_ends_at_the_size_that_every_fold_can_fit() -> None:
    errors = {size: 1 / (1 + size) for size in range(50)}
    folds = [Told(errors, (1, 30)), Told(errors, (1, 5))]
    assert judge(np.zeros((60, 9)), folds, structure([0])).sizes == [1, 2, 3, 4, 5]


@pytest.fixture(scope="module", params=[False, True], ids=["equal", "weighted"])
def fold(request: pytest.FixtureRequest) -> tuple[np.ndarray, Fold]:
    """The first two of four inputs matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * rng.standard_normal(90)
    weights = rng.uniform(0.5, 1.5, 90) if request.param else None
    return X, Fold(X, y / y.std(), (np.arange(60), np.arange(60, 90)), 0, weights)


def test_a_fold_fits_the_first_units(fold) -> None:
    X, known = fold
    every = structure([0, 1, 2, 3])
    assert known.fit(every, 0) is None
    np.testing.assert_allclose(known.errors(X, every, 0), known.target - known.mean)
    for size in (1, 2):
        fit = known.fit(every, size)
        assert fit is known.fit(every, size)  # kept
        assert len(fit.inputs) == size
        expected = known.target - fit.predict(X[known.held])
        np.testing.assert_array_equal(known.errors(X, every, size), expected)
    assert set(known.fit(every, 2).inputs) == {0, 1}
    assert np.mean(known.errors(X, every, 2) ** 2) < np.mean(known.errors(X, every, 1) ** 2)
    assert np.mean(known.all_errors(X) ** 2) < np.mean(known.errors(X, every, 0) ** 2)


def test_the_mean_of_a_fold_is_that_of_its_rows(fold) -> None:
    _, known = fold
    share = np.ones(60) if known.more.weights is None else known.more.weights
    assert known.mean == pytest.approx(np.average(known.y, weights=share))


def test_the_model_of_a_fold_has_the_least_error_of_rows_left_out(fold) -> None:
    _, known = fold
    every = structure([0, 1, 2, 3])
    fits = [known.fit(every, size) for size in (1, 2, 3, 4)]
    least = min(fits, key=lambda fit: fit.round.fit.error)
    assert known.model(every) is least


class Sizes(Fold):
    """A fold whose fits of each size have errors that are told; its y has a variance of 1."""

    def __init__(self, told: dict[int, float]) -> None:
        self.told, self.asked, self.y = told, list[int](), np.array([1.0, -1.0] * 40)
        self.more = SimpleNamespace(weights=None)
        self.ranking = ranking([1.0] * 20)

    def fit(self, structure: Structure, size: int) -> SimpleNamespace | None:
        self.asked.append(size)
        error = self.told.get(size, 0.9)
        fit = SimpleNamespace(size=size, round=SimpleNamespace(fit=SimpleNamespace(error=error)))
        return None if size == 0 else fit


@pytest.mark.parametrize(
    ("told", "best", "last"),
    [
        ({1: 0.5}, 1, 1 + PATIENCE),
        ({1: 0.5, 5: 0.4}, 5, 5 + PATIENCE),
        ({1: 0.5, 6: 0.4}, 1, 1 + PATIENCE),
        (dict.fromkeys(range(30), 1.0), None, PATIENCE),  # not better than the mean
    ],
)
def test_no_larger_sets_are_fitted_once_errors_rise(told: dict, best: int, last: int) -> None:
    known = Sizes(told)
    found = known.model(structure(list(range(20))))
    assert (None if found is None else found.size) == best
    assert known.asked[-1] == size_grid(0, 20)[last]


class LossSizes(LossFold):
    """The same for losses."""

    def __init__(self, told: dict[int, float]) -> None:
        self.told, self.asked = told, list[int]()

    def limits(self, structure: Structure) -> tuple[int, int]:
        return 0, 20

    def fit(self, structure: Structure, size: int) -> SimpleNamespace:  # type: ignore[override]
        self.asked.append(size)
        return SimpleNamespace(size=size, error=self.told.get(size, 0.9))


@pytest.mark.parametrize(
    ("told", "best", "last"),
    [
        ({1: 0.5}, 1, 1 + PATIENCE),
        ({1: 0.5, 5: 0.4}, 5, 5 + PATIENCE),
        ({1: 0.5, 6: 0.4}, 1, 1 + PATIENCE),
        ({}, 0, 1 + PATIENCE),
    ],
)
def test_no_larger_sets_are_fitted_once_losses_rise(told: dict, best: int, last: int) -> None:
    known = LossSizes(told)
    assert known.model(structure([0])).size == best
    assert known.asked == size_grid(0, 20)[: last + 1]


def test_every_split_has_its_fold_and_the_last_holds_nothing_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    rows, told = np.arange(40), list[int]()
    splits = [(rows[10:], rows[:10]), (rows[:30], rows[30:])]
    y = X[:, 2] / X[:, 2].std()
    *folds, whole = rank_in_folds(X, y, and_whole(splits, 40), n_jobs=1, tick=told.append)
    assert [each.held.tolist() for each in folds] == [list(range(10)), list(range(30, 40))]
    assert len(whole.y) == 40
    assert whole.held.size == 0
    assert whole.ranking.order[0] == 2
    assert told == [1, 1, 1]
    one = structure([0, 1, 2])
    assert whole.left_out(one, 0) == pytest.approx(y.var())
    assert whole.left_out(one, 1) == whole.fit(one, 1).round.fit.error < 0.01


@pytest.mark.parametrize(
    ("of_whole", "size", "found"),
    [
        ({1: 0.1, 2: 0.1, 3: 0.1}, 1, 1),  # as good as in the folds
        ({1: 0.9, 2: 0.9, 3: 0.12}, 1, 3),  # the ranking of all rows begins with others
        ({1: 0.14, 2: 0.14, 3: 0.01}, 1, 1),  # a little worse is good enough
        ({1: 0.9, 2: 0.8, 3: 0.7}, 1, 1),  # no set is good enough
        ({3: 0.9}, 3, 3),  # no larger set has an effect
        ({}, 0, 0),  # nothing stays nothing
    ],
)
def test_a_set_is_as_good_in_the_ranking_of_all_rows_as_in_the_folds(
    of_whole: dict, size: int, found: int
) -> None:
    class Told:
        def __init__(self, errors: dict) -> None:
            self.left_out = lambda structure, size: errors[size]

    folds = [Told({0: 1.0, 1: e, 3: e}) for e in (0.1, 0.1, 5.0)]
    one = structure([0, 1, 2])
    assert sufficient(Told(of_whole), folds, one, size, 3) == found
