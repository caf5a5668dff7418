"""The parts of the iteration, and a single τ."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import nvsd
from nvsd.penalties import block_norms
from nvsd.solvers import ADMM, Settings, flat_point, solve_batch
from nvsd.solvers.active_set import Scalar
from nvsd.solvers.admm import MEMORY
from nvsd.solvers.base import State

from . import common

BATCH = 17  # τ per decade of the 50-point path
ITERATIONS = 20


class Prox(common.Timed):
    """S2 on a batch of τ, as ADMM calls it: the points first."""

    repeat = (10, 50, 0.2)
    params = (common.PENALTIES, [30, 110])
    param_names = ("penalty", "n")

    def setup(self, penalty: str, n: int) -> None:
        super().setup()
        groups = common.problem("E1", n).groups
        self.bound = common.make_penalty(penalty, groups, mu=0.5).bind(common.D)
        self.Z = np.random.default_rng(common.SEED).standard_normal((BATCH, common.D, n))
        self.norms = block_norms(self.Z)
        self.tau = np.geomspace(1.0, 10.0, BATCH)

    def time_prox(self, *params: Any) -> None:
        self.bound.prox(self.Z, self.tau)

    def time_gauge(self, *params: Any) -> None:
        self.bound.gauge(self.norms)


@cache
def started(name: str, penalty: str, n: int) -> tuple[ADMM, tuple[Any, ...]]:
    """A solver with its factorisations, and where to start: a decade of τ, from kernel ridge."""
    p = common.problem(name, n)
    bound = common.make_penalty(penalty, p.groups, mu=0.5).bind(common.D)
    prepared = nvsd.prepare(p.X, kernel=p.kernel, nu=common.NU)
    problem = prepared.representation.problem(p.y - p.y.mean())
    tau = common.largest_tau(name, penalty, n) * np.geomspace(0.1, 1.0, BATCH)
    phi = np.repeat(problem.ridge()[1], BATCH, axis=0)
    # Too small a tolerance to be met: no τ leaves the batch.
    settings = Settings(tol=1e-300, max_iter=ITERATIONS)
    solver = ADMM(problem, bound, flat_point(problem, bound), settings)
    # With u = 0 the state is w = φ.
    start = tau, np.full(BATCH, problem.representation.system.kappa_unit), phi, MEMORY
    solve_batch(solver, State.begin(*start))
    return solver, start


class Iteration(common.Timed):
    """Twenty iterations of ADMM on a batch of 17 τ, all factorisations at hand."""

    params = (list(common.PROBLEMS), common.PENALTIES, [30, 110])
    param_names = ("problem", "penalty", "n")

    def setup(self, name: str, penalty: str, n: int) -> None:
        super().setup()
        self.solver, self.start = started(name, penalty, n)

    def time_20_iterations(self, *params: Any) -> None:
        solve_batch(self.solver, State.begin(*self.start))


class SingleTau(common.Timed):
    """The problem at one τ, 0.3 of the largest, from X and y to the Dataset."""

    params = (list(common.PROBLEMS), common.PENALTIES, [30, 110])
    param_names = ("problem", "penalty", "n")

    def setup(self, name: str, penalty: str, n: int) -> None:
        super().setup()
        self.problem = common.problem(name, n)
        self.penalty = common.make_penalty(penalty, self.problem.groups, mu=0.5)
        self.taus = [0.3 * common.largest_tau(name, penalty, n)]

    def time_tau(self, *params: Any) -> None:
        self.problem.path(self.penalty, taus=self.taus)


class Scalars(common.Timed):
    """The lasso in d numbers, 50 τ: all that a linear kernel leaves to the solver."""

    repeat = (5, 20, 0.2)
    params = ([0.0, 0.5], [18, 100])
    param_names = ("ridge", "d")

    def setup(self, ridge: float, d: int) -> None:
        super().setup()
        X = np.random.default_rng(common.SEED).standard_normal((5 * d, d))
        y = X[:, :5].sum(axis=1) + X[:, 5]
        M, g = 2 * X.T @ X / len(X), 2 * X.T @ y / len(X)
        self.lasso = Scalar(M, g, np.ones(d), ridge, 5000)
        self.taus = np.abs(g).max() * np.geomspace(1.0, 1e-3, 50)

    def time_path(self, *params: Any) -> None:
        self.lasso.path(self.taus)
