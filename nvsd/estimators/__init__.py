"""Estimators for scikit-learn: regressors that select inputs by the derivatives of f."""

from __future__ import annotations

from nvsd.estimators.elimination import DerivativeElimination
from nvsd.estimators.regressor import NVSDRegressor
from nvsd.estimators.search import NVSDRegressorCV
from nvsd.estimators.selective import SelectiveRegressor

__all__ = ["DerivativeElimination", "NVSDRegressor", "NVSDRegressorCV", "SelectiveRegressor"]
