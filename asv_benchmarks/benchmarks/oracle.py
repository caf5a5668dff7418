"""How far the objective is from that of the reference, for every kernel and penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

import nvsd

from . import common


class Oracle:
    """|objective − minimum| in units of the mean square of y, at τ = 0.1 of the largest.

    The minimum is Clarabel's in `reference`, asked for 1e-9; the path is solved to 1e-6.
    """

    params = (common.KERNELS, common.PENALTIES, [12])
    param_names = ("kernel", "penalty", "n")
    tiny = (common.KERNELS, ["GroupLasso"], [6])

    def setup_cache(self) -> common.Table:
        return common.table(self.params, self.measure)

    setup_cache.timeout = 600.0

    def measure(self, kernel: str, penalty: str, n: int) -> dict[str, float]:
        import reference  # cvxpy is slow to import, and only needed here

        rng = np.random.default_rng(common.SEED)
        X = rng.standard_normal((n, 4))
        y = X[:, 0] + X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(n)
        problem = {
            "kernel": common.make_kernel(kernel),
            "penalty": common.make_penalty(penalty, list("aabb"), mu=0.5),
            "nu": common.NU,
        }
        path = nvsd.nvsd_path(X, y, n_taus=4, **problem).isel(tau=1)
        truth = reference.solve(X, y, tau=float(path.tau), **problem)
        error = abs(float(path.objective) - truth.objective)
        return {"error": error / path.attrs["scale"]}

    def track_error(self, rows: common.Table, *params: Any) -> float:
        return common.entry(rows, "error", *params)

    track_error.unit = "mean squares of y"
