"""Effects of the inputs, and predicted against observed."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from nvsd.report.numbers import digits, limits, quantised, some
from nvsd.results.functions import StoredFunctions

Array = NDArray[np.float64]

EFFECT_INPUTS = 24
EFFECT_POINTS = 25
EFFECT_VALUES = 60_000
DECILES = np.arange(1, 10) / 10
FIT_POINTS = 2000
FIT_VALUES = 100_000


def effects_content(path: xr.Dataset, X: Array, norms: Array) -> dict[str, Any]:
    """F along each of the strongest inputs, with the others at their median."""
    inputs = strongest(norms)
    low, high = np.quantile(X[:, inputs], [0.01, 0.99], axis=0)
    flat = low == high
    low, high = np.where(flat, low - 0.5, low), np.where(flat, high + 0.5, high)
    lines = np.tile(np.median(X, axis=0), (len(inputs), EFFECT_POINTS, 1))
    lines[np.arange(len(inputs)), :, inputs] = np.linspace(low, high, EFFECT_POINTS).T
    # With very many functions, effects are computed for some; the page shows the nearest one.
    every = -(-len(norms) * lines[..., 0].size // EFFECT_VALUES)
    f = predictions(path, lines.reshape(-1, X.shape[1]))[::every]
    ranges = [limits(row) for row in f]
    return {
        "inputs": inputs.tolist(),
        "low": digits(low),
        "high": digits(high),
        "deciles": [digits(row, 3) for row in np.quantile(X[:, inputs], DECILES, axis=0).T],
        "every": every,
        "ranges": [digits(pair) for pair in ranges],
        "values": [
            quantised(row.reshape(len(inputs), EFFECT_POINTS), *pair)
            for row, pair in zip(f, ranges, strict=True)
        ],
    }


def strongest(norms: Array) -> NDArray[np.intp]:
    """The inputs that rank highest somewhere on the path; ties go to the larger norm."""
    on = norms[norms.any(axis=1)]
    if not len(on):
        on = norms
    ranks = np.argsort(np.argsort(-on, axis=1, kind="stable"), axis=1)
    order = np.lexsort((-on.max(axis=0), ranks.min(axis=0)))
    return np.sort(order[:EFFECT_INPUTS])


def predictions(path: xr.Dataset, X: Array) -> Array:
    """F at points, one row for each function."""
    return np.asarray(StoredFunctions(path).predict(X).values).reshape(-1, len(X))


def fit_content(
    path: xr.Dataset, X: Array | None, y: Array | None, held_out: tuple[Array, Array] | None
) -> dict[str, Any] | None:
    """Predicted against observed, on the samples and on held-out data."""
    given = [("samples", X, y)] if y is not None else []
    given += [("held-out", *held_out)] if held_out is not None else []
    if not given:
        return None
    most = max(50, min(FIT_POINTS, FIT_VALUES // (path["n_selected"].size * len(given))))
    sets = [_fit_set(path, name, points, target, most) for name, points, target in given]
    low, high = limits(*(target for _, _, target in given))
    bottom, top = limits(*(s["predicted"] for s in sets), np.array([low, high]))
    least, most_room = 0.03 * (high - low), 0.25 * (high - low)
    bottom = low - np.clip(low - bottom, least, most_room)
    top = high + np.clip(top - high, least, most_room)
    for each in sets:
        each["outside"] = [
            int(k) for k in ((each["predicted"] < bottom) | (each["predicted"] > top)).sum(axis=1)
        ]
        each["observed"] = quantised(each["observed"], bottom, top)
        each["predicted"] = quantised(each["predicted"], bottom, top)
    return {"range": digits([bottom, top]), "sets": sets}


def _fit_set(
    path: xr.Dataset, name: str, X: Array | None, y: Array | None, most: int
) -> dict[str, Any]:
    assert y is not None
    rows = some(len(y), most)
    if X is None:
        predicted = path["fitted"].transpose(..., "sample").values.reshape(-1, len(y))[:, rows]
    else:
        predicted = predictions(path, X[rows])
    return {"name": name, "count": len(y), "observed": y[rows], "predicted": predicted}
