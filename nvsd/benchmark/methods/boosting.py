"""Boosted trees: LightGBM by gain and by SHAP values, and explainable boosting machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from nvsd.benchmark.methods.base import (
    Array,
    Fit,
    Method,
    Target,
    outcome,
    strongest,
    up_to,
)


def _model(X: Array, y: Target, classes: bool, seed: int) -> Any:
    """LightGBM's defaults on one thread."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMClassifier if classes else LGBMRegressor
    model = kind(importance_type="gain", random_state=seed, n_jobs=1, verbose=-1)
    return model.fit(X, y)


def gain(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Ranked by the total gain of an input's splits."""
    model = _model(X, y, classes, seed)
    return Fit(strongest(model.feature_importances_), None, outcome(model, classes))


def shap(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Ranked by the mean absolute SHAP value that LightGBM computes itself."""
    model, d = _model(X, y, classes, seed), X.shape[1]
    parts = np.abs(model.predict(X, pred_contrib=True)).reshape(len(X), -1, d + 1)
    return Fit(strongest(parts[:, :, :d].mean(axis=(0, 1))))


def ebm(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Ranked by the main effect of an input and all its pairs."""
    from interpret.glassbox import (
        ExplainableBoostingClassifier,
        ExplainableBoostingRegressor,
    )

    kind = ExplainableBoostingClassifier if classes else ExplainableBoostingRegressor
    model = kind(random_state=seed, n_jobs=1).fit(X, y)
    strength = np.zeros(X.shape[1])
    for inputs, importance in zip(model.term_features_, model.term_importances(), strict=True):
        strength[list(inputs)] += importance
    return Fit(strongest(strength), None, outcome(model, classes))


METHODS = {
    "lgbm": Method("LightGBM", "defaults, inputs ranked by gain; no set", gain, ("lightgbm",)),
    "lgbm-shap": Method(
        "LightGBM, SHAP",
        "defaults, inputs ranked by the mean absolute SHAP value over the training rows; no set, "
        "predictions are those of LightGBM",
        shap,
        ("lightgbm",),
    ),
    "ebm": Method(
        "EBM",
        "interpret's explainable boosting machine, main effects and pairs, inputs ranked by the "
        "importance of all terms that they are in; no set",
        ebm,
        ("interpret-core",),
        up_to(6_000),
    ),
}
