"""The lasso on derivative norms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nvsd.penalties.base import Penalty
from nvsd.penalties.bound import BoundPenalty
from nvsd.penalties.parsing import Weights, checked_weights, resolve_weights


@dataclass(frozen=True)
class Lasso(Penalty):
    """J = sum_a w_a r_a.

    Parameters
    ----------
    weights : sequence or mapping, optional
        w >= 0, one per feature, or {feature name: weight} for those that are not 1; a feature of
        weight 0 is not penalised.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.penalties import Lasso
    >>> bound = Lasso(weights={"age": 0.0}).bind(["age", "dose"])  # age is never penalised
    >>> float(bound.value(np.array([3.0, 4.0])))
    4.0
    """

    weights: Weights | None = None
    short_name: ClassVar[str] = "lasso"
    checks: ClassVar = {"weights": checked_weights}

    def _bind(self, names: list[str]) -> BoundPenalty:
        d = len(names)
        v = resolve_weights(self.weights, names, np.ones(d), "feature")
        return BoundPenalty(v, np.zeros(d), np.arange(d), 0.0, tuple(names))
