"""SpAM, the sparse additive model of the replication, with rows of its own for validation."""

from __future__ import annotations

import numpy as np

from nvsd.benchmark.methods.base import (
    Array,
    Fit,
    Mask,
    Method,
    Predict,
    Target,
    held_out,
    spread,
    strongest,
    up_to,
)
from nvsd.experiments.methods.spam import SpAM
from nvsd.experiments.protocol import NU, Split
from nvsd.kernels import Gaussian

VALIDATION = 0.2  # share of the rows that choose knots and penalty


def spam(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Ranked by the spread of each input's part of f."""
    centre, scale = X.mean(axis=0), spread(X)
    Z, Z_val, z, z_val = held_out((X - centre) / scale, y, False, seed, VALIDATION)
    names = tuple(f"x{a}" for a in range(X.shape[1]))
    # It does not use the kernel, nor the test rows.
    split = Split(Z, z, Z_val, z_val, Z_val, z_val, names=names, kernel=Gaussian(4.0), nu=NU)
    model = SpAM("spam", "SpAM").fit(split)
    strength = parts(model.predict, Z, model.support)
    return Fit(strongest(strength), model.support, lambda W: model.predict((W - centre) / scale))


def parts(predict: Predict, Z: Array, support: Mask) -> Array:
    """The spread of an additive f along each of its inputs, all others being at 0."""
    strength = np.zeros(Z.shape[1])
    for a in np.flatnonzero(support):
        alone = np.zeros_like(Z)
        alone[:, a] = Z[:, a]
        strength[a] = predict(alone).std()
    return strength


METHODS = {
    "spam": Method(
        "SpAM",
        "sparse additive model on splines, a fifth of the rows choose knots and penalty; those "
        "that are in the model are the set",
        spam,
        ("celer",),
        up_to(60_000),
        classes=False,
    ),
}
