"""The 50-point path at the paper's sizes, with everything from X and y to the Dataset."""

from __future__ import annotations

from typing import Any

from nvsd.penalties import Lasso

from . import common

LONG = 2.0  # seconds


class Prepared(common.Timed):
    """A problem with its penalty."""

    param_names = ("problem", "penalty", "n")

    def setup(self, name: str, penalty: str, n: int) -> None:
        super().setup()
        self.problem = common.problem(name, n)
        self.penalty = common.make_penalty(penalty, self.problem.groups)


class Path(Prepared):
    """Time of the whole path."""

    repeat = (1, 5, 0.5)
    params = (list(common.PROBLEMS), common.PENALTIES, common.SIZES)

    def time_path(self, *params: Any) -> None:
        self.problem.path(self.penalty)


class Adaptive(common.Timed):
    """A path with adaptive weights, which differ by a factor of up to a hundred."""

    param_names = ("problem", "n")
    params = (list(common.PROBLEMS), common.SIZES)

    def setup(self, name: str, n: int) -> None:
        super().setup()
        self.problem = common.problem(name, n)
        norms = self.problem.path().derivative_norm.isel(tau=15).values
        self.penalty = Lasso(weights=1.0 / (norms + 0.01 * norms.max()))

    def time_adaptive(self, *params: Any) -> None:
        self.problem.path(self.penalty)

    def track_ratio_to_plain(self, *params: Any) -> float:
        """Seconds with these weights over seconds without weights."""
        plain = common.best(self.problem.path, 3)
        return common.best(lambda: self.problem.path(self.penalty), 3) / plain

    track_ratio_to_plain.unit = "times the plain path"


class PathMemory(Prepared):
    """Peak memory of the whole path."""

    params = (list(common.PROBLEMS), common.PENALTIES, [110])

    def peakmem_path(self, *params: Any) -> None:
        self.problem.path(self.penalty)


class PathQuality:
    """What the path cost beside seconds, how good it is, and its time as a multiple of the floor.

    The floor is one dense Cholesky factorisation of order n(d + 1), measured beside the path in
    the same process.
    """

    params = (list(common.PROBLEMS), common.PENALTIES, common.SIZES)
    param_names = ("problem", "penalty", "n")
    tiny = (["E1"], common.PENALTIES, [12])

    def setup_cache(self) -> common.Table:
        common.warm_up()
        return common.table(self.params, self.measure)

    setup_cache.timeout = 1200.0

    def measure(self, name: str, penalty: str, n: int) -> dict[str, float]:
        p = common.problem(name, n)
        description = common.make_penalty(penalty, p.groups)
        before = common.floor_seconds(n)
        seconds, path = common.stopwatch(lambda: p.path(description))
        if seconds < LONG:  # short times scatter
            seconds = min(seconds, common.stopwatch(lambda: p.path(description))[0])
        floor = min(before, common.floor_seconds(n))
        return {
            "column_iterations": int(path.n_iter.sum()),
            "iterations": int(path.n_iter.max()),
            "gap": float(path.gap.max()) / path.attrs["scale"],
            "multiple": seconds / floor,
            "floor": floor,
        }

    def track_column_iterations(self, rows: common.Table, *params: Any) -> float:
        """Iterations summed over all τ: what the work is proportional to."""
        return common.entry(rows, "column_iterations", *params)

    def track_iterations(self, rows: common.Table, *params: Any) -> float:
        """Iterations of the slowest τ."""
        return common.entry(rows, "iterations", *params)

    def track_gap(self, rows: common.Table, *params: Any) -> float:
        """Largest duality gap in units of the mean square of y; the tolerance is 1e-6."""
        return common.entry(rows, "gap", *params)

    def track_floor_multiple(self, rows: common.Table, *params: Any) -> float:
        """Seconds of the path over seconds of the floor."""
        return common.entry(rows, "multiple", *params)

    def track_floor_seconds(self, rows: common.Table, *params: Any) -> float:
        """Seconds of the floor."""
        return common.entry(rows, "floor", *params)

    track_column_iterations.unit = "iterations"
    track_iterations.unit = "iterations"
    track_gap.unit = "mean squares of y"
    track_floor_multiple.unit = "Cholesky factorisations"
    track_floor_seconds.unit = "seconds"
