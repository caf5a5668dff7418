"""Benchmarks of nvsd, run by asv: ``make bench`` (quick) and ``make bench-full`` (everything)."""

from __future__ import annotations

import os

FULL = os.environ.get("NVSD_BENCH_FULL") == "1"
"""Whether the slow sizes and peers are measured too."""
