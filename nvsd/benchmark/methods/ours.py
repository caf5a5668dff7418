"""`nvsd.select`, nothing told, and with a false discovery rate."""

from __future__ import annotations

from typing import Any

import numpy as np

from nvsd.benchmark.methods.base import Array, Fit, Method, Target, outcome, up_to
from nvsd.selection import select

LEVEL = 0.1


def ours(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """`nvsd.select(X, y)`; `predict` is its fit of least error."""
    return _selected(X, y, classes)


def with_rate(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """`nvsd.select(X, y, fdr=0.1)`."""
    return _selected(X, y, classes, fdr=LEVEL)


def _selected(X: Array, y: Target, classes: bool, **options: Any) -> Fit:
    target = np.array([f"class {code}" for code in y]) if classes else y
    found = select(X, target, progress=False, **options)
    return Fit(found.order, found.support, outcome(found, classes))


METHODS = {
    "ours": Method("`select`", "`nvsd.select(X, y)`", ours, ("numpy", "scipy")),
    "ours-fdr": Method(
        "`select(fdr=0.1)`",
        "`nvsd.select(X, y, fdr=0.1)`: the inputs that tests call relevant",
        with_rate,
        ("numpy", "scipy"),
        up_to(60_000, 2000),
    ),
}
