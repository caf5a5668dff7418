"""The elastic net on derivative norms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from nvsd.penalties.base import Penalty
from nvsd.penalties.bound import BoundPenalty
from nvsd.penalties.parsing import (
    Weights,
    checked_share,
    checked_weights,
    listed,
    refuse,
    resolve_weights,
)


def checked_mu(mu: Any) -> float | tuple[float, ...]:
    """One share, or several distinct ones."""
    if isinstance(mu, Real):
        return checked_share(mu, "mu")
    values = tuple(checked_share(one, "mu") for one in listed(mu, "mu"))
    repeated = [value for i, value in enumerate(values) if value in values[:i]]
    refuse(repeated, "the values of mu must be distinct; remove the repeats of")
    return values


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """J = mu sum_a w_a r_a + (1 - mu) sum_a r_a^2.

    Parameters
    ----------
    mu : float or sequence of float
        In [0, 1]; 1 is the lasso. A sequence describes several penalties, see `split`.
    weights : sequence or mapping, optional
        As for `Lasso`.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.penalties import ElasticNet
    >>> bound = ElasticNet(mu=0.5).bind(2)
    >>> float(bound.value(np.array([3.0, 4.0])))  # 0.5 * 7 + 0.5 * 25
    16.0
    """

    mu: float | Sequence[float] = 0.5
    weights: Weights | None = None
    short_name: ClassVar[str] = "elastic-net"
    checks: ClassVar = {"mu": checked_mu, "weights": checked_weights}
    along: ClassVar[str] = "mu"

    def _bind(self, names: list[str]) -> BoundPenalty:
        if isinstance(self.mu, Sequence):
            raise ValueError(f"mu is the sequence {self.mu}; bind each penalty of split() instead.")
        d = len(names)
        v = self.mu * resolve_weights(self.weights, names, np.ones(d), "feature")
        return BoundPenalty(v, np.zeros(d), np.arange(d), 1 - self.mu, tuple(names))
