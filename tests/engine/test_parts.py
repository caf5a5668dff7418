"""Features, kernel, total effects and scan of the engine, each against a naive twin."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from nvsd.engine.features import Base, Scaler, Units, profile
from nvsd.engine.kernel import ALL, effects, gram
from nvsd.engine.reweight import one_round, reweight, scaled
from nvsd.engine.scan import by_chance, cosines, normal_score, scan, scan_main

BASES = [(Base(0.3),), (Base(1.5, linear=0.5),), (Base(1.0, rough=True),), (Base(0.7), Base(1.5))]
every_base = pytest.mark.parametrize("bases", BASES, ids=str)


def table(n: int = 60, d: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


@every_base
def test_features_are_those_of_the_centred_kernel(bases) -> None:
    """κ_u = Φ_uΦ_uᵀ is the base kernel on the squashed input, centred and scaled."""
    X = table()
    units = Units.make(X, bases)
    Z = units.scaler(X)
    centre = np.eye(len(X)) - 1 / len(X)
    for j, base in enumerate(bases):
        for a in range(X.shape[1]):
            k = profile(Z[:, a, None] - Z[:, a], base.width, base.rough)
            k = (1 - base.linear) * k + base.linear * np.outer(Z[:, a], Z[:, a])
            k = centre @ k @ centre
            k /= np.trace(k) / len(X)
            Phi = units.Phi[:, j * X.shape[1] + a]
            tolerance = 0.15 if base.rough else 0.01  # of what the leading eigenfunctions leave
            assert np.abs(Phi @ Phi.T - k).max() <= tolerance * np.abs(k).max()


@every_base
def test_features_of_new_rows_are_those_of_old_ones(bases) -> None:
    X = table()
    units = Units.make(X, bases)
    np.testing.assert_allclose(units.at(X[5:9]), units.Phi[5:9], atol=1e-12)
    some = units.take(np.array([2, 0]))
    np.testing.assert_allclose(some.at(X[:7, [2, 0]]), some.Phi[:7], atol=1e-12)
    assert some.d == 2


def test_the_scale_does_not_depend_on_far_values() -> None:
    X = table(200, 2)
    far = X.copy()
    far[:3, 0] = 1e6
    one, two = Scaler.fit(X), Scaler.fit(far)
    assert two.scale[0] == pytest.approx(one.scale[0], rel=0.2)
    assert two.scale[1] == one.scale[1]
    assert np.abs(two(far)).max() <= 4.0


def test_a_constant_input_has_no_features() -> None:
    X = table()
    X[:, 1] = 7.0
    units = Units.make(X, (Base(0.7),))
    assert not units.Phi[:, 1].any()
    assert units.Phi[:, 0].any()


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_kernel_is_a_sum_of_powers(order: int) -> None:
    units = Units.make(table(20), (Base(0.7),))
    eta = np.array([0.5, 0.0, 1.0, 0.3])
    p = sum(w * units.Phi[:, a] @ units.Phi[:, a].T for a, w in enumerate(eta))
    powers = [p, p**2 / 2, p**3 / 6]
    K = gram(units.Phi, units.Phi, eta, order).K
    np.testing.assert_allclose(K, sum(powers[:order]), atol=1e-12 * np.abs(K).max())
    assert np.linalg.eigvalsh(K).min() > -1e-10 * np.abs(K).max()


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_total_effect_is_the_derivative_by_the_log_of_its_weight(order: int) -> None:
    units = Units.make(table(20), (Base(0.7),))
    eta, alpha = np.array([0.5, 0.2, 1.0, 0.3]), np.random.default_rng(1).standard_normal(20)
    known = gram(units.Phi, units.Phi, eta, order)
    found = effects(known, units.Phi, eta, alpha, order)
    for u in range(4):
        step = 1e-5 * np.eye(4)[u] * eta
        up, down = (gram(units.Phi, units.Phi, eta + s, order).K @ alpha for s in (step, -step))
        assert found[u] == pytest.approx(((up - down) / 2e-5).std(), abs=1e-5)


def test_effects_in_a_product_are_norms_of_derivatives() -> None:
    units = Units.make(table(20), (Base(1.0, linear=1.0),))
    eta, alpha = np.array([0.5, 0.2, 1.0, 0.3]), np.random.default_rng(1).standard_normal(20)
    known = gram(units.Phi, units.Phi, eta, ALL)
    gaps = units.Phi[:, None, :, 0] - units.Phi[:, :, 0]
    np.testing.assert_allclose(known.K, np.exp(-0.5 * np.sum(eta * gaps**2, axis=2)), atol=1e-12)
    found = effects(known, units.Phi, eta, alpha, ALL)
    for u in range(4):
        step = 1e-5 * np.eye(4)[u][:, None]
        up, down = (gram(units.Phi + s, units.Phi, eta, ALL).K @ alpha for s in (step, -step))
        assert found[u] == pytest.approx(np.sqrt(np.mean(((up - down) / 2e-5) ** 2)), abs=1e-6)


def test_weights_have_a_sum_of_squares_and_small_ones_rest() -> None:
    eta = scaled(np.array([1.0, 0.5, 0.001]), 2.0)
    assert np.sum(eta**2) == pytest.approx(4.0)
    assert eta[2] == 0.0
    np.testing.assert_allclose(scaled(np.zeros(4), 1.0), 0.5)


def test_reweighting_concentrates_on_what_matters() -> None:
    X = table(150, 8)
    y = np.sin(2 * X[:, 3]) + 0.1 * np.random.default_rng(2).standard_normal(150)
    units = Units.make(X, (Base(0.7),))
    rounds = reweight(units.Phi, y, 2, 1.0, np.ones(8), 4)
    assert np.argmax(rounds[-1].effect) == 3
    assert rounds[-1].effect[3] > 5 * np.delete(rounds[-1].effect, 3).max()
    assert rounds[-1].fit.error < rounds[0].fit.error


def test_errors_of_held_rows_are_those_of_a_prediction() -> None:
    X = table(50)
    y = X[:, 0] + 0.1 * X[:, 1]
    units = Units.make(X, (Base(1.5),))
    eta = np.array([1.0, 0.5, 0.0, 0.1])
    held = units.Phi[40:], y[40:]
    now = one_round(units.Phi[:40], y[:40], 2, eta, held=held)
    K = gram(units.Phi[40:], units.Phi[:40], eta, 2).K
    np.testing.assert_allclose(now.held, y[40:] - now.fit.mean - K @ now.fit.alpha, atol=1e-10)


def test_cosines_are_orthonormal_over_the_rows() -> None:
    C = cosines(table(101, 3)).astype(float)
    for a in range(3):
        np.testing.assert_allclose(C[:, :, a] @ C[:, :, a].T / 101, np.eye(4), atol=1e-5)
    constant = cosines(np.ones((10, 1)))
    assert not constant.any()


def test_scores_of_pairs_are_those_of_plain_loops() -> None:
    X = table(80, 4)
    y = np.random.default_rng(3).standard_normal(80)
    C, found = cosines(X).astype(float), scan(cosines(X), y, y)
    r = (y - y.mean()) / y.std()
    best = np.full(4, -np.inf)
    for a in range(4):
        for b in range(4):
            if a != b:
                squares = np.array(
                    [
                        [(r @ (C[k, :, a] * C[m, :, b])) ** 2 / 80 for m in range(4)]
                        for k in range(4)
                    ]
                )
                scores = [float(normal_score(squares[:m, :m].sum(), m * m)) for m in (1, 2, 4)]
                best[a] = max(best[a], *scores)
    np.testing.assert_allclose(found.best, best, atol=1e-3)
    assert found.pairs[0][0] == pytest.approx(best.max(), abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_a_pair_without_main_effects_comes_first(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (250, 128))
    y = (X[:, 5] * X[:, 77] > 0).astype(float)
    found = scan(cosines(X), y, y)
    assert {found.pairs[0][1], found.pairs[0][2]} == {5, 77}
    assert scan_main(cosines(X), X[:, 9]).argmax() == 9


def test_scores_of_triples_are_those_of_plain_loops() -> None:
    X = table(90, 6)
    y = np.sign(X[:, 0] * X[:, 2] * X[:, 5]) + 0.3 * X[:, 1] * X[:, 3] * X[:, 4]
    c, found = cosines(X)[0].astype(float), scan(cosines(X), y, y).triples
    r = (y - y.mean()) / y.std()
    scores = {
        three: abs(r @ c[:, three].prod(axis=1)) / np.sqrt(90)
        for three in combinations(range(6), 3)
    }
    above = {three for three, score in scores.items() if score > by_chance(6**3 / 6)}
    assert {tuple(inputs) for _, *inputs in found} == above
    assert found[0][1:] == (0, 2, 5)
    for score, *three in found:
        assert score == pytest.approx(scores[tuple(three)], abs=1e-3)


def test_triples_of_noise_are_seldom_above_chance() -> None:
    rng = np.random.default_rng(0)
    runs = [(rng.standard_normal((200, 20)), rng.standard_normal(200)) for _ in range(20)]
    assert sum(bool(scan(cosines(X), y, y).triples) for X, y in runs) <= 8


def test_pairs_of_many_inputs_are_those_of_the_best_main_effects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, 30))
    y = X[:, 3] + X[:, 17] + 2 * X[:, 3] * X[:, 17] + 0.1 * rng.standard_normal(200)
    C = cosines(X)
    every = scan(C, y, y)
    monkeypatch.setattr("nvsd.engine.scan.WIDE", 10)
    some = scan(C, y, y)
    np.testing.assert_array_equal(some.main, every.main)
    kept = np.isfinite(some.best)
    assert kept.sum() == 10
    assert set(np.flatnonzero(kept)) == set(np.argsort(-every.main)[:10])
    inside = [pair for pair in every.pairs if kept[pair[1]] and kept[pair[2]]]
    found = {pair[1:]: pair[0] for pair in some.pairs}
    for score, *two in inside:
        assert found[tuple(two)] == pytest.approx(score, rel=1e-4)
    assert some.pairs[0][1:] == (3, 17)


def test_too_many_triples_are_not_scanned() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 1000))
    y = X[:, 0] * X[:, 1] * X[:, 2]
    assert scan(cosines(X), y, y).triples == []


def test_scores_of_noise_are_about_normal() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 40)), rng.standard_normal(300)
    C = cosines(X)
    squares = np.einsum("kia,i->ka", C, (y - y.mean()) / y.std()) ** 2 / 300
    z = normal_score(squares.sum(axis=0), 4)
    assert abs(z.mean()) < 4 / np.sqrt(40)
    assert 0.6 < z.std() < 1.5
