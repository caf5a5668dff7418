"""What the folds say of each size, and which size is chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from nvsd.data.weights import mean, standard_error
from nvsd.engine.reweight import error_bound, huber
from nvsd.tolerances import TINY

Array = NDArray[Any]

# A squared error below this share of the variance of y counts as that of an exact fit, which is not
# 0 because λ has a lower limit.
NEGLIGIBLE = 1e-10
# Standard errors of paired differences. They were tuned on noise and on problems with known inputs
# (docs/scripts/selection_problems.py). At that time 3 % of 207 runs on noise selected something.
EMPTY_Z = 1.5  # by which a set must beat the mean
SIZE_Z = 1.0  # by which a larger set must beat a smaller one
SLIGHT, SLIGHT_Z = 0.01, 3.0  # the same, if the gain is less than this share of the error


@dataclass(frozen=True, eq=False)
class Judged:
    """Errors of each size on the held-out rows of all folds.

    Attributes
    ----------
    sizes : list of int
        Numbers of units.
    errors : (rows, sizes) array
        Errors on held-out rows, with y clipped as in the fold.
    all_inputs : (rows,) array
        The same for the reweighted fit on all inputs.
    weights : (rows,) array or None
        Of these rows, if they differ.
    """

    sizes: list[int]
    errors: Array
    all_inputs: Array
    weights: Array | None = None
    size_z: ClassVar[float] = SIZE_Z

    def times(self, factor: float) -> Self:
        """The same with errors in other units."""
        return replace(self, errors=factor * self.errors, all_inputs=factor * self.all_inputs)

    @property
    def costs(self) -> Array:
        """What is reported: squared errors."""
        return np.asarray(np.square(self.errors))

    @property
    def cost(self) -> Array:
        """What is reported, as its mean for each size."""
        return np.asarray(mean(self.costs, self.weights))

    @property
    def cost_se(self) -> Array:
        """The standard error of it."""
        return standard_error(self.costs, self.weights)

    @cached_property
    def losses(self) -> Array:
        """The losses by which sets are compared, (rows, sizes + 1); the last is that of all inputs.

        They are squared errors up to a bound, which comes from the errors of the best set, and
        linear beyond it. Otherwise a few outliers would decide.
        """
        e = np.abs(np.column_stack([self.errors, self.all_inputs]))
        return huber(e, error_bound(e[:, int(np.argmin(np.median(e[:, :-1], axis=0)))]))

    @property
    def loss(self) -> Array:
        """The mean loss of each size."""
        return np.asarray(mean(self.losses[:, :-1], self.weights))

    @property
    def loss_of_all(self) -> float:
        """The mean loss of all inputs."""
        return float(mean(self.losses[:, -1], self.weights))

    def differences(self) -> tuple[Array, Array]:
        """Mean difference of each size from the best, and its standard error, over paired rows."""
        losses = self.losses[:, :-1]
        gap = losses - losses[:, [int(np.argmin(self.loss))]]
        return mean(gap, self.weights), standard_error(gap, self.weights)

    def smallest(self) -> int:
        """The position of the smallest set whose error is not clearly larger than the least.

        The first set, which is empty unless some units are kept, wins unless the best set beats it
        by more than EMPTY_Z standard errors. For the other sets the limit is SIZE_Z, or SLIGHT_Z if
        the difference is slight. Differences between exact fits are rounding and do not count.
        """
        (mean, se), loss = self.differences(), self.loss
        z = mean / np.maximum(se, NEGLIGIBLE * loss[0] + TINY)
        best = int(np.argmin(mean))
        if best == 0 or z[0] <= EMPTY_Z:
            return 0
        needed = np.where(mean <= SLIGHT * loss[best], SLIGHT_Z, self.size_z)
        return next(j for j in range(1, len(z)) if j == best or z[j] <= needed[j])
