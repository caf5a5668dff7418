"""Gram blocks, and products with G that never form it, for every kernel of the library."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import common


class Blocks(common.Timed):
    """K, D and L at n points, d = 18."""

    params = (common.KERNELS, [30, 110])
    param_names = ("kernel", "n")

    def setup(self, kernel: str, n: int) -> None:
        super().setup()
        self.kernel = common.make_kernel(kernel)
        self.X = common.problem("E1", n).X

    def time_blocks(self, *params: Any) -> None:
        self.kernel.blocks(self.X)

    def peakmem_blocks(self, *params: Any) -> None:
        self.kernel.blocks(self.X)


class Product(common.Timed):
    """G·v in O(n²d), d = 18; 17 columns are one batch of τ."""

    params = (common.KERNELS, [1, 17], [30, 500])
    param_names = ("kernel", "columns", "n")

    def setup(self, kernel: str, columns: int, n: int) -> None:
        super().setup()
        self.kernel = common.make_kernel(kernel)
        self.X = common.problem("E1", n).X
        self.v = np.random.default_rng(common.SEED).standard_normal((n * (common.D + 1), columns))

    def time_product(self, *params: Any) -> None:
        self.kernel.G_product(self.X, self.v)


class ProductMemory:
    """Peak memory of G·v."""

    params = (common.KERNELS, [500])
    param_names = ("kernel", "n")

    def setup(self, kernel: str, n: int) -> None:
        self.kernel = common.make_kernel(kernel)
        self.X = common.problem("E1", n).X
        self.v = np.random.default_rng(common.SEED).standard_normal(n * (common.D + 1))

    def peakmem_product(self, *params: Any) -> None:
        self.kernel.G_product(self.X, self.v)
