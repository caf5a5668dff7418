"""Small problems with losses that are not quadratic, and the truth about them from `reference`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from path_problems import EPS, Case, monomials_by_loops
from path_problems import sample as plain_sample
from scipy.optimize import minimize_scalar

import reference
from nvsd.kernels import Kernel
from nvsd.losses import Huber, Logistic, Loss, Quantile
from nvsd.penalties import Penalty
from reference.objective import Objective

LOSSES: list[Loss] = [Logistic(), Huber(0.5), Quantile(0.5), Quantile(0.1)]
SPECIAL = ["plain", "rows", "outliers", "separable", "imbalanced"]


def sample(seed: int, n: int, d: int, loss: Loss, special: str = "plain") -> tuple[Any, Any]:
    """X and y, with rows that repeat, outliers, or classes that are apart or of unequal sizes."""
    X, y = plain_sample(seed, n, d, "rows" if special == "rows" else "plain")
    if not loss.of_classes:
        if special == "outliers":
            y[:2] += 1e3, -30.0
        return X, np.round(y) if special == "separable" else y  # ties are what numbers have
    if special == "imbalanced":
        return X, np.where(np.arange(n) == np.argmax(y), "yes", "no")
    noise = 0.0 if special == "separable" else 3.0
    score = y + noise * np.random.default_rng(seed).standard_normal(n)
    return X, np.where(score > np.median(score), "yes", "no")


@dataclass(frozen=True)
class LossTruth:
    """The minimum at one τ, and how far the reference's own norms may be from those there."""

    tau: float
    minimum: float
    accuracy: float
    derivative_norm: np.ndarray
    blur: np.ndarray


@dataclass(frozen=True, eq=False)
class LossCase:
    """One problem, with the truth at any τ."""

    X: np.ndarray
    y: np.ndarray
    kernel: Kernel
    penalty: Penalty
    nu: float
    loss: Loss
    weights: np.ndarray | None = None
    center: bool = True

    @property
    def prepared(self) -> dict[str, Any]:
        """Arguments of `prepare`."""
        given = {"kernel": self.kernel, "nu": self.nu, "loss": self.loss}
        return given | {"sample_weight": self.weights}

    @cached_property
    def problem(self) -> reference.Problem:
        return reference.Problem(
            self.X, self.y, penalty=self.penalty, center=self.center, **self.prepared
        )

    @property
    def objective(self) -> Objective:
        return self.problem.objective

    @cached_property
    def unit(self) -> float:
        """The loss of the best constant."""
        o, zero = self.objective, np.zeros(len(self.X))
        if not o.free:
            return o.mean_loss(zero)
        span = float(np.abs(o.y).max()) + 10.0
        best = minimize_scalar(
            lambda c: o.mean_loss(zero + c), bounds=(-span, span), options={"xatol": 1e-12}
        )
        kinks = [o.mean_loss(zero + c) for c in o.y]
        return min(float(best.fun), *kinks)

    @cached_property
    def tau_unit(self) -> float:
        """Where τJ of kernel ridge is as large as the loss of f = 0: shrinkage is strong."""
        o = self.objective
        alpha = np.linalg.solve(o.K + o.n * (o.nu + 1e-3) * np.eye(o.n), o.y - o.y.mean())
        return self.unit / o.penalty((o.D @ alpha).reshape(o.d, o.n))

    def truth(self, tau: float) -> LossTruth:
        s, o = self.problem.solve(tau), self.objective
        accuracy = s.accuracy + self._rounding(s, tau)
        Z = o.root[o.n :].reshape(o.d, o.n, -1) / np.sqrt(o.n)
        steepest = np.array([np.linalg.norm(Z_a, 2) for Z_a in Z])
        blur = steepest * np.sqrt(accuracy / o.nu)
        return LossTruth(tau, s.objective, accuracy, s.derivative_norm, blur)

    def _rounding(self, s: reference.Solution, tau: float) -> float:
        """How much the minimum moves when G does; see `path_problems.Case`."""
        o, omega_s = self.objective, np.append(s.alpha, s.beta)
        u, v = self.problem._witness(omega_s, s.intercept - o.mean, tau)
        u = u - o.threshold(u, tau)
        beta = -(u + 2 * tau * o.terms.ridge / o.n * o.derivatives(omega_s)) / (2 * o.nu)
        omega = np.append(-o.admissible(v) / (2 * o.nu), beta)
        cut = o.nu * omega @ (o.G - o.root @ o.root.T) @ omega
        return 2 * abs(cut) + 2 * o.nu * EPS * np.linalg.norm(o.G, 2) * omega @ omega

    def dense_parts(self, row: xr.Dataset) -> dict[str, float]:
        """Loss, penalty and squared norm of the stored function, and their rounding errors."""
        o = self.objective
        if "alpha" in row:
            omega = np.append(row.alpha.values, row.beta.values)
            f, phi, norm = o.values(omega), o.derivatives(omega), float(omega @ o.G @ omega)
            size = float(np.abs(omega) @ np.abs(o.G) @ np.abs(omega))
            spread = (np.abs(o.G) @ np.abs(omega)).max()
        else:
            theta = row.theta.values
            twin = Case(self.X, np.zeros(o.n), self.kernel, self.penalty, self.nu)
            f, phi = monomials_by_loops(twin, theta)
            norm = size = float(theta @ theta)
            spread = np.abs(theta).sum() * max(1.0, float(np.abs(f).max()))
        f = f + float(row.intercept) - o.mean
        error = EPS * len(o.G) * spread  # of each value and derivative
        steepness = float(np.abs(o.loss.slopes(o.y, f)).max()) + 2 * error
        return {
            "loss": o.mean_loss(f),
            "penalty": o.penalty(phi),
            "rkhs_norm": norm,
            "fitted": f + o.mean,
            "loss_error": error * steepness,
            "penalty_error": error * len(o.terms.norms) * 10,
            "norm_error": EPS * len(o.G) * size,
            "error": error,
        }
