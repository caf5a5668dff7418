"""How a τ ended: what the status says of the gap, and what a user is told."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
from path_problems import sample

import nvsd
from nvsd.kernels import Gaussian, Polynomial
from nvsd.penalties import Lasso
from nvsd.solvers import Settings, Status, flat_point, is_certified, solve_path
from nvsd.solvers.dual_gradient import DualGradient

N, D = 8, 3
X, Y = sample(0, N, D)
ARGUMENTS = {*inspect.signature(nvsd.nvsd_path).parameters} | {
    *inspect.signature(nvsd.prepare).parameters
}
# Problems that end like this at some τ, and at no τ in another way that is not certified.
UNFINISHED: dict[Status, dict[str, Any]] = {
    Status.MAX_ITER: {"X": X, "kernel": Gaussian(2.0), "max_iter": 2},
    # A polynomial of degree 4 far from the origin: rounding errors of the kernel beside ν.
    Status.ROUNDING: {"X": X + 10, "kernel": Polynomial(4)},
}


def solve(status: Status) -> tuple[Any, str]:
    """The path, and the one warning that came with it."""
    with pytest.warns(nvsd.ConvergenceWarning) as caught:
        path = nvsd.nvsd_path(y=Y, n_taus=6, **UNFINISHED[status])
    assert len(caught) == 1
    return path, str(caught[0].message)


def test_every_status_says_what_to_do() -> None:
    assert set(UNFINISHED) == {status for status in Status if not status.certified}
    for status in Status:
        assert status.meaning
        named = ARGUMENTS & set(re.findall(r"\w+", status.remedy))
        assert bool(named) != status.certified
        assert bool(status.remedy) != status.certified
    assert len({status.meaning for status in Status}) == len(Status)


@pytest.mark.parametrize("status", UNFINISHED)
def test_the_warning_is_in_the_words_of_the_status(status: Status) -> None:
    path, told = solve(status)
    assert f"{status.meaning}: {status.remedy}." in told
    for other in set(Status) - {status}:
        assert other.meaning not in told
    reached = path.status.values == status
    assert reached.any()
    np.testing.assert_array_equal(reached, ~is_certified(path.status.values))
    np.testing.assert_array_equal(reached, path.gap.values > path.tol * path.scale)
    assert told.startswith(f"{reached.sum()} tau ")


def test_several_ends_are_told_in_one_warning() -> None:
    with pytest.warns(nvsd.ConvergenceWarning) as caught:
        path = nvsd.nvsd_path(
            X + 30, Y, kernel=Polynomial(3), representation="derivative", n_taus=6, max_iter=200
        )
    assert len(caught) == 1
    assert {Status.MAX_ITER, Status.ROUNDING} <= set(path.status.values.tolist())
    for status in (Status.MAX_ITER, Status.ROUNDING):
        assert f"{status.meaning}: {status.remedy}" in str(caught[0].message)


def test_rounding_is_not_for_want_of_iterations() -> None:
    """The solver had stopped by itself, long before the last iteration."""
    path, _ = solve(Status.ROUNDING)
    ended = path.n_iter.values[path.status.values == Status.ROUNDING]
    assert (ended < 5000).all()
    more = UNFINISHED[Status.ROUNDING] | {"max_iter": 20_000}
    with pytest.warns(nvsd.ConvergenceWarning, match="more iterations do not help"):
        again = nvsd.nvsd_path(y=Y, n_taus=6, **more)
    np.testing.assert_array_equal(again.status, path.status)


def test_the_remedies_help() -> None:
    for status, changes in (
        (Status.MAX_ITER, {"max_iter": 5000}),
        (Status.MAX_ITER, {"tol": 0.5}),
        (Status.ROUNDING, {"nu": 1e3}),
        (Status.ROUNDING, {"tol": 0.5}),
        (Status.ROUNDING, {"standardize": True}),
    ):
        path = nvsd.nvsd_path(y=Y, n_taus=6, **(UNFINISHED[status] | changes))
        assert is_certified(path.status.values).all()


def test_certified_is_what_the_status_says() -> None:
    values = np.array([list(Status)])
    expected = [[status in (Status.CONVERGED, Status.CLOSED_FORM) for status in Status]]
    np.testing.assert_array_equal(is_certified(values), expected)


def test_the_numbers_are_explained_in_the_result() -> None:
    path = nvsd.nvsd_path(X, Y, kernel=Gaussian(2.0), n_taus=3)
    attrs = path.status.attrs
    values = [int(number) for number in attrs["flag_values"].split()]
    named = dict(zip(values, attrs["flag_meanings"].split(), strict=True))
    assert named == {int(status): status.name.lower() for status in Status}


def test_a_flat_point_that_iterations_would_prove_ran_out_of_them() -> None:
    """Without a factorisation a closed form that is not proven is not a matter of rounding."""
    data = nvsd.datasets.make_e2(30, 22)
    problem = {
        "kernel": Polynomial(3), "penalty": nvsd.penalties.ElasticNet(0.6),
        "representation": "matrix-free", "taus": [476.30186],
    }  # fmt: skip
    with pytest.warns(nvsd.ConvergenceWarning, match="the iterations ran out"):
        short = nvsd.nvsd_path(data.X[:, :9], data.y, max_iter=1200, **problem)
    assert short.status.item() == Status.MAX_ITER


def test_later_points_learn_from_the_one_at_tau_max() -> None:
    """What the iterations find there is where the next one starts from.

    How many iterations that saves depends on the rounding of the machine, so it is not asserted.
    """
    data = nvsd.datasets.make_e3(30, 4)
    prepared = nvsd.prepare(data.X[:, :6], kernel=Gaussian(4.0), representation="matrix-free")
    problem, _ = prepared.problem(data.y, True)
    bound = Lasso().bind(prepared.features)
    flat = flat_point(problem, bound)
    solver = DualGradient(problem, bound, flat, Settings())
    before = solver.warm_start(np.array([0.5 * flat.tau_max]))
    points = solve_path(solver, np.array([flat.tau_max]))
    assert points.n_iter[0] > 0
    after = solver.warm_start(np.array([0.5 * flat.tau_max]))
    assert not np.array_equal(before.w, after.w)
