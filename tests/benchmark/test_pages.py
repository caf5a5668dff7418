"""The pages of the benchmark are written from stored results."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmark_problems import made_up

from nvsd.benchmark import METHODS, SUITES
from nvsd.cli._run_options import SUITES as ON_COMMAND_LINE
from nvsd.experiments import save_results

SCRIPTS = Path(__file__).parents[2] / "docs" / "scripts"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    names = ("benchmarks_page", "benchmarks_pictures", "benchmarks_plan")
    return SimpleNamespace(**{name: import_module(name) for name in names})


def test_the_command_line_knows_all_suites() -> None:
    assert tuple(SUITES) == ON_COMMAND_LINE


def test_a_page_without_results_says_so(scripts: SimpleNamespace, tmp_path: Path) -> None:
    text = scripts.benchmarks_page.page(tmp_path, tmp_path / "a.png")
    assert "there are 0 replications" in text
    assert not (tmp_path / "a.png").exists()


def test_the_page_is_written_from_stored_results(scripts: SimpleNamespace, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    good, bad = ([(m + rng.uniform(0, 0.1, 8)).tolist() for _ in range(4)] for m in (0.8, 0.2))
    ours = [*good[:3], bad[3]]
    results = made_up({"ours": ours, "rf": [*bad[:3], good[3]], "lasso": bad})
    save_results({"public": results}, tmp_path)
    cell = SUITES["public"][3]
    (tmp_path / "explanations.json").write_text(f'{{"public/{cell.problem}": "It is so."}}')
    text = scripts.benchmarks_page.page(tmp_path, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000
    assert "Replications so far: public 8 (4 of 30 cells); 10 of each are planned." in text
    assert "Not run yet: unseen, classes" in text
    assert "| public | public regression problems with known inputs | 3 of 4 | 4 of 4 |" in text
    lines = [line for line in text.splitlines() if line.startswith("- public, ")]
    assert len(lines) == 2  # the ranking and the error, each against the forest
    assert all(cell.name in line and line.endswith("It is so.") for line in lines)
    (row,) = [line for line in text.splitlines() if line.startswith("| random forest | 3 / 0 / 1")]
    assert "p = " in row
    assert "Left out: MARS" in text
    assert re.search(r"\| \*\*0\.8\d\*\* ± 0\.01 \| 0\.2\d ± 0\.01 \|", text)


def test_bars_join_what_does_not_differ(scripts: SimpleNamespace) -> None:
    ranks = import_module("nvsd.benchmark.comparison").Ranks
    found = scripts.benchmarks_pictures.groups(ranks(list("abcd"), [1.0, 2.0, 2.5, 4.0], 9, 1.6))
    assert found == [(1.0, 2.5), (2.5, 4.0)]
    assert scripts.benchmarks_pictures.groups(ranks(list("ab"), [1.0, 2.0], 9, 0.5)) == []


def test_the_plan_names_every_cell_and_method(scripts: SimpleNamespace, tmp_path: Path) -> None:
    times = tmp_path / "times.jsonl"
    times.write_text("".join(f'["mrmr", {n}, 10, {n / 100}]\n' for n in (100, 300, 1000)))
    text = scripts.benchmarks_plan.plan(times)
    for method in METHODS.values():
        assert f"| {method.label} | {method.about} |" in text
    lines = [line for line in text.splitlines() if line.endswith("| not measured |")]
    assert any(line.startswith("| SpAM |") for line in lines)
    assert not any(line.startswith(("| mRMR |", "| random forest |")) for line in lines)
    assert sum(line.startswith("| ") for line in text.splitlines()) >= 165
    hours = float(re.search(r"\*\*(\d+) core-hours in all\*\*", text)[1])  # type: ignore[index]
    assert hours > 0
    assert all(cell in SUITES[cell.suite] for cell in scripts.benchmarks_plan.PILOTS)
