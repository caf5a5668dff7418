"""The memory of the machine, and the versions of what runs on it."""

from __future__ import annotations

import math
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_info

# Those that nvsd needs, then those that it uses where they are installed.
PACKAGES = (
    "nvsd", "numpy", "scipy", "pandas", "xarray", "scikit-learn", "joblib", "threadpoolctl",
    "h5netcdf", "h5py", "tqdm", "matplotlib", "dask", "distributed", "pyarrow", "cvxpy",
)  # fmt: skip


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


def show_versions() -> None:
    """Print the versions of Python, of the packages that matter here, and of the BLAS.

    Put them into reports of bugs.

    Examples
    --------
    >>> import nvsd
    >>> nvsd.show_versions()  # doctest: +SKIP
    python        3.11.7
    nvsd          0.1.0
    ...
    """
    lines = {"python": platform.python_version(), "system": platform.platform()}
    lines |= {"processors": str(os.cpu_count())}
    lines |= {"memory": f"{available_memory() / 2**30:.1f} GiB free"}
    lines |= {name: _version(name) for name in PACKAGES}
    width = max(map(len, lines)) + 2
    text = [f"{name:<{width}}{value}" for name, value in lines.items()]
    for pool in threadpool_info():
        kind = f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads"
        text.append(f"{pool['user_api']:<{width}}{kind}")
    sys.stdout.write("\n".join(text) + "\n")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
