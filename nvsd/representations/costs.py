"""The choice of a representation: the cheapest that is possible and fits in memory."""

from __future__ import annotations

import logging
import math
import warnings

from nvsd import machine
from nvsd.descriptions import by_name
from nvsd.representations.base import Representation, kinds
from nvsd.representations.request import VECTORS, VECTORS_FOR, Cost, Request

GIB = 2.0**30
# Flops that a path takes in a second, all told: 0.6e10 to 2e10 were measured on two cores.
RATE = 1e10
LONG, VERY_LONG = 60.0, 3600.0  # seconds that are logged, and that are warned of
logger = logging.getLogger("nvsd")


def choose(request: Request, kind: str, max_memory: float | None) -> type[Representation]:
    """The requested representation, or the cheapest; refuse one that does not fit in memory."""
    known = kinds()
    if request.landmarks is not None:
        if kind not in ("auto", "landmarks"):
            raise ValueError(f"points were given for {kind!r}; give them with 'landmarks' only.")
        kind = "landmarks"
    if kind != "auto":
        by_name("representation", kind, {"auto": None, **known})
        refusal = known[kind].refusal(request)
        if refusal is not None:
            raise ValueError(refusal)
    possible = {
        name: each.cost(request) for name, each in known.items() if each.refusal(request) is None
    }
    limit = machine.available_memory() if max_memory is None else max_memory
    chosen = _cheapest(possible, limit, request) if kind == "auto" else kind
    needed = possible[chosen].memory
    logger.info("representation %r: about %.2g GiB", chosen, needed / GIB)
    if needed > limit:
        raise ValueError(
            f"the {chosen!r} representation would need {needed / GIB:.1f} GiB but only "
            f"{limit / GIB:.1f} GiB are allowed; {known[chosen].smaller({*possible})}."
        )
    return known[chosen]


def predicted_seconds(kind: type[Representation], request: Request) -> float:
    """About how long a path will take; 0 if that is not known.

    A minute or more is logged; an hour or more is warned of, with what to use instead.
    """
    flops = kind.cost(request).flops
    seconds = flops / RATE if math.isfinite(flops) else 0.0
    if seconds >= LONG:
        logger.info("a path will take about %s", in_words(seconds))
    if seconds >= VERY_LONG:
        known = {name for name, each in kinds().items() if each.refusal(request) is None}
        warnings.warn(
            f"a path will take about {in_words(seconds)} with the {kind.kind!r} representation; "
            f"{kind.smaller(known)}.",
            UserWarning,
            stacklevel=3,
        )
    return seconds


def in_words(seconds: float) -> str:
    """Minutes, or hours."""
    return f"{seconds / 3600:.0f} h" if seconds >= 5400 else f"{max(seconds / 60, 1):.0f} min"


def _cheapest(possible: dict[str, Cost], limit: float, request: Request) -> str:
    """The one with the fewest flops among those that fit, or among all if none fits."""
    known = kinds()
    suited = {
        name: cost
        for name, cost in possible.items()
        if known[name].automatic and cost.flops < math.inf
    }
    if not suited:
        raise ValueError(
            f"rows that come in blocks need a Linear or Polynomial kernel, not {request.kernel!r}, "
            "or landmarks; give value_points, or X as an array."
            if request.n is None
            else f"nu = 0 is not possible with {request.kernel!r}, because {request.n} samples "
            "do not determine its functions; give nu > 0."
        )
    fitting = {name: cost for name, cost in suited.items() if cost.memory <= limit} or suited
    return min(fitting, key=lambda name: fitting[name].flops)


def refuse_long_path(n_functions: int, size: int, max_memory: float | None) -> None:
    """Refuse more τ and μ than fit in memory, each with vectors of this size."""
    if n_functions <= VECTORS_FOR:  # counted in the cost of the representation
        return
    needed = 8.0 * VECTORS / VECTORS_FOR * n_functions * size
    limit = machine.available_memory() if max_memory is None else max_memory
    if needed > limit:
        raise ValueError(
            f"a path of {n_functions} functions would need {needed / GIB:.1f} GiB but only "
            f"{limit / GIB:.1f} GiB are allowed; give fewer tau or mu at a time."
        )
