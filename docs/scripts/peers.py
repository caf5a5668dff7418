"""The methods of `nvsd.benchmark` that `docs/selection.md` sets beside `nvsd.select`.

A peer takes X and y and gives what it has of three things: a ranking of all inputs, a selected set,
and predictions. Ties in a ranking keep the order of the columns, which `peers_bench.py` shuffles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import nvsd
from nvsd.benchmark.methods import METHODS, Fit
from nvsd.benchmark.methods.base import Array, Method, Target, up_to


class Peer(NamedTuple):
    """A method, what of it is measured, and the cells (n, d) in which it is affordable."""

    label: str
    about: str
    fit: Callable[[Array, Any, int], Fit]
    packages: tuple[str, ...] = ()
    affordable: Callable[[int, int], bool] = lambda n, d: True


def peer(
    key: str, classes: bool, affordable: Callable[[int, int], bool] = lambda n, d: True
) -> Peer:
    """A method of the benchmark for numbers or for classes."""
    method = METHODS[key]
    return Peer(
        method.label, method.about, partial(_fit, method, classes), method.packages, affordable
    )


def _fit(method: Method, classes: bool, X: Array, y: Target, seed: int) -> Fit:
    return method.fit(X, y, classes, seed)


def pool(X: Array, y: Array, seed: int) -> Fit:
    """`nvsd.select(X, y, method="pool")`, the default before."""
    found = nvsd.select(X, y, method="pool", progress=False)
    return Fit(found.order, found.support, found.predict)


# In the order of the tables; ours first, then by what they are made of.
PEERS: dict[str, Peer] = {
    "ours": peer("ours", False),
    "pool": Peer(
        '`"pool"`',
        '`nvsd.select(X, y, method="pool")`, the default before; up to 250 rows and 50 inputs',
        pool,
        ("numpy", "scipy"),
        lambda n, d: n <= 250 and d <= 50,
    ),
    "rf": peer("rf", False),
    "boruta": peer("boruta", False, up_to(130_000)),
    "lgbm": peer("lgbm", False),
    "hsic": peer("hsic", False),
    "xrfm": peer("xrfm", False),
    "lassonet": peer("lassonet", False, up_to(130_000)),
    "lasso": peer("lasso", False),
}
