"""Runs of the benchmark: interrupted, failed, stored, compared, shown."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from benchmark_problems import made_up

from nvsd.benchmark import (
    METHODS,
    SUITES,
    Cell,
    Task,
    collect,
    compute,
    load_suites,
    scores,
    tasks_of,
)
from nvsd.benchmark.budget import Cost, Measured, costs, hours
from nvsd.benchmark.comparison import (
    against,
    critical_difference,
    losses,
    mean_and_error,
    mean_ranks,
    not_worse,
    score,
)
from nvsd.benchmark.methods.base import Method
from nvsd.benchmark.store import is_record, records_of
from nvsd.benchmark.tasks import records_in, restore
from nvsd.cli import main
from nvsd.experiments import run, save_results

CELLS = [Cell("public", "jse2", 100, 10), Cell("public", "jse3", 100, 10)]
QUICK = ["lasso", "mrmr"]
SHORT = ["public", "--problems", "jse2,jse3", "--methods", ",".join(QUICK)]


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "REFIT_TREES", 5)


def timeless(records: list[dict]) -> list[dict]:
    """What the records say, without the time and memory it took."""
    kept = []
    for record in records:
        rest = {k: v for k, v in record.items() if k not in ("seconds", "memory", "spent")}
        kept.append(rest)
    return kept


def test_a_run_goes_on_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = tasks_of(CELLS, QUICK, range(2))
    assert len(tasks) == 8
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run(tasks, whole, progress=False) == 8
    right = Task.compute

    def interrupted(task: Task) -> dict:
        if task == tasks[5]:
            raise KeyboardInterrupt
        return right(task)

    monkeypatch.setattr(Task, "compute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tasks, parts, progress=False)
    monkeypatch.setattr(Task, "compute", right)
    done = {path: path.stat().st_mtime_ns for path in parts.rglob("*.json")}
    assert len(done) == 5
    assert run(tasks, parts, progress=False) == 3
    assert all(path.stat().st_mtime_ns == before for path, before in done.items())
    assert timeless(records_in(parts, "public")) == timeless(records_in(whole, "public"))
    monkeypatch.setitem(METHODS, "lasso", Method("x", "x", METHODS["lasso"].fit, version=2))
    assert len(records_in(whole, "public")) == 4
    assert run(tasks, whole, progress=False) == 4


def broken(*_: object) -> None:
    raise ValueError("no")


def test_a_failure_is_recorded_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = METHODS["mrmr"]
    monkeypatch.setitem(METHODS, "mrmr", Method("mRMR", "x", broken))
    tasks = tasks_of(CELLS, QUICK, range(1))
    run(tasks, tmp_path, progress=False)
    results = collect(records_in(tmp_path, "public"), "public")
    assert results["failed"].sel({"method": "mrmr"}).all()
    assert results["share"].sel({"method": "mrmr"}).isnull().all()
    assert json.loads(results.attrs["failures"]) == [["mrmr", "ValueError: no", 2]]
    monkeypatch.setitem(METHODS, "mrmr", right)
    assert run(tasks, tmp_path, progress=False) == 2
    again = collect(records_in(tmp_path, "public"), "public")
    assert not again["failed"].any()
    assert again["share"].notnull().all()


def test_the_store_is_the_same_after_a_round_trip(tmp_path: Path) -> None:
    run(tasks_of(CELLS, QUICK, range(2)), tmp_path / "a", progress=False)
    results = collect(records_in(tmp_path / "a", "public"), "public")
    save_results({"public": results}, tmp_path)
    assert (tmp_path / "public.nc").stat().st_size < 100_000
    (loaded,) = load_suites(tmp_path).values()
    assert loaded.identical(results)
    assert all(is_record(record) for record in records_of(loaded))
    assert collect(records_of(loaded), "public").identical(results)
    assert restore(tmp_path, tmp_path / "b") == 8
    assert restore(tmp_path, tmp_path / "b") == 0
    assert run(tasks_of(CELLS, QUICK, range(2)), tmp_path / "b", progress=False) == 0
    assert "numpy" in str(results["versions"].sel({"method": "lasso"}).item())


def test_records_that_are_damaged_are_refused() -> None:
    good = compute(Task(*CELLS[0], 0, "mrmr"))
    assert is_record(json.loads(json.dumps(good)))
    for change in (
        {"n": "100"}, {"scores": {"share": "x"}}, {"scores": {"other": 1.0}}, {"scores": None},
        {"seconds": float("inf")}, {"d": -1}, {"failed": 3},
    ):  # fmt: skip
        assert not is_record(good | change), change
    assert not is_record(None)


def test_no_results_are_refused() -> None:
    with pytest.raises(ValueError, match="there are no results of noise; run nvsd benchmark noise"):
        collect([], "noise")


def test_means_and_standard_errors() -> None:
    mean, error = mean_and_error(score(made_up({"rf": [[1, 2, 6], [4, np.nan, np.nan]]}), "share"))
    assert mean.values.tolist() == [[3.0, 4.0]]
    assert error.values[0, 0] == pytest.approx(np.std([1, 2, 6], ddof=1) / 3**0.5)
    assert np.isnan(error.values[0, 1])


def test_ranks_share_ties_and_leave_out_what_is_incomplete() -> None:
    cells = {"ours": [[3.0]] * 4, "rf": [[2.0]] * 4, "lgbm": [[3.0], [1.0], [3.0], [1.0]]}
    results = made_up(cells | {"lasso": [[9.0]]})
    ranks = mean_ranks(score(results, "share"), 1)
    assert ranks is not None
    assert dict(zip(ranks.methods, ranks.ranks, strict=True)) == {
        "ours": 1.25,
        "rf": 2.5,
        "lgbm": 2.25,
    }
    assert ranks.cells == 4
    assert mean_ranks(score(made_up({"rf": [[1.0]] * 3}), "share"), 1) is None


def test_the_critical_difference_is_that_of_the_tables() -> None:
    # Demšar 2006: q of 5 % is 1.960 for two methods, 2.343 for three, 3.164 for ten.
    for k, q in ((2, 1.960), (3, 2.343), (10, 3.164)):
        expected = q * (k * (k + 1) / (6 * 30)) ** 0.5
        assert critical_difference(k, 30) == pytest.approx(expected, rel=2e-3)


def test_wins_and_losses_follow_the_test_over_replications() -> None:
    low, high = np.linspace(0.1, 0.2, 8).tolist(), np.linspace(0.5, 0.6, 8).tolist()
    mixed = [0.1, 0.9] * 4
    results = made_up({"ours": [high, low, mixed], "rf": [low, high, mixed[::-1]]})
    values = score(results, "share")
    (verdict,) = against(values, 1)
    assert verdict[:4] == ("rf", 1, 1, 1)
    (reverse,) = against(values, -1)
    assert reverse[:4] == ("rf", 1, 1, 1)
    (loss,) = losses(values, 1)
    assert (loss.cell, loss.peer) == (SUITES["public"][1].name, "rf")
    assert loss.ours == pytest.approx(0.15)
    assert loss.p < 0.01
    assert not_worse(values, 1) == (2, 3)
    few = score(made_up({"ours": [low[:3]], "rf": [high[:3]]}), "share")
    assert losses(few, 1) == []


def test_errors_of_numbers_and_classes_are_one_score() -> None:
    results = made_up({"rf": [[0.4], [-7.0]]})
    results["log_loss"][:, 1] = 0.3
    results["r2"][:, 1] = np.nan
    assert score(results, "error").values.ravel().tolist() == pytest.approx([0.6, 0.3])
    results["r2"][:, 1] = -7.0
    assert score(results, "error").values.ravel().tolist() == pytest.approx([0.6, 2.0])


def test_costs_are_recovered_and_summed() -> None:
    true = Cost(1e-4, 1.5, 0.5)
    sizes = product((100, 400, 1000), (10, 100))
    rows = [Measured("lasso", n, d, true.at(n, d)) for n, d in sizes]
    (found,) = costs(rows).values()
    assert found == pytest.approx(true, rel=1e-5)
    (single,) = costs(rows[:1]).values()
    assert single.at(200, 30) == pytest.approx(6 * true.at(100, 10), rel=1e-3)
    count, total = hours(CELLS, {"lasso": found}, 10)["lasso"]
    assert count == 2
    assert total == pytest.approx(10 * 2 * true.at(100, 10) / 3600, rel=1e-4)


def test_the_command_runs_shows_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    assert main(["benchmark", *SHORT, "--replications", "1", "--out", out]) == 0
    said = capsys.readouterr()
    assert "4 of 4 fits were run" in said.err
    assert "LassoCV" in said.out
    assert "mRMR" in said.out
    assert main(["benchmark", *SHORT, "--replications", "2", "--out", out]) == 0
    assert "4 of 8 fits were run" in capsys.readouterr().err
    assert main(["benchmark", *SHORT, "--out", out, "--show"]) == 0
    assert capsys.readouterr().out.startswith(said.out.splitlines()[0])
    other = str(tmp_path / "other")
    known = ["--known", out, "--replications", "2"]
    assert main(["benchmark", *SHORT, "--out", other, *known]) == 0
    heard = capsys.readouterr().err
    assert "8 fits were taken" in heard
    assert "0 of 8 fits were run" in heard


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["nowhere"], "invalid choice"),
        (["public", "--methods", "magic"], "there is no method 'magic'; give some of ours,"),
        (["public", "--problems", "magic"], "there is no problem 'magic'; give some of ring,"),
        (["public", "--sizes", "7"], "there is no size 7; give some of"),
        (["public", "--sizes", "x"], "--sizes 'x' are not numbers; give them as in 30,50."),
        (["public", "--replications", "0"], "--replications 0 is not allowed; give at least 1."),
        (["public", "--jobs", "0"], "--jobs 0 is not allowed"),
        (["public", "--show"], "has no results of public; leave out --show to make them."),
        (["public", "--known", "."], "--known . has no results; give a folder with files such as"),
        (["classes", "--methods", "spam"], "these options leave nothing to do"),
    ],
)
def test_the_command_refuses_in_one_sentence(
    options: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["benchmark", *options, "--out", "out"]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("nvsd: error: ")
    assert sentence in said
    assert said.endswith(".")


def test_a_second_writer_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from nvsd.machine import locked

    out = tmp_path / "out"
    with locked(out, "the results folder"):
        assert main(["benchmark", *SHORT, "--out", str(out)]) == 1
    assert "is being written by another process" in capsys.readouterr().err


def test_tables_without_their_files_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NVSD_DATA", raising=False)
    options = ["--methods", "mrmr", "--problems", "BH-noisy,diabetes-noisy", "--sizes", "100"]
    arguments = ["benchmark", "planted", *options, "--replications", "1"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().err
    assert "1 cells are left out because their data are missing" in said
    assert "1 of 1 fits were run" in said
