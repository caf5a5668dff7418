"""hidimstat: conditional feature importance, the peer of our tests."""

from __future__ import annotations

import numpy as np

from nvsd.benchmark.methods.base import (
    Array,
    Fit,
    Method,
    Target,
    held_out,
    strongest,
    up_to,
)
from nvsd.benchmark.methods.forests import forest_model

LEVEL = 0.1  # false discovery rate of the set, as of our own
FEW_TREES = 100  # scikit-learn's default; every tree predicts 50 copies of each input
CLIPPED = 1e-3  # probabilities of a forest may be 0


def conditional(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Ranked by importance given the other inputs; the set has a false discovery rate."""
    from hidimstat import CFI
    from sklearn.metrics import log_loss, mean_squared_error

    def loss(y_true: Target, P: Array) -> float:
        return float(log_loss(y_true, np.clip(P, CLIPPED, 1.0), labels=np.unique(y)))

    X_train, X_val, y_train, y_val = held_out(X, y, classes, seed)
    model = forest_model(classes, seed, n_estimators=FEW_TREES).fit(X_train, y_train)
    importance = CFI(
        model,
        method="predict_proba" if classes else "predict",
        loss=loss if classes else mean_squared_error,
        random_state=seed,
    )
    importance.fit(X_train, y_train)
    strength = importance.importance(X_val, y_val)
    selected = np.asarray(importance.fdr_selection(fdr=LEVEL)) > 0
    return Fit(strongest(strength), selected)


METHODS = {
    "hidimstat": Method(
        "hidimstat CFI",
        "conditional feature importance of a forest of 100 trees, measured on a quarter of the "
        "rows; the set has a false discovery rate of 0.1 by its own p-values; no predictions",
        conditional,
        ("hidimstat", "scikit-learn"),
        up_to(10_000),
    ),
}
