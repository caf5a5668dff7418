"""Where, when and with what a result was made; seconds and memory of a fit."""

from __future__ import annotations

import ctypes
import gc
import math
import platform
import subprocess
import time
from contextlib import suppress
from datetime import date
from importlib.metadata import distributions
from pathlib import Path
from typing import Self

__all__ = ["Meter", "commit", "processor", "today", "versions"]

STATUS = Path("/proc/self/status")
PEAK = Path("/proc/self/clear_refs")  # 5 in this file sets the peak to the present use


def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def commit() -> str:
    """The short name of the last commit of the library; empty if it is not in a repository."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        found = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return found.stdout.strip()


def today() -> str:
    """The date."""
    return date.today().isoformat()


def versions(*packages: str) -> str:
    """Names and versions of the packages that are installed."""
    found = {d.name.lower(): d.version for d in distributions()}
    return ", ".join(f"{name} {found[name.lower()]}" for name in packages if name.lower() in found)


class Meter:
    """Processor seconds, and the peak of memory above what was used before, in MiB.

    Memory is NaN where the system does not tell.
    """

    seconds: float = math.nan
    memory: float = math.nan

    def __enter__(self) -> Self:
        """Start."""
        self._before = math.nan
        _return_memory()
        with suppress(OSError):
            PEAK.write_text("5")
            self._before = _mebibytes("VmRSS")
        self._start = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.seconds = time.process_time() - self._start
        rise = _mebibytes("VmHWM") - self._before
        self.memory = max(0.0, rise) if math.isfinite(rise) else math.nan


def _return_memory() -> None:
    """Give freed memory back to the system, so that using it again counts."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _mebibytes(field: str) -> float:
    with suppress(OSError, ValueError, IndexError, StopIteration):
        lines = STATUS.read_text().splitlines()
        return float(next(line for line in lines if line.startswith(field)).split()[1]) / 1024
    return math.nan
