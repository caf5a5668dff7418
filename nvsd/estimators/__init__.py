"""Estimators for scikit-learn: regressors and classifiers that select inputs."""

from __future__ import annotations

from nvsd.estimators.classifier import NVSDClassifier
from nvsd.estimators.classifier_cv import NVSDClassifierCV
from nvsd.estimators.elimination import DerivativeElimination
from nvsd.estimators.regressor import NVSDRegressor
from nvsd.estimators.regressor_cv import NVSDRegressorCV
from nvsd.estimators.selective import SelectiveRegressor
from nvsd.estimators.selective_classifier import SelectiveClassifier

__all__ = [
    "DerivativeElimination",
    "NVSDClassifier",
    "NVSDClassifierCV",
    "NVSDRegressor",
    "NVSDRegressorCV",
    "SelectiveClassifier",
    "SelectiveRegressor",
]
