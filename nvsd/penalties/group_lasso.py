"""The group lasso on derivative norms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nvsd.penalties.base import Penalty
from nvsd.penalties.bound import BoundPenalty
from nvsd.penalties.parsing import Groups, Weights, checked_groups, checked_weights
from nvsd.penalties.sparse_group_lasso import bind_groups


@dataclass(frozen=True)
class GroupLasso(Penalty):
    """J = sum_g w_g (sum_{a in g} r_a^2)^(1/2).

    Parameters
    ----------
    groups : sequence or mapping
        One label per feature, {group name: features}, {feature: group name}, or a Series of labels
        by feature. Features are given by name or, as integers, by position. Each feature is in one
        group at most, and one that a mapping does not name is a group of its own.
    weights : sequence or mapping, optional
        w >= 0, one per group in the order in which the groups first appear, or {group name: weight}
        for some groups; other groups are weighted by their size p_g, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.penalties import GroupLasso
    >>> bound = GroupLasso(["lab", "lab", "site"]).bind(3)
    >>> float(bound.value(np.array([3.0, 4.0, 1.0])))  # 2 * 5 + 1 * 1
    11.0
    """

    groups: Groups
    weights: Weights | None = None
    short_name: ClassVar[str] = "group"
    checks: ClassVar = {"groups": checked_groups, "weights": checked_weights}

    def _bind(self, names: list[str]) -> BoundPenalty:
        return bind_groups(self.groups, 0.0, self.weights, names)
