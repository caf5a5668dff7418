"""The sparse group lasso on derivative norms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nvsd.penalties.base import Penalty
from nvsd.penalties.bound import BoundPenalty
from nvsd.penalties.parsing import (
    Groups,
    Weights,
    assign_groups,
    checked_groups,
    checked_share,
    checked_weights,
    resolve_weights,
)


def checked_rho(rho: Any) -> float:
    """A share."""
    return checked_share(rho, "rho")


def bind_groups(
    groups: Groups, rho: float, weights: Weights | None, names: list[str]
) -> BoundPenalty:
    """rho times the norms of the features, 1 - rho times the weighted norms of the groups."""
    assigned = assign_groups(groups, names)
    named = groups if isinstance(groups, Mapping) else ()
    order = list(dict.fromkeys([*map(str, named), *assigned]))
    number = {group: i for i, group in enumerate(order)}
    labels = np.array([number[group] for group in assigned])
    sizes = np.bincount(labels).astype(float)
    w = (1 - rho) * resolve_weights(weights, order, sizes, "group")
    return BoundPenalty(np.full(labels.size, rho), w, labels, 0.0, tuple(order))


@dataclass(frozen=True)
class SparseGroupLasso(Penalty):
    """J = rho sum_a r_a + (1 - rho) sum_g w_g (sum_{a in g} r_a^2)^(1/2).

    Parameters
    ----------
    groups, weights
        As for `GroupLasso`.
    rho : float
        In [0, 1]; 0 is the group lasso and 1 the lasso.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.penalties import SparseGroupLasso
    >>> bound = SparseGroupLasso(["lab", "lab"], rho=0.5).bind(2)
    >>> float(bound.value(np.array([3.0, 4.0])))  # 0.5 * 7 + 0.5 * 2 * 5
    8.5
    """

    groups: Groups
    rho: float = 0.5
    weights: Weights | None = None
    short_name: ClassVar[str] = "sparse-group"
    checks: ClassVar = {
        "groups": checked_groups,
        "rho": checked_rho,
        "weights": checked_weights,
    }

    def _bind(self, names: list[str]) -> BoundPenalty:
        return bind_groups(self.groups, self.rho, self.weights, names)
