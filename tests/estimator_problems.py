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


def unequal_weights(estimator: object) -> dict[str, str]:
    """Checks of scikit-learn that an estimator is not made for, and why.

    Weights are those of the loss. Repeated rows count repeatedly in J too, in quantiles, ranks and
    widths of the inputs, and in folds inside of a fit. What equals repeated rows is tested in
    tests/ridge/test_weighted_ridge.py and tests/library/test_loss_identities.py.
    """
    failed = {
        "check_sample_weight_equivalence_on_dense_data": "repeated rows count in more than the loss"
    }
    if getattr(estimator, "method", "auto") != "auto":
        failed["check_sample_weights_not_overwritten"] = "this method refuses weights that differ"
    return failed
