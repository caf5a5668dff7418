"""A million rows, landmarks, a thousand inputs; one call each. docs/scaling.md has the tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import nvsd
from nvsd.datasets import make_e1, make_logarithm, make_quadratic, make_sine
from nvsd.experiments.methods.kernel import hsic_sets
from nvsd.kernels import Gaussian, Polynomial

from . import common

BLOCK = 50_000
ROWS = {"E1": (make_e1, Polynomial(3)), "quadratic": (make_quadratic, Polynomial(2))}
LANDMARKS = {"sine": (make_sine, 150), "logarithm": (make_logarithm, 30)}


class Blocks:
    """Rows that are made when they are asked for."""

    def __init__(self, problem: str, n: int) -> None:
        self.make, self.n = ROWS[problem][0], n

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for seed, start in enumerate(range(0, self.n, BLOCK)):
            yield self.make(min(BLOCK, self.n - start), seed)[:2]


class MillionRows(common.Single):
    """The exact path from blocks of rows, data made on the way."""

    params = (list(ROWS), [100_000, 1_000_000])
    param_names = ("problem", "n")
    tiny = (["E1"], [20])

    def setup(self, problem: str, n: int) -> None:
        super().setup()
        if problem == "quadratic" and n > 100_000:
            raise NotImplementedError("minutes; docs/scaling.md has it")

    def time_path(self, problem: str, n: int) -> None:
        nvsd.nvsd_path(Blocks(problem, n), kernel=ROWS[problem][1])

    def peakmem_path(self, problem: str, n: int) -> None:
        self.time_path(problem, n)


class Landmarks(common.Single):
    """The path on landmarks, Gaussian kernel."""

    params = (list(LANDMARKS), [1000, 10_000, 50_000])
    param_names = ("problem", "n")
    tiny = (["sine"], [20])

    def setup(self, problem: str, n: int) -> None:
        super().setup()
        make, self.m = LANDMARKS[problem]
        self.X, self.y = make(n, common.SEED)[:2]

    def time_path(self, problem: str, n: int) -> None:
        kernel = Gaussian(0.5 * float(np.sqrt(self.X.shape[1])))
        m = min(self.m, n)
        nvsd.nvsd_path(self.X, self.y, kernel=kernel, nu=1e-5, n_taus=20, value_points=m)


class ThousandInputs(common.Single):
    """E1's function among many inputs: the matrix-free path, elimination, and HSIC Lasso."""

    n = 200
    params = (["path", "elimination", "HSIC Lasso"], [200, 1000])
    param_names = ("method", "d")
    tiny = (["path", "elimination", "HSIC Lasso"], [20])

    def setup(self, method: str, d: int) -> None:
        super().setup()
        self.X, self.y = make_e1(min(self.n, 2 * d), common.SEED, d)[:2]

    def time_select(self, method: str, d: int) -> Any:
        kernel = Gaussian(float(np.sqrt(d)))
        if method == "path":
            return nvsd.nvsd_path(self.X, self.y, kernel=kernel)
        if method == "elimination":
            return nvsd.select(self.X, self.y, method="eliminate", kernel=kernel)
        return hsic_sets(self.X, self.y)

    def peakmem_select(self, method: str, d: int) -> None:
        self.time_select(method, d)
