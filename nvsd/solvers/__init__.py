"""Regularisation paths: one driver, the solvers it runs, certificates and their verification."""

from __future__ import annotations

from nvsd.solvers.active_set import ActiveSet
from nvsd.solvers.admm import ADMM
from nvsd.solvers.base import Solver, solver_named
from nvsd.solvers.driver import solve_batch, solve_path, tau_grid, tighten
from nvsd.solvers.dual_gradient import DualGradient
from nvsd.solvers.flat import FlatPoint, flat_point
from nvsd.solvers.intervals import Intervals, norm_intervals
from nvsd.solvers.points import Points, Settings, Trace
from nvsd.solvers.status import Status, is_certified
from nvsd.solvers.verification import Returned, verified

__all__ = [
    "ADMM",
    "ActiveSet",
    "DualGradient",
    "FlatPoint",
    "Intervals",
    "Points",
    "Returned",
    "Settings",
    "Solver",
    "Status",
    "Trace",
    "flat_point",
    "is_certified",
    "norm_intervals",
    "solve_batch",
    "solve_path",
    "solver_named",
    "tau_grid",
    "tighten",
    "verified",
]
