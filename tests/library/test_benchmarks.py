"""Every benchmark runs: each class once, at its smallest size."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import pkgutil
import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from asv_runner.discovery import disc_benchmarks

import nvsd
from nvsd.kernels import Linear
from nvsd.penalties import Lasso

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "asv_benchmarks"))

common, peers, stages = (
    importlib.import_module(f"benchmarks.{name}") for name in ("common", "peers", "stages")
)

KINDS = ("time_", "peakmem_", "track_")


def modules() -> Iterator[ModuleType]:
    package = importlib.import_module("benchmarks")
    for info in pkgutil.iter_modules(package.__path__, "benchmarks."):
        yield importlib.import_module(info.name)


def methods(kind: type) -> list[str]:
    return [name for name, _ in inspect.getmembers(kind) if name.startswith(KINDS)]


def classes() -> list[type]:
    """As asv finds them: every class in the name space of a module that has a benchmark."""
    return [
        kind
        for module in modules()
        for name, kind in vars(module).items()
        if inspect.isclass(kind) and not name.startswith("_") and methods(kind)
    ]


CLASSES = classes()


def smallest(kind: type) -> list[list[Any]]:
    """A small number for each size; all names, because new kernels and penalties come as names."""
    if hasattr(kind, "tiny"):
        return [list(values) for values in kind.tiny]
    return [
        [min(12, *values)] if all(isinstance(v, int) for v in values) else list(values)
        for values in getattr(kind, "params", ())
    ]


def run(kind: type) -> Iterator[tuple[str, tuple[Any, ...], Any]]:
    """Name, parameters and result of every benchmark of a class, run the way asv does."""
    one = kind()
    one.params = smallest(kind)
    cached = (one.setup_cache(),) if hasattr(one, "setup_cache") else ()
    for parameters in product(*one.params):
        for name in methods(kind):
            try:
                if hasattr(one, "setup"):
                    one.setup(*cached, *parameters)
            except NotImplementedError:  # asv's mark for a combination that does not apply
                continue
            yield name, parameters, getattr(one, name)(*cached, *parameters)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_benchmark_runs_at_its_smallest_size(kind: type) -> None:
    results = list(run(kind))
    assert {name for name, _, _ in results} == set(methods(kind))
    for name, parameters, value in results:
        if name.startswith("track_"):
            assert math.isfinite(value), (name, parameters)


def test_asv_finds_them_and_gives_each_a_version() -> None:
    """asv takes a module's own ``version``, ``timeout``, ... for attributes of its benchmarks."""
    found = list(disc_benchmarks(str(ROOT / "asv_benchmarks" / "benchmarks")))
    assert len({benchmark.name for benchmark in found}) == len(found)
    assert {b.name.split(".")[-2] for b in found} == {kind.__name__ for kind in CLASSES}
    for benchmark in found:
        assert re.fullmatch("[0-9a-f]{64}", benchmark.version), benchmark.name


def test_caches_are_not_shared() -> None:
    """asv tells them apart by the line of their definition, so none may be inherited."""
    cached = [kind for kind in CLASSES if hasattr(kind, "setup_cache")]
    assert cached
    assert all("setup_cache" in vars(kind) for kind in cached)


def test_every_stage_is_still_where_the_benchmarks_look_for_it() -> None:
    hooks = [hook for group in stages.HOOKS.values() for hook in group]
    assert [hook for hook in [*hooks, stages.SEARCH] if stages.find(hook) is None] == []


def held() -> dict[tuple[str, str], Any]:
    """Every function that the stages wrap, by all places that hold it."""
    hooks = [hook for group in stages.HOOKS.values() for hook in group]
    places = [stages.find(hook) for hook in [*hooks, stages.SEARCH]]
    return {
        (holder.__name__, name): vars(holder)[name]
        for owner, name in places
        for holder in stages.holders(owner, name)
    }


def test_the_stages_are_wrapped_where_the_path_looks_for_them() -> None:
    """A function that was imported by name must be replaced in the module that imported it."""
    for place in [
        ("nvsd.path", "prepare"),
        ("nvsd.path", "path_dataset"),
        ("nvsd.solved", "tighten"),
        ("nvsd.solvers.base", "certificate"),
        ("nvsd.solvers.driver", "certificate"),
        ("nvsd.representations.derivative", "cholesky"),
        ("BoundPenalty", "prox"),
        ("ADMM", "look"),
        ("Solver", "extrapolate"),
    ]:
        assert place in held()


def test_the_stages_are_those_of_the_path_and_leave_no_trace() -> None:
    before = held()
    row = stages.measure("E1", "Lasso", 20)
    spent = {stage: row[f"seconds in {stage}"] for stage in stages.STAGES}
    assert all(value > 0 for value in spent.values())
    assert row["calls of set-up"] == row["calls of result"] == 1
    assert row["calls of solves"] >= row["calls of factorisations"] > 0
    # S2 and the prox of the step before, S1, extrapolation: all in every step.
    assert row["calls of prox"] >= 2 * row["calls of acceleration"] > 0
    assert row["calls of certificate"] >= row["calls of acceleration"]
    assert 0 < row[f"seconds in {stages.OVERLAP}"] < sum(spent.values())
    assert held() == before


def test_a_failure_stays_with_its_own_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    rows = common.table([[1, 0]], lambda x: {"inverse": 1 / x})
    assert common.entry(rows, "inverse", 1) == 1
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        common.entry(rows, "inverse", 0)
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["E1", "E3"])
def test_the_frozen_tau_is_a_fraction_of_tau_max(name: str) -> None:
    """At this size Z has full row rank, and the closed form is exact."""
    bound = peers.tau_max_bound(peers.stated(name, "SCS", 10).objective)
    assert bound == pytest.approx(common.largest_tau(name, "Lasso", 10), rel=1e-6)


def test_the_linear_problem_is_ours() -> None:
    p = peers.LinearProblem(40, 6)
    w = peers.by_sklearn(p, 1e-12)
    assert 0 <= p.worst_gap(w) < 1e-10
    path = nvsd.nvsd_path(
        p.X, p.y, kernel=Linear(), penalty=Lasso(), nu=common.NU, taus=p.taus, tol=1e-12
    )
    np.testing.assert_allclose(path.derivative_norm, np.abs(w.T), atol=1e-5 * np.abs(w).max())


# --- the page that is written from the results -------------------------------------------------


def planted(name: str, values: tuple[Any, ...]) -> float:
    """Time grows as size^2.5, everything else is a number that depends on the parameters."""
    size = values[-1] if values and isinstance(values[-1], int) else 1
    return 1e-6 * size**2.5 if ".time_" in name else 2e9 + size


def write_results(folder: Path) -> None:
    """A file as asv writes it, with all our benchmarks and numbers of our own."""
    results = {}
    for benchmark in disc_benchmarks(str(ROOT / "asv_benchmarks" / "benchmarks")):
        axes = [[repr(value) for value in axis] for axis in benchmark._params]
        combinations = product(*benchmark._params)
        values = [planted(benchmark.name, combination) for combination in combinations]
        results[benchmark.name] = [values, axes, benchmark.version, 1_700_000_000_000]
    results["environment.Machine.peakmem_nothing"][0] = [1e9]
    results["environment.Machine.track_blas_threads"][0] = [2]
    results["growth.Inputs.time_path"][0][0] = math.nan
    content = {
        "commit_hash": "0123456789abcdef",
        "params": {"cpu": "abacus", "num_cpu": "2", "ram": str(8 * 2**30)},
        "result_columns": ["result", "params", "version", "started_at"],
        "results": results,
    }
    folder.mkdir(parents=True)
    (folder / "01234567-existing-py.json").write_text(json.dumps(content))


def test_the_page_is_made_of_the_stored_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_results(tmp_path / "results" / "machine")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "scripts"))
    performance = importlib.import_module("performance")
    performance.main(["--results", str(tmp_path / "results"), "--docs", str(tmp_path)])
    text = (tmp_path / "performance.md").read_text()
    assert "abacus, 2 cores" in text
    assert "`01234567`" in text
    assert "2023-11-14" in text
    growth = [line for line in text.splitlines() if line.startswith(("| rows", "| inputs"))]
    assert len(growth) == 4
    assert all(line.split("|")[3].strip() == "2.5" for line in growth)
    default = text[text.index("with nothing else said") :].splitlines()
    assert default[2] == "|  | n = 30 | n = 200 | n = 500 | n = 1000 |"
    pictures = re.findall(r"\(images/(performance_\w+\.png)\)", text)
    assert len(pictures) == 3
    assert all((tmp_path / "images" / picture).stat().st_size > 0 for picture in pictures)


def test_without_results_the_page_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "scripts"))
    performance = importlib.import_module("performance")
    with pytest.raises(SystemExit, match="make bench"):
        performance.main(["--results", str(tmp_path), "--docs", str(tmp_path)])
