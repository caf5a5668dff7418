"""The 50-point path with each loss, and its growth in rows; the squared loss beside them.

y of the paper's problems becomes classes at its median.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import nvsd

from . import common


def imported() -> Any:
    """The losses, or no result: a commit without them can still be compared with one that has."""
    try:
        from nvsd.losses import Huber, Logistic, Quantile, Squared
    except ImportError as error:
        raise NotImplementedError("this commit has only the squared loss") from error
    return {"squared": Squared(), "logistic": Logistic(), "huber": Huber(), "quantile": Quantile()}


LOSSES = ["squared", "logistic", "huber", "quantile"]


def target(name: str, y: np.ndarray) -> np.ndarray:
    """y, or the classes that it makes."""
    return y > np.median(y) if name == "logistic" else y


class LossPath(common.Timed):
    """Time of the whole path."""

    repeat = (1, 5, 0.5)
    params = (LOSSES, list(common.PROBLEMS), [30, 110])
    param_names = ("loss", "problem", "n")

    def setup(self, loss: str, name: str, n: int) -> None:
        super().setup()
        self.loss = imported()[loss]
        self.problem = common.problem(name, n)
        self.y = target(loss, self.problem.y)

    def time_path(self, *params: Any) -> None:
        p = self.problem
        nvsd.nvsd_path(p.X, self.y, kernel=p.kernel, nu=common.NU, loss=self.loss)


class LossQuality:
    """Iterations and gaps of these paths, and their time as a multiple of the floor."""

    params = (LOSSES, list(common.PROBLEMS), [50, 110, 200])
    param_names = ("loss", "problem", "n")
    tiny = (["logistic"], ["E3"], [12])

    def setup_cache(self) -> common.Table:
        common.warm_up()
        return common.table(self.params, self.measure)

    setup_cache.timeout = 1200.0

    def measure(self, loss: str, name: str, n: int) -> dict[str, float]:
        p = common.problem(name, n)
        given = {"kernel": p.kernel, "nu": common.NU, "loss": imported()[loss]}
        y, floor = target(loss, p.y), common.floor_seconds(n, times=2)
        seconds, path = common.stopwatch(lambda: nvsd.nvsd_path(p.X, y, **given))
        return {
            "column_iterations": int(path.n_iter.sum()),
            "gap": float(path.gap.max()) / path.attrs["scale"],
            "multiple": seconds / floor,
            "seconds": seconds,
        }

    def track_column_iterations(self, rows: common.Table, *params: Any) -> float:
        """Iterations summed over all τ."""
        return common.entry(rows, "column_iterations", *params)

    def track_gap(self, rows: common.Table, *params: Any) -> float:
        """Largest duality gap in units of the loss of the best constant; the tolerance is 1e-6."""
        return common.entry(rows, "gap", *params)

    def track_floor_multiple(self, rows: common.Table, *params: Any) -> float:
        """Seconds of the path over those of one Cholesky factorisation of order n(d + 1)."""
        return common.entry(rows, "multiple", *params)

    def track_seconds(self, rows: common.Table, *params: Any) -> float:
        """Seconds of the path."""
        return common.entry(rows, "seconds", *params)

    track_column_iterations.unit = "iterations"
    track_gap.unit = "losses of the best constant"
    track_floor_multiple.unit = "Cholesky factorisations"
    track_seconds.unit = "seconds"
