"""The checked data and settings that every method shares, and the fit that most of them need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.data.checks import Index
from nvsd.data.rows import ArrayRows
from nvsd.kernels import Kernel
from nvsd.losses import SQUARED, QuadraticLoss
from nvsd.penalties import Penalty
from nvsd.ridge.dense import RidgeFit, fit_ridge, ridge_norms
from nvsd.ridge.nystrom import draw_points, fit_nystrom

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
HeldOut = tuple[Array, Array] | list[tuple[Index, Index]]

N_LEVELS = 4  # number of ν for elimination and reweighting, evenly spread over the grid
ONE_BY_ONE = 50  # up to this many units every size is tried
SHRINKAGE = 0.8  # with more units, each size is this share of the previous one


@dataclass(frozen=True, eq=False)
class Task:
    """What to select from, and how candidates are judged.

    A unit is one input, or one group of inputs when groups are given; candidates consist of whole
    units.

    Attributes
    ----------
    X, y : (n, d) and (n,) arrays
        Samples, as the kernel sees them, and target.
    features : tuple of str
    groups : tuple of str or None
        The group of each input.
    kernels : tuple of Kernel
        One for each width that kernel ridge may have.
    nus : array
        The grid for ν of kernel ridge, descending.
    held_out : (X, y), or list of (train, test)
        Validation data, or the folds.
    rule : {"clear", "min", "1se"}
    kernel, penalty, nu
        Those of the path.
    seed : int
    n_jobs : int or None
    value_points : int or None
        Number of kernel sections in kernel ridge, at rows drawn at random; None: all rows.
    guide_width : float or None
        Width of Gaussian kernels that support a polynomial one. It comes from all samples, so that
        every fold has the same number of candidates.
    loss : QuadraticLoss
        What fits minimise and candidates are judged by.
    """

    X: Array
    y: Array
    features: tuple[str, ...]
    groups: tuple[str, ...] | None
    kernels: tuple[Kernel, ...]
    nus: Array
    held_out: HeldOut
    rule: str
    kernel: Kernel
    penalty: Penalty
    nu: float
    seed: int
    n_jobs: int | None
    value_points: int | None = None
    guide_width: float | None = None
    loss: QuadraticLoss = SQUARED

    @cached_property
    def units(self) -> NDArray[np.intp]:
        """The unit 0..U-1 of each input."""
        labels = self.features if self.groups is None else self.groups
        number = {label: i for i, label in enumerate(dict.fromkeys(labels))}
        return np.array([number[label] for label in labels])

    @property
    def levels(self) -> Array:
        """A few ν of the grid."""
        index = np.linspace(0, len(self.nus) - 1, min(N_LEVELS, len(self.nus)))
        return np.asarray(self.nus[np.round(index).astype(int)])

    def rows(self, index: NDArray[np.intp], **changes: Any) -> Task:
        """The same task on some of the samples, for one process."""
        return replace(self, X=self.X[index], y=self.y[index], n_jobs=1, **changes)

    def unit_norms(self, norms: Array) -> Array:
        """Root mean square over each unit's inputs, (d,) -> (U,).

        It is the mean and not the sum, so that a large group does not get a larger norm than a
        small one where f is noise.
        """
        squares = np.bincount(self.units, norms**2) / np.bincount(self.units)
        return np.asarray(np.sqrt(squares))

    def sizes(self) -> list[int]:
        """Numbers of units in nested sets, from all to none; a fifth less while many are left."""
        sizes = [int(self.units.max()) + 1]
        while (size := sizes[-1]) > 0:
            sizes.append(size - 1 if size <= ONE_BY_ONE else max(ONE_BY_ONE, int(SHRINKAGE * size)))
        return sizes

    def strongest(self, norms: Array, size: int) -> Mask:
        """The inputs of the units with the largest norms, the first of equals; none with norm 0."""
        strength = self.unit_norms(norms)
        kept = np.zeros(len(strength), dtype=bool)
        kept[np.argsort(-strength, kind="stable")[:size]] = True
        return np.asarray((kept & (strength > 0))[self.units])

    def clearness(self, norms: Array, support: Mask) -> float:
        """Norm of the weakest unit in a set over that of the strongest outside.

        It is 1 for the set of all units and 0 for the empty set. It is also 1 if all norms outside
        are 0: f is flat in these inputs at the samples, which says little about other points.
        """
        strength = self.unit_norms(norms)
        inside = np.zeros(len(strength), dtype=bool)
        inside[self.units[support]] = True
        if inside.all() or not inside.any():
            return float(inside.any())
        strongest = float(strength[~inside].max())
        return float(strength[inside].min()) / strongest if strongest > 0 else 1.0

    @cached_property
    def points(self) -> Array | None:
        """The rows that are centres of the kernel sections; None if all rows are."""
        if self.value_points is None or self.value_points >= len(self.X):
            return None
        return draw_points(self.rows_with_names, self.value_points, self.seed)

    def fit(self, support: Mask, kernel: Kernel, nus: Array) -> RidgeFit:
        """Kernel ridge on some inputs, for all ν at once."""
        if self.points is None:
            return fit_ridge(self.X, self.y, kernel, nus, support, self.loss)
        return fit_nystrom(self.rows_with_names, self.points, kernel, nus, support, self.loss)

    @property
    def rows_with_names(self) -> ArrayRows:
        """The samples as rows with their names; they have been checked already."""
        return ArrayRows(self.X, self.y, False, features=self.features, checked=True)

    def norms(self, support: Mask, kernel: Kernel, nu: float) -> Array:
        """‖∂_a f‖ over the samples, or the points, of kernel ridge on some inputs; 0 for others."""
        norms = np.zeros(len(support))
        if support.any() and self.points is not None:
            gradient = self.fit(support, kernel, np.array([nu])).gradient(self.points)[0]
            return np.asarray(np.sqrt(np.mean(gradient**2, axis=1)))
        if support.any():
            X = np.ascontiguousarray(self.X[:, support])
            norms[support] = ridge_norms(X, self.y, kernel.restrict(support), nu, self.loss)
        return norms
