"""Forests: their impurity, permutation and TreeSHAP importance, extremely random trees, Boruta."""

from __future__ import annotations

from typing import Any

import numpy as np

from nvsd.benchmark.methods.base import (
    TREES,
    Array,
    Fit,
    Mask,
    Method,
    Predict,
    Target,
    constant,
    held_out,
    outcome,
    strongest,
    up_to,
)

EXPLAINED = 100  # rows that TreeSHAP explains; deep trees take it most of a second each
REPEATS = 5  # permutations of each input, scikit-learn's default


def forest_model(classes: bool, seed: int, **options: Any) -> Any:
    """A forest of 500 trees, otherwise scikit-learn's defaults."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if classes else RandomForestRegressor
    return kind(**{"n_estimators": TREES, "random_state": seed} | options)


def forest(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Ranked by the impurity that an input's splits take away."""
    model = forest_model(classes, seed).fit(X, y)
    return Fit(strongest(model.feature_importances_), None, outcome(model, classes))


def permuted(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Ranked by the loss of score when an input is permuted in held-out rows."""
    from sklearn.inspection import permutation_importance

    X, X_val, y, y_val = held_out(X, y, classes, seed)
    model = forest_model(classes, seed).fit(X, y)
    found = permutation_importance(model, X_val, y_val, n_repeats=REPEATS, random_state=seed)
    return Fit(strongest(found.importances_mean))


def tree_shap(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Ranked by the mean absolute SHAP value over some rows."""
    from shap import TreeExplainer

    model = forest_model(classes, seed).fit(X, y)
    rows = np.random.default_rng(seed).permutation(len(X))[:EXPLAINED]
    values = np.abs(TreeExplainer(model).shap_values(X[rows], check_additivity=False))
    return Fit(strongest(values.reshape(len(rows), X.shape[1], -1).mean(axis=(0, 2))))


def extra_trees(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Extremely random trees, ranked by impurity."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind = ExtraTreesClassifier if classes else ExtraTreesRegressor
    model = kind(n_estimators=TREES, random_state=seed).fit(X, y)
    return Fit(strongest(model.feature_importances_), None, outcome(model, classes))


def boruta(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Its confirmed inputs; tentative and rejected ones follow, and a forest predicts."""
    from boruta import BorutaPy

    trees = forest_model(classes, seed, max_depth=7)
    model = BorutaPy(trees, n_estimators="auto", max_iter=60, random_state=seed)
    model.fit(X, y)
    # The first row of the history is a placeholder; inputs of one rank go by their importance.
    history = np.nan_to_num(model.importance_history_[1:], nan=0.0)
    order = np.lexsort((-history.mean(axis=0), model.ranking_))
    return Fit(order, model.support_, forest_on(model.support_, X, y, classes, seed))


def forest_on(
    support: Mask, X: Array, y: Target, classes: bool, seed: int, **options: Any
) -> Predict:
    """A forest on some inputs, or a constant if there are none."""
    if not support.any():
        return constant(y, classes)
    model = forest_model(classes, seed, **options)
    predict = outcome(model.fit(X[:, support], y), classes)
    return lambda Z: predict(Z[:, support])


METHODS = {
    "rf": Method(
        "random forest",
        "scikit-learn, 500 trees, inputs ranked by impurity; no set",
        forest,
        ("scikit-learn",),
    ),
    "rf-permutation": Method(
        "forest, permutation",
        "scikit-learn, 500 trees on three quarters of the rows, inputs ranked by permutation on "
        "the others; no set, predictions are those of the forest above",
        permuted,
        ("scikit-learn",),
        up_to(12_000),
    ),
    "rf-shap": Method(
        "forest, TreeSHAP",
        "the forest above, inputs ranked by the mean absolute SHAP value over 100 rows; no set",
        tree_shap,
        ("shap", "scikit-learn"),
        up_to(12_000, 500),
    ),
    "extra-trees": Method(
        "ExtraTrees",
        "scikit-learn, 500 trees, inputs ranked by impurity; no set",
        extra_trees,
        ("scikit-learn",),
    ),
    "boruta": Method(
        "Boruta",
        "forests of depth 7, their number from the package, 60 rounds; the confirmed inputs, and "
        "a forest of 500 trees on them",
        boruta,
        ("Boruta", "scikit-learn"),
        up_to(10_000),
    ),
}
