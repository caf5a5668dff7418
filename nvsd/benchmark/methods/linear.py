"""Linear methods: lasso, elastic net, and recursive elimination by a support vector machine."""

from __future__ import annotations

import warnings
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

MIXED = 0.5  # share of the lasso in the elastic net, scikit-learn's default


def _penalised(X: Array, y: Target, classes: bool, seed: int, share: float) -> Fit:
    """A linear or logistic model on standardised inputs, its penalty by five folds."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = _logistic(seed, share) if classes else _least_squares(seed, share)
    pipeline = make_pipeline(StandardScaler(), model)
    with warnings.catch_warnings():
        # Names of options differ between versions; those used here work in all.
        warnings.simplefilter("ignore")
        pipeline.fit(X, y)
    coefficients = np.abs(np.atleast_2d(model.coef_)).sum(axis=0)
    return Fit(strongest(coefficients), coefficients > 0, outcome(pipeline, classes))


def _least_squares(seed: int, share: float) -> Any:
    from sklearn.linear_model import ElasticNetCV, LassoCV

    if share == 1.0:
        return LassoCV(random_state=seed)
    return ElasticNetCV(l1_ratio=share, random_state=seed)


def _logistic(seed: int, share: float) -> Any:
    from sklearn.linear_model import LogisticRegressionCV

    return LogisticRegressionCV(
        penalty="elasticnet", l1_ratios=[share], solver="saga", cv=5, scoring="neg_log_loss",
        max_iter=300, random_state=seed,
    )  # fmt: skip


def lasso(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Ranked by absolute coefficient; those that are not 0 are the set."""
    return _penalised(X, y, classes, seed, 1.0)


def elastic_net(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Ranked by absolute coefficient; those that are not 0 are the set."""
    return _penalised(X, y, classes, seed, MIXED)


def rfe(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """The input of least weight leaves, one at a time; the last one is the best."""
    from sklearn.feature_selection import RFE
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    model = SVC(kernel="linear") if classes else SVR(kernel="linear")
    target = y if classes else (y - y.mean()) / (y.std() or 1.0)
    found = RFE(model, n_features_to_select=1).fit(StandardScaler().fit_transform(X), target)
    return Fit(strongest(-found.ranking_))


METHODS = {
    "lasso": Method(
        "LassoCV",
        "scikit-learn, five folds, inputs ranked by absolute coefficient; those that are not 0 are "
        "the set; for classes logistic regression with the same penalty",
        lasso,
        ("scikit-learn",),
    ),
    "elastic-net": Method(
        "ElasticNetCV",
        "scikit-learn, half of the penalty absolute, half squared; otherwise as LassoCV",
        elastic_net,
        ("scikit-learn",),
    ),
    "rfe": Method(
        "RFE, SVM",
        "scikit-learn, recursive elimination by a linear support vector machine, one input at a "
        "time; no set, no predictions",
        rfe,
        ("scikit-learn",),
        up_to(40_000, 1000),
    ),
}
