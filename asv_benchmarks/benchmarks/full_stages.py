"""Where the time goes at n = 500."""

from __future__ import annotations

from typing import Any

from . import common, stages


class Stages(stages.StageTracks):
    params = (["E3"], ["Lasso"], [*stages.STAGES, stages.OVERLAP], [500])
    tiny = (*params[:3], [12])

    # asv tells caches apart by the line on which they are defined: each class needs its own.
    def setup_cache(self) -> common.Table:
        return self.fill()

    def track_seconds(self, rows: common.Table, *params: Any) -> float:
        return self.seconds(rows, *params)

    def track_calls(self, rows: common.Table, *params: Any) -> float:
        return self.calls(rows, *params)

    setup_cache.timeout = 7200.0
    track_seconds.unit = "seconds"
    track_calls.unit = "calls"
