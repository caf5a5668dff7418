"""`peers` at the paper's largest size: minutes for each peer."""

from __future__ import annotations

from typing import Any

from . import common, peers


class OneTau(peers.OneTauTracks):
    params = (list(peers.ONE_TAU), ["E1", "E3"], [110])
    tiny = (["paper_admm, 100 iterations"], ["E1"], [6])

    # asv tells caches apart by the line on which they are defined: each class needs its own.
    def setup_cache(self) -> common.Table:
        return self.fill()

    def track_ratio(self, rows: common.Table, *params: Any) -> float:
        return self.ratio(rows, *params)

    def track_solver_ratio(self, rows: common.Table, *params: Any) -> float:
        return self.solver_ratio(rows, *params)

    def track_peer_error(self, rows: common.Table, *params: Any) -> float:
        return self.error(rows, *params)

    def track_peer_seconds(self, rows: common.Table, *params: Any) -> float:
        return self.seconds(rows, *params)

    setup_cache.timeout = 7200.0
    track_ratio.unit = "50 of ours over one of theirs"
    track_solver_ratio.unit = "50 of ours over one of theirs"
    track_peer_error.unit = "mean squares of y"
    track_peer_seconds.unit = "seconds"
