from __future__ import annotations

import importlib
import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray as xr
from experiment_problems import ROOT, records, write_real
from joblib import parallel_config
from scipy.stats import wilcoxon
from sklearn.kernel_ridge import KernelRidge

from nvsd.cli import main
from nvsd.datasets import SUPPORT
from nvsd.experiments import (
    EXPERIMENTS,
    METHODS,
    TABLES,
    Task,
    collect,
    compute,
    load_results,
    report,
    run,
    running,
    save_results,
    tasks_of,
)
from nvsd.experiments.figure1 import figure_data, figure_tasks
from nvsd.experiments.grouping import GROUPS, SIZES, group_by_frequency
from nvsd.experiments.methods import denovas
from nvsd.experiments.methods.base import best_refit, nested
from nvsd.experiments.methods.denovas import (
    DerivativeProduct,
    Iterate,
    Operators,
    fista,
    outer_step,
)
from nvsd.experiments.methods.early import early_supports
from nvsd.experiments.methods.group_lasso import group_lasso_path
from nvsd.experiments.methods.kernel import hsic_sets
from nvsd.experiments.methods.ours import LeastError, Selected, WidthPerInput
from nvsd.experiments.methods.spam import Basis
from nvsd.experiments.pilot import Choice, compare_settings, frequency_groups
from nvsd.experiments.protocol import PILOT, Split
from nvsd.experiments.rendering import to_markdown
from nvsd.experiments.store import selection_error
from nvsd.experiments.tables import LEVEL, signed_rank
from nvsd.experiments.tasks import records_in, restore
from nvsd.kernels import Gaussian, Kernel, Matern52, Polynomial
from nvsd.path import nvsd_path
from nvsd.penalties import Lasso
from nvsd.selection import select

HERE = [method for method in METHODS.values() if not method.missing]


@pytest.fixture
def small() -> Split:
    """Few rows and inputs, and little to validate on."""
    split = EXPERIMENTS["E3"].split(14, 0)
    some = np.array([0, 1, 6, 12])
    return replace(
        split,
        X=split.X[:, some],
        X_val=split.X_val[:100, some],
        y_val=split.y_val[:100],
        X_test=split.X_test[:100, some],
        y_test=split.y_test[:100],
        kernel=Gaussian(1.5),
        nu=0.05,
        names=("a", "b", "c", "d"),
        groups=("g", "g", "h", "i"),
        truth=np.array([True, True, True, False]),
    )


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    write_real(folder)
    monkeypatch.setenv("NVSD_DATA", str(folder))
    return folder


# --- protocol ---------------------------------------------------------------------------------


def test_a_cell_depends_on_its_name_alone() -> None:
    one, again = (EXPERIMENTS["E1"].split(30, 7) for _ in range(2))
    np.testing.assert_array_equal(one.X, again.X)
    np.testing.assert_array_equal(one.y_test, again.y_test)
    assert one.X.shape == (30, 18)
    assert one.X_val.shape == one.X_test.shape == (1000, 18)
    others = [("E1", 30, 8), ("E1", 50, 7), ("E2", 30, 7)]
    for name, n, r in others:
        assert not np.isin(EXPERIMENTS[name].split(n, r).X[:, 0], one.X[:, 0]).any()
    assert not np.isin(one.X_val[:, 0], np.append(one.X[:, 0], one.X_test[:, 0])).any()


def test_the_width_changes_nothing_but_the_width() -> None:
    plain, tuned = EXPERIMENTS["E3"].split(30, 0), EXPERIMENTS["E3-tuned"].split(30, 0)
    np.testing.assert_array_equal(plain.X, tuned.X)
    np.testing.assert_array_equal(plain.nus, tuned.nus)
    assert plain.widths == (1.0,)
    assert tuned.kernel_at(0.25) == Gaussian(1.0)


def test_real_data_are_normalised_and_disjoint(real: Path) -> None:
    split, copies = EXPERIMENTS["CC"].split(100, 0), EXPERIMENTS["CC+"].split(100, 0)
    everything = np.vstack([split.X, split.X_val, split.X_test])
    assert len(everything) == 100 + 2 * 450 == len(np.unique(everything, axis=0))
    np.testing.assert_allclose(everything.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(everything.std(axis=0), 1.0)
    assert abs(split.y.mean()) < 1e-12
    np.testing.assert_allclose(copies.X[:, :8], split.X)
    twice = np.vstack([copies.X, copies.X_val, copies.X_test])
    np.testing.assert_allclose(np.sort(twice[:, 8:], axis=0), np.sort(twice[:, :8], axis=0))
    assert np.abs(np.corrcoef(twice.T)[:8, 8:]).max() < 0.2
    assert copies.groups == ("original",) * 8 + ("permuted",) * 8


def test_groups_go_by_frequency() -> None:
    assert group_by_frequency([1, 9, 5, 9, 0], (2, 3)) == ("g2", "g1", "g2", "g1", "g2")
    with pytest.raises(ValueError, match="add up"):
        group_by_frequency([1, 2], (1, 2))
    for code, sizes in SIZES.items():
        counts = [GROUPS[code].count(label) for label in sorted(set(GROUPS[code]))]
        assert sorted(counts) == sorted(sizes)


# --- methods ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", HERE, ids=lambda method: method.key)
def test_a_method_reports_its_own_validation_error(method, small, monkeypatch) -> None:
    monkeypatch.setattr(denovas, "MAX_OUTER", 20)
    model = method.fit(small)
    error = np.mean((model.predict(small.X_val) - small.y_val) ** 2)
    assert model.error == pytest.approx(error, rel=1e-9)
    assert model.support.shape == (4,)
    assert model.support.dtype == bool
    used = model.support if model.predicts_with is None else model.predicts_with
    moved = small.X_test + 10.0 * ~used
    np.testing.assert_allclose(model.predict(moved), model.predict(small.X_test), rtol=1e-9)


def test_the_oracle_knows_and_the_mean_does_not(small: Split) -> None:
    assert METHODS["oracle"].fit(small).support.tolist() == [True, True, True, False]
    mean = METHODS["mean"].fit(small)
    assert not mean.support.any()
    np.testing.assert_allclose(mean.predict(small.X_test), small.y.mean())


def test_methods_that_use_groups_keep_them_whole(small: Split) -> None:
    for key in ("pool-groups", "eliminate-groups", "nvsd-gl"):
        support = METHODS[key].fit(small).support
        assert support[0] == support[1]


def test_least_error_takes_the_better_of_inputs_and_groups(small: Split) -> None:
    either = METHODS["pool-min-groups"].fit(small)
    inputs = METHODS["pool-min"].fit(small)
    groups = Selected("", "", groups=True)
    object.__setattr__(groups, "rule", "min")
    assert either.error == min(inputs.error, groups.fit(small).error)
    assert inputs.error <= METHODS["pool"].fit(small).error


@pytest.mark.parametrize("key", ["engine-cv", "pool-cv"])
def test_folds_alone_do_not_look_at_the_validation_data(key: str, small: Split) -> None:
    other = replace(small, X_val=small.X_val[::-1] + 1.0, y_val=-small.y_val)
    one, two = METHODS[key].fit(small), METHODS[key].fit(other)
    np.testing.assert_array_equal(one.support, two.support)
    np.testing.assert_array_equal(one.predict(small.X_test), two.predict(small.X_test))
    assert one.error != two.error


@pytest.mark.parametrize("key", ["engine", "engine-cv"])
def test_the_engine_is_told_neither_kernel_nor_width(key: str, small: Split) -> None:
    other = replace(small, kernel=Polynomial(2, 1.0), nu=1.0, widths=(1.0, 0.5))
    one, two = METHODS[key].fit(small), METHODS[key].fit(other)
    assert one.error == two.error
    validation = (small.X_val, small.y_val) if key == "engine" else None
    found = select(small.X, small.y, validation=validation)
    np.testing.assert_array_equal(one.support, found.support)
    np.testing.assert_array_equal(one.predict(small.X_test), found.predict(small.X_test))


def test_the_engine_has_a_place_in_every_table() -> None:
    for block in (block for blocks in TABLES.values() for block in blocks):
        keys = {method.key for method in block.methods()}
        assert {"engine", "engine-cv", "pool-cv"} <= keys


def test_settings_of_stored_results_are_those_of_today() -> None:
    stored = load_results(ROOT / "docs" / "replication")
    for name, results in stored.items():
        for key, known in zip(results.method.values, results.settings.values, strict=True):
            assert Task(name, int(results.n[0]), 0, str(key)).settings == known


def test_the_refit_is_the_best_kernel_ridge_of_all(small: Split) -> None:
    split = replace(small, widths=(1.0, 0.5))
    sets = nested(np.array([1.0, 3.0, 2.0, 0.0]))
    assert [s.sum() for s in sets] == [0, 1, 2, 3, 4]
    assert sets[2].tolist() == [False, True, True, False]
    errors = [np.mean((split.y.mean() - split.y_val) ** 2)]
    for mask in sets[1:]:
        for factor in split.widths:
            for nu in split.nus:
                gamma = 1 / (2 * (1.5 * factor) ** 2)
                ridge = KernelRidge(kernel="rbf", gamma=gamma, alpha=len(split.X) * nu)
                ridge.fit(split.X[:, mask], split.y - split.y.mean())
                predicted = ridge.predict(split.X_val[:, mask]) + split.y.mean()
                errors.append(np.mean((predicted - split.y_val) ** 2))
    assert best_refit(split, sets).error == pytest.approx(min(errors), rel=1e-6)


def objective(split: Split, op: Operators, f: Iterate, tau: float) -> float:
    """The problem that Denovas and NVSD(L) share, written out."""
    K, D, L = split.kernel.blocks(split.X)
    n, a, b = len(split.X), f.alpha[:, 0], f.beta[:, 0]
    residual = split.y - split.y.mean() - K @ a - D.T @ b
    slopes = (D @ a + L @ b).reshape(-1, n)
    norm = a @ K @ a + 2 * a @ D.T @ b + b @ L @ b
    return residual @ residual / n + tau * np.sqrt((slopes**2).mean(axis=1)).sum() + op.nu * norm


@pytest.mark.parametrize("kernel", [Polynomial(3, 1.0), Gaussian(1.5), Matern52(2.0)])
def test_product_of_denovas_is_that_with_the_matrix(kernel: Kernel, rng: np.random.Generator):
    X, V = rng.standard_normal((9, 4)), rng.standard_normal((36, 5))
    expected = kernel.L(X) @ V
    scale = np.abs(expected).max()
    np.testing.assert_allclose(DerivativeProduct(kernel, X)(V), expected, rtol=0, atol=1e-5 * scale)


def test_denovas_solves_the_problem_of_nvsd_if_it_is_left_to(small, monkeypatch) -> None:
    monkeypatch.setattr(denovas, "MAX_INNER", 100)
    monkeypatch.setattr(denovas, "INNER_TOL", 1e-7)
    path = nvsd_path(small.X, small.y, kernel=small.kernel, nu=small.nu, n_taus=6, tol=1e-8)
    tau = float(path.tau[3])
    op = Operators(small.X, small.y, small.kernel, small.nu)
    zeros = np.zeros((14, 1)), np.zeros((14 * 4, 1))
    f, momenta = Iterate(*zeros, *zeros, zeros[1]), fista()
    radius = np.array([tau / (2 * op.sigma)])
    for _ in range(500):
        f = outer_step(op, f, radius, next(momenta))
    assert objective(small, op, f, tau) == pytest.approx(float(path.objective[3]), rel=1e-4)
    norms = op.block_norms(f.V)[:, 0] / radius
    np.testing.assert_array_equal(norms > 0.999, path.support.values[3])


def test_early_admm_is_the_exact_one_if_it_is_not_stopped(small: Split) -> None:
    path = nvsd_path(small.X, small.y, kernel=small.kernel, nu=small.nu, n_taus=8, tol=1e-9)
    taus = path.tau.values[1:]
    late = early_supports(small, Lasso().bind(small.names), taus, 3000)
    np.testing.assert_array_equal(late, path.support.values[1:])


@pytest.mark.filterwarnings("ignore")
def test_group_lasso_meets_its_optimality_conditions(rng: np.random.Generator) -> None:
    X, groups = rng.standard_normal((40, 6)), [np.array([4, 0]), np.array([1, 2, 5]), np.array([3])]
    y = 100 * (X[:, 4] - X[:, 0]) + rng.standard_normal(40)
    y, weights = y - y.mean(), np.sqrt([2.0, 3.0, 1.0])
    W = group_lasso_path(X, y, groups, weights)
    gradient = X.T @ (y[:, None] - X @ W) / 40
    top = max(np.linalg.norm(X[:, g].T @ y) / 40 / w for g, w in zip(groups, weights, strict=True))
    alphas = top * np.geomspace(1.0, 1e-3, W.shape[1])
    for g, w in zip(groups, weights, strict=True):
        size = np.linalg.norm(gradient[g], axis=0)
        assert np.all(size <= w * alphas * (1 + 1e-2) + 1e-3)
        on = np.linalg.norm(W[g], axis=0) > 1e-3
        np.testing.assert_allclose(size[on], (w * alphas)[on], rtol=0.05, atol=0.02)
    assert not W[3, :10].any()


def test_splines_are_orthonormal_and_cut_where_they_cannot_be(rng: np.random.Generator) -> None:
    X = np.column_stack([rng.standard_normal(30), rng.integers(0, 2, 30).astype(float)])
    basis = Basis(X, 4)
    B = basis.features(X)
    np.testing.assert_allclose(B.mean(axis=0), 0.0, atol=1e-12)
    for group in basis.groups:
        np.testing.assert_allclose(B[:, group].T @ B[:, group] / 30, np.eye(len(group)), atol=1e-8)
    assert [len(group) for group in basis.groups] == [5, 1]
    assert np.isfinite(basis.features(X + 5)).all()
    ends = basis.features(X.max(axis=0)[None])
    beyond = basis.features(X + 9, clipped=True)
    np.testing.assert_allclose(beyond, np.repeat(ends, 30, axis=0), rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_hsic_lasso_is_quiet_and_leaves_numpy_alone(capsys, rng) -> None:
    X = rng.standard_normal((60, 5))
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    sets = hsic_sets(X, np.sin(3 * X[:, 2]) + X[:, 2])
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    assert capsys.readouterr().out == ""
    assert not sets[0].any()
    assert sets[1].tolist() == [False, False, True, False, False]
    assert sets[-1].all()


@pytest.mark.filterwarnings("ignore")
def test_hsic_lasso_goes_on_where_inputs_repeat_each_other(rng: np.random.Generator) -> None:
    X = rng.standard_normal((30, 3))[:, [0, 1, 2, 0]]
    sets = hsic_sets(X, X[:, 0] ** 2 + X[:, 1])
    assert len(sets) > 2
    assert not hasattr(np.linalg, "linalg")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("most", "sizes"), [(2, [0, 1, 2, 4]), (0, [0, 4])])
def test_hsic_lasso_has_the_sets_before_its_steps_go_round_in_circles(
    most: int, sizes: list[int], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = pytest.importorskip("pyHSICLasso").HSICLasso
    regression = package.regression

    def breaks(self, size: int, **settings) -> None:
        if size > most:
            raise IndexError("index (17) out of range")
        regression(self, size, **settings)

    monkeypatch.setattr(package, "regression", breaks)
    X = rng.standard_normal((40, 4))
    sets = hsic_sets(X, X[:, 0] ** 2 + X[:, 1])
    assert [int(found.sum()) for found in sets] == sizes


# --- records and tables -----------------------------------------------------------------------

QUICK = ["lasso", "krls", "nvsd-l", "nvsd-gl", "pool-groups", "oracle"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    run(tasks_of([("E1", 30)], QUICK, range(3)), out, progress=False)
    return out


def test_a_task_alone_gives_what_it_gives_in_a_run(finished: Path) -> None:
    task = Task("E1", 30, 2, "pool-groups")
    alone = compute(task)
    alone.pop("seconds")
    assert records(finished)[str(task.place)] == alone


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """What writes the page on replication."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "scripts"))
    return importlib.import_module("replication")


def test_the_page_on_replication_is_made_of_the_stored_results(
    finished: Path, tmp_path: Path, script: ModuleType
) -> None:
    results = collect(records_in(finished, "E1"), "E1")
    e3 = results.assign_attrs(experiment="E3").assign(rmse=results.rmse / 16)
    save_results({"E1": results, "E3": e3}, tmp_path / "run")
    script.main(["--from", str(tmp_path / "run"), "--docs", str(tmp_path)])
    once = (tmp_path / "replication.md").read_text()
    oracle = float(e3.rmse.sel({"method": "oracle"}).mean())
    assert f"| width 4 | {oracle:.2f} " in once
    chosen = results.support.sel({"method": "nvsd-l"}).sum("feature")
    assert f"| NVSD(L)  | {float(chosen.mean()):.1f} / " in once
    assert "3 replications" in once
    assert "## Table 1" in once
    assert "## Table 3" not in once
    script.main(["--docs", str(tmp_path)])
    assert (tmp_path / "replication.md").read_text() == once


def test_the_page_says_what_it_means_to_miss_the_true_set(
    finished: Path, tmp_path: Path, script: ModuleType
) -> None:
    results = collect(records_in(finished, "E1"), "E1")
    results = results.sel({"method": ["krls", "pool-groups", "oracle"]}).load()
    results["support"] = (results.support | True) & results.relevant
    results.support.values[1, 0, :2] ^= True  # the set of pool-groups, in two replications
    results.rmse.values[:, 0] = [[4, 4, 9], [1, 2, 9], [3, 3, 9]]
    results.validation_mse.values[:, 0] = [[9, 9, 9], [1, 3, 1], [2, 2, 2]]
    save_results({"E1": results}, tmp_path / "run")
    script.main(["--from", str(tmp_path / "run"), "--docs", str(tmp_path)])
    lines = (tmp_path / "replication.md").read_text().splitlines()
    row = next(line for line in lines if line.startswith("| Table 1: E1, cubic kernel, n = 30"))
    assert [cell.strip() for cell in row.split("|")[2:-1]] == ["2", "1", "1.5", "4", "3"]


def test_what_is_done_is_not_done_again(finished: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*.json")}
    assert run(tasks_of([("E1", 30)], QUICK, range(3)), finished, progress=False) == 0
    assert before == {path: path.stat().st_mtime_ns for path in finished.rglob("*.json")}


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"settings": "other"}'])
def test_what_cannot_be_read_or_has_other_settings_is_done_again(
    tmp_path: Path, damage: str
) -> None:
    task = Task("E1", 30, 0, "mean")
    assert run([task], tmp_path, progress=False) == 1
    good = records(tmp_path)
    (tmp_path / task.place).write_text(damage)
    with pytest.warns(UserWarning, match="damaged and was set aside"):
        assert run([task], tmp_path, progress=False) == 1
    assert records(tmp_path) == good


def test_a_worker_that_joblib_replaces_is_nothing_to_worry_about(tmp_path, monkeypatch) -> None:
    def records(todo, *_):
        warnings.warn("A worker stopped while some jobs were given to the executor.", stacklevel=1)
        return [(task, compute(task)) for task in todo]

    monkeypatch.setattr(running, "_records", records)
    assert run(tasks_of([("E1", 30)], ["mean"], [0]), tmp_path, progress=False) == 1


def test_a_failure_is_recorded_and_tried_again(tmp_path, monkeypatch) -> None:
    task = Task("E1", 30, 0, "mean")

    def fail(self: object, split: Split) -> None:
        raise RuntimeError("no luck")

    with monkeypatch.context() as patch:
        patch.setattr(type(METHODS["mean"]), "fit", fail)
        run([task], tmp_path, progress=False)
    assert records(tmp_path)[str(task.place)]["failed"] == "RuntimeError: no luck"
    assert records_in(tmp_path, "E1") == []
    assert run([task], tmp_path, progress=False) == 1
    assert len(records_in(tmp_path, "E1")) == 1


def test_a_table_says_what_the_records_say(finished: Path) -> None:
    truth = set("123789")
    table = report("table1", {"E1": collect(records_in(finished, "E1"), "E1")})
    [block] = table.blocks
    for key in QUICK:
        mine = [r for r in records(finished).values() if r["method"] == key]
        errors = [r["rmse"] for r in mine]
        chosen = [{str(a + 1) for a, c in enumerate(r["support"]) if c == "1"} for r in mine]
        distances = [1 - len(s & truth) / len(s | truth) for s in chosen]
        for measure, values in (("rmse", errors), ("selection", distances)):
            cell = block.cells[measure][key][0]
            assert cell.replications == 3
            assert cell.mean == pytest.approx(sum(values) / 3, rel=1e-6)
            assert cell.median == pytest.approx(sorted(values)[1], rel=1e-6)
            spread = math.sqrt(sum((v - sum(values) / 3) ** 2 for v in values) / 2)
            assert cell.se == pytest.approx(spread / math.sqrt(3), rel=1e-5, abs=1e-9)
    assert len({block.cells["rmse"][key][0].mean for key in ("lasso", "krls", "oracle")}) == 3
    verdict = block.verdicts[0]
    rivals = {key: block.cells["rmse"][key][0].mean for key in ("lasso", "krls")}
    assert verdict.rival.rival == min(rivals, key=rivals.__getitem__)
    assert (verdict.paper_method, verdict.paper_best) == ("nvsd-gl", 9.92)


def test_results_come_back_from_a_small_file(finished: Path, tmp_path: Path) -> None:
    results = {"E1": collect(records_in(finished, "E1"), "E1")}
    save_results(results, tmp_path)
    assert load_results(tmp_path)["E1"].identical(results["E1"])
    error = selection_error(results["E1"]).sel({"method": "krls"})
    np.testing.assert_allclose(error, 2 / 3)


def test_a_run_goes_on_from_compact_results(finished: Path, tmp_path: Path, capsys) -> None:
    known, out = tmp_path / "known", tmp_path / "out"
    before = collect(records_in(finished, "E1"), "E1")
    save_results({"E1": before}, known)
    options = ["--experiments", "E1", "--sizes", "30", "--methods", "lasso,krls"]
    options += ["--replications", "4", "--known", str(known), "--out", str(out)]
    assert main(["replicate", "table1", *options]) == 0
    said = capsys.readouterr().err
    assert "18 fits were taken from" in said
    assert "2 of 8 fits were run" in said
    after = collect(records_in(out, "E1"), "E1")
    assert after.isel(replication=slice(3)).identical(before)
    assert main(["replicate", "table1", *options]) == 0
    assert "0 fits were taken from" in capsys.readouterr().err


def test_compact_results_with_other_settings_are_not_taken_over(
    finished: Path, tmp_path: Path
) -> None:
    results = collect(records_in(finished, "E1"), "E1")
    other = np.where(results["method"] == "krls", "other", results["settings"])
    save_results({"E1": results.assign_coords(settings=("method", other))}, tmp_path)
    assert restore(tmp_path, tmp_path / "out") == 15
    assert restore(tmp_path, tmp_path / "out") == 0


def test_significance_is_that_of_the_signed_rank_test(rng: np.random.Generator) -> None:
    a = rng.standard_normal(30)
    p, side = signed_rank(a, a + 0.1 + 0.01 * rng.random(30))
    assert (p < LEVEL, side) == (True, -1)
    assert signed_rank(a + 1, a)[1] == 1
    assert signed_rank(a, a) == (1.0, 0)
    b = a + 0.3 * rng.standard_normal(30) + 0.12
    p, side = signed_rank(a, b)
    assert (p < LEVEL and side < 0) == (wilcoxon(a, b, alternative="less").pvalue < LEVEL / 2)
    gaps = np.where(np.arange(30) < 5, np.nan, b)
    assert signed_rank(a, gaps)[0] == pytest.approx(wilcoxon(a[5:], b[5:]).pvalue)
    assert signed_rank(a, b[:20])[0] == pytest.approx(wilcoxon(a[:20], b[:20]).pvalue)
    for size in (4, 9):
        few, other = np.round(a[:size], 1), np.round(b[:size], 1)
        assert signed_rank(few, other)[0] == pytest.approx(wilcoxon(few, other).pvalue)


def test_the_side_of_the_test_does_not_hang_on_the_order_of_ties() -> None:
    differences = np.repeat([-1.0, 1.0], [34, 16])
    for order in (differences, differences[::-1]):
        p, side = signed_rank(order, np.zeros(50))
        assert (p < LEVEL, side) == (True, -1)


def made_up(rmse: dict[str, list[float]]) -> xr.Dataset:
    """Results of E1, n = 30, with these errors."""
    shape = len(rmse), 1, len(next(iter(rmse.values())))
    errors = np.array(list(rmse.values())).reshape(shape)
    return xr.Dataset(
        {
            "rmse": (("method", "n", "replication"), errors),
            "support": (("method", "n", "replication", "feature"), np.ones((*shape, 18), bool)),
        },
        coords={
            "method": np.array(list(rmse), dtype=object),
            "n": [30],
            "relevant": ("feature", SUPPORT),
        },
    )


def test_few_replications_of_one_rival_decide_nothing_for_the_others() -> None:
    index = np.arange(20.0)
    slow = np.where(index < 8, 9.0, np.nan)  # worse than ours where it was run
    data = {"pool-groups": index % 3, "xrfm": index % 3 - 0.5, "lassonet": slow}
    block = report("table1", {"E1": made_up(data)}).blocks[0]
    verdict = next(v for v in block.verdicts if v.measure == "rmse")
    assert (verdict.rival.rival, verdict.rival.replications) == ("xrfm", 20)
    assert (verdict.slower.rival, verdict.slower.replications) == ("lassonet", 8)
    assert verdict.rival.clearly_lost
    assert verdict.clearly_lost
    assert not verdict.slower.lost
    data["xrfm"] = data["pool-groups"] + 0.5
    data["lassonet"] = np.where(index < 2, 0.0, np.nan)
    block = report("table1", {"E1": made_up(data)}).blocks[0]
    assert block.cells["rmse"]["pool-groups"][0].significant
    text = to_markdown(report("table1", {"E1": made_up(data)}))
    assert "best of those with 2 replications" in text


def test_a_slow_method_is_compared_on_the_replications_that_it_has(finished: Path) -> None:
    data = collect(records_in(finished, "E1"), "E1").isel(replication=[0, 0, 0])
    ours, rival = (list(data.method.values).index(key) for key in ("pool-groups", "krls"))
    data.rmse.values[:, 0] = np.nan
    data.rmse.values[ours, 0], data.rmse.values[rival, 0] = [1, 2, 9], [3, 4, np.nan]
    block = report("table1", {"E1": data}).blocks[0]
    verdict = next(v for v in block.verdicts if v.measure == "rmse")
    assert (verdict.ours, verdict.rival.ours, verdict.rival.theirs) == (4.0, 1.5, 3.5)
    cells = {key: row[0] for key, row in block.cells["rmse"].items() if row[0].replications}
    assert [(key, cell.best) for key, cell in cells.items()] == [
        ("krls", False),
        ("pool-groups", True),
    ]


def test_every_number_of_the_paper_has_a_method_and_a_column() -> None:
    for blocks in TABLES.values():
        for block in blocks:
            keys = {method.key for method in block.methods()}
            assert set(block.ours) <= set(keys)
            for rows in block.paper.values():
                assert set(rows) <= keys
                assert {len(row) for row in rows.values()} == {len(block.columns)}


def test_a_run_may_be_started_from_a_thread(tmp_path: Path) -> None:
    task = Task("E1", 30, 0, "mean")

    def start() -> int:
        with parallel_config(backend="threading"):
            return run([task], tmp_path, jobs=2, progress=False)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(start).result() == 1
    alone = compute(task)
    alone.pop("seconds")
    assert records(tmp_path) == {str(task.place): alone}


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"experiment": "E1"}'])
def test_files_that_are_no_records_are_no_results(tmp_path: Path, damage: str) -> None:
    task = Task("E1", 30, 0, "mean")
    run([task], tmp_path, progress=False)
    (tmp_path / task.place).with_name("other.json").write_text(damage)
    with pytest.warns(UserWarning, match="damaged and was set aside"):
        found = records_in(tmp_path, "E1")
    assert [record["method"] for record in found] == ["mean"]


def test_no_results_make_no_dataset() -> None:
    with pytest.raises(ValueError, match=r"^there are no results of E1; run nvsd replicate .*\.$"):
        collect([], "E1")


def test_a_table_of_our_methods_alone_judges_nobody(finished: Path) -> None:
    mine = [r for r in records_in(finished, "E1") if r["method"] in ("pool-groups", "oracle")]
    text = to_markdown(report("table1", {"E1": collect(mine, "E1")}))
    assert "| pool, groups" in text
    assert "There is nothing to compare `pool, groups` with yet." in text
    assert "better?" not in text


# --- every table and the figure, small --------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_table1(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(denovas, "MAX_OUTER", 10)
    out = str(tmp_path / "results")
    options = ["--replications", "1", "--sizes", "30", "--out", out]
    assert main(["replicate", "table1", "--experiments", "E1,E2,E3", *options]) == 0
    few = "krls,spam,denovas,nvsd-gl,pool-groups,oracle"
    assert (
        main(["replicate", "table1", "--experiments", "E3-tuned", "--methods", few, *options]) == 0
    )
    text = capsys.readouterr().out
    for method in METHODS.values():
        real = isinstance(method, LeastError | WidthPerInput)
        assert real or method.missing or f"| {method.label}" in text
    assert "E3, width chosen on validation data" in text
    assert not [r for r in records(tmp_path / "results").values() if "failed" in r]
    assert (tmp_path / "results" / "table1.md").read_text() in text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("what", "plain", "tuned"),
    [("table3", "BH,CP,CC,EN,EL", "CC-tuned"), ("table4", "AI+,CP,CC+,KN+,EL", "AI+-tuned")],
)
def test_real_tables(what, plain, tuned, real: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(denovas, "MAX_OUTER", 3)
    monkeypatch.setattr(denovas, "MAX_INNER", 3)
    ours = "pool-min" if what == "table3" else "pool-min-groups"
    keys = f"ridge,group-lasso,krls,spam,hsic,denovas,nvsd-l,nvsd-gl,pool-widths,{ours}"
    out = tmp_path / "results"
    options = ["--replications", "1", "--methods", keys, "--out", str(out)]
    for experiments, columns in ((plain, 5), (tuned, 1)):
        assert main(["replicate", what, "--experiments", experiments, *options]) == 0
        text = capsys.readouterr().out
        assert f"| {METHODS[ours].label}" in text
        # Two questions for each column.
        assert text.count(" yes") + text.count(" no, by") + text.count("equal") >= 2 * columns
    assert "width chosen" in text
    assert f"| {METHODS['pool-widths'].label}" in text
    assert not [r for r in records(out).values() if "failed" in r]


@pytest.mark.filterwarnings("ignore")
def test_figure1(tmp_path: Path) -> None:
    options = ["--methods", "krls,pool-groups", "--sizes", "30", "--out", str(tmp_path)]
    assert main(["replicate", "figure1", *options]) == 0
    assert (tmp_path / "figure1.png").stat().st_size > 10_000
    assert len(figure_tasks(["krls"])) == 2
    found = records(tmp_path)
    assert {len(r["predictions"]) for r in found.values()} == {1000}
    assert records_in(tmp_path, "E3") == []


def test_the_figure_leaves_out_what_is_not_done(tmp_path: Path) -> None:
    tasks = figure_tasks(["mean", "krls"], 30)
    run(tasks[:1], tmp_path, progress=False)
    shown = figure_data(tmp_path, tasks)["prediction"]
    assert shown.dims == ("experiment", "method", "sample")
    mean = EXPERIMENTS["E3"].split(30, 16).y.mean()
    np.testing.assert_allclose(shown.sel({"experiment": "E3", "method": "mean"}), mean, rtol=1e-5)
    assert int(shown.notnull().sum()) == shown.sizes["sample"]


def test_pilot(real: Path, capsys) -> None:
    rows = compare_settings(["E1"], 1, 1, ("krls",))
    assert {row.setting for row in rows} >= {"nu = 0.001", "c = 10"}
    split = EXPERIMENTS["E1"].split(30, PILOT)
    assert rows[0].rmse == pytest.approx(math.sqrt(METHODS["krls"].fit(split).error))
    groups = frequency_groups(1, 1)
    assert {code: len(labels) for code, labels in groups.items()} == {"CP": 21, "EL": 17}


# --- the command line -------------------------------------------------------------------------


def test_without_the_data_a_sentence_says_so(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.delenv("NVSD_DATA", raising=False)
    assert main(["replicate", "table3", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "table3 is skipped" in said.err
    assert "NVSD_DATA" in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--methods", "magic"], "there is no method 'magic'"),
        (["--experiments", "E9"], "there is no experiment 'E9'"),
        (["--sizes", "few"], "are not numbers"),
        (["--sizes", "31"], "there is no size 31; give some of 30, 50, 70, 90, 110."),
        (["--sizes", "30", "--methods", "pool-widths"], "leave nothing to do"),
        (["--jobs", "0"], "--jobs 0 is not allowed; give at least 1"),
        (["--show"], "has no results of table1; leave out --show to make them."),
        (["--replications", "0"], "give at least 1"),
        (["--known", "nowhere"], "has no results"),
    ],
)
def test_options_that_make_no_sense(tmp_path, capsys, options, sentence) -> None:
    assert main(["replicate", "table1", *options, "--out", str(tmp_path)]) == 2
    assert sentence in capsys.readouterr().err


def test_only_a_folder_can_be_written_to(tmp_path: Path, capsys) -> None:
    (tmp_path / "file").touch()
    for what in ("table1", "figure1", "table3"):
        assert main(["replicate", what, "--out", str(tmp_path / "file")]) == 2
        assert "is a file; name a folder." in capsys.readouterr().err
    assert main(["replicate", "figure1", "--show", "--out", str(tmp_path / "none")]) == 2
    assert "has no results of figure1" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_show_runs_nothing(finished: Path, capsys) -> None:
    before = records(finished)
    options = ["--sizes", "30", "--experiments", "E1", "--show", "--out", str(finished)]
    assert main(["replicate", "table1", *options]) == 0
    assert records(finished) == before
    assert "| true inputs" in capsys.readouterr().out


def test_show_leaves_out_experiments_without_results(finished: Path, capsys) -> None:
    options = ["--sizes", "30", "--experiments", "E1,E2", "--show", "--out", str(finished)]
    assert main(["replicate", "table1", *options]) == 0
    text = capsys.readouterr().out
    assert "### E1, cubic kernel" in text
    assert "E2" not in text


def test_fits_that_fail_are_counted_and_one_is_named(tmp_path: Path, capsys, monkeypatch) -> None:
    def fail(self: object, split: Split) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr(type(METHODS["mean"]), "fit", fail)
    options = ["--experiments", "E1", "--sizes", "30", "--methods", "mean", "--replications", "2"]
    assert main(["replicate", "table1", *options, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    named = Task("E1", 30, 0, "mean").place
    assert f"2 fits failed; for the reason of one see {named}" in said.err
    assert "no luck" in (tmp_path / named).read_text()
    assert "|" not in said.out


def test_a_figure_of_methods_that_it_does_not_show_is_refused(tmp_path: Path, capsys) -> None:
    assert main(["replicate", "figure1", "--methods", "lasso", "--out", str(tmp_path)]) == 2
    assert "leave nothing to draw; give other options." in capsys.readouterr().err


def test_the_pilot_compares_what_there_are_data_for(tmp_path: Path, capsys, monkeypatch) -> None:
    asked = []

    def compare(names, replications, jobs, methods):
        asked.append((set(names), methods))
        return [Choice("E1", "nu = 0.001", "krls", 30, 1.5)]

    monkeypatch.setattr("nvsd.experiments.pilot.compare_settings", compare)
    monkeypatch.setattr("nvsd.experiments.pilot.frequency_groups", lambda *_: {"CP": ("g2", "g1")})
    monkeypatch.delenv("NVSD_DATA", raising=False)
    assert main(["replicate", "pilot"]) == 0
    text = capsys.readouterr().out
    assert "nu = 0.001" in text
    assert "CP:" not in text
    monkeypatch.setenv("NVSD_DATA", str(tmp_path))
    assert main(["replicate", "pilot", "--methods", "krls"]) == 0
    assert "CP: g2 g1" in capsys.readouterr().out
    (synthetic, usual), (every, chosen) = asked
    assert (usual, chosen) == (("nvsd-l", "krls"), ("krls",))
    assert synthetic == {name for name in every if EXPERIMENTS[name].synthetic}
    assert synthetic < every
    assert "E3-tuned" not in every
