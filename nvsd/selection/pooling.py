"""Pooling: the candidates of several methods, compared on the same data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from nvsd.representations.monomials import n_monomials
from nvsd.selection.candidates import Candidate
from nvsd.selection.elimination import eliminate, reweight
from nvsd.selection.paths import adaptive, rank, support
from nvsd.selection.task import Task

POOLED: dict[str, Callable[..., list[Candidate]]] = {
    method.__name__: method for method in (eliminate, reweight, support, rank, adaptive)
}
LARGEST_PATH = 2500  # largest order of linear systems for a path in the pool: a few seconds


def pool(task: Task, *, methods: Sequence[str] | None = None) -> list[Candidate]:
    """All candidates of several methods.

    By default these are elimination, reweighting and, unless it would be large, ranking on the
    path. Each is the best in some cases: elimination if inputs are correlated, reweighting if there
    are few samples, ranking if inputs repeat each other.
    """
    names = default_methods(task) if methods is None else check_methods(methods)
    return [candidate for name in names for candidate in POOLED[name](task)]


def default_methods(task: Task) -> list[str]:
    """The methods that the pool can afford."""
    (n, d), polynomial = task.X.shape, task.kernel.polynomial
    order = min(n * d, n_monomials(d, *polynomial) if polynomial else math.inf)
    return ["eliminate", "reweight", *(["rank"] if order <= LARGEST_PATH else [])]


def check_methods(methods: Iterable[str]) -> list[str]:
    """Return the names, which must be methods that do not use other methods."""
    names = list(methods)
    unknown = [name for name in names if name not in POOLED]
    if unknown or not names:
        given = repr(unknown[0]) if unknown else "an empty list"
        raise ValueError(f"{given} is not a method; give some of {', '.join(POOLED)}.")
    return names
