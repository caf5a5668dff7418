"""From kernel and samples to what the solver sees, and the factorisation behind S1."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import nvsd
from nvsd.representations.base import Representation
from nvsd.representations.systems import ShiftedSystem, shifted_system

from . import common

KINDS = sorted({k.kind for k in common.concrete(Representation).values() if hasattr(k, "kind")})


def prepare(name: str, kind: str, n: int) -> nvsd.Prepared:
    p = common.problem(name, n)
    return nvsd.prepare(p.X, kernel=p.kernel, nu=common.NU, representation=kind)


@cache
def applies(name: str, kind: str) -> bool:
    """Whether the library accepts the representation for this kernel."""
    try:
        prepare(name, kind, 12)
    except ValueError:
        return False
    return True


class Preparation(common.Timed):
    """`nvsd.prepare`: everything that y, penalty and τ share."""

    params = (list(common.PROBLEMS), ["auto", *KINDS], [30, 110])
    param_names = ("problem", "representation", "n")

    def setup(self, name: str, kind: str, n: int) -> None:
        super().setup()
        if not applies(name, kind):
            raise NotImplementedError(f"{kind} is not for this kernel")

    def time_prepare(self, name: str, kind: str, n: int) -> None:
        prepare(name, kind, n)

    def peakmem_prepare(self, name: str, kind: str, n: int) -> None:
        prepare(name, kind, n)


def batch(order: int) -> tuple[np.ndarray, np.ndarray]:
    """One κ and 17 right-hand sides."""
    B = np.random.default_rng(common.SEED).standard_normal((17, order))
    return np.full(17, 0.1), B


@cache
def factorised(method: str, order: int) -> ShiftedSystem:
    """A system that has met the κ."""
    system = shifted_system(common.floor_matrix(order), method=method)
    system.solve(*batch(order))
    return system


class Factorisation(common.Timed):
    """(I + κM)x = b for a new κ and a batch of 17 right-hand sides."""

    params = (["cholesky", "diagonal"], [200, 540, 1260, 1980])
    param_names = ("method", "order")

    def setup(self, method: str, order: int) -> None:
        super().setup()
        self.M, self.batch = common.floor_matrix(order), batch(order)

    def time_factorise(self, method: str, order: int) -> None:
        shifted_system(self.M, method=method).solve(*self.batch)

    def peakmem_factorise(self, method: str, order: int) -> None:
        self.time_factorise(method, order)


class Solve(common.Timed):
    """The same for a κ met before."""

    repeat = (3, 10, 0.5)
    params = Factorisation.params
    param_names = Factorisation.param_names

    def setup(self, method: str, order: int) -> None:
        super().setup()
        self.system, self.batch = factorised(method, order), batch(order)

    def time_solve(self, *params: Any) -> None:
        self.system.solve(*self.batch)
