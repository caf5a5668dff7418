"""Kernels by family: each is three scalar functions on the geometry of its family."""

from __future__ import annotations

from nvsd.kernels.anova import Anova
from nvsd.kernels.base import Kernel, Scaled, Sum
from nvsd.kernels.dot_product import DotProduct, Linear, Polynomial
from nvsd.kernels.isotropic import Gaussian, Isotropic, Matern52, RationalQuadratic
from nvsd.kernels.warped import Warped
from nvsd.kernels.widths import neighbour_width

__all__ = [
    "Anova",
    "DotProduct",
    "Gaussian",
    "Isotropic",
    "Kernel",
    "Linear",
    "Matern52",
    "Polynomial",
    "RationalQuadratic",
    "Scaled",
    "Sum",
    "Warped",
    "neighbour_width",
]
