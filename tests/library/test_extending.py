"""What the pages on extending add is found by discovery, JSON, verification, names and asv."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nvsd
from nvsd.descriptions import class_names, short_names
from nvsd.kernels import Kernel
from nvsd.kernels.named import kernel_names
from nvsd.losses import Loss
from nvsd.penalties import Penalty
from nvsd.penalties.named import penalty_names
from nvsd.representations.base import kinds
from nvsd.solvers import Solver

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "docs" / "scripts"), str(ROOT / "asv_benchmarks")]
from benchmarks import common  # noqa: E402
from executed import Session, blocks, folder  # noqa: E402


@pytest.fixture(autouse=True)
def _new_classes_are_forgotten() -> Iterator[None]:
    """Other tests look for the subclasses of kernels and penalties."""
    yield
    gc.collect()


def names_of(page: str) -> dict[str, Any]:
    """What is defined after the code of a page has run, as if it were a module of the library."""
    session = Session(page, {"__name__": "nvsd.added"})
    with folder():
        for block in blocks((ROOT / "docs" / "extending" / f"{page}.md").read_text()):
            session.run(block)
    return session.names


@pytest.fixture
def sample() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    return X, X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(30)


def on_command_line(option: str, name: str, tmp_path: Path, sample: tuple) -> int:
    from nvsd.cli import main

    X, y = sample
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "data.csv", table, delimiter=",", header="a,b,c,d,y", comments="")
    options = ["path", str(tmp_path / "data.csv"), "--target", "y", "--n-taus", "3", option, name]
    if option == "--penalty" and "group" in name:
        (tmp_path / "groups.json").write_text('{"one": ["a", "b"], "two": ["c", "d"]}')
        options += ["--groups", str(tmp_path / "groups.json")]
    return main(options)


def test_a_new_kernel_is_found(tmp_path: Path, sample: tuple) -> None:
    kind = names_of("kernel")["Exponential"]
    assert class_names(Kernel)["Exponential"] is kind
    assert kernel_names()["exponential"] is kind
    assert common.concrete(Kernel)["Exponential"] is kind
    assert Kernel.from_json(kind(5.0).to_json()) == kind(5.0)
    assert on_command_line("--kernel", "exponential", tmp_path, sample) == 0
    model = nvsd.NVSDRegressor(kernel="exponential").fit(*sample)
    assert model.kernel_ == kind()
    path = nvsd.nvsd_path(*sample, kernel=kind(), n_taus=3, representation="derivative")
    assert (path.gap <= 1e-6 * path.attrs["scale"]).all()


def test_a_new_penalty_is_found(tmp_path: Path, sample: tuple) -> None:
    names = names_of("penalty")
    kind, groups = names["GroupElasticNet"], ["a", "a", "b", "b"]
    assert class_names(Penalty)["GroupElasticNet"] is kind
    assert penalty_names()["group-elastic-net"] is kind
    assert common.concrete(Penalty)["GroupElasticNet"] is kind
    assert Penalty.from_json(kind(groups, 0.2).to_json()) == kind(groups, 0.2)
    assert on_command_line("--penalty", "group-elastic-net", tmp_path, sample) == 0
    model = nvsd.NVSDRegressor(penalty="group-elastic-net", groups=groups, mu=0.3).fit(*sample)
    assert model.penalty_ == kind(groups, 0.3)
    with pytest.raises(ValueError, match="mu is 2; give a number between 0 and 1"):
        kind(groups, 2)


def test_a_grandchild_of_a_penalty_is_read_back() -> None:
    kind = type("Child", (nvsd.penalties.Lasso,), {})
    assert type(Penalty.from_json('{"penalty": "Child", "weights": null}')) is kind


def test_a_new_loss_is_found(sample: tuple) -> None:
    kind = names_of("loss")["Weighted"]
    assert class_names(Loss)["Weighted"] is kind
    assert short_names(Loss)["weighted"] is kind
    assert common.concrete(Loss)["Weighted"] is kind
    for name, representation in kinds().items():
        if name in ("landmarks", "monomial"):
            continue
        path = nvsd.nvsd_path(*sample, loss=kind(0.4), n_taus=3, representation=name)
        assert (path.gap <= 1e-6 * path.attrs["scale"]).all(), representation
        assert Loss.from_json(path.attrs["loss"]) == kind(0.4)


def test_a_new_loss_that_is_not_quadratic_is_found(sample: tuple) -> None:
    kind = names_of("loss")["LogCosh"]
    assert short_names(Loss)["log-cosh"] is kind
    X, y = sample
    weights = np.linspace(0.5, 2.0, len(y))
    for name, representation in kinds().items():
        if not representation.splits or name == "monomial":
            continue
        path = nvsd.nvsd_path(
            X, y, loss=kind(), n_taus=3, representation=name, sample_weight=weights
        )
        assert (path.gap <= 1e-6 * path.attrs["scale"]).all(), name
        assert Loss.from_json(path.attrs["loss"]) == kind()


def test_a_new_representation_is_found(sample: tuple) -> None:
    kind = names_of("representation")["LinearSpace"]
    X, y = sample
    linear = nvsd.kernels.Linear()
    assert kinds()["linear"] is kind
    assert common.concrete(nvsd.representations.Representation)["LinearSpace"] is kind
    assert nvsd.nvsd_path(X, y, kernel=linear, n_taus=3).attrs["representation"] == "linear"
    with pytest.raises(ValueError, match="needs the Linear kernel"):
        nvsd.nvsd_path(X, y, n_taus=3, representation="linear")
    with pytest.raises(ValueError, match=r"'linear' representation would need .* are allowed"):
        nvsd.nvsd_path(X, y, kernel=linear, n_taus=3, representation="linear", max_memory=10.0)


def test_a_representation_cannot_forget_what_others_must_know() -> None:
    """Verification, cost, making and evaluation are abstract: without them there is no instance."""
    from nvsd.representations import FeatureSpace

    missing = FeatureSpace.__abstractmethods__
    assert {"on_samples", "cost", "make", "evaluate_stored"} <= missing


def test_a_new_solver_is_found_and_certified(sample: tuple) -> None:
    kind = names_of("solver")["PlainADMM"]
    assert short_names(Solver, "name")["plain-admm"] is kind
    assert common.concrete(Solver)["PlainADMM"] is kind
    path = nvsd.nvsd_path(*sample, solver="plain-admm", n_taus=4)
    assert (path.gap <= 1e-6 * path.attrs["scale"]).all()


def test_a_new_solver_cannot_claim_what_is_not_so(
    sample: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver computes the gap of what claims to have converged; the status follows from it."""
    kind = names_of("solver")["PlainADMM"]

    def claim(self: Solver, state: Any, iteration: int) -> np.ndarray:
        state.gap = np.full(len(state.tau), np.inf)
        return np.ones(len(state.tau), dtype=bool)

    monkeypatch.setattr(kind, "look", claim)
    with pytest.warns(nvsd.ConvergenceWarning):
        path = nvsd.nvsd_path(*sample, solver="plain-admm", n_taus=4, tol=1e-10)
    assert path.gap.max() > 1e-10 * path.attrs["scale"]
