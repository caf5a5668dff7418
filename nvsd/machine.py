"""What the library asks of the machine: free memory, versions, whole files, locks."""

from __future__ import annotations

import hashlib
import math
import os
import platform
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import BinaryIO

from threadpoolctl import threadpool_info

if sys.platform != "win32":
    import fcntl
    import resource

# Those that nvsd needs, then those that it uses where they are installed.
PACKAGES = (
    "nvsd", "numpy", "scipy", "pandas", "xarray", "scikit-learn", "joblib", "threadpoolctl",
    "h5netcdf", "h5py", "tqdm", "narwhals", "matplotlib", "dask", "distributed", "pyarrow",
    "polars", "cvxpy",
)  # fmt: skip


def available_memory() -> float:
    """Bytes that can be allocated without swapping, within the limits of container and process."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":") for line in file)
        free = float(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        try:
            free = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (ValueError, OSError, AttributeError):
            free = math.inf
    return min(free, _left_in_container(), _left_to_process())


def _left_to_process() -> float:
    """Bytes between the use of this process and its limit (ulimit -v, -d)."""
    if sys.platform == "win32":
        return math.inf
    left = math.inf
    for limit, field in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        soft, _ = resource.getrlimit(limit)
        if soft == resource.RLIM_INFINITY:
            continue
        try:
            pages = float(Path("/proc/self/statm").read_text().split()[field])
        except (OSError, ValueError, IndexError):
            pages = 0.0
        left = min(left, max(0.0, soft - pages * resource.getpagesize()))
    return left


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
    >>> nvsd.show_versions()  # doctest: +ELLIPSIS
    python ...
    nvsd ...
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


def write_whole(place: Path, content: bytes) -> None:
    """Write a file under a name of its own, bring it to the disk, then rename it."""
    temporary = place.with_name(f".nvsd-{secrets.token_hex(6)}{place.suffix}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, temporary)
        os.replace(temporary, place)
    finally:
        with suppress(OSError):
            temporary.unlink()


def digest(*parts: bytes) -> str:
    """A checksum of numbers and text."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.hexdigest()[:32]


@contextmanager
def locked(place: Path, what: str) -> Iterator[None]:
    """Refuse a second writer of the same file or folder, until this one has finished.

    The lock is a file beside it. The system releases it when the process ends, however it ends.
    """
    if sys.platform == "win32":
        yield
        return
    lock = place.with_name(f"{place.name}.lock")
    with _held(lock, f"{what} {place}"):
        try:
            yield
        finally:
            with suppress(OSError):
                lock.unlink()


def _held(lock: Path, name: str) -> BinaryIO:
    """The lock's file, open and locked.

    The writer before removes its file when it has finished. If this one has opened that file, a
    third would make another and hold a lock of its own. So a lock counts only if its file is still
    in its place; else the next file is tried.
    """
    while True:
        file = open(lock, "ab")  # noqa: SIM115  the caller closes it
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file.fileno()), os.stat(lock)):
                return file
        except FileNotFoundError:
            pass
        except OSError as error:
            file.close()
            raise ValueError(
                f"{name} is being written by another process; wait until it has finished, or give "
                "another name."
            ) from error
        file.close()
