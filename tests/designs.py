"""Few cases of a large product, in which any two or three levels of its factors still meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

import pytest

EXHAUSTIVE = (pytest.mark.slow, pytest.mark.exhaustive)

Levels = tuple[int, ...]


def covering(sizes: Sequence[int], strength: int, first: Iterable[Levels] = ()) -> list[Levels]:
    """Rows of levels that hold every combination of levels of any ``strength`` factors.

    Parameters
    ----------
    sizes : sequence of int
        The number of levels of each factor.
    strength : int
        2 for all pairs of levels, 3 for all triples.
    first : rows
        Rows that are in the design anyhow.
    """
    factors = [[(f, level) for level in range(size)] for f, size in enumerate(sizes)]
    missing = {
        each: None for some in combinations(factors, strength) for each in product(*some)
    }  # ordered, unlike a set
    rows = list(first)
    for row in rows:
        for each in combined([row], strength):
            missing.pop(each, None)
    while missing:
        chosen = dict(next(iter(missing)))
        turn = len(rows)
        for factor in sorted(set(range(len(sizes))) - set(chosen), key=lambda f: -sizes[f]):
            # Among equals another level each time.
            turned = [(turn + k) % sizes[factor] for k in range(sizes[factor])]
            chosen[factor] = max(
                turned, key=lambda level: _gain(missing, chosen, (factor, level), strength)
            )
        row = tuple(chosen[f] for f in range(len(sizes)))
        rows.append(row)
        for each in combined([row], strength):
            missing.pop(each, None)
    return rows


def _gain(missing: dict, chosen: dict[int, int], new: tuple[int, int], strength: int) -> int:
    others = combinations(chosen.items(), strength - 1)
    return sum(tuple(sorted((*some, new))) in missing for some in others)


def marked(sizes: Sequence[int]) -> Iterator[tuple[int, Levels, Any]]:
    """The whole product, numbered, with the marks of each case.

    The quick cases hold all pairs of levels; with the slow ones they hold all triples. The rest is
    exhaustive.
    """
    pairs = covering(sizes, 2)
    triples = covering(sizes, 3, pairs)
    known = dict.fromkeys(triples, (pytest.mark.slow,)) | dict.fromkeys(pairs, ())
    for i, levels in enumerate(product(*map(range, sizes))):
        yield i, levels, known.get(levels, EXHAUSTIVE)


def combined(rows: Iterable[tuple], strength: int) -> set:
    """All combinations of values that occur together."""
    return {each for row in rows for each in combinations(enumerate(row), strength)}
