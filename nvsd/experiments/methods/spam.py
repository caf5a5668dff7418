"""SpAM, the sparse additive model of Ravikumar et al. (2007), as a group lasso on splines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import SplineTransformer

from nvsd.experiments.methods.base import Array, Method, Model, best_of
from nvsd.experiments.methods.group_lasso import group_lasso_path
from nvsd.experiments.protocol import Split

SMALL = 1e-8  # singular values below this share of the largest carry no function


class Basis:
    """Cubic splines of each input, made orthonormal over the training data.

    With orthonormal columns |w_a| is the norm of f_a over the training data, the norm that SpAM
    penalises.
    """

    def __init__(self, X: Array, n_knots: int) -> None:
        self.n_knots, self._range = n_knots, (X.min(axis=0), X.max(axis=0))
        self._splines = [self._spline(column) for column in X.T]
        self._centres: list[Array] = []
        self._maps: list[Array] = []
        for spline, column in zip(self._splines, X.T, strict=True):
            B = spline.transform(column[:, None])
            centre = B.mean(axis=0)
            _, s, Vt = np.linalg.svd(B - centre, full_matrices=False)
            kept = s > SMALL * max(float(s[0]), SMALL)
            self._centres.append(centre)
            self._maps.append(np.sqrt(len(X)) * Vt[kept].T / s[kept])

    def _spline(self, column: Array) -> SplineTransformer:
        spline = SplineTransformer(
            self.n_knots, knots="quantile", extrapolation="linear", include_bias=False
        )
        return spline.fit(column[:, None])

    @property
    def groups(self) -> list[NDArray[np.intp]]:
        """The columns of each input."""
        ends = np.cumsum([0, *(M.shape[1] for M in self._maps)])
        return [np.arange(a, b) for a, b in pairwise(ends)]

    def features(self, X: Array, clipped: bool = False) -> Array:
        """The orthonormal functions at new points; linear or constant beyond the training data."""
        X = np.clip(X, *self._range) if clipped else X
        parts = zip(self._splines, self._centres, self._maps, X.T, strict=True)
        return np.hstack([(s.transform(x[:, None]) - c) @ M for s, c, M, x in parts])


@dataclass(frozen=True)
class SpAM(Method):
    """f = Σ_a f_a(x_a), penalised by Σ_a ‖f_a‖; knots and penalty by validation.

    Validation also chooses how f continues beyond the training data: each f_a continues as a line,
    or stays constant as in the authors' R package.
    """

    knots: tuple[int, ...] = (2, 4, 6)
    clipped: tuple[bool, ...] = (False, True)

    packages = ("celer",)

    def fit(self, split: Split) -> Model:
        """A path for each number of knots."""
        return best_of([model for n_knots in self.knots for model in self._path(split, n_knots)])

    def _path(self, split: Split, n_knots: int) -> Iterator[Model]:
        basis, mean = Basis(split.X, n_knots), float(split.y.mean())
        groups = [group for group in basis.groups if len(group)]
        W = group_lasso_path(basis.features(split.X), split.y - mean, groups, np.ones(len(groups)))
        for clipped in self.clipped:
            predictions = mean + basis.features(split.X_val, clipped) @ W
            errors = np.mean((predictions - split.y_val[:, None]) ** 2, axis=0)
            k = int(np.argmin(errors))
            support = np.array([bool(np.any(W[group, k])) for group in basis.groups])
            facts = {"knots": float(n_knots), "clipped": float(clipped)}
            predict = partial(_predict, basis, mean, W[:, k], clipped)
            yield Model(support, predict, float(errors[k]), facts)


def _predict(basis: Basis, mean: float, w: Array, clipped: bool, X: Array) -> Array:
    return np.asarray(mean + basis.features(X, clipped) @ w)
