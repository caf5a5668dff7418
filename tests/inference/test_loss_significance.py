"""Tests of inputs by the rise of the log-loss, and of other losses, on copies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nvsd
from nvsd.engine.aims import Aim
from nvsd.engine.judging import Structure
from nvsd.engine.loss_judging import rank_aim_in_folds
from nvsd.inference.copies import Copier
from nvsd.inference.loss_hypotheses import LossModel
from nvsd.losses import Huber, Logistic

NAMES = [f"v{a}" for a in range(5)]


def sample(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """v0 has a main effect, v1 and v2 a product; the others none."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    odds = 2.5 * X[:, 0] + 3 * X[:, 1] * X[:, 2]
    return pd.DataFrame(X, columns=NAMES), odds + rng.logistic(size=n) > 0


def test_inputs_that_matter_are_told_from_those_that_do_not() -> None:
    found = nvsd.significance(*sample())
    assert (found.p_value.values[:3] < 1e-3).all()
    assert (found.p_value.values[3:] > 0.01).all()
    assert found.feature.values[found.q_value < 0.01].tolist() == ["v0", "v1", "v2"]
    # As a share of the loss of the classes' shares.
    assert 0.05 < float(found.importance[0]) < 3


@pytest.mark.parametrize("classes", [2, 3])
def test_the_rise_is_that_of_the_changed_table(classes: int) -> None:
    X, y = sample(150)
    points, codes = X.to_numpy(), y.astype(int)
    if classes == 3:
        codes = np.where(points[:, 0] > 1, 2, codes)
    aim = Aim.of_classes(Logistic(), codes, classes)
    fold = rank_aim_in_folds(points, aim, [(np.arange(110), np.arange(110, 150))])[0]
    model = LossModel.of(fold, Structure(np.arange(5), np.zeros(5, dtype=bool)), 0)
    unit = np.array([0, 2])
    drawn = Copier(points).draw(unit, 4)
    known, target = model.fit.known, aim.take(np.arange(110, 150))
    plain = target.costs(model.fit.predict(points[110:]), known)
    rises = []
    for copy in drawn.copies:
        changed = points.copy()
        changed[:, unit] = copy
        rises.append(target.costs(model.fit.predict(changed[110:]), known) - plain)
    np.testing.assert_allclose(model.rise(points, unit, drawn), np.mean(rises, axis=0), atol=5e-3)
    assert not model.rise(points, np.array([], dtype=int), drawn).any()


def test_labels_without_a_pattern_pass_no_test() -> None:
    passed = 0
    for seed in range(6):
        X, y = sample(120, seed)
        y = np.random.default_rng(seed).permutation(y)
        passed += int((nvsd.significance(X, y, cv=3).p_value < 0.05).sum())
    assert passed <= 3  # of 30, of which a twentieth is 1.5


def test_groups_repeats_and_a_robust_loss() -> None:
    X, y = sample(150)
    grouped = nvsd.significance(X, y, groups=["a", "b", "b", "c", "c"], repeats=2, cv=3)
    assert (grouped.p_value.sel(group=["a", "b"]) < 1e-3).all()
    assert float(grouped.p_value.sel(group="c")) > 0.01
    rng = np.random.default_rng(1)
    z = X["v0"] + X["v1"] ** 2 + 0.3 * rng.standard_normal(150)
    z[::25] += 1e4
    robust = nvsd.significance(X, z, loss=Huber(0.5), cv=3)
    assert (robust.p_value.values[:2] < 1e-3).all()
    assert (robust.p_value.values[2:] > 0.01).all()
