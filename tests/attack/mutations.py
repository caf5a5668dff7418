"""Change one operator or constant of a module at a time, and see whether its tests notice.

    python tests/attack/mutations.py --sample 14 [area ...]
    python tests/attack/mutations.py --again [area ...] [--tests tests/losses/test_losses.py]

Mutants are drawn at random from all modules of an area, by a seed. Each lives in a child process
only; no file is changed. It meets the quick tests of its area, which end at the first failure.
Results are kept after every mutant, so that a run can be stopped and taken up again. ``--again``
tries those that survived once more, after a test was written. ``--show`` prints the share of
mutants that were killed, and the survivors. `docs/scripts/reliability.py` writes them into
docs/reliability.md.
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
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
QUICK = 2.0  # seconds of the processor: tests that take longer are left out
SLOWER = 5  # times the usual processor time of its tests: beyond it a mutant counts as killed
WAITING = 20  # times that limit in seconds of waiting: the same


class Area(NamedTuple):
    """Modules, and the tests that mirror them."""

    modules: list[str]
    tests: list[str]


def _folder(name: str, *without: str) -> list[str]:
    files = sorted((ROOT / "nvsd" / name).glob("*.py"))
    return [f"nvsd/{name}/{file.name}" for file in files if file.stem not in without]


AREAS = {
    "kernels": Area(_folder("kernels"), ["tests/kernels"]),
    "losses": Area(
        _folder("losses"),
        [f"tests/losses/test_{part}.py" for part in ("general_losses", "losses", "loss_term")],
    ),
    "ridge": Area(
        _folder("ridge", "leave_one_out"), ["tests/ridge", "tests/library/test_pieces.py"]
    ),
    "leave-one-out": Area(
        ["nvsd/ridge/leave_one_out.py"],
        [f"tests/ridge/test_{part}.py" for part in ("leave_one_out", "ridge", "weighted_ridge")],
    ),
    "judging": Area(
        [f"nvsd/engine/{part}.py" for part in ("judged", "judging", "loss_judging")],
        [
            *(f"tests/engine/test_{part}.py" for part in ("judging", "engine_losses")),
            "tests/selection/test_engine_select.py",
        ],
    ),
    "significance": Area(_folder("inference"), ["tests/inference"]),
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


def mutants(source: str) -> list[tuple[tuple[int, int, int], str, Callable[[], ast.Module]]]:
    """Every mutant of a module: line, columns, what is changed, and what makes its tree."""
    tree, found = ast.parse(source), []
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if part is not None
        for inner in ast.walk(part)
    }
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        for what, change in _changes(node):
            place = (node.lineno, node.col_offset, node.end_col_offset)  # type: ignore[attr-defined]
            found.append((place, what, partial(_mutant, tree, number, change)))
    return found


def _mutant(tree: ast.Module, number: int, change: Callable[[Any], Any]) -> ast.Module:
    clone = copy.deepcopy(tree)
    twin = list(ast.walk(clone))[number]
    replacement = change(twin)
    if replacement is not None:
        clone = _Replace(twin, replacement).visit(clone)
    return ast.fix_missing_locations(clone)


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


class Quick:
    """A plugin of pytest that leaves out tests, and ends slow ones where none are known yet."""

    def __init__(self, slow: set[str] | None) -> None:
        self.known, self.slow = slow is not None, set(slow or ())
        self._now = ""
        signal.signal(signal.SIGPROF, self._end)

    def _end(self, *_: Any) -> None:
        import pytest

        self.slow.add(self._now)
        pytest.skip("takes long")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid not in self.slow]

    def pytest_runtest_call(self, item: Any) -> None:
        if not self.known:
            self._now = item.nodeid
            signal.setitimer(signal.ITIMER_PROF, QUICK)

    def pytest_runtest_teardown(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)


def child(
    tests: list[str], slow: set[str] | None, limit: float, finder: Mutant | None
) -> tuple[int, float, set[str]]:
    """How pytest ended in a child process, its seconds, and the slow tests."""
    with tempfile.NamedTemporaryFile("r") as notes:
        process = os.fork()
        if process == 0:
            os._exit(_tests(tests, slow, limit, finder, Path(notes.name)))
        end = time.monotonic() + WAITING * limit
        while True:
            done, status, used = os.wait4(process, os.WNOHANG if time.monotonic() < end else 0)
            if done:
                return status, used.ru_utime + used.ru_stime, {*notes.read().splitlines()}
            time.sleep(0.05)
            if time.monotonic() > end:
                os.killpg(process, signal.SIGKILL)


def _tests(
    tests: list[str], slow: set[str] | None, limit: float, finder: Mutant | None, notes: Path
) -> int:
    os.setsid()
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    if finder is not None:
        sys.meta_path.insert(0, finder)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
    quick = Quick(slow)
    ended = int(pytest.main([*options, *tests], plugins=[quick]))
    notes.write_text("\n".join(quick.slow))
    return int(ended != 0)


class Tried(NamedTuple):
    """The quick tests of an area."""

    tests: list[str]
    slow: set[str]
    limit: float

    @classmethod
    def of(cls, name: str, tests: list[str]) -> Tried:
        """They pass without a mutation; else they would kill every mutant."""
        status, seconds, slow = child(tests, None, 3600, None)
        if status != 0:
            sys.exit(f"the tests of {name} fail without a mutation, so they would kill every one")
        return cls(tests, slow, max(SLOWER * seconds, 60.0))

    def meet(self, module: str, tree: ast.Module) -> str:
        """ "killed" or "survived"."""
        name = module.removesuffix(".py").replace("/", ".")
        finder = Mutant(name, ROOT / module, tree)
        return "killed" if child(self.tests, self.slow, self.limit, finder)[0] else "survived"


def population(name: str, seed: int) -> list[tuple[dict[str, Any], Callable[[], ast.Module]]]:
    """All mutants of an area in random order: what identifies each, and what makes its tree."""
    found = []
    for module in AREAS[name].modules:
        source = (ROOT / module).read_text()
        lines = source.splitlines()
        for (line, start, stop), change, make in mutants(source):
            known = {"area": name, "module": module, "line": line, "columns": [start, stop]}
            found.append((known | {"code": lines[line - 1].strip(), "change": change}, make))
    random.Random(seed).shuffle(found)
    return found


def key(record: dict[str, Any]) -> str:
    """What identifies a mutant."""
    return json.dumps([record[name] for name in ("module", "line", "columns", "code", "change")])


def write(records: list[dict[str, Any]], out: Path) -> None:
    out.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))


def show(records: list[dict[str, Any]]) -> None:
    for name in AREAS:
        those = [record for record in records if record["area"] == name]
        alive = [record for record in those if record["now"] == "survived"]
        first = sum(record["first"] == "killed" for record in those)
        print(f"{name}: {len(those)} mutants, {first} killed at first, {len(alive)} alive")  # noqa: T201
        for record in alive:
            place = f"{record['module']}:{record['line']}:{record['columns'][0]}"
            print(f"    {place} {record['change']}: {record['code']}")  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("areas", nargs="*", default=list(AREAS))
    parser.add_argument("--sample", type=int, default=14, help="mutants of each area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "mutations.jsonl")
    parser.add_argument("--again", action="store_true", help="only those that survived")
    parser.add_argument("--tests", nargs="+", default=[], help="with --again: of these tests alone")
    parser.add_argument("--show", action="store_true", help="only print the results")
    options = parser.parse_args()
    lines = options.out.read_text().splitlines() if options.out.exists() else []
    records = [json.loads(line) for line in lines]
    if options.show:
        show(records)
        return
    os.chdir(ROOT)
    # Shared by all children, so that each starts quickly; nvsd itself is imported by them.
    for name in ("numpy", "scipy.linalg", "scipy.stats", "pandas", "xarray", "sklearn"):
        importlib.import_module(name)
    for name in options.areas:
        known = {key(record): record for record in records}
        every = population(name, options.seed)
        if options.again:
            wanted = [e for e in every if known.get(key(e[0]), {}).get("now") == "survived"]
        else:
            wanted = [e for e in every[: options.sample] if key(e[0]) not in known]
        if not wanted:
            continue
        tried = Tried.of(name, options.tests or AREAS[name].tests)
        for record, make in wanted:
            result = tried.meet(record["module"], make())
            if key(record) in known:
                known[key(record)].update(record, now=result)
            else:
                records.append(record | {"seed": options.seed, "first": result, "now": result})
            write(records, options.out)
    show(records)


if __name__ == "__main__":
    main()
