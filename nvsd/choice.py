"""Which representation: the cheapest of those that are possible and fit into memory."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

from nvsd.features import MonomialSpace
from nvsd.kernels import Kernel
from nvsd.monomials import degree_and_offset, n_monomials

KINDS = ("derivative", "monomial", "factor", "landmarks")


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
    if kind == "auto":
        costs.pop("factor", None)
        if not costs:
            raise ValueError(_why_none(n, kernel))
        kind = min(costs, key=lambda name: costs[name].flops)
    if kind not in costs:
        raise ValueError(_why_not(kind, n, kernel, nu))
    _check_memory(kind, costs[kind].memory, max_memory, "monomial" in costs)
    return kind


def _costs(
    n: int | None, d: int, polynomial: tuple[int, float] | None, landmarks: int | None
) -> dict[str, Cost]:
    """The cost of each representation that is possible."""
    if landmarks is not None:
        r = float(landmarks)
        return {"landmarks": Cost(2 * (n or 0) * r**2 + 2 * r**3, 8 * 8 * r**2)}
    costs = {}
    if n is not None:
        p, N = float(n * d), float(n * (d + 1))
        costs["derivative"] = Cost(n * p**2 + 2 * p**3, 8 * (3 * p**2 + 3 * n * p))
        costs["factor"] = Cost(N**3 + 2 * N**3, 8 * 4 * N**2)
    if polynomial:
        r = float(n_monomials(d, *polynomial))
        kept = 2.0 * min((n or math.inf) * r, MonomialSpace.KEEP)
        costs["monomial"] = Cost((n or 0) * r**2 + 2 * r**3, 8 * (kept + 6 * r**2))
    return costs


def _why_none(n: int | None, kernel: Kernel) -> str:
    if n is None:
        return (
            f"rows that come in blocks need a Linear or Polynomial kernel, not {kernel!r}, or "
            "landmarks; give value_points, or X as an array."
        )
    return (
        f"nu = 0 is not possible with {kernel!r}, whose functions are not determined by {n} "
        "samples; give nu > 0."
    )


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


def _check_memory(kind: str, needed: float, limit: float | None, polynomial: bool) -> None:
    limit = available_memory() if limit is None else limit
    if needed > limit:
        other = "" if polynomial else "a Polynomial kernel (its cost does not grow with n), "
        raise ValueError(
            f"the {kind!r} representation would need {needed / 2**30:.1f} GiB and "
            f"{limit / 2**30:.1f} GiB are allowed; use {other}fewer samples or fewer inputs."
        )


def available_memory() -> float:
    """Bytes that can be allocated without swapping."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return float(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return math.inf
