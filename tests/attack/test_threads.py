"""OpenBLAS crashes in factorisations of large order with two threads: every call is guarded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from nvsd.linalg import LARGEST_THREADED
from nvsd.linalg.in_pieces import NARROW, WHOLE, WHOLE_EIGEN, WIDTH

NVSD = Path(__file__).parents[2] / "nvsd"
RISKY = {
    "potrf", "dpotrf", "spotrf", "dpftrf", "dpstrf", "dpotri", "trtri", "dtrtri", "cho_factor",
    "eigh", "inv", "cholesky", "solve", "dposv",
}  # fmt: skip
# Of an order that never grows: the few steps of Anderson's acceleration, pieces of larger matrices,
# and the paper's experiments, whose sizes are fixed.
SAFE = {("anderson.py", "solve")} | {
    (file, name)
    for file in ("in_pieces.py", "curvature.py")
    for name in ("dpotrf", "dpftrf", "dpstrf", "dpotri", "dtrtri", "eigh")
}


def name_of(call: ast.Call) -> str:
    """The called name, if it is LAPACK's: a plain name, or one of np.linalg, lapack, linalg."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute):
        owner = ast.unparse(function.value)
        return function.attr if owner in ("np.linalg", "lapack", "linalg", "scipy.linalg") else ""
    return ""


def unguarded(source: str, file: str) -> Iterator[str]:
    """Every risky call outside of `with safe_threads(...)`."""
    tree = ast.parse(source)
    ours = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nvsd")
        for alias in node.names
    } | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

    def visit(node: ast.AST, guarded: bool) -> Iterator[str]:
        if isinstance(node, ast.With):
            guarded |= any("safe_threads" in ast.unparse(item) for item in node.items)
        if isinstance(node, ast.Call) and not guarded:
            name = name_of(node)
            plain = isinstance(node.func, ast.Name) and name in ours
            if name in RISKY and not plain and (file, name) not in SAFE:
                yield f"{file}:{node.lineno} {name}"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, guarded)

    yield from visit(tree, False)


@pytest.mark.parametrize("source", ["eigh(K)", "np.linalg.solve(A, b)", "lapack.dpotrf(A)"])
def test_an_unguarded_call_is_found(source: str) -> None:
    assert list(unguarded(source, "x.py"))
    assert not list(unguarded(f"with safe_threads(n):\n    {source}", "x.py"))


def test_pieces_are_of_small_order() -> None:
    assert max(WHOLE, WHOLE_EIGEN, WIDTH, NARROW) < LARGEST_THREADED


def test_every_factorisation_is_guarded() -> None:
    files = [path for path in NVSD.rglob("*.py") if "experiments" not in path.parts]
    found = [line for path in files for line in unguarded(path.read_text(), path.name)]
    assert not found, found
