"""Real tables: with inputs planted that say nothing new, and for prediction.

Planted inputs are those of Cherepanova et al. (2023), "A performance-driven benchmark for feature
selection in tabular deep learning": beside every real input a permuted copy, a noisy copy, or the
product of two real inputs. The real inputs count as true, although some may say nothing either.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.benchmark.problems import Array, Problem, Rng
from nvsd.datasets import load_real

__all__ = ["MOST_TEST_ROWS", "PLANTED", "TABLES", "Table", "is_here", "planted", "prediction"]

MOST_TEST_ROWS = 2000
TRAINING_SHARE = 0.8  # of all rows
NOISE_SHARE = 0.5  # of a noisy copy


class Table(NamedTuple):
    """A real table: its size, whether y holds classes, and whether it needs a file."""

    rows: int
    inputs: int
    classes: bool = False
    from_file: bool = True

    @property
    def most(self) -> int:
        """Training rows if all rows are used."""
        return int(TRAINING_SHARE * self.rows)


# The seven of the paper as they were published, and three that scikit-learn brings along.
TABLES = {
    "AI": Table(1503, 5),
    "BH": Table(506, 13),
    "CC": Table(1030, 8),
    "EN": Table(768, 8),
    "CP": Table(8192, 21),
    "EL": Table(16599, 18),
    "KN": Table(8192, 8),
    "diabetes": Table(442, 10, from_file=False),
    "wine": Table(178, 13, classes=True, from_file=False),
    "breast_cancer": Table(569, 30, classes=True, from_file=False),
}


def is_here(name: str) -> bool:
    """Whether the table can be read: the paper's are files in the folder NVSD_DATA."""
    return not TABLES[name].from_file or bool(os.environ.get("NVSD_DATA"))


@lru_cache(maxsize=2)
def _loaded(name: str, folder: str | None) -> tuple[Array, NDArray[Any]]:
    if TABLES[name].from_file:
        real = load_real(name, folder, as_published=True)
        return real.X, real.y
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X, y


def load(name: str) -> tuple[Array, NDArray[Any]]:
    """All rows of a table."""
    X, y = _loaded(name, os.environ.get("NVSD_DATA"))
    if X.shape != (TABLES[name].rows, TABLES[name].inputs):
        rows, inputs = TABLES[name][:2]
        raise ValueError(
            f"{name} has {X.shape[0]} rows and {X.shape[1]} inputs; give the published file with "
            f"{rows} rows and {inputs} inputs."
        )
    return X, y


def permuted(X: Array, rng: Rng) -> Array:
    """Each input in another order of the rows."""
    return np.column_stack([rng.permutation(column) for column in X.T])


def noisy(X: Array, rng: Rng) -> Array:
    """Half of each input, and as much noise."""
    noise = X.std(axis=0) * rng.standard_normal(X.shape)
    return np.asarray((1 - NOISE_SHARE) * X + NOISE_SHARE * noise)


def products(X: Array, rng: Rng) -> Array:
    """One product of two different inputs for each input."""
    d = X.shape[1]
    pairs = [rng.choice(d, 2, replace=False) for _ in range(d)]
    return np.column_stack([X[:, a] * X[:, b] for a, b in pairs])


PLANTED: dict[str, Callable[[Array, Rng], Array]] = {
    "permuted": permuted,
    "noisy": noisy,
    "products": products,
}


def planted(name: str, how: str, rng: Rng, n: int) -> Problem:
    """N training rows of a table, with as many planted inputs as it has."""
    X, y = load(name)
    X = np.hstack([X, PLANTED[how](X, rng)])
    return _split(X, y, list(range(TABLES[name].inputs)), TABLES[name].classes, rng, n)


def prediction(name: str, rng: Rng, n: int) -> Problem:
    """N training rows of a table as it is; which inputs are true is not known."""
    X, y = load(name)
    return _split(X, y, None, TABLES[name].classes, rng, n)


def _split(
    X: Array, y: NDArray[Any], true: list[int] | None, classes: bool, rng: Rng, n: int
) -> Problem:
    """Draw n rows to train on, and at most 2000 others to test."""
    rows = rng.permutation(len(y))
    train, test = rows[:n], rows[n:][:MOST_TEST_ROWS]
    return Problem(X[train], y[train], true, X[test], y[test], classes)
