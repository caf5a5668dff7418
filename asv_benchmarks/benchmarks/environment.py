"""What the figures were measured with; they mean little without it."""

from __future__ import annotations

import importlib.metadata  # a name "version" in a module would be asv's version of its benchmarks
import platform
import re

import threadpoolctl

PACKAGES = [
    "python",
    "numpy",
    "scipy",
    "xarray",
    "scikit-learn",
    "cvxpy",
    "scs",
    "clarabel",
    "celer",
    "skglm",
]


class Machine:
    def track_blas_threads(self) -> int:
        """Threads that BLAS will use, set by BENCH_THREADS in the Makefile."""
        return max(p["num_threads"] for p in threadpoolctl.threadpool_info() if is_blas(p))

    track_blas_threads.unit = "threads"

    def peakmem_nothing(self) -> None:
        """What the imports alone take: to be subtracted from other peaks."""


class Version:
    params = (PACKAGES,)
    param_names = ("package",)

    def track_version(self, package: str) -> int:
        """Version a.b.c as the number 10000a + 100b + c: asv keeps numbers only."""
        try:
            text = platform.python_version() if package == "python" else installed(package)
        except importlib.metadata.PackageNotFoundError:
            return 0
        major, minor, patch = (int(part) for part in (*re.findall(r"\d+", text), 0, 0)[:3])
        return 10000 * major + 100 * minor + patch

    track_version.unit = "10000 major + 100 minor + patch"


def installed(package: str) -> str:
    return importlib.metadata.version(package)


def is_blas(pool: dict) -> bool:
    return pool["user_api"] == "blas"
