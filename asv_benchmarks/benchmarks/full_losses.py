"""Paths with other losses beside CVXPY at one τ: minutes for each peer."""

from __future__ import annotations

from typing import Any

import nvsd
from nvsd.penalties import Lasso

from . import common, losses, peers


class OneTauOfLosses:
    """Our whole 50-point path over one τ of CVXPY, for the problem in ω as `reference` states it.

    CVXPY and the solver behind it are at their defaults, compilation included; τ is 0.3 of the
    largest. Clarabel is stopped after 150 s, so that its ratio is a bound.
    """

    params = (["SCS", "CLARABEL"], ["logistic", "huber"], ["E1", "E3"], [110])
    param_names = ("peer", "loss", "problem", "n")
    tiny = (["SCS"], ["logistic"], ["E3"], [8])

    def setup_cache(self) -> common.Table:
        common.warm_up()
        return common.table(self.params, self.measure)

    setup_cache.timeout = 7200.0

    def measure(self, peer: str, loss: str, name: str, n: int) -> dict[str, float]:
        import reference

        p = common.problem(name, n)
        y, kind = losses.target(loss, p.y), losses.imported()[loss].bound(p.y)
        given = {"kernel": p.kernel, "penalty": Lasso(), "nu": common.NU, "loss": kind}
        ours = common.best(lambda: nvsd.nvsd_path(p.X, y, **given), 2)
        tau = peers.FRACTION * float(nvsd.nvsd_path(p.X, y, n_taus=1, **given).tau[0])
        form = {"form": "omega", "variable": "omega", "solver": peer, "tol": None}
        stated = reference.Problem(p.X, y, **given, **form)
        stated.tau.value = tau
        seconds, _ = common.stopwatch(lambda: peers.solve(stated.problem, peer))
        return {"ours": ours, "peer": seconds, "ratio": ours / seconds}

    def track_ratio(self, rows: common.Table, *params: Any) -> float:
        """Seconds of our 50 τ over the peer's seconds for one τ."""
        return common.entry(rows, "ratio", *params)

    def track_seconds(self, rows: common.Table, *params: Any) -> float:
        """Seconds of our 50 τ."""
        return common.entry(rows, "ours", *params)

    def track_peer_seconds(self, rows: common.Table, *params: Any) -> float:
        """The peer's seconds for one τ."""
        return common.entry(rows, "peer", *params)

    track_ratio.unit = "50 of ours over one of theirs"
    track_seconds.unit = "seconds"
    track_peer_seconds.unit = "seconds"
