"""Parts of README.md that scripts write: what is between two marks."""

from __future__ import annotations

from pathlib import Path


def fill(readme: Path, name: str, text: str) -> None:
    """Put the text between <!-- name --> and <!-- /name -->; without these marks do nothing."""
    first, last = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, _, rest = readme.read_text().partition(first)
    _, _, after = rest.partition(last)
    if after:
        readme.write_text(f"{before}{first}{text.strip()}\n{last}{after}")
