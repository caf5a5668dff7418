"""The memory of this machine."""

from __future__ import annotations

import math
import os
from pathlib import Path


def available_memory() -> float:
    """Bytes that can be allocated without swapping, and within the limit of a container."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":") for line in file)
        free = float(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        try:
            free = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (ValueError, OSError, AttributeError):
            free = math.inf
    return min(free, _left_in_container())


def _left_in_container(folder: str = "/sys/fs/cgroup") -> float:
    """Bytes between the limit of a control group and its use, not counting cached files."""
    try:
        used, limit, facts = (
            Path(folder, f"memory.{name}").read_text() for name in ("current", "max", "stat")
        )
        cached = float(dict(line.split() for line in facts.splitlines())["inactive_file"])
        return max(0.0, float(limit) - float(used) + cached)
    except (OSError, ValueError, KeyError):  # there is no group, or its limit is "max"
        return math.inf
