"""Runs the code on the pages: the build shows what it prints and draws, the tests see that it runs.

The blocks of a page that are marked ``python`` share one namespace and run in order, in a
temporary folder. It holds data.csv and new.csv, a table with the inputs x1 to x18 and the target y,
and new rows of it. In blocks marked ``sh`` the lines that start with ``nvsd`` run too, no others.

A million rows are too many for a build: 1_000_000 is read as 10_000, unless the environment
variable NVSD_DOCS_FULL is set.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd

from nvsd.cli import main
from nvsd.datasets import make_e3

BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LONG = 90  # characters of a line that fit beside the menus
MANY, FEWER = "1_000_000", "10_000"


@dataclass(frozen=True)
class Block:
    """A piece of code: its language, its text, and where it is in the page."""

    language: str
    code: str
    line: int
    end: int


@dataclass(frozen=True)
class Output:
    """What a block has printed, and its figures as PNG with a description."""

    text: str
    figures: list[tuple[bytes, str]]


def blocks(page: str) -> list[Block]:
    """The blocks of a page that can be run."""
    return [
        Block(match[1], match[2], page.count("\n", 0, match.start()) + 1, match.end())
        for match in BLOCK.finditer(page)
    ]


@contextmanager
def folder() -> Iterator[Path]:
    """A temporary working folder with the two tables."""
    with tempfile.TemporaryDirectory() as temporary, chdir(temporary):
        for name, n, seed in (("data.csv", 110, 0), ("new.csv", 5, 1)):
            sample = make_e3(n, seed)
            table = pd.DataFrame(sample.X, columns=sample.names)
            if name == "data.csv":
                table["y"] = sample.y
            table.round(6).to_csv(name, index=False)
        yield Path(temporary)


@dataclass
class Session:
    """The namespace that the blocks of a page share."""

    name: str
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def run(self, block: Block) -> Output:
        """Run a block; what it raises, or warns of, is raised."""
        printed = io.StringIO()
        with redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            if block.language == "sh":
                with redirect_stderr(printed):
                    self._run_commands(block)
            else:
                self._run_python(block)
        return Output(printed.getvalue(), _figures())

    def _run_python(self, block: Block) -> None:
        code = block.code
        if not os.environ.get("NVSD_DOCS_FULL"):
            code = code.replace(MANY, FEWER)
        # Blank lines in front make the line numbers of a traceback those of the page.
        # Without this module's own __future__ imports, as a reader would run it.
        text = "\n" * block.line + code
        exec(compile(text, self.name, "exec", dont_inherit=True), self.names)

    def _run_commands(self, block: Block) -> None:
        for line in block.code.replace("\\\n", " ").splitlines():
            if line.startswith("nvsd "):
                code = main(shlex.split(line, comments=True)[1:])
                if code:
                    raise RuntimeError(f"{self.name}: exit code {code} of {line}")


def _is_prose(text: str) -> bool:
    """Whether a line is a long sentence, as an error is: it may break, unlike a row of a table."""
    lines = text.splitlines()
    return max(map(len, lines)) > LONG and not any(re.search(r"\S {2,}\S", e) for e in lines)


def _figures() -> list[tuple[bytes, str]]:
    """The open figures, which are closed."""
    found = []
    for number in plt.get_fignums():
        figure = plt.figure(number)
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=130, bbox_inches="tight")
        found.append((image.getvalue(), _described(figure)))
        plt.close(figure)
    return found


def _described(figure: Any) -> str:
    """What the axes say of themselves."""
    said = [
        f"{ax.get_ylabel()} against {ax.get_xlabel()}"
        for ax in figure.axes
        if ax.get_ylabel() and ax.get_xlabel()
    ]
    text = "Plot: " + "; ".join(dict.fromkeys(said)) if said else "Plot"
    return re.sub(r"[\[\]\n]", " ", text)


def with_outputs(page: str, name: str, images: Path, address: str) -> str:
    """The page with the output of each block below it.

    Parameters
    ----------
    page : str
        Markdown.
    name : str
        Of the page, for messages and for the files of its figures.
    images : Path
        Folder for the figures.
    address : str
        How the page refers to that folder.
    """
    session, parts, start = Session(name), [], 0
    with folder():
        for block in blocks(page):
            output = session.run(block)
            parts.append(page[start : block.end])
            start = block.end
            if output.text.strip():
                kind = "output prose" if _is_prose(output.text) else "output"
                parts.append(f"\n\n```{{code-block}} text\n:class: {kind}\n\n{output.text}```\n")
            for image, text in output.figures:
                file = f"{name.replace('/', '-')}-{len(parts)}.png"
                images.mkdir(parents=True, exist_ok=True)
                (images / file).write_bytes(image)
                parts.append(f"\n\n![{text}]({address}/{file})\n")
    return "".join([*parts, page[start:]])
