"""docs/reliability.md names only what there is, and is written from what is stored."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"


@pytest.fixture(scope="module")
def scripts() -> Iterator[tuple[ModuleType, ModuleType]]:
    """The scripts that write the page, and its section on mutants."""
    sys.path.insert(0, str(ROOT / "docs" / "scripts"))
    import mutants
    import reliability

    yield reliability, mutants
    sys.path.pop(0)


def test_files_and_functions_that_the_page_names_exist(scripts) -> None:
    pattern = r"^\| `(nvsd/\S+\.py)` \| `?([\w.]*)`? \| [\d–, →]* \|"
    rows = re.findall(pattern, PAGE.read_text(), re.MULTILINE)
    assert rows
    for name, function in rows:
        assert function in scripts[0].functions(ROOT / name), (name, function)
    for name in re.findall(r"`((?:nvsd|tests|docs)/[^`]+)`", PAGE.read_text()):
        assert (ROOT / name).exists(), name


def test_reasons_are_about_code_that_exists(scripts) -> None:
    page, mutants = scripts
    for name, function in page.REASONS:
        assert function in page.functions(ROOT / name), (name, function)
    stored = mutants.read(ROOT / "docs" / "mutations.jsonl")
    alive = {mutants.key(record) for record in stored if record["now"] == "survived"}
    assert {*mutants.EQUIVALENT, *mutants.KNOWN} <= alive


def test_functions_that_are_gone_are_counted(scripts) -> None:
    missing = [
        ["nvsd/machine.py", "digest", "1", ""],
        ["nvsd/machine.py", "never_written", "1", ""],
        ["nvsd/no_such_file.py", "", "1", ""],
    ]
    made = {"commit": "0", "date": "2026-01-01"}
    known = {"lines": 90.0, "branches": 80.0, "missing": missing} | made
    section = scripts[0].coverage_section(known)
    assert "`digest`" in section
    assert "2 functions of that version, which the code no longer has, are left out" in section
    assert "never_written" not in section
    assert "no_such_file" not in section


def test_a_category_that_was_not_tried_is_not_on_the_page(scripts) -> None:
    tried = {"cases": 3, "certified": 3}
    table = scripts[0].outcomes({"categories": {"invariances": tried, "signals": {}}})
    assert "| invariances | 3 | 3 |" in table
    assert "signals" not in table


def test_survivors_are_listed_and_equivalent_ones_are_not_counted(scripts, monkeypatch) -> None:
    mutants = scripts[1]
    one = {"area": "losses", "module": "nvsd/losses/huber.py", "line": 1, "change": "Lt to LtE"}
    killed = one | {"code": "a", "first": "killed", "now": "killed", "seed": 0}
    alive = killed | {"code": "x < y | z", "first": "survived", "now": "survived"}
    same = alive | {"code": "same"}
    late = killed | {"first": "survived"}
    key = (one["module"], "same", one["change"])
    monkeypatch.setattr(mutants, "EQUIVALENT", {key: "no number is in between"})
    section = mutants.section([killed, alive, same, late])
    assert "| losses | 4 | 25% | 1 | 1 | 67% |" in section
    assert "`x < y &#124; z` | Lt to LtE | no test yet |" in section
    assert "`same` | Lt to LtE | equivalent: no number is in between |" in section
    assert mutants.section([]) == ""
