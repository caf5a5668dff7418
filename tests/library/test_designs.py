"""The designs that choose cases of a large product leave no pair and no triple of levels out."""

from __future__ import annotations

from itertools import combinations, product
from math import prod

import pytest
from designs import combined, covering, marked

SIZES = [(2, 3, 2), (3, 3, 3), (2, 4, 12, 6, 3), (2, 12, 6, 3), (2, 4, 5, 4, 12, 6, 3)]


@pytest.mark.parametrize("strength", [2, 3])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_every_combination_occurs(sizes: tuple[int, ...], strength: int) -> None:
    first = [tuple(size - 1 for size in sizes)]
    rows = covering(sizes, strength, first)
    assert rows[0] == first[0]
    assert len(set(rows)) == len(rows)
    for factors in combinations(range(len(sizes)), strength):
        seen = {tuple(row[f] for f in factors) for row in rows}
        assert seen == set(product(*(range(sizes[f]) for f in factors)))
    largest = sorted(sizes)[-strength:]
    assert prod(largest) <= len(rows) <= 1.4 * prod(largest) + 1


def test_marks_go_by_pairs_and_triples() -> None:
    sizes = (2, 4, 6, 3)
    rows = [(levels, {mark.name for mark in marks}) for _, levels, marks in marked(sizes)]
    assert [levels for levels, _ in rows] == list(product(*map(range, sizes)))
    assert {frozenset(names) for _, names in rows} == {
        frozenset(), frozenset({"slow"}), frozenset({"slow", "exhaustive"}),
    }  # fmt: skip
    for strength, left_out in ((2, "slow"), (3, "exhaustive")):
        kept = [levels for levels, names in rows if left_out not in names]
        assert combined(kept, strength) == combined([levels for levels, _ in rows], strength)
