"""The runner of mutations makes the mutants that it says, and its list of tests exists."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("mutations.py")
SPEC = importlib.util.spec_from_file_location("mutations", FILE)
assert SPEC is not None
assert SPEC.loader is not None
mutations = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mutations)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a + b", {"a - b", "a"}),
        ("a ** b", {"a * b"}),
        ("a < b", {"a <= b"}),
        ("a and b", {"a or b"}),
        ("-a", {"+a"}),
        ("f(1)", {"f(2)"}),
        ("x: int | None = y", set()),
    ],
)
def test_every_mutant_is_made(source: str, expected: set[str]) -> None:
    assert {ast.unparse(make()) for *_, make in mutations.mutants(source)} == expected


def test_modules_and_tests_exist() -> None:
    root = FILE.parents[2]
    for modules, tests in mutations.AREAS.values():
        assert modules
        assert all((root / place).exists() for place in (*modules, *tests))


def test_a_mutant_is_drawn_once_and_by_its_seed() -> None:
    one, two, other = (mutations.population("losses", seed) for seed in (0, 0, 1))
    keys = [mutations.key(record) for record, _ in one]
    assert keys == [mutations.key(record) for record, _ in two]
    assert keys != [mutations.key(record) for record, _ in other]
    assert len({*keys}) == len(keys) == len(other)
