"""Where and when results were made."""

from __future__ import annotations

import platform
import subprocess
from datetime import date
from importlib.metadata import distributions
from pathlib import Path


def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def commit() -> str:
    """The short name of the last commit."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def today() -> str:
    """The date."""
    return date.today().isoformat()


def versions(*packages: str) -> str:
    """Names and versions of the packages that are installed."""
    found = {d.name.lower(): d.version for d in distributions()}
    return ", ".join(f"{name} {found[name.lower()]}" for name in packages if name.lower() in found)
