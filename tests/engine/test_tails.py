"""Extreme values of y: outliers are clipped, signal is not."""

from __future__ import annotations

import numpy as np
import pytest

import nvsd
from nvsd.engine.tails import clip_bounds, misfit


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """Every value as often as its weight says."""
    return float(np.median(np.repeat(values, weights)))


def test_misfit_is_the_product_of_two_squares() -> None:
    rng = np.random.default_rng(0)
    errors, extreme = rng.standard_normal(41), rng.random(41) < 0.2
    expected = np.median(np.abs(errors)) ** 2 * np.mean(errors[extreme] ** 2)
    assert misfit(errors, extreme) == pytest.approx(expected)
    assert misfit(errors, np.zeros(41, dtype=bool)) == pytest.approx(np.median(np.abs(errors)) ** 2)


def test_misfit_counts_rows_by_their_weights() -> None:
    rng = np.random.default_rng(1)
    errors, extreme = rng.standard_normal(30), rng.random(30) < 0.3
    counts = rng.choice([1, 3], size=30)
    repeated = misfit(np.repeat(errors, counts), np.repeat(extreme, counts))
    assert misfit(errors, extreme, counts / counts.mean()) == pytest.approx(repeated, rel=0.2)
    far = np.average(errors[extreme] ** 2, weights=counts[extreme])
    typical = weighted_median(np.abs(errors), counts) ** 2
    assert repeated == pytest.approx(typical * far)


def two_levels(seed: int, predictable: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """y in a band, but 0 in about 4 % of the rows: where x₂ is small, or by chance."""
    rng = np.random.default_rng(seed)
    X = np.exp(rng.standard_normal((900, 8)))
    f = 90 - 3 * np.log(X[:, 0]) - 2 * np.log(X[:, 1]) + rng.standard_normal(900)
    low = X[:, 2] < np.exp(-1.75) if predictable else rng.random(900) < 0.04
    return X, np.where(low, 0.0, f), low


@pytest.mark.parametrize("seed", [0, 1])
def test_extreme_values_that_an_input_explains_are_predicted(seed: int) -> None:
    X, y, _ = two_levels(seed, predictable=True)
    assert clip_bounds(y[:300])[0] > 0
    found = nvsd.select(X[:300], y[:300], p_values=False)
    assert {"x0", "x1", "x2"} <= set(found.selected)
    errors = found.predict(X[300:]) - y[300:]
    assert 1 - np.mean(errors**2) / y[300:].var() > 0.6


@pytest.mark.parametrize("seed", [0, 1])
def test_extreme_values_by_chance_do_not_lead_the_fit(seed: int) -> None:
    X, y, low = two_levels(seed, predictable=False)
    found = nvsd.select(X[:300], y[:300], p_values=False)
    assert set(found.selected) == {"x0", "x1"}
    errors = (found.predict(X[300:]) - y[300:])[~low[300:]]
    assert np.mean(errors**2) < 0.5 * y[300:][~low[300:]].var()
