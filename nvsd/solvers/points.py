"""Solutions, one row per τ; the settings of an iteration; its history."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """Constants of the iteration.

    Parameters
    ----------
    tol : float
        Stop when gap <= tol * (1/n)||y||^2.
    max_iter : int
        For each tau.
    quadratic : {"S2", "S1"}
        Where the elastic net's squared term goes: Proposition 4 of the paper, or its footnote.
    """

    tol: float = 1e-6
    max_iter: int = 5000
    quadratic: str = "S2"


@dataclass
class Points:
    """Solutions, one row per τ: what S1, S2 and the certificate know of them."""

    tau: Array
    C: Array  # coefficients of θ
    phi: Array  # (k, d, rows): exact zeros show the support
    multiplier: Array  # κ(Zθ − v) of S1: θ = θ(multiplier)
    u: Array  # feasible dual point
    gap: Array
    kappa: Array
    n_iter: NDArray[np.intp]
    primal_residual: Array
    dual_residual: Array
    status: NDArray[np.intp]

    def at(self, rows: NDArray[np.intp]) -> Points:
        """Some of the points."""
        return Points(**{each.name: getattr(self, each.name)[rows] for each in fields(self)})

    @classmethod
    def join(cls, parts: list[Points]) -> Points:
        """All points in the order of descending τ."""
        names = [each.name for each in fields(cls)]
        stacked = {name: np.concatenate([getattr(p, name) for p in parts]) for name in names}
        order = np.argsort(-stacked["tau"], kind="stable")
        return cls(**{name: values[order] for name, values in stacked.items()})


@dataclass
class Trace:
    """The history of an iteration, a row for each τ and step."""

    rows: list[tuple[Array, ...]] = field(default_factory=list)

    NAMES = ("tau", "iteration", "gap", "primal_residual", "dual_residual", "kappa")

    def add(self, tau: Array, iteration: int, *columns: Array) -> None:
        """Take in one step of a batch: gap, primal and dual residuals, κ."""
        self.rows.append((tau, np.full(len(tau), float(iteration)), *columns))

    def take(self, other: Trace, taus: Array) -> None:
        """Take in the rows of another history that belong to these τ."""
        for row in other.rows:
            kept = np.isin(row[0], taus)
            self.rows.append(tuple(column[kept] for column in row))

    def columns(self) -> dict[str, Array]:
        """All rows, the τ in descending order and within each the iterations as they came."""
        if not self.rows:
            return {name: np.empty(0) for name in self.NAMES}
        stacked = [np.concatenate(parts) for parts in zip(*self.rows, strict=True)]
        order = np.argsort(-stacked[0], kind="stable")
        return {name: values[order] for name, values in zip(self.NAMES, stacked, strict=True)}


def norms(Z: Array) -> Array:
    """Norm of each row, all blocks together."""
    flat = Z.reshape(len(Z), -1)
    return np.asarray(np.sqrt(np.einsum("kp,kp->k", flat, flat)))
