"""Random samples of rows, drawn in one pass."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from nvsd.data.rows import ArrayRows
from nvsd.data.sample import Sample
from nvsd.data.sources import rows_of


def table(n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Rows that tell their number."""
    return np.column_stack([np.arange(float(n)), np.ones(n)]), -np.arange(float(n))


def test_a_sample_has_rows_of_the_table_once_each() -> None:
    X, y = table()
    blocks = [(X[a : a + 70], y[a : a + 70]) for a in range(0, 500, 70)]
    found = rows_of(blocks).total(partial(Sample.of, 60, 0))
    assert found.n == 500
    assert len(np.unique(found.X[:, 0])) == len(found.y) == 60
    np.testing.assert_array_equal(found.y, -found.X[:, 0])


def test_fewer_rows_are_all_taken() -> None:
    found = rows_of(*table(20)).total(partial(Sample.of, 60, 0))
    assert sorted(found.X[:, 0]) == list(range(20))


def test_the_order_of_the_parts_does_not_matter() -> None:
    X, y = table()
    parts = [Sample.of(50, 1, X[a : a + 100], y[a : a + 100]) for a in range(0, 500, 100)]
    one = parts[0] + parts[1] + parts[2] + parts[3] + parts[4]
    other = (parts[4] + parts[2]) + (parts[3] + (parts[0] + parts[1]))
    np.testing.assert_array_equal(one.X, other.X)


def test_every_row_has_the_same_chance() -> None:
    X, y = table(40)
    counts = np.zeros(40)
    for seed in range(2000):
        sample = Sample.of(10, seed, X[:25], y[:25]) + Sample.of(10, seed, X[25:], y[25:])
        counts[sample.X[:, 0].astype(int)] += 1
    # Each is drawn in a quarter of the seeds; five standard deviations for forty rows.
    np.testing.assert_allclose(counts / 2000, 0.25, atol=5 * np.sqrt(0.25 * 0.75 / 2000))


def test_sums_are_over_what_a_view_shows() -> None:
    X, y = table(100)
    rows = ArrayRows(X, y).seen_as(lambda X, y: (X[:, :1] + 1, None if y is None else 2 * y))
    total = rows.total(lambda X, y: np.array([X.sum(), y.sum()]))
    assert total.tolist() == pytest.approx([100 + X[:, 0].sum(), 2 * y.sum()])
