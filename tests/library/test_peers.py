"""The scripts that set `select` beside other methods."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nvsd.benchmark import effects, unseen

SCRIPTS = Path(__file__).parents[2] / "docs" / "scripts"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    names = ("peers", "peers_bench", "peers_scores", "peers_page")
    return SimpleNamespace(**{name: import_module(name) for name in names})


def row(method: str, seed: int, share: float, **more: Any) -> dict[str, Any]:
    cell = ["public", "ring", 250, 32]
    return {"cell": cell, "seed": seed, "method": method, "share": share, "seconds": 1.0} | more


def write(folder: Path, rows: list[dict[str, Any]]) -> None:
    (folder / "peers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_suites_have_the_sizes_that_were_published(scripts: SimpleNamespace) -> None:
    public, fresh = scripts.peers_bench.public(), scripts.peers_bench.unseen()
    assert len(set(public)) == len(public) == 4 * 3 * 4 + 4 + 12 + 9
    assert {cell.d for cell in public if cell.kind == "friedman1"} == {10, 55, 205}
    assert len(fresh) == 24
    known = import_module("selection_problems").KINDS
    assert not {cell.kind for cell in fresh} & set(known)


@pytest.mark.parametrize("kind", ["sensors", "category", "counts", "dose"])
def test_every_true_input_of_the_unseen_kinds_matters(kind: str) -> None:
    found = effects.total_effects(kind, rows=4000)
    assert len(found) == len(unseen.KINDS[kind].true)
    assert found.min() > effects.SMALLEST_EFFECT


def test_an_input_drawn_again_keeps_its_place_among_the_others() -> None:
    kind, rng = unseen.KINDS["sensors"], np.random.default_rng(0)
    Z = unseen.draw(kind, rng, 20_000, 16)
    again = effects.redrawn(kind, Z, 3, rng)
    np.testing.assert_allclose(np.corrcoef(again.T), np.corrcoef(Z.T), atol=0.03)
    assert abs(np.corrcoef(again[:, 3], Z[:, 3])[0, 1]) < 0.85


def test_columns_are_shuffled_and_the_true_ones_followed(scripts: SimpleNamespace) -> None:
    bench = scripts.peers_bench
    p = bench.problem(bench.Cell("public", "linear", 200, 30), 1)
    assert p.true != [0, 1, 2, 3, 4]
    w, *_ = np.linalg.lstsq(p.X_test, p.y_test, rcond=None)
    assert np.flatnonzero(np.abs(w) > 1e-8).tolist() == p.true


@pytest.mark.parametrize("method", ["ours", "rf", "lasso", "hsic"])
def test_a_peer_finds_what_is_plain(method: str, scripts: SimpleNamespace) -> None:
    bench = scripts.peers_bench
    found = bench.measured(bench.Cell("public", "linear", 80, 8), 0, method)
    assert "failed" not in found
    assert found["share"] >= 0.8
    has_set, predicts = method in ("ours", "lasso"), method != "hsic"
    assert (found["distance"] is not None) == has_set
    assert (found["r2"] is not None and found["r2"] > 0.5) == predicts


def test_a_later_run_goes_on(
    scripts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "peers.jsonl"
    some = ["--suite", "public", "--methods", "lasso", "--largest", "1100", "--out", str(out)]
    for seeds, lines in (("1", 3), ("1", 3), ("2", 6)):
        monkeypatch.setattr("sys.argv", ["peers_bench.py", *some, "--seeds", seeds])
        scripts.peers_bench.main()
        assert len(out.read_text().splitlines()) == lines
    others = [row("rf", 5000, 1.0), row("lasso", 1, 1.0) | {"cell": ["unseen", "dose", 150, 15]}]
    with out.open("a") as file:
        file.writelines(json.dumps(other) + "\n" for other in others)
    monkeypatch.setattr("sys.argv", ["peers_bench.py", *some, "--seeds", "1", "--again"])
    scripts.peers_bench.main()
    assert len(out.read_text().splitlines()) == 3 + len(others)
    assert "lasso" in json.loads((tmp_path / "peers_environment.json").read_text())


def test_equal_is_within_two_standard_errors(scripts: SimpleNamespace) -> None:
    verdict = scripts.peers_scores.verdict
    assert verdict({1: 1.0, 2: 1.0}, {1: 0.5, 2: 0.5}, 1) == 1
    assert verdict({1: 1.0, 2: 1.0}, {1: 0.5, 2: 0.5}, -1) == -1
    assert verdict({1: 1.0, 2: 0.4}, {1: 0.5, 2: 0.5}, 1) == 0
    assert verdict({1: 0.504}, {1: 0.5}, 1) == 0
    assert verdict({1: 0.6}, {2: 0.5}, 1) is None


def test_the_page_leaves_out_what_is_missing(scripts: SimpleNamespace, tmp_path: Path) -> None:
    beside = scripts.peers_page.beside
    assert beside(tmp_path) == ""
    rows = [row("rf", seed, 0.5, r2=-9.0) for seed in (1, 2)]
    write(tmp_path, rows)
    text = beside(tmp_path)
    assert "has not been run" in text
    assert "| ring | 250 | 32 | 0.50 ± 0.00 |" in text
    assert "| ring | 250 | 32 | -1.00 ± 0.00 |" in text
    assert "Tanimoto distance of the selected set\n" not in text
    failed = row("lasso", 1, 0.0) | {"share": None, "failed": "ValueError: no"}
    write(tmp_path, [*rows, *(row("ours", seed, 1.0) for seed in (1, 2)), failed])
    text = beside(tmp_path)
    assert "| ring | 250 | 32 | **1.00** ± 0.00 | 0.50 ± 0.00 |" in text
    assert "| random forest | 1 | 1 / 0 / 0 | 1.00, 0.50 |" in text
    assert "- LassoCV: 1 runs failed, ValueError: no" in text
