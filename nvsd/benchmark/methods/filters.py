"""Filters, which judge inputs without a model of all: mutual information and mRMR."""

from __future__ import annotations

import numpy as np

from nvsd.benchmark.methods.base import Array, Fit, Method, Order, Target, spread, strongest

LEAST = 1e-3  # redundancy below which an input counts as this redundant, as in the mrmr package


def mutual_information(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Scikit-learn's estimate from nearest neighbours, input by input."""
    from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

    measure = mutual_info_classif if classes else mutual_info_regression
    return Fit(strongest(measure(X, y, random_state=seed)))


def mrmr(X: Array, y: Target, classes: bool, seed: int) -> Fit:
    """Most relevance (F statistic) over redundancy (mean absolute correlation), one by one."""
    from sklearn.feature_selection import f_classif, f_regression

    with np.errstate(all="ignore"):
        statistic = f_classif(X, y)[0] if classes else f_regression(X, y)[0]
    relevance = np.nan_to_num(statistic, nan=0.0, posinf=np.finfo(float).max)
    Z = (X - X.mean(axis=0)) / spread(X)
    return Fit(one_by_one(relevance, np.abs(Z.T @ Z) / len(Z)))


def one_by_one(relevance: Array, correlation: Array) -> Order:
    """The rule FCQ of Zhao et al. 2019: the next input has the best quotient."""
    order: list[int] = []
    redundancy, left = np.zeros(len(relevance)), np.ones(len(relevance), bool)
    for taken in range(len(relevance)):
        below = np.maximum(redundancy / taken, LEAST) if taken else np.ones(len(relevance))
        best = int(np.argmax(np.where(left, relevance / below, -1.0)))
        order.append(best)
        left[best] = False
        redundancy += correlation[best]
    return np.array(order, dtype=np.intp)


METHODS = {
    "mutual-information": Method(
        "mutual information",
        "scikit-learn, three nearest neighbours; no set, no predictions",
        mutual_information,
        ("scikit-learn",),
    ),
    "mrmr": Method(
        "mRMR",
        "the rule FCQ of Zhao et al. 2019 on scikit-learn's F statistics; no set, no predictions",
        mrmr,
        ("scikit-learn",),
    ),
}
