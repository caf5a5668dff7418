"""Change one operator or constant of a module at a time, and see whether its tests notice.

    python tests/attack/mutations.py --sample 30 --out mutations.json [module ...]

Each mutant lives in a child process only; no file is changed. Results are kept after every mutant,
so that a run can be stopped and taken up again. ``--show`` prints the share of mutants that were
killed, and the survivors.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TIMEOUT = 120  # seconds for the tests of one mutant; a mutant that takes longer counts as killed

# The narrow tests of each module.
MODULES = {
    "nvsd.kernels.isotropic": ["tests/kernels/test_kernels.py"],
    "nvsd.kernels.dot_product": ["tests/kernels/test_kernels.py"],
    "nvsd.kernels.profile": ["tests/kernels/test_kernels.py"],
    "nvsd.kernels.widths": ["tests/kernels/test_kernels.py", "tests/kernels/test_kernels_input.py"],
    "nvsd.linalg.in_pieces": ["tests/library/test_pieces.py"],
    "nvsd.losses.huber": ["tests/losses/test_losses.py", "tests/losses/test_loss_term.py"],
    "nvsd.losses.logistic": ["tests/losses/test_losses.py", "tests/losses/test_loss_term.py"],
    "nvsd.losses.quantile": ["tests/losses/test_losses.py", "tests/losses/test_loss_term.py"],
    "nvsd.ridge.dense": ["tests/ridge", "tests/library/test_pieces.py"],
    "nvsd.ridge.leave_one_out": ["tests/ridge/test_leave_one_out.py", "tests/ridge"],
    "nvsd.engine.judged": ["tests/engine", "tests/selection/test_engine_select.py"],
    "nvsd.inference.multiplicity": ["tests/inference/test_multiplicity.py"],
    "nvsd.inference.hypotheses": ["tests/inference"],
}
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
    ast.USub: ast.UAdd, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Names of the mutations of one node, and what does them to a copy of it."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.AugAssign):
        new = OPERATORS.get(type(node.op))
        if new is not None:
            yield f"{type(node.op).__name__} to {new.__name__}", lambda n: setattr(n, "op", new())
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        # Dropping a term: what is left of the operator alone.
        yield "right side dropped", lambda n: n.left
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        new = OPERATORS[type(node.ops[0])]
        yield (
            f"{type(node.ops[0]).__name__} to {new.__name__}",
            lambda n: setattr(n, "ops", [new(), *n.ops[1:]]),
        )
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "constant plus one", lambda n: setattr(n, "value", n.value + 1)


def mutants(source: str) -> list[tuple[str, ast.Module]]:
    """Every mutant of a module: its name (line, column, what), and its tree."""
    tree, found = ast.parse(source), []
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if part is not None
        for inner in ast.walk(part)
    }
    nodes = list(ast.walk(tree))
    for place, node in enumerate(nodes):
        if id(node) in skipped:
            continue
        for what, change in _changes(node):
            clone = copy.deepcopy(tree)
            twin = list(ast.walk(clone))[place]
            replacement = change(twin)
            if replacement is not None:
                clone = _Replace(twin, replacement).visit(clone)
            name = f"{node.lineno}:{node.col_offset} {what}"  # type: ignore[attr-defined]
            found.append((name, ast.fix_missing_locations(clone)))
    return found


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


class Mutant(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from a changed tree."""

    def __init__(self, module: str, file: Path, tree: ast.Module) -> None:
        self.module, self.file, self.tree = module, file, tree

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.module:
            return None
        return importlib.util.spec_from_file_location(name, self.file, loader=self)

    def exec_module(self, module: Any) -> None:
        exec(compile(self.tree, self.file, "exec"), module.__dict__)


def run(module: str, file: Path, tree: ast.Module) -> str:
    """ "killed", "survived" or "too long", from the tests in a child process."""
    child = os.fork()
    if child == 0:
        os.setsid()
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        import pytest

        sys.meta_path.insert(0, Mutant(module, file, tree))
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
        os._exit(int(pytest.main([*options, *MODULES[module]])) != 0)
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "survived" if status == 0 else "killed"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too long"


def show(known: dict[str, dict[str, str]]) -> None:
    for module, results in known.items():
        alive = sorted(name for name, result in results.items() if result == "survived")
        share = 1 - len(alive) / max(len(results), 1)
        print(f"{module}: {len(results)} mutants, {share:.0%} killed")  # noqa: T201
        for name in alive:
            print(f"    survived: {name}")  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(MODULES))
    parser.add_argument("--sample", type=int, default=10**9, help="mutants of each module")
    parser.add_argument("--minutes", type=float, default=1e9, help="when to stop")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=ROOT / "mutations.json")
    parser.add_argument("--show", action="store_true", help="only print the results")
    options = parser.parse_args()
    known = json.loads(options.out.read_text()) if options.out.exists() else {}
    if options.show:
        show(known)
        return
    os.chdir(ROOT)
    # Shared by all children, so that each starts quickly; nvsd itself is imported by them.
    for name in ("numpy", "scipy.linalg", "scipy.stats", "pandas", "xarray", "sklearn"):
        importlib.import_module(name)
    end = time.monotonic() + 60 * options.minutes
    for module in options.modules:
        file = ROOT / (module.replace(".", "/") + ".py")
        every = mutants(file.read_text())
        random.Random(options.seed).shuffle(every)
        results = known.setdefault(module, {})
        if run(module, file, ast.parse(file.read_text())) != "survived":
            sys.exit(f"the tests of {module} fail without a mutation, so they would kill every one")
        for name, tree in every[: options.sample]:
            if name in results or time.monotonic() > end:
                continue
            results[name] = run(module, file, tree)
            options.out.write_text(json.dumps(known, indent=1))
    show(known)


if __name__ == "__main__":
    main()
