"""The engine by other losses than squares: targets, probabilities, fits of sets, refits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from nvsd.engine.aims import Aim, probabilities
from nvsd.engine.judging import Structure, judge
from nvsd.engine.loss_judging import UNCLIPPED, JudgedLosses, LossFold, rank_aim, rank_aim_in_folds
from nvsd.engine.loss_refits import refit_by
from nvsd.engine.loss_sets import fit_all_by, fit_set_by
from nvsd.engine.ranking import rank
from nvsd.losses import Huber, Logistic, Quantile
from nvsd.selection.folds import _folds
from nvsd.selection.quality import quality


def classes(n: int, d: int = 6, seed: int = 0, several: bool = False) -> tuple[np.ndarray, ...]:
    """Rows and their class, by a parabola in one input and a line in another."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = 2 * X[:, 1] ** 2 - 2 + 2 * X[:, 3]
    codes = (f + rng.logistic(size=n) > 0).astype(int)
    if several:
        codes = np.where(X[:, 1] + 0.3 * rng.standard_normal(n) > 0.8, 2, codes)
    return X, codes


def naive_probabilities(f: np.ndarray, origin: np.ndarray, n: int) -> np.ndarray:
    """Row by row."""
    found = []
    for column in f.T:
        odds, base = [1 / (1 + np.exp(-v)) for v in column], [1 / (1 + np.exp(-v)) for v in origin]
        if len(odds) == 1:
            odds, base = [1 - odds[0], odds[0]], [1 - base[0], base[0]]
        total, whole = sum(odds), sum(base)
        pairs = zip(odds, base, strict=True)
        found.append([(n * p / total + s / whole) / (n + 1) for p, s in pairs])
    return np.array(found).T


@pytest.mark.parametrize("c", [1, 3])
def test_probabilities_are_normalised_odds_and_a_row_of_shares(c: int) -> None:
    rng = np.random.default_rng(0)
    f, origin = 3 * rng.standard_normal((c, 7)), rng.standard_normal(c)
    P = probabilities(f, origin, 20)
    np.testing.assert_allclose(P, naive_probabilities(f, origin, 20))
    np.testing.assert_allclose(P.sum(axis=0), 1.0)
    sure = probabilities(np.full((c, 1), 800.0), origin, 20)
    assert sure.min() > 0
    assert sure.max() < 1


@pytest.mark.parametrize("several", [False, True])
def test_costs_are_the_log_loss_of_the_true_class(several: bool) -> None:
    _, codes = classes(40, several=several)
    aim = Aim.of_classes(Logistic(), codes, codes.max() + 1)
    f = np.random.default_rng(1).standard_normal(aim.targets.shape)
    P = naive_probabilities(f, aim.origin, aim.n)
    np.testing.assert_allclose(aim.costs(f, aim), -np.log(P[codes, np.arange(40)]))
    copies = aim.costs(np.stack([f, 2 * f]), aim)
    np.testing.assert_allclose(copies[1], aim.costs(2 * f, aim))
    shares = np.bincount(codes) / 40
    constant = aim.costs(np.repeat(aim.origin[:, None], 40, axis=1), aim)
    np.testing.assert_allclose(np.exp(-constant), shares[codes], atol=0.02)


def test_codes_are_slopes_at_the_best_constant() -> None:
    _, codes = classes(50)
    aim = Aim.of_classes(Logistic(), codes, 2)
    share = (codes.sum() + 0.5) / 51
    np.testing.assert_allclose(aim.codes[0], codes - share, atol=1e-12)
    y = np.random.default_rng(0).standard_t(1.5, 60)
    huber = Huber().bound(y)
    bent = Aim(huber, y[None])
    expected = np.clip(y - bent.origin[0], -huber.delta, huber.delta)
    np.testing.assert_allclose(bent.codes[0], expected, atol=1e-12)
    median = Aim(Quantile(0.5), y[None]).codes[0]
    assert (np.diff(median[np.argsort(y)]) >= -1e-12).all()
    assert len(np.unique(median)) > 20


def test_a_class_that_a_fold_lacks_is_rare_and_no_failure() -> None:
    X, codes = classes(60, several=True)
    codes = np.where(codes == 2, 1, codes)
    codes[7] = 2
    aim = Aim.of_classes(Logistic(), codes, 3)
    rest = np.delete(np.arange(60), 7)
    fold = LossFold(X, aim, (rest, np.array([7, 8])), 0)
    structure = Structure(np.arange(6), np.zeros(6, dtype=bool))
    assert fold.ranking.parts[2] is None
    losses = fold.errors(X, structure, 2)
    assert np.isfinite(losses).all()
    assert losses[0] > 3


@pytest.mark.parametrize("several", [False, True])
def test_strengths_are_those_of_every_target_put_together(several: bool) -> None:
    """In units of its codes, as squares that are added; the order is theirs."""
    X, codes = classes(60, several=several)
    aim = Aim.of_classes(Logistic(), codes, codes.max() + 1)
    found, squares = rank_aim(X, aim, np.arange(60), 0), np.zeros(6)
    for code, part in zip(aim.codes, found.parts, strict=True):
        alone = rank(X, code / code.std(), 0, UNCLIPPED)
        np.testing.assert_allclose(part.ranking.score, alone.score)
        squares += (code.std() * alone.score) ** 2
    np.testing.assert_allclose(found.score, np.sqrt(squares))
    assert (np.diff(found.score[found.order]) <= 0).all()
    assert found.order[0] in (1, 3)


@pytest.mark.parametrize("n", [80, 300])
def test_fits_of_sets_predict_what_their_left_out_losses_promise(n: int) -> None:
    X, codes = classes(n + 2000)
    aim = Aim.of_classes(Logistic(), codes, 2)
    ranking = rank_aim(X, aim, np.arange(n), 0)
    assert set(ranking.order[:2].tolist()) == {1, 3}
    part = ranking.parts[0]
    fit = fit_set_by(part, aim.loss, np.array([1, 3]), None)
    f = fit.predict(X[n:])
    fresh = float(np.mean(np.logaddexp(0, -aim.targets[0, n:] * f)))
    assert fresh == pytest.approx(fit.round.fit.error, abs=0.1)
    # Known odds are the least that a loss can be, and a constant the most that is sensible.
    odds = 2 * X[n:, 1] ** 2 - 2 + 2 * X[n:, 3]
    least = float(np.mean(np.logaddexp(0, -aim.targets[0, n:] * odds)))
    assert least < fresh < least + (0.12 if n == 80 else 0.06)
    whole = fit_all_by(part, aim.loss).predict(X[n:])
    assert np.mean(np.logaddexp(0, -aim.targets[0, n:] * whole)) > least


def test_copies_of_an_input_are_predictions_with_other_values() -> None:
    X, codes = classes(120, several=True)
    aim = Aim.of_classes(Logistic(), codes, 3)
    fold = LossFold(X, aim, (np.arange(90), np.arange(90, 120)), 0)
    structure = Structure(np.arange(6), np.zeros(6, dtype=bool))
    fit = fold.fit(structure, 3)
    used = fit.uses(np.array([1, 3]))
    copies = np.random.default_rng(0).standard_normal((2, 30, len(used)))
    found = fit.with_copies(X[90:], used, copies)
    for c in range(2):
        other = X[90:].copy()
        other[:, used] = copies[c]
        np.testing.assert_allclose(found[c], fit.predict(other), atol=2e-3)


def test_judging_by_losses_compares_them_as_they_are() -> None:
    losses = np.abs(np.random.default_rng(0).standard_normal((50, 3))) + np.array([1, 0.1, 0.1])
    judged = JudgedLosses([0, 1, 2], losses, losses[:, 0])
    np.testing.assert_array_equal(judged.costs, losses)
    np.testing.assert_allclose(judged.loss, losses.mean(axis=0))
    assert judged.sizes[judged.smallest()] == 1


def test_the_true_set_is_chosen_and_noise_gives_none() -> None:
    X, codes = classes(200)
    structure = Structure(np.arange(6), np.zeros(6, dtype=bool))
    for y, size in ((codes, 2), (np.random.default_rng(3).permutation(codes), 0)):
        aim = Aim.of_classes(Logistic(), y, 2)
        folds = rank_aim_in_folds(X, aim, list(_folds(5, y.astype(float), 0, True)))
        judged = judge(X, folds, structure, JudgedLosses)
        assert judged.sizes[judged.smallest()] == size


@pytest.mark.parametrize("several", [False, True])
def test_the_last_fit_is_calibrated(several: bool) -> None:
    X, codes = classes(2300, several=several)
    aim = Aim.of_classes(Logistic(), codes, codes.max() + 1)
    known = aim.take(np.arange(300))
    ranking = rank_aim(X, aim, np.arange(300), 0)
    features = np.isin(np.arange(6), [1, 3])
    fit, scaler = refit_by(X[:300], known, features, ranking, 0)
    f = fit.predict((X[300:] - scaler.centre) / scaler.scale)
    P = probabilities(f, known.origin, known.n)
    found = quality(P.T, codes[300:])
    assert found["calibration_error"] < 0.05
    assert found["auc"] > 0.9
    assert fit.of(0).predict(X[:5]).shape == (1, 5)


def test_no_inputs_predict_the_shares() -> None:
    X, codes = classes(50)
    aim = Aim.of_classes(Logistic(), codes, 2)
    ranking = rank_aim(X, aim, np.arange(50), 0)
    fit, _ = refit_by(X, aim, np.zeros(6, dtype=bool), ranking, 0)
    np.testing.assert_allclose(expit(fit.predict(X[:4])), np.full((1, 4), codes.mean()), atol=0.02)


@pytest.mark.slow
def test_many_rows_are_learned_from_by_landmarks() -> None:
    X, codes = classes(5000, 8)
    aim = Aim.of_classes(Logistic(), codes, 2)
    fold = LossFold(X, aim, (np.arange(3500), np.arange(3500, 5000)), 0)
    part = fold.ranking.parts[0]
    assert part.landmarks
    structure = Structure(np.arange(8), np.zeros(8, dtype=bool))
    odds = 2 * X[:, 1] ** 2 - 2 + 2 * X[:, 3]
    least = np.logaddexp(0, -aim.targets[0] * odds)[fold.held].mean()
    assert fold.errors(X, structure, 2).mean() < least + 0.02
