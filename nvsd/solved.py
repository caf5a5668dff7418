"""The points of a path for given samples, y and penalty, without making the Dataset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvsd.data.checks import check_count, check_flag, check_non_negative, is_number
from nvsd.losses import Loss
from nvsd.penalties import BoundPenalty, Lasso, Penalty
from nvsd.penalties.named import penalty_by_name
from nvsd.prepared import Prepared
from nvsd.progress import progress_bar
from nvsd.representations import Problem, refuse_long_path
from nvsd.representations.costs import LONG, in_words
from nvsd.solvers import (
    FlatPoint,
    Points,
    Settings,
    Solver,
    Trace,
    flat_point,
    solve_path,
    solver_named,
    tau_grid,
    tighten,
)
from nvsd.tolerances import LARGEST_SCALE, SMALLEST_SCALE

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """The requested τ, or how the automatic grid is made."""

    taus: ArrayLike | None = None
    n_taus: int = 50
    tau_ratio: float = 1e-3

    @property
    def length(self) -> int:
        """The number of τ."""
        if self.taus is not None:
            return len(_given_taus(self.taus))
        return check_count("n_taus", self.n_taus)

    def values(self, flats: list[FlatPoint]) -> Array:
        """The τ of the path, descending and distinct."""
        if self.taus is not None:
            return _given_taus(self.taus)
        n_taus = check_count("n_taus", self.n_taus)
        if not is_number(self.tau_ratio) or not 0 < self.tau_ratio < 1:
            raise ValueError(
                f"tau_ratio = {self.tau_ratio!r} is not allowed; give a number in (0, 1)."
            )
        tops = [flat.top for flat in flats]
        if not np.all(np.isfinite(tops)):
            raise ValueError(
                "no tau switches off an input of weight 0 (or mu = 0), so there is no automatic "
                "grid; give taus, or positive weights and mu."
            )
        return tau_grid(max(tops), min(tops) * self.tau_ratio, n_taus)


@dataclass(frozen=True, eq=False)
class Solved:
    """The points of a path, for each penalty that `Penalty.split` gives."""

    problem: Problem
    loss: Loss
    origin: float  # the constant subtracted from y
    settings: Settings
    penalty: Penalty
    penalties: tuple[Penalty, ...]
    bounds: list[BoundPenalty]
    points: list[Points] = field(default_factory=list)
    traces: list[Trace | None] = field(default_factory=list)


def solve(
    prepared: Prepared,
    y: Any,
    penalty: str | Penalty | None,
    grid: Grid,
    settings: Settings,
    center: bool = True,
    solver: str = "auto",
    history: bool = False,
    progress: bool | None = False,
) -> Solved:
    """The points of the path, without the Dataset."""
    penalty = Lasso() if penalty is None else penalty
    if not isinstance(penalty, Penalty):
        penalty = penalty_by_name(penalty, None, None)
    problem, origin = prepared.problem(y, check_flag("center", center))
    _check_scale(problem.scale)
    penalties = penalty.split()
    bounds = [each.bind(prepared.features) for each in penalties]
    kind = solver_named(solver, problem, settings, bounds)
    # Before any work: even a grid that is too long may not fit.
    longest = grid.length * len(bounds)
    refuse_long_path(longest, int(np.prod(problem.shape)), prepared.max_memory)
    solvers = [_solver(kind, problem, bound, settings, grid.taus is None) for bound in bounds]
    taus = grid.values([each.flat for each in solvers])
    n_functions = len(taus) * len(bounds)
    solved = Solved(problem, prepared.loss, origin, settings, penalty, penalties, bounds)
    what = f"path, about {in_words(prepared.seconds)}" if prepared.seconds >= LONG else "path"
    with progress_bar(progress, n_functions, what, "tau") as tick:
        for each in solvers:
            trace = Trace() if history else None
            solved.points.append(solve_path(each, taus, tick, trace))
            solved.traces.append(trace)
    return solved


def _solver(
    kind: type[Solver], problem: Problem, bound: BoundPenalty, settings: Settings, automatic: bool
) -> Solver:
    """The solver with its flat end; an automatic grid starts at the tightened τ_max."""
    solver = kind(problem, bound, flat_point(problem, bound), settings)
    # Its problem has the factors of the ladder.
    return kind(solver.problem, bound, tighten(solver), settings) if automatic else solver


def _check_scale(scale: float) -> None:
    """Refuse a y whose squares, or those of its rounding errors, leave the range of numbers."""
    if scale and not SMALLEST_SCALE < scale < LARGEST_SCALE:
        raise ValueError(
            f"the mean square of y is {scale:.0e}, too close to the limits of floating-point "
            "numbers; give y in other units."
        )


def _given_taus(taus: ArrayLike) -> Array:
    try:
        values = np.atleast_1d(np.asarray(taus, dtype=float))
    except (TypeError, ValueError) as error:
        raise ValueError("taus holds something other than numbers; give numbers.") from error
    if values.ndim != 1 or not values.size:
        raise ValueError(f"taus has shape {values.shape}; give at least one number in a row.")
    for value in values[~((values >= 0) & (values < np.inf))]:
        check_non_negative("tau", float(value))
    return np.unique(values)[::-1]
