"""The mean and linear models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nvsd.experiments.methods.base import Method, Model, best_of, linear_path
from nvsd.experiments.methods.group_lasso import LENGTH, group_lasso_path
from nvsd.experiments.protocol import Split

TOL = 1e-6


class _Linear(Method):
    family = "linear"


@dataclass(frozen=True)
class Mean(_Linear):
    """Predicts the mean of the training data."""

    def fit(self, split: Split) -> Model:
        """Nothing is chosen."""
        return linear_path(split, np.zeros((split.X.shape[1], 1)))


@dataclass(frozen=True)
class LinearRidge(_Linear):
    """(1/n)|y − Xw|² + λ|w|², λ over nine decades."""

    def fit(self, split: Split) -> Model:
        """All λ from one decomposition."""
        X, y = split.X - split.X.mean(axis=0), split.y - split.y.mean()
        U, s, Vt = np.linalg.svd(X, full_matrices=False)
        lambdas = float(s[0] ** 2) * np.geomspace(10.0, 1e-8, LENGTH)
        shrunk = s[:, None] / (s[:, None] ** 2 + lambdas)
        return linear_path(split, Vt.T @ (shrunk * (U.T @ y)[:, None]))


@dataclass(frozen=True)
class LinearElasticNet(_Linear):
    """scikit-learn's lasso and elastic net, λ (and the share of the ℓ1 norm) by validation."""

    l1_ratios: tuple[float, ...] = (1.0,)

    def fit(self, split: Split) -> Model:
        """A path for each share."""
        from sklearn.linear_model import enet_path

        X = np.asfortranarray(split.X - split.X.mean(axis=0))
        y = split.y - split.y.mean()

        def path(ratio: float) -> Model:
            _, coefficients, _ = enet_path(
                X, y, l1_ratio=ratio, alphas=LENGTH, tol=TOL, max_iter=100_000
            )
            return linear_path(split, coefficients, l1_ratio=ratio)

        return best_of([path(ratio) for ratio in self.l1_ratios])


@dataclass(frozen=True)
class LinearGroupLasso(_Linear):
    """celer's group lasso, weights √p_g."""

    packages = ("celer",)

    def fit(self, split: Split) -> Model:
        """One path."""
        assert split.groups is not None
        labels = np.asarray(split.groups, dtype=str)
        groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
        X, y = split.X - split.X.mean(axis=0), split.y - split.y.mean()
        weights = np.sqrt([len(group) for group in groups])
        return linear_path(split, group_lasso_path(X, y, groups, weights))

    @property
    def uses_groups(self) -> bool:
        """Always."""
        return True
