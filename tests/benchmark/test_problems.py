"""Data of the benchmark depend on names only, and are what they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiment_problems import write_real

from nvsd.benchmark import METHODS, SUITES, Cell, data, public, tables
from nvsd.benchmark.suites import TUNED, is_of_classes
from nvsd.benchmark.tables import TABLES

EVERY = [cell for suite in SUITES.values() for cell in suite]
DRAWABLE = [
    cell for cell in EVERY
    if cell.suite not in ("planted", "prediction") or cell.problem.split("-")[0].islower()
]  # fmt: skip


def small(cells: list[Cell]) -> list[Cell]:
    """The smallest cell of each problem."""
    return list({(c.suite, c.problem): c for c in sorted(cells, key=lambda c: -c.n * c.d)}.values())


def test_the_cells_are_fixed() -> None:
    counts = {name: len(cells) for name, cells in SUITES.items()}
    assert counts == {
        "public": 30, "unseen": 24, "classes": 13, "noise": 8, "planted": 57, "prediction": 33
    }  # fmt: skip
    assert len(set(EVERY)) == len(EVERY)
    assert set(TUNED) <= set(EVERY)
    assert len(TUNED) == 6


@pytest.mark.parametrize("cell", small(DRAWABLE), ids=lambda cell: f"{cell.suite}-{cell.problem}")
def test_a_cell_has_the_size_that_it_says(cell: Cell) -> None:
    problem = data(cell, 0)
    assert problem.X.shape == (cell.n, cell.d)
    assert problem.y.shape == (cell.n,)
    assert len(problem.X_test) == len(problem.y_test) > 30
    assert problem.classes == is_of_classes(cell)
    assert np.isfinite(problem.X).all()
    assert (problem.true is None) == (cell.suite == "prediction")


def test_data_depend_on_the_names_and_the_replication_only() -> None:
    cell = Cell("public", "friedman1", 200, 10)
    first = data(cell, 3)
    np.random.default_rng(0).random(5)
    data(cell, 4)
    again = data(Cell(*cell), 3)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    others = [data(cell, 4), data(cell._replace(d=55), 3), data(cell._replace(n=201), 3)]
    assert all(other.y[0] != first.y[0] for other in others)


def test_columns_are_shuffled_and_the_true_ones_followed() -> None:
    problem = data(Cell("public", "jse2", 100, 10), 0)
    assert problem.true is not None
    assert problem.true != [0, 1]
    cubes = problem.X_test[:, problem.true] ** 3
    np.testing.assert_allclose(cubes.sum(axis=1), problem.y_test, rtol=1e-12)


# Sums of the test targets, from before these problems were part of the library.
BEFORE = {
    "ring": 526.0,
    "ringxorsum": 507.0,
    "yamada1": 2595.6817487168646,
    "jse3": 508.7670671136807,
    "sine": -0.6426661981741579,
    "friedman2": 475426.309763483,
}


@pytest.mark.parametrize("kind", BEFORE)
def test_a_seed_gives_what_it_always_gave(kind: str) -> None:
    assert public.make(kind, 5000).y_test.sum() == pytest.approx(BEFORE[kind], rel=1e-9)


def test_planted_inputs_are_what_they_are_called() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 5)) * np.arange(1, 6) + 3
    order = tables.permuted(X, rng)
    np.testing.assert_array_equal(np.sort(order, axis=0), np.sort(X, axis=0))
    assert np.abs(np.corrcoef(order.T, X.T)[:5, 5:]).max() < 0.1
    copies = tables.noisy(X, rng)
    np.testing.assert_allclose(np.diag(np.corrcoef(copies.T, X.T)[:5, 5:]), 0.5**0.5, atol=0.05)
    pairs = {tuple(X[:, a] * X[:, b]) for a in range(5) for b in range(a)}
    assert all(tuple(column) in pairs for column in tables.products(X, rng).T)


def test_a_planted_table_keeps_its_real_inputs_and_test_rows_apart() -> None:
    cell = Cell("planted", "wine-permuted", 100, 26)
    problem, (X, _) = data(cell, 1), tables.load("wine")
    assert problem.true is not None
    real = {tuple(row) for row in np.sort(X, axis=1).round(9)}
    drawn = np.vstack([problem.X, problem.X_test])[:, problem.true]
    assert {tuple(row) for row in np.sort(drawn, axis=1).round(9)} == real


def test_tables_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_real(tmp_path)
    monkeypatch.delenv("NVSD_DATA", raising=False)
    assert not tables.is_here("BH")
    assert tables.is_here("wine")
    monkeypatch.setenv("NVSD_DATA", str(tmp_path))
    assert tables.is_here("BH")
    with pytest.raises(ValueError, match="BH has 600 rows and 13 inputs; give the published file"):
        tables.load("BH")
    monkeypatch.setitem(TABLES, "BH", TABLES["BH"]._replace(rows=600))
    assert data(Cell("prediction", "BH", 100, 13), 0).X_test.shape == (500, 13)


def test_every_method_takes_part_somewhere() -> None:
    for key, method in METHODS.items():
        assert any(method.takes(c.n, c.d, is_of_classes(c)) for c in EVERY), key
