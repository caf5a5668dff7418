"""How predictions change along one input, with the spread over the rows, and along two."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.data.along import Along, along, decoded
from nvsd.report.numbers import digits, limits, quantised

Array = NDArray[np.float64]

MOST = 12  # inputs that are drawn
POINTS = 25  # of a curve
LEVELS = 20  # of a category that are drawn: more have no room for their names
ROWS = 40  # rows whose other inputs a curve is drawn for
SPREAD = (0.1, 0.9)  # quantiles over these rows
DECILES = np.arange(1, 10) / 10
SURFACES, SIDE, SURFACE_ROWS = 4, 16, 12  # pairs that are drawn, points along each, rows
WORTH = 0.01  # share of the variance from which on a pair is drawn


def curves_content(refit: Any, order: NDArray[np.intp]) -> dict[str, Any] | None:
    """The mean prediction along the first inputs that the refit uses, and its spread over rows."""
    used = set(refit.owner[refit.fit.features].tolist())
    drawn = [a for a in order.tolist() if a in used][:MOST]
    if not drawn:
        return None
    points = samples(refit)
    rows = _some(points, ROWS)
    each = [_curve(refit, a, points, rows) for a in drawn]
    return {
        "inputs": drawn,
        **{name: [curve[name] for curve in each] for name in each[0]},
        "band": None if each[0]["band"] is None else [curve["band"] for curve in each],
        "rows": len(rows),
    }


def _curve(refit: Any, a: int, points: Array, rows: Array) -> dict[str, Any]:
    """One input: a line for a number, a point for each level, and one for missing values."""
    seen = values_of(refit, a, points)
    way, left_out = _common(along(refit.columns.columns[a], seen, POINTS), seen)
    P = np.repeat(rows[:, None], len(way.values), axis=1)
    P[:, :, refit.columns.inputs_of(a)] = placed(refit, a, way.values)
    f = refit.predicted(P.reshape(-1, P.shape[-1])).reshape(-1, len(rows), len(way.values))
    f = f[1:] if len(f) == 2 else f  # of two classes, the second
    band = None if len(f) > 1 else [digits(q) for q in np.quantile(f[0], SPREAD, axis=0)]
    numbers = None if way.texts else way.numbers
    present = seen[~np.isnan(seen)]
    return {
        "low": None if numbers is None else digits(numbers[[0]])[0],
        "high": None if numbers is None else digits(numbers[[-1]])[0],
        "deciles": None if numbers is None else digits(np.quantile(present, DECILES), 3),
        "levels": list(way.texts) or None,
        "leftOut": left_out,
        "missing": way.missing,
        "mean": [digits(row) for row in f.mean(axis=1)],
        "band": band,
    }


def _common(way: Along, seen: Array) -> tuple[Along, int]:
    """The most common levels, if there are many, and how many others there are."""
    if len(way.texts) <= LEVELS:
        return way, 0
    codes = way.values if not way.missing else np.append(way.numbers, np.inf)
    held = np.where(np.isnan(seen), np.inf, np.rint(seen))
    counts = np.array([np.count_nonzero(held == code) for code in codes])
    kept = np.sort(np.argsort(-counts, kind="stable")[:LEVELS])
    texts = tuple(way.texts[k] for k in kept)
    return Along(way.values[kept], texts), len(way.texts) - LEVELS


def surfaces_content(refit: Any, pairs: list[Any], shares: list[float]) -> list[dict[str, Any]]:
    """The mean prediction along the strongest pairs, as levels on a grid."""
    points, found = samples(refit), []
    rows = _some(points, SURFACE_ROWS)
    for pair, share in list(zip(pairs, shares, strict=True))[:SURFACES]:
        if share < WORTH:
            break
        a, b = (refit.features.index(name) for name in pair)
        ways = [_way(refit, column, points) for column in (a, b)]
        across, up = (len(way.values) for way in ways)
        P = np.tile(rows, (up, across, 1, 1))  # b changes with the first axis, a with the second
        columns = refit.columns
        P[..., columns.inputs_of(a)] = placed(refit, a, ways[0].values)[:, None]
        P[..., columns.inputs_of(b)] = placed(refit, b, ways[1].values)[:, None, None]
        f = refit.predicted(P.reshape(-1, P.shape[-1])).reshape(-1, up, across, len(rows))
        surfaces = f.mean(axis=-1)
        # Of two classes the second; of more, the one that changes most.
        k = 1 if len(surfaces) == 2 else int(np.argmax(surfaces.var(axis=(1, 2))))
        low, high = limits(surfaces[k])
        found.append(
            {
                "inputs": [a, b],
                "share": float(share),
                "x": digits(ways[0].values[[0, -1]]),
                "y": digits(ways[1].values[[0, -1]]),
                "names": [list(way.texts) or None for way in ways],
                "range": digits([low, high]),
                "class": k if len(surfaces) > 1 else None,
                "levels": quantised(surfaces[k], low, high),
            }
        )
    return found


def _way(refit: Any, a: int, points: Array) -> Along:
    """Values along one side of a surface: numbers, or levels that are not missing."""
    seen = values_of(refit, a, points)
    way, _ = _common(along(refit.columns.columns[a], seen, SIDE), seen)
    return Along(way.numbers, way.texts[: len(way.numbers)])


def values_of(refit: Any, a: int, points: Array) -> Array:
    """The values of a column at points as the kernel sees them; NaN where they are missing."""
    inputs = refit.columns.inputs_of(a)
    given = points[:, inputs] * refit.x_scale[inputs] + refit.x_mean[inputs]
    return decoded(refit.columns.columns[a], given)


def placed(refit: Any, a: int, values: Array) -> Array:
    """Values of a column as the kernel sees them, (m, inputs); missing ones are at the centre."""
    inputs = refit.columns.inputs_of(a)
    given = refit.columns.columns[a].encoded(values)
    return np.asarray(np.nan_to_num((given - refit.x_mean[inputs]) / refit.x_scale[inputs]))


def samples(refit: Any) -> Array:
    """The points of the refit as the kernel sees them, with all inputs; unused ones are 0."""
    fit = refit.fit
    points = np.zeros((len(fit.X), len(fit.features)))
    points[:, fit.features] = fit.X
    return points


def _some(points: Array, most: int) -> Array:
    return np.asarray(points[np.linspace(0, len(points) - 1, min(len(points), most)).astype(int)])
