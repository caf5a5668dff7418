"""The history of an iteration, as the result holds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from path_problems import sample

import nvsd
from nvsd.files import read_path, write_dataset
from nvsd.kernels import Gaussian, Kernel, Polynomial
from nvsd.penalties import ElasticNet, GroupLasso, Lasso

N, D = 8, 3
X, Y = sample(5, N, D)
NAMES = ["tau", "iteration", "gap", "primal_residual", "dual_residual", "kappa"]
CASES: dict[str, Kernel] = {
    "derivative": Gaussian(1.5),
    "factor": Gaussian(1.5),
    "monomial": Polynomial(3),
    "matrix-free": Gaussian(1.5),
}
every_representation = pytest.mark.parametrize("kind", CASES)


def solve(kind: str, **options: Any) -> xr.Dataset:
    given = {"kernel": CASES[kind], "nu": 1e-2, "n_taus": 7, "tau_ratio": 1e-2} | options
    return nvsd.nvsd_path(X, Y, representation=kind, **given)


def check_history(path: xr.Dataset, history: xr.Dataset) -> None:
    """Every τ that iterated has a row for each of its iterations, and ends where the result is."""
    iterated = path.tau.values[path.n_iter.values > 0]
    assert len(iterated)
    np.testing.assert_array_equal(np.unique(history.history_tau)[::-1], iterated)
    assert (np.diff(history.history_tau) <= 0).all()
    for row in (path.sel(tau=tau) for tau in iterated):
        steps = history.isel(step=np.flatnonzero(history.history_tau == row.tau))
        count = int(row.n_iter)
        np.testing.assert_array_equal(steps.history_iteration, np.arange(1, count + 1))
        last = steps.isel(step=-1)
        # Verification may add what rounding does to a gap, 1e-10 of the scale where it does.
        assert float(last.history_gap) == pytest.approx(float(row.gap), abs=1e-10 * path.scale)
        for name in ("primal_residual", "dual_residual", "kappa"):
            assert float(last[f"history_{name}"]) == float(row[name])
        assert (steps.history_gap >= 0).all()
        assert float(steps.history_gap[0]) >= float(last.history_gap)


@every_representation
@pytest.mark.parametrize("penalty", [Lasso(), GroupLasso(["a", "b", "a"])], ids=str)
def test_every_iteration_of_every_tau_has_a_row(kind: str, penalty) -> None:
    path = solve(kind, penalty=penalty, history=True)
    check_history(path, path)
    assert {f"history_{name}" for name in NAMES} <= set(path.data_vars)
    for name in NAMES:
        assert path[f"history_{name}"].dims == ("step",)
        assert path[f"history_{name}"].attrs["long_name"]


@every_representation
def test_to_keep_a_history_changes_nothing_else(kind: str) -> None:
    path, plain = solve(kind, history=True), solve(kind)
    assert not [name for name in plain.variables if str(name).startswith("history")]
    assert "step" not in plain.dims
    assert path.drop_vars([f"history_{name}" for name in NAMES]).identical(plain)
    np.testing.assert_array_equal(path.nvsd.predict(X), plain.nvsd.predict(X))


@pytest.mark.filterwarnings("ignore::nvsd.ConvergenceWarning")
@every_representation
def test_the_history_of_what_ran_out_of_iterations(kind: str) -> None:
    path = solve(kind, history=True, max_iter=3, tol=1e-13)
    iterated = path.n_iter.values > 0
    assert (path.n_iter.values[iterated] == 3).all()
    np.testing.assert_array_equal(path.history_iteration, np.tile([1.0, 2.0, 3.0], iterated.sum()))
    np.testing.assert_array_equal(path.history_tau, np.repeat(path.tau.values[iterated], 3))


def test_with_several_mu_the_history_says_which() -> None:
    mus = [0.3, 0.8, 1.0]
    path = solve("derivative", penalty=ElasticNet(mus), history=True)
    assert path.history_mu.dims == path.history_gap.dims == ("step",)
    np.testing.assert_array_equal(np.unique(path.history_mu), mus)
    for mu in mus:
        one = path.isel(step=np.flatnonzero(path.history_mu == mu))
        check_history(path.sel(mu=mu), one)


def test_what_is_known_in_closed_form_has_no_history() -> None:
    path = solve("derivative", taus=[1e3, 0.0], history=True)
    assert path.sizes["step"] == 0
    assert {f"history_{name}" for name in NAMES} <= set(path.data_vars)


@pytest.mark.parametrize("penalty", [Lasso(), ElasticNet([0.3, 0.8])], ids=str)
def test_a_file_keeps_the_history(penalty, tmp_path: Path) -> None:
    path = solve("derivative", penalty=penalty, history=True)
    write_dataset(tmp_path / "path.nc", path)
    again = read_path(tmp_path / "path.nc")
    assert again.identical(path)
    np.testing.assert_array_equal(again.nvsd.predict(X), path.nvsd.predict(X))


def test_only_true_and_false_are_taken() -> None:
    with pytest.raises(ValueError, match="history = 'yes' is not allowed"):
        solve("derivative", history="yes")


@pytest.mark.filterwarnings("ignore::nvsd.ConvergenceWarning")
def test_far_beyond_tau_max_too() -> None:
    """There the flat point is iterated on, and what rounding leaves is multiplied by τ."""
    tau_max = float(solve("matrix-free").tau[0])
    taus = [1e10 * tau_max, 1e8 * tau_max]
    path = solve("matrix-free", taus=taus, history=True, max_iter=400)
    assert (path.n_iter > 0).all()
    for i, row in enumerate(path.isel(tau=i) for i in range(2)):
        steps = path.isel(step=np.flatnonzero(path.history_tau == taus[i]))
        np.testing.assert_array_equal(steps.history_iteration, np.arange(1, int(row.n_iter) + 1))
        last = float(steps.history_gap[-1])
        assert 0 < last <= float(row.gap) + 1e-10 * path.scale  # verification only adds to it
