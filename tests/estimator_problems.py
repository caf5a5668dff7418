"""Data for the tests of the estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd

NAMES = ["a", "b", "c", "d", "e"]
RELEVANT = [True, True, False, False, False]
SCALE, SHIFT = np.array([1, 10, 0.1, 1, 2]), np.array([0, 5, 0, -2, 1])
QUICK = {"n_taus": 6, "tau_ratio": 0.02, "cv": 3}


def sample(n: int, seed: int, noise: float = 0.05) -> tuple[pd.DataFrame, pd.Series]:
    """y depends on a and b; units and origins differ."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, len(NAMES)))
    y = 3 + np.sin(2 * Z[:, 0]) + Z[:, 1] ** 2 + noise * rng.standard_normal(n)
    return pd.DataFrame(Z * SCALE + SHIFT, columns=NAMES), pd.Series(y)
