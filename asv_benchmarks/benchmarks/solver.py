"""The parts of the iteration, and a single τ."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import nvsd
from nvsd.admm import Settings, solve_batch

from . import common

BATCH = 17  # τ per decade of the 50-point path
ITERATIONS = 20


class Prox(common.Timed):
    """S2 on a batch of τ."""

    repeat = (10, 50, 0.2)
    params = (common.PENALTIES, [30, 110])
    param_names = ("penalty", "n")

    def setup(self, penalty: str, n: int) -> None:
        super().setup()
        groups = common.problem("E1", n).groups
        self.bound = common.make_penalty(penalty, groups, mu=0.5).bind(common.D)
        self.Z = np.random.default_rng(common.SEED).standard_normal((common.D, n, BATCH))
        self.norms = np.linalg.norm(self.Z, axis=1)
        self.tau = np.geomspace(1.0, 10.0, BATCH)

    def time_prox(self, *params: Any) -> None:
        self.bound.prox(self.Z, self.tau)

    def time_gauge(self, *params: Any) -> None:
        self.bound.gauge(self.norms)


@cache
def started(name: str, penalty: str, n: int) -> tuple[Any, ...]:
    """Arguments of `solve_batch`: a decade of τ from the ridge solution, factorisations kept."""
    p = common.problem(name, n)
    bound = common.make_penalty(penalty, p.groups, mu=0.5).bind(common.D)
    prepared = nvsd.prepare(p.X, kernel=p.kernel, nu=common.NU)
    problem = prepared.representation.problem(p.y - p.y.mean())
    tau = common.largest_tau(name, penalty, n) * np.geomspace(0.1, 1.0, BATCH)
    phi = np.repeat(problem.ridge()[1], BATCH, axis=0)
    kappa = np.full(BATCH, problem.representation.system.kappa_unit)
    # Too small a tolerance to be met: no τ leaves the batch.
    settings = Settings(tol=1e-300, max_iter=ITERATIONS)
    arguments = (problem, bound, tau, phi, np.zeros_like(phi), kappa, settings)
    solve_batch(*arguments)
    return arguments


class Iteration(common.Timed):
    """Twenty iterations of ADMM on a batch of 17 τ, all factorisations at hand."""

    params = (list(common.PROBLEMS), common.PENALTIES, [30, 110])
    param_names = ("problem", "penalty", "n")

    def setup(self, name: str, penalty: str, n: int) -> None:
        super().setup()
        self.arguments = started(name, penalty, n)

    def time_20_iterations(self, *params: Any) -> None:
        solve_batch(*self.arguments)


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
