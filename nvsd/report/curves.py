"""How predictions change along one input, with the spread over the rows, and along two."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.report.numbers import digits, limits, quantised

Array = NDArray[np.float64]

MOST = 12  # inputs that are drawn
POINTS = 25  # of a curve
ROWS = 40  # rows whose other inputs a curve is drawn for
SPREAD = (0.1, 0.9)  # quantiles over these rows
DECILES = np.arange(1, 10) / 10
SURFACES, SIDE, SURFACE_ROWS = 4, 16, 12  # pairs that are drawn, points along each, rows
WORTH = 0.01  # share of the variance from which on a pair is drawn


def curves_content(refit: Any, order: NDArray[np.intp]) -> dict[str, Any] | None:
    """The mean prediction along the first inputs that the refit uses, and its spread over rows."""
    alone = numbers_of(refit)
    drawn = [a for a in order.tolist() if a in alone][:MOST]
    if not drawn:
        return None
    used = np.array([alone[a] for a in drawn])
    points = samples(refit)
    rows = _some(points, ROWS)
    grids, means, bands = [], [], []
    for a in used:
        grid = _grid(points[:, a], POINTS)
        P = np.repeat(rows[:, None], POINTS, axis=1)
        P[:, :, a] = grid
        f = refit.predicted(P.reshape(-1, P.shape[-1])).reshape(-1, len(rows), POINTS)
        f = f[1:] if len(f) == 2 else f  # of two classes, the second
        grids.append(grid)
        means.append(f.mean(axis=1))
        bands.append(np.quantile(f[0], SPREAD, axis=0))
    scale, centre = refit.x_scale[used], refit.x_mean[used]
    deciles = np.quantile(points[:, used], DECILES, axis=0) * scale + centre
    return {
        "inputs": drawn,
        "low": digits([g[0] * s + m for g, s, m in zip(grids, scale, centre, strict=True)]),
        "high": digits([g[-1] * s + m for g, s, m in zip(grids, scale, centre, strict=True)]),
        "deciles": [digits(row, 3) for row in deciles.T],
        "mean": [[digits(row) for row in each] for each in means],
        "band": None if len(means[0]) > 1 else [[digits(u), digits(v)] for u, v in bands],
        "rows": len(rows),
    }


def surfaces_content(refit: Any, pairs: list[Any], shares: list[float]) -> list[dict[str, Any]]:
    """The mean prediction along the strongest pairs, as levels on a grid."""
    points, alone, found = samples(refit), numbers_of(refit), []
    rows = _some(points, SURFACE_ROWS)
    for pair, share in list(zip(pairs, shares, strict=True))[:SURFACES]:
        if share < WORTH:
            break
        places = [refit.features.index(name) for name in pair]
        if not set(places) <= set(alone):
            continue
        a, b = (alone[place] for place in places)
        across, along = _grid(points[:, a], SIDE), _grid(points[:, b], SIDE)
        P = np.tile(rows, (SIDE, SIDE, 1, 1))  # b changes with the first axis, a with the second
        P[..., a], P[..., b] = across[:, None], along[:, None, None]
        f = refit.predicted(P.reshape(-1, P.shape[-1])).reshape(-1, SIDE, SIDE, len(rows))
        surfaces = f.mean(axis=-1)
        # Of two classes the second; of more, the one that changes most.
        k = 1 if len(surfaces) == 2 else int(np.argmax(surfaces.var(axis=(1, 2))))
        low, high = limits(surfaces[k])
        ends = [
            grid[[0, -1]] * refit.x_scale[c] + refit.x_mean[c]
            for c, grid in ((a, across), (b, along))
        ]
        found.append(
            {
                "inputs": places,
                "share": float(share),
                "x": digits(ends[0]),
                "y": digits(ends[1]),
                "range": digits([low, high]),
                "class": k if len(surfaces) > 1 else None,
                "levels": quantised(surfaces[k], low, high),
            }
        )
    return found


def numbers_of(refit: Any) -> dict[int, int]:
    """The input of the kernel of each input that f uses and that is one number."""
    owners = refit.owner.tolist()
    used = np.flatnonzero(refit.fit.features).tolist()
    return {owners[k]: k for k in used if owners.count(owners[k]) == 1}


def samples(refit: Any) -> Array:
    """The points of the refit as the kernel sees them, with all inputs; unused ones are 0."""
    fit = refit.fit
    points = np.zeros((len(fit.X), len(fit.features)))
    points[:, fit.features] = fit.X
    return points


def _some(points: Array, most: int) -> Array:
    return np.asarray(points[np.linspace(0, len(points) - 1, min(len(points), most)).astype(int)])


def _grid(values: Array, size: int) -> Array:
    """Even steps over the central 98 % of the values."""
    low, high = np.quantile(values, [0.01, 0.99])
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, size)
