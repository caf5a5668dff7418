"""Imports go one way, nothing imports itself in a ring, and nothing has grown too long."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs" / "scripts"))
import architecture  # noqa: E402

MODULES = sorted((ROOT / "nvsd").rglob("*.py"))
LONGEST_BODY, LONGEST_MODULE, FLAT_MODULES = 40, 300, 12


def test_imports_follow_the_layers() -> None:
    assert not architecture.violations()


def test_no_modules_import_each_other_in_a_ring() -> None:
    assert not architecture.cycles()


def test_an_import_against_the_layers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check itself can fail: a lazy import counts, and so does a room without a layer."""
    right = architecture.imports
    wrong = ("nvsd.kernels.base", "nvsd.solvers.admm")
    monkeypatch.setattr(architecture, "imports", lambda: [*right(), wrong])
    assert architecture.violations() == ["nvsd.kernels.base imports nvsd.solvers.admm"]
    assert any(wrong[0] in ring and wrong[1] in ring for ring in architecture.cycles())
    monkeypatch.delitem(architecture.LEVEL, "ridge")
    assert "nvsd/ridge is in no layer" in architecture.violations()


def test_imports_inside_functions_are_seen() -> None:
    assert ("nvsd.data.sources", "nvsd.data.dask_rows") in set(architecture.imports())
    assert ("nvsd.accessor", "nvsd.report") in set(architecture.imports())


def test_few_modules_lie_flat() -> None:
    flat = [path.name for path in (ROOT / "nvsd").glob("*.py")]
    assert len(flat) <= FLAT_MODULES, sorted(flat)


def body_lines(function: ast.FunctionDef) -> int:
    """Lines of a function without its signature and docstring."""
    body = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def without_examples(text: str) -> str:
    """A module without the Examples in its docstrings, which every public object has."""
    return re.sub(r"\n\n +Examples\n +--------\n.*?(?=\n *\"\"\")", "", text, flags=re.DOTALL)


def test_only_examples_are_not_counted() -> None:
    example = "\n\n    Examples\n    --------\n    >>> 1\n    1"
    rest = 'def f():\n    """F.{}\n    """\n    return 1\n'
    assert without_examples(rest.format(example)) == rest.format("")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_is_too_long(path: Path) -> None:
    text = path.read_text()
    assert len(without_examples(text).splitlines()) <= LONGEST_MODULE
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    long = {f.name: body_lines(f) for f in functions if body_lines(f) > LONGEST_BODY}
    assert not long
