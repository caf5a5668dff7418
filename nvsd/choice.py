"""Which representation: the cheapest of those that are possible and fit into memory."""

from __future__ import annotations

import logging
import math
import os
from pathlib import Path
from typing import NamedTuple

from nvsd.features import MonomialSpace
from nvsd.kernels import Kernel
from nvsd.linalg import KEPT_BYTES
from nvsd.monomials import degree_and_offset, n_monomials

KINDS = ("derivative", "matrix-free", "monomial", "factor", "landmarks")

CALL = 2e7  # flops that could be done in the time that numpy takes for the calls of a product
VECTORS, VECTORS_FOR = 450, 50  # of size nd that the iteration and a path of 50 points hold
RIDGE_MATRICES = 4  # of n by n that kernel ridge has at once: K, its eigenvectors, their workspace
logger = logging.getLogger("nvsd")


class Cost(NamedTuple):
    """Flops of the set-up and a few factorisations, and bytes."""

    flops: float
    memory: float


def choose(
    n: int | None,
    d: int,
    kernel: Kernel,
    nu: float,
    kind: str,
    landmarks: int | None,
    max_memory: float | None,
) -> str:
    """Return the representation asked for, or the cheapest; refuse what would not fit in memory.

    Parameters
    ----------
    n : int or None
        Number of samples; None if they come in blocks, of which only sums can be kept.
    landmarks : int or None
        How many functions the landmarks make, if there are any.
    """
    if kind not in ("auto", *KINDS):
        listed = ", ".join(map(repr, ("auto", *KINDS)))
        raise ValueError(f"representation = {kind!r} is unknown; give one of {listed}.")
    if landmarks is not None and kind not in ("auto", "landmarks"):
        raise ValueError(f"points were given for {kind!r}; give them with 'landmarks' only.")
    costs = _costs(n, d, degree_and_offset(kernel), landmarks)
    if nu == 0:
        costs.pop("derivative", None)
        costs.pop("matrix-free", None)
    limit = available_memory() if max_memory is None else max_memory
    if kind == "auto":
        kind = _cheapest(costs, limit, n, kernel)
    if kind not in costs:
        raise ValueError(_why_not(kind, n, kernel, nu))
    needed = costs[kind].memory
    logger.info("representation %r: about %.2g GiB", kind, needed / 2**30)
    if needed > limit:
        raise ValueError(
            f"the {kind!r} representation would need {needed / 2**30:.1f} GiB and "
            f"{limit / 2**30:.1f} GiB are allowed; {_instead(kind, costs)}."
        )
    return kind


def _costs(
    n: int | None, d: int, polynomial: tuple[int, float] | None, landmarks: int | None
) -> dict[str, Cost]:
    """The cost of each representation that is possible."""
    if landmarks is not None:
        r = float(landmarks)
        return {"landmarks": Cost(2 * (n or 0) * r**2 + 2 * r**3, 8 * 8 * r**2)}
    costs = {}
    r = math.inf
    if polynomial:
        r = float(n_monomials(d, *polynomial))
        kept = 2.0 * min((n or math.inf) * r, MonomialSpace.KEEP)
        costs["monomial"] = Cost((n or 0) * r**2 + 2 * r**3, 8 * (kept + 6 * r**2))
    if n is not None:
        p, N = float(n * d), float(n * (d + 1))
        # H, its packed triangle, and about six factors as large as that.
        factors = min(3 * p**2, max(p**2, KEPT_BYTES / 8))
        costs["derivative"] = Cost(
            n * p**2 + 2 * p**3, 8 * (1.5 * p**2 + factors + 3 * n * p + VECTORS * p)
        )
        costs["factor"] = Cost(3 * N**3, 8 * 4 * N**2)
        # A path takes fewer than 2000 products where H is well conditioned, and it is not so
        # with few inputs, nor if the monomials are fewer than the derivatives.
        suits = 4 * d >= n and p < r
        flops = 2000 * (6 * n * p + CALL) if suits else math.inf
        costs["matrix-free"] = Cost(flops, 8 * (6 * n**2 + VECTORS * p))
    return costs


def _cheapest(costs: dict[str, Cost], limit: float, n: int | None, kernel: Kernel) -> str:
    """The one of the fewest flops that fits, else of the fewest."""
    suited = {
        name: cost for name, cost in costs.items() if name != "factor" and cost.flops < math.inf
    }
    if not suited:
        raise ValueError(
            f"rows that come in blocks need a Linear or Polynomial kernel, not {kernel!r}, or "
            "landmarks; give value_points, or X as an array."
            if n is None
            else f"nu = 0 is not possible with {kernel!r}, whose functions are not determined by "
            f"{n} samples; give nu > 0."
        )
    fitting = {name: cost for name, cost in suited.items() if cost.memory <= limit} or suited
    return min(fitting, key=lambda name: fitting[name].flops)


def _why_not(kind: str, n: int | None, kernel: Kernel, nu: float) -> str:
    if kind == "monomial":
        return (
            f"representation 'monomial' needs a Linear or Polynomial kernel, not {kernel!r}; "
            "give 'auto', 'derivative' or 'factor'."
        )
    if n is None:
        return (
            f"representation {kind!r} needs all samples in memory, and they come in blocks; give X "
            "as an array, or leave out the representation."
        )
    return f"representation {kind!r} needs nu > 0, not {nu:g}; give nu > 0."


def _instead(kind: str, costs: dict[str, Cost]) -> str:
    """What to do when there is too little memory."""
    if kind == "landmarks":
        return "use fewer points"
    if "monomial" in costs:
        return "use a smaller degree, landmarks (value_points=...) or fewer inputs"
    slow = "" if kind == "matrix-free" else "'matrix-free' (slow if there are few inputs), "
    return (
        f"use landmarks (value_points=...), {slow}a Polynomial kernel (whose cost does not grow "
        "with n), or fewer samples"
    )


def refuse_large_ridge(n: int) -> None:
    """Refuse kernel ridge on so many rows that its matrices do not fit in memory."""
    needed, limit = RIDGE_MATRICES * 8.0 * n**2, available_memory()
    if needed > limit:
        raise ValueError(
            f"kernel ridge on {n} rows would need {needed / 2**30:.1f} GiB and "
            f"{limit / 2**30:.1f} GiB are free; give value_points=1000, or fewer rows."
        )


def refuse_long_path(n_functions: int, size: int, max_memory: float | None) -> None:
    """Refuse more τ and μ than fit in memory, each with vectors of a size."""
    needed = 8.0 * VECTORS / VECTORS_FOR * n_functions * size
    limit = available_memory() if max_memory is None else max_memory
    if n_functions > VECTORS_FOR and needed > limit:
        raise ValueError(
            f"a path of {n_functions} functions would need {needed / 2**30:.1f} GiB and "
            f"{limit / 2**30:.1f} GiB are allowed; give fewer tau or mu at a time."
        )


def available_memory() -> float:
    """Bytes that can be allocated without swapping, in a container within its limit."""
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
    """Bytes between the limit of a control group and what it uses, files that are cached aside."""
    try:
        used, limit, facts = (
            Path(folder, f"memory.{name}").read_text() for name in ("current", "max", "stat")
        )
        cached = float(dict(line.split() for line in facts.splitlines())["inactive_file"])
        return max(0.0, float(limit) - float(used) + cached)
    except (OSError, ValueError, KeyError):  # there is no group, or its limit is "max"
        return math.inf
