"""Where and when results were made."""

from __future__ import annotations

from nvsd.benchmark.measuring import commit, processor, today, versions

__all__ = ["commit", "processor", "today", "versions"]
