"""Near copies of an input: effects that cancel between them do not count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nvsd
from nvsd.data.near_copies import kin
from nvsd.data.units import DataWarning
from nvsd.engine.features import Base, Units
from nvsd.engine.kernel import ALL, effects, gram


def table(n: int = 200) -> np.ndarray:
    """Six inputs, of which 1 and 4 are near copies, and 5 is the negative of 2, nearly."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    near = X[:, [1, 2]] * [1, -1] + 1e-3 * rng.standard_normal((n, 2))
    return np.column_stack([X, near])


def cancelling(X: np.ndarray, A: np.ndarray, eta: np.ndarray, order: int) -> np.ndarray:
    """Coefficients of a fit to the small difference of two near copies."""
    K = gram(A, A, eta, order).K
    return np.linalg.solve(K + 1e-5 * np.eye(len(X)), 1e3 * (X[:, 1] - X[:, 4]))


def test_near_copies_are_numbered() -> None:
    numbers = kin(table())
    assert numbers is not None
    assert numbers[[0, 3]].tolist() == [-1, -1]
    assert numbers[1] == numbers[4] != numbers[2] == numbers[5]
    assert numbers.min() == -1
    assert kin(table()[:, :4]) is None


def test_copies_with_the_same_ranks_are_at_distance_zero() -> None:
    """Rounding had made their distance negative, which scipy refuses."""
    for seed in range(50):
        x = np.random.default_rng(seed).random(7)
        assert kin(np.column_stack([x, 2 * x, np.exp(x)])).tolist() == [0, 0, 0]


@pytest.mark.parametrize("order", [ALL, 1, 2, 3])
def test_near_copies_have_at_most_the_effect_of_both_together(order: int) -> None:
    base = Base(1.0, linear=1.0) if order == ALL else Base(1.5, linear=0.5)
    X = table()
    units = Units.make(X, (base,), kin=kin(X))
    eta, A = np.array([0.01, 0.4, 0.01, 0.01, 0.4, 0.01]), units.Phi
    alpha, known = cancelling(X, A, eta, order), gram(A, A, eta, order)
    alone = effects(known, A, eta, alpha, order)
    found = effects(known, A, eta, alpha, order, kin=units.kin)
    step = 1e-5

    def both(one: int, two: int, sign: float) -> float:
        """What the two have together, by numerical differentiation."""
        if order == ALL:
            shift = np.zeros((6, 1))
            shift[[one, two], 0] = step, sign * step
            up, down = (gram(A + s, A, eta, ALL).K @ alpha for s in (shift, -shift))
            return float(np.sqrt(np.mean(((up - down) / (2 * step)) ** 2)))
        shift = np.zeros(6)
        shift[[one, two]] = step * eta[[one, two]]
        up, down = (gram(A, A, eta + s, order).K @ alpha for s in (shift, -shift))
        return float(((up - down) / (2 * step)).std())

    for one, two, sign in ((1, 4, 1.0), (2, 5, -1.0)):
        limit = both(one, two, sign)
        np.testing.assert_allclose(found[[one, two]], np.minimum(alone[[one, two]], limit), 1e-4)
    np.testing.assert_array_equal(found[[0, 3]], alone[[0, 3]])
    assert found[1] < 0.01 * alone[1]


@pytest.mark.parametrize("seed", [8, 92, 101])
def test_effects_that_cancel_select_nothing(seed: int) -> None:
    """In one fold of these tables near copies without any effect were ranked before all others."""
    rng, n = np.random.default_rng(seed), 300
    X = pd.DataFrame(
        {
            "dose": rng.gamma(2.0, 2.0, n),
            "site": rng.choice(["N", "S", "W"], n),
            "flag": rng.random(n) < 0.5,
            "count": rng.integers(0, 10, n),
            "big": 1e12 + rng.standard_normal(n),
            "one": np.ones(n),
            "text": rng.choice(["a", "b"], n),
            "base": rng.standard_normal(n),
        }
    )
    X["copy"] = X["base"] + 1e-3 * rng.standard_normal(n)
    y = 3 * np.log1p(X["dose"]) + 2 * (X["site"] == "N") + 0.3 * rng.standard_normal(n)
    with pytest.warns(DataWarning, match="'one' has the same value"):
        found = nvsd.select(X, y)
    assert sorted(found.selected) == ["dose", "site"]
    assert found.strength[[7, 8]].max() < 0.2
