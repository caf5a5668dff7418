"""Growth of the 50-point path in rows, inputs and τ; `full_growth` goes on to large sizes."""

from __future__ import annotations

from . import common


class PolynomialRows(common.Timed):
    """Rows, E1 with the cubic kernel, d = 18."""

    params = ([100, 300, 1000, 3000],)
    param_names = ("n",)

    def time_path(self, n: int) -> None:
        common.problem("E1", n).path()

    def peakmem_path(self, n: int) -> None:
        common.problem("E1", n).path()


class GaussianRows(common.Timed):
    """Rows, E3 with the Gaussian kernel, d = 18."""

    params = ([30, 60, 120],)
    param_names = ("n",)

    def time_path(self, n: int) -> None:
        common.problem("E3", n).path()

    def peakmem_path(self, n: int) -> None:
        common.problem("E3", n).path()


class Inputs(common.Timed):
    """Inputs, n = 100."""

    n = 100
    params = (["Polynomial", "Gaussian"], [6, 12, 25])
    param_names = ("kernel", "d")

    def time_path(self, kernel: str, d: int) -> None:
        common.wide(kernel, self.n, d).path()

    def peakmem_path(self, kernel: str, d: int) -> None:
        common.wide(kernel, self.n, d).path()


class Taus(common.Timed):
    """Points of the path, n = 70."""

    n = 70
    params = (list(common.PROBLEMS), [1, 10, 50, 200])
    param_names = ("problem", "n_taus")

    def time_path(self, name: str, n_taus: int) -> None:
        common.problem(name, self.n).path(n_taus=n_taus)
