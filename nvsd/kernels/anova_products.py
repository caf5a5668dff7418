"""Products with the Gram blocks of an ANOVA kernel, and bounds of its blocks of slopes."""

from __future__ import annotations

import numpy as np

from nvsd.kernels.base import Kernel
from nvsd.kernels.blocks import Array
from nvsd.kernels.products import AppliedProducts, norm_bound
from nvsd.kernels.symmetric import elementary, without
from nvsd.kernels.units import Unit

Terms = list[tuple[float, Unit]]  # weight η and inputs of every unit


class AnovaProducts(AppliedProducts):
    """By evaluation of f; the blocks L_aa follow from O(d) units and need none of the pairs."""

    def __init__(
        self, kernel: Kernel, X: Array, factor: float, base: Kernel, order: int, terms: Terms
    ) -> None:
        super().__init__(kernel, X, factor)
        self._base, self._order, self._terms = base, order, terms

    def slope_norms(self) -> Array:
        """L_aa = η_u ∂_a∂'_aκ_u S_{q−1}(−u) for an input a of unit u."""
        X, q = self._X, self._order
        bounds = np.zeros(X.shape[1])
        values = (eta * unit.parts(self._base, X, X, False).value for eta, unit in self._terms)
        e = elementary(values, q, (len(X), len(X)))
        for eta, unit in self._terms:
            parts = unit.parts(self._base, X, X, True)
            weight = self._factor * eta * sum(without(e, eta * parts.value)[:q])
            for i, a in enumerate(unit.inputs):
                bounds[a] = norm_bound(weight * parts.mixed[i][i])
        return bounds
