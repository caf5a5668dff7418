"""`growth` at large sizes; one call each."""

from __future__ import annotations

from typing import Any

from asv_runner.benchmarks.mark import SkipNotImplemented

from . import common, growth


def path(problem: common.Problem) -> Any:
    """The path, or no result where the library says that it does not fit in memory."""
    try:
        return problem.path()
    except ValueError as error:
        if "GiB" in str(error):
            raise SkipNotImplemented(str(error)) from error
        raise


class PolynomialRows(common.Single):
    params = ([10_000, 30_000, 100_000],)
    param_names = growth.PolynomialRows.param_names
    tiny = ([12],)

    def time_path(self, n: int) -> None:
        path(common.problem("E1", n))

    def peakmem_path(self, n: int) -> None:
        path(common.problem("E1", n))


class GaussianRows(common.Single):
    params = ([250, 500],)
    param_names = growth.GaussianRows.param_names
    tiny = ([12],)

    def time_path(self, n: int) -> None:
        path(common.problem("E3", n))

    def peakmem_path(self, n: int) -> None:
        path(common.problem("E3", n))


class Inputs(common.Single):
    n = growth.Inputs.n
    params = (["Polynomial", "Gaussian"], [50, 100, 200])
    param_names = growth.Inputs.param_names
    tiny = (["Gaussian"], [3])

    def setup(self, kernel: str, d: int) -> None:
        super().setup()
        if kernel == "Polynomial" and d > 100:
            raise NotImplementedError("from d = 50 on both kernels have the same representation")

    def time_path(self, kernel: str, d: int) -> None:
        path(common.wide(kernel, self.n, d))

    def peakmem_path(self, kernel: str, d: int) -> None:
        path(common.wide(kernel, self.n, d))
