"""The data: the paper's protocol (its section 5), seeded cell by cell.

Training, validation and test data of a cell depend only on (experiment, size, replication), so any
cell can be computed separately, and all methods see the same data.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from nvsd.datasets import Real, Sample, load_real, make_e1, make_e2, make_e3
from nvsd.experiments.grouping import GROUPS
from nvsd.kernels import Gaussian, Kernel, Polynomial, neighbour_width
from nvsd.ridge.dense import default_nus

__all__ = ["EXPERIMENTS", "PILOT", "Experiment", "Split"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SIZES = (30, 50, 70, 90, 110)
HELD_OUT = 1000  # rows of validation data, and of test data
NU = 1e-3  # ν of the derivative methods; `nvsd replicate pilot` shows how little it matters
PILOT = 1_000_000  # replications from this number on are only for choosing settings

SYNTHETIC: dict[str, Callable[[int, np.random.SeedSequence], Sample]] = {
    "E1": make_e1,
    "E2": make_e2,
    "E3": make_e3,
}
TEST_SIZE = {"AI": 700, "BH": 200, "CC": 450, "EN": 300, "CP": 1000, "EL": 1000, "KN": 1000}

# Multiples of the paper's width for the runs in which every method may choose its own width.
WIDTHS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.17)
BASE_WIDTHS = (1.0, 0.5, 0.25)
REAL_WIDTHS = (1.0, 0.5, 2.0, 4.0, 8.0)  # the same for the width from the nearest neighbours


@dataclass(frozen=True, eq=False)
class Split:
    """The data of one cell, and the settings that all methods share.

    Attributes
    ----------
    X, y, X_val, y_val, X_test, y_test : arrays
    names : tuple of str
        Names of the inputs.
    kernel : Kernel
    nu : float
        ν of the derivative methods.
    widths : tuple of float
        Multiples of the kernel's width for the refits.
    base_widths : tuple of float
        Multiples at which a kernel method looks for candidates.
    truth : (d,) bool array or None
        The relevant inputs, if they are known.
    groups : tuple of str or None
        The group of each input, for the methods that use groups.
    """

    X: Array
    y: Array
    X_val: Array
    y_val: Array
    X_test: Array
    y_test: Array
    names: tuple[str, ...]
    kernel: Kernel
    nu: float
    widths: tuple[float, ...] = (1.0,)
    base_widths: tuple[float, ...] = (1.0,)
    truth: Mask | None = None
    groups: tuple[str, ...] | None = None

    @cached_property
    def nus(self) -> Array:
        """One grid of ridge levels for the refits of all kernel methods."""
        return default_nus(self.kernel, self.X)

    def kernel_at(self, factor: float) -> Kernel:
        """The kernel with its width multiplied."""
        return self.kernel if factor == 1.0 else self.kernel.widened(factor)


@dataclass(frozen=True)
class Experiment:
    """A problem of the paper with its settings.

    Attributes
    ----------
    name : str
    data : str
        What is drawn: E1, E2, E3, a code of `load_real`, or a code and "+" for the real data with
        a permuted copy of every input.
    sizes : tuple of int
        Numbers of training rows.
    penalties : tuple of str
        Which of L, GL, EN the paper runs here.
    kernel : Kernel or None
        None is the Gaussian with the median distance to the 20 nearest neighbours as width.
    """

    name: str
    data: str
    sizes: tuple[int, ...]
    penalties: tuple[str, ...]
    kernel: Kernel | None
    nu: float = NU
    widths: tuple[float, ...] = (1.0,)
    base_widths: tuple[float, ...] = (1.0,)

    @property
    def synthetic(self) -> bool:
        """Whether the relevant inputs are known."""
        return self.data in SYNTHETIC

    def split(self, n: int, replication: int) -> Split:
        """The data of one cell."""
        seed = np.random.SeedSequence(seed_of(self.data, n, replication))
        draw = _draw_synthetic if self.synthetic else _draw_real
        split = draw(self.data, n, seed)
        kernel = self.kernel or Gaussian(neighbour_width(split.X))
        shared = {"widths": self.widths, "base_widths": self.base_widths}
        return replace(split, kernel=kernel, nu=self.nu, **shared)  # type: ignore[arg-type]


def seed_of(data: str, n: int, replication: int) -> list[int]:
    """Entropy that depends only on the names of the cell."""
    digest = hashlib.sha256(data.rstrip("+").encode()).digest()
    return [int.from_bytes(digest[:8], "big"), n, replication]


def _draw_synthetic(data: str, n: int, seed: np.random.SeedSequence) -> Split:
    make = SYNTHETIC[data]
    train, val, test = (
        make(size, child)
        for size, child in zip((n, HELD_OUT, HELD_OUT), seed.spawn(3), strict=True)
    )
    return Split(
        *(train.X, train.y, val.X, val.y, test.X, test.y),
        names=tuple(train.names),
        kernel=Gaussian(4.0),
        nu=NU,
        truth=train.support,
        groups=None if train.groups is None else tuple(train.groups),
    )


def _draw_real(data: str, n: int, seed: np.random.SeedSequence) -> Split:
    """Rows drawn without replacement; inputs normalised over them, the target centred by y."""
    code = data.rstrip("+")
    real, rng = _real(code, os.environ.get("NVSD_DATA")), np.random.default_rng(seed)
    rows = rng.choice(len(real.X), n + 2 * TEST_SIZE[code], replace=False)
    X, y = real.X[rows], real.y[rows]
    names = tuple(real.names)
    groups = GROUPS.get(code)
    if data.endswith("+"):
        copies = np.column_stack([rng.permutation(column) for column in X.T])
        X, names = np.hstack([X, copies]), (*names, *(f"{name} permuted" for name in names))
        groups = ("original",) * len(copies.T) + ("permuted",) * len(copies.T)
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    y = y - y[:n].mean()
    parts = np.split(np.arange(len(X)), [n, n + TEST_SIZE[code]])
    train, val, test = ((X[part], y[part]) for part in parts)
    return Split(*train, *val, *test, names=names, kernel=Gaussian(4.0), nu=NU, groups=groups)


@lru_cache(maxsize=2)
def _real(code: str, folder: str | None) -> Real:
    return load_real(code, folder)


def _experiments() -> dict[str, Experiment]:
    cubic, wide = Polynomial(3, 1.0), Gaussian(4.0)
    e3 = Experiment("E3", "E3", SIZES, ("L", "GL", "EN"), wide)
    tuned = replace(e3, name="E3-tuned", widths=WIDTHS, base_widths=BASE_WIDTHS)
    real = [
        ("BH", ("L", "EN"), None),
        ("CP", ("L", "EN", "GL"), None),
        ("CC", ("L", "EN"), None),
        ("EN", ("L", "EN"), cubic),
        ("EL", ("L", "EN", "GL"), None),
        ("AI+", ("L", "GL"), None),
        ("CC+", ("L", "GL"), None),
        ("KN+", ("L", "GL"), None),
    ]
    plain = [Experiment(name, name, (100,), penalties, kernel) for name, penalties, kernel in real]
    every = [
        Experiment("E1", "E1", SIZES, ("L", "GL"), cubic),
        Experiment("E2", "E2", SIZES, ("L", "EN"), cubic),
        e3,
        tuned,
        *plain,
        *(
            replace(experiment, name=f"{experiment.name}-tuned", widths=REAL_WIDTHS)
            for experiment in plain
            if experiment.kernel is None  # a cubic kernel has no width
        ),
    ]
    return {experiment.name: experiment for experiment in every}


EXPERIMENTS = _experiments()
