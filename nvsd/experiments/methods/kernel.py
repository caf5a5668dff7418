"""Kernel methods without derivatives: Krls, HSIC Lasso, and the oracle."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge

from nvsd.experiments.methods.base import Array, Mask, Method, Model, best_of, best_refit
from nvsd.experiments.protocol import Experiment, Split
from nvsd.kernels import Kernel


@dataclass(frozen=True)
class Krls(Method):
    """Kernel regularised least squares on all inputs: scikit-learn's KernelRidge."""

    def fit(self, split: Split) -> Model:
        """Over the grid of ridge levels and widths."""
        kernels = [split.kernel_at(width) for width in split.widths]
        return best_of([_ridge(split, kernel, float(nu)) for kernel in kernels for nu in split.nus])


def _ridge(split: Split, kernel: Kernel, nu: float) -> Model:
    mean = float(split.y.mean())
    ridge = KernelRidge(alpha=len(split.X) * nu, kernel="precomputed")
    ridge.fit(kernel.K(split.X), split.y - mean)

    def predict(X: Array) -> Array:
        return np.asarray(mean + ridge.predict(kernel.K(X, split.X)))

    error = float(np.mean((predict(split.X_val) - split.y_val) ** 2))
    return Model(np.ones(split.X.shape[1], bool), predict, error, {"ridge_nu": nu})


@dataclass(frozen=True)
class Oracle(Method):
    """Kernel ridge on the true inputs: what a perfect selection would give."""

    family = "oracle"

    def fit(self, split: Split) -> Model:
        """Only the ridge level and the width are chosen."""
        assert split.truth is not None
        return best_refit(split, [split.truth])

    def applies(self, experiment: Experiment, groups: bool) -> bool:
        """Where the relevant inputs are known."""
        return experiment.synthetic


@dataclass(frozen=True)
class HSICLasso(Method):
    """HSIC Lasso (Yamada et al. 2014), the authors' package, then the same debiasing.

    The sets along its path are refitted by kernel ridge, and their validation error chooses the
    size. No blocks are used, as in the article.
    """

    packages = ("pyHSICLasso",)

    def fit(self, split: Split) -> Model:
        """The path, then the refits."""
        return best_refit(split, hsic_sets(split.X, split.y))


def hsic_sets(X: Array, y: Array) -> list[Mask]:
    """The sets of inputs along the path of HSIC Lasso, from none to all."""
    d = X.shape[1]
    # It stops one step before the last input enters.
    path = next(path for size in range(max(1, d - 1), -1, -1) if (path := hsic_path(X, y, size)))
    return [*path, np.ones(d, bool)]


def hsic_path(
    X: Array, y: NDArray[Any], size: int, B: int = 0, M: int = 1, classes: bool = False
) -> list[Mask]:
    """The sets along its path up to a size; an empty list if its steps cycle.

    B and M are the package's: rows in a block, and permutations of them; 0 is one block.
    """
    from pyHSICLasso import HSICLasso as Package

    d = X.shape[1]
    if not size:
        return [np.zeros(d, bool)]
    model = Package()
    try:
        with _quiet():
            model.input(np.ascontiguousarray(X), np.asarray(y))
            fit = model.classification if classes else model.regression
            fit(size, B=B, M=M, max_neighbors=min(10, d - 1), n_jobs=1)
    except IndexError:  # it has room for 4d steps only
        return []
    return list((np.asarray(model.path) > 0).T)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The package prints, seeds the global generator of numpy, and was written for numpy 1.

    If inputs repeat each other, it expects numpy.linalg.linalg.LinAlgError and continues.
    """
    state = np.random.get_state()  # noqa: NPY002
    old_name = mock.patch.object(np.linalg, "linalg", np.linalg, create=True)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), old_name:
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
