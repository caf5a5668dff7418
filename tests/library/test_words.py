"""The pages are in plain English: no riddling phrases, no endless sentences, no unused pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BUILT = {"_build", "_templates", "generated", "scripts", "examples"}
# Scripts write these; their words are checked, the length of their sentences is not.
WRITTEN = {
    "benchmarks.md", "benchmarks_plan.md", "classification.md", "performance.md", "power.md",
    "reliability.md", "replication.md", "scaling.md", "selection.md", "significance.md",
}  # fmt: skip
LONGEST = 40  # words; the mean over the pages is 10, and few have more than 30

# A habit, and what to write in its place.
HABITS = {
    r"(?<!there )\bis no (?!longer\b|more\b|less\b|\w+er\b)\w+": '"is not a ..."',
    r"\bso many\b": "the number",
    r"\bhangs? on\b": "depends on",
    r"\bthe way to a set\b": "how a set is found",
    r"\bin order to\b": "to",
    r"\butili[sz]e": "use",
    r"\bleverag": "use",
    r"\bwhatsoever\b|\bthereof\b|\bhereby\b|\bwherein\b": "leave it out",
    r"\bor its like\b|\band the like\b": "name the things",
    r"\bthe manners of\b": "as",
    r"\bdue to the fact that\b": "because",
    r"\bprior to\b": "before",
    r"\bin the event (?:that|of)\b": "if",
    r"\ba number of\b(?! folds| \w+s? of)": "some, or the number",
    r"\bit should be noted\b|\bnote that\b": "leave it out",
    r"\bobviously\b|\bof course\b|\bneedless to say\b": "leave it out",
    r"\bstate[- ]of[- ]the[- ]art\b|\bseamless|\bpowerful\b(?! is)": "a measurement",
}


def pages() -> list[Path]:
    found = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [page for page in found if not BUILT & set(page.relative_to(ROOT).parts)]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(text: str) -> str:
    """A page without code, formulas, addresses and what scripts write between two marks."""
    text = re.sub(r"^<!-- (\w+) -->$.*?^<!-- /\1 -->$", "", text, flags=re.M | re.S)
    text = re.sub(r"^ *(```+|~~~+).*?^ *\1 *$", "", text, flags=re.M | re.S)
    text = re.sub(r"\$\$.*?\$\$", "formula", text, flags=re.S)
    text = re.sub(r"`[^`]*`|\$[^$]*\$", "code", text)
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)


def sentences(text: str) -> Iterator[str]:
    """The sentences of paragraphs and lists; tables and headings have none."""
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=[#|])", prose(text)):
        if not part.lstrip().startswith(("|", "#")):
            yield from re.split(r"(?<=[.!?:;])\s+", " ".join(part.split()))


def habits(text: str) -> list[str]:
    plain = " ".join(prose(text).split())
    return [
        f"{found[0]!r}: write {better}"
        for habit, better in HABITS.items()
        for found in re.finditer(habit, plain, re.I)
    ]


def too_long(text: str) -> list[str]:
    return [each for each in sentences(text) if len(re.findall(r"[\w'’-]+", each)) > LONGEST]


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_a_page_has_none_of_the_worst_habits(page: Path) -> None:
    assert not habits(page.read_text())


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_sentences_are_short(page: Path) -> None:
    if page.name in WRITTEN:
        pytest.skip("its script writes it")
    assert not too_long(page.read_text())


def test_every_picture_is_shown() -> None:
    shown = "".join(page.read_text() for page in pages())
    unused = [file.name for file in (DOCS / "images").iterdir() if file.name not in shown]
    assert not unused, f"no page shows {unused}"


def test_the_checks_can_fail() -> None:
    assert habits("A zero is no proof.") == ["'is no proof': write \"is not a ...\""]
    assert habits("In order\nto see it, utilise `in order to`.") == [
        "'In order to': write to",
        "'utilise': write use",
    ]
    assert not habits("There is no kernel to choose, and it is no longer slow.")
    endless = "word " * (LONGEST + 1)
    assert too_long(f"Short. {endless}.") == [f"{endless}."]
    assert not too_long(
        f"| {endless} |\n\n```text\n{endless}\n```\n\n<!-- a -->\n{endless}\n<!-- /a -->"
    )
