"""ADMM on a batch of τ, accelerated, with a duality gap for every point it returns.

Each row of the batch is one τ. With w = φ + λ the three steps of the paper are one map w → w⁺:

    φ = prox_{τJ/κ}(w), λ = w − φ          S2 and S3 of the step before
    θ = argmin E(θ) + κ/2 ‖Zθ − φ + λ‖²     S1
    w⁺ = w + α (Zθ − φ)                     over-relaxation α

and its fixed points are the solutions. Anderson's acceleration extrapolates the last few w; any w
it proposes still gives a feasible dual point u = κ(w − prox(w)), so the certificate holds whatever
the extrapolation does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from nvsd.anderson import Anderson
from nvsd.penalties import BoundPenalty
from nvsd.representation import Problem

Array = NDArray[np.float64]


class Status(IntEnum):
    """How a τ ended."""

    CONVERGED = 0
    CLOSED_FORM = 1
    MAX_ITER = 2

    @property
    def remedy(self) -> str:
        """What the status means and what to do about it."""
        return {
            Status.CONVERGED: "the duality gap is at most tol times the mean square of y",
            Status.CLOSED_FORM: "the solution is known exactly, no iteration was needed",
            Status.MAX_ITER: "the gap is above tol: raise max_iter, or tol, or nu",
        }[self]


@dataclass(frozen=True)
class Settings:
    """Constants of the iteration.

    Parameters
    ----------
    tol : float
        Stop when gap <= tol * (1/n)||y||^2.
    max_iter : int
        For each tau.
    relaxation : float
        α, in (0, 2).
    memory : int
        How many steps Anderson's acceleration looks back; 0 turns it off.
    adapt_every, adapt_factor : int, float
        Every so many iterations κ is balanced (Boyd et al. 2011, §3.4.1, on relative residuals), if
        it moves by more than the factor.
    quadratic : {"S2", "S1"}
        Where the elastic net's squared term goes: Proposition 4 of the paper, or its footnote.
    """

    tol: float = 1e-6
    max_iter: int = 5000
    relaxation: float = 1.7
    memory: int = 8
    adapt_every: int = 10
    adapt_factor: float = 6.0
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
        names = self.__dataclass_fields__
        return Points(**{name: getattr(self, name)[rows] for name in names})

    @classmethod
    def join(cls, parts: list[Points]) -> Points:
        """All points in the order of descending τ."""
        names = cls.__dataclass_fields__
        stacked = {name: np.concatenate([getattr(p, name) for p in parts]) for name in names}
        order = np.argsort(-stacked["tau"], kind="stable")
        return cls(**{name: values[order] for name, values in stacked.items()})


def on_lattice(factor: float) -> float:
    """The nearest power of four: batches, μ and penalties with the same κ share its factor."""
    return float(4.0 ** np.round(np.log(factor) / np.log(4.0)))


def row_norms(Z: Array) -> Array:
    """Norms of the blocks, (k, d, rows) -> (k, d)."""
    return np.asarray(np.sqrt(np.einsum("kam,kam->ka", Z, Z)))


def norms(Z: Array) -> Array:
    """Norm of each row, all blocks together."""
    flat = Z.reshape(len(Z), -1)
    return np.asarray(np.sqrt(np.einsum("kp,kp->k", flat, flat)))


def feasible(penalty: BoundPenalty, tau: Array, u: Array) -> Array:
    """Undo by a factor just below 1 what rounding has put outside the dual ball of τJ."""
    if penalty.ridge > 0:
        return u
    unpenalised = penalty.feature_weights + penalty.group_weights[penalty.labels] == 0
    u[:, unpenalised] = 0.0
    gauge = np.maximum(penalty.gauge(row_norms(u).T), tau)
    return u * (tau / gauge)[:, None, None]


def fenchel_gap(penalty: BoundPenalty, tau: Array, z: Array, u: Array) -> Array:
    """τJ(z) + (τJ)*(u) − uᵀz ≥ 0, the second term of the duality gap."""
    J = penalty.value(row_norms(z).T)
    conjugate = penalty.conjugate(row_norms(u).T, tau)
    inner = np.einsum("kam,kam->k", u, z)
    return np.asarray(np.maximum(tau * J + conjugate - inner, 0.0))


def certificate(problem: Problem, penalty: BoundPenalty, tau: Array, C: Array, u: Array) -> Array:
    """Gap between the objective at θ and a lower bound on the optimum, from a feasible u.

        gap(θ, u) = ½‖θ − θ(u)‖²_A + [ τJ(Zθ) + (τJ)*(u) − uᵀZθ ]

    Both terms are non-negative. Nothing here uses a factorisation of S1, nor κ.
    """
    gap = fenchel_gap(penalty, tau, problem.derivatives(C), u) + problem.half_distance(C, u)
    return np.asarray(gap)


def solve_batch(
    problem: Problem,
    penalty: BoundPenalty,
    tau: Array,
    phi: Array,
    u: Array,
    kappa: Array,
    settings: Settings,
    tick: Callable[[int], object] = lambda done: None,
) -> Points:
    """Solve for all τ of a batch at once; rows leave it as they converge.

    Parameters
    ----------
    phi, u : (k, d, rows) arrays
        Where to start: derivatives and dual point.
    kappa : (k,) array
        Step sizes to start with; all equal when the factorisation is one per κ.
    tick : callable
        Told how many τ have just been finished.
    """
    state = _Iterate(problem, penalty, tau, phi, u, kappa, settings)
    done: list[Points] = []
    for iteration in range(1, settings.max_iter + 1):
        state.step()
        finished = state.certified(iteration)
        if iteration == settings.max_iter:
            finished[:] = True
        if finished.any():
            done.append(state.leave(finished, iteration))
            tick(int(finished.sum()))
            if not len(state.tau):
                break
        state.extrapolate()
        if iteration % settings.adapt_every == 0:
            state.balance_kappa()
    return Points.join(done)


class _Iterate:
    """The running rows of a batch: w, κ, the last S1 and S2, and the history of w."""

    def __init__(
        self,
        problem: Problem,
        penalty: BoundPenalty,
        tau: Array,
        phi: Array,
        u: Array,
        kappa: Array,
        settings: Settings,
    ) -> None:
        self.problem, self.settings, self.full_penalty = problem, settings, penalty
        # With the squared term in S1, S2 is left with the norms.
        self.in_s1 = settings.quadratic == "S1" and penalty.ridge > 0
        self.penalty = penalty.without_ridge() if self.in_s1 else penalty
        self.tau, self.kappa = tau, kappa
        self.wait_until = np.zeros(len(tau))
        self.w = phi + u / kappa[:, None, None]
        self.history = Anderson(self.w.shape, settings.memory)

    def prox(self, w: Array) -> Array:
        """φ = prox_{τJ/κ}(w)."""
        factors = self.penalty.shrinkage(row_norms(w).T, self.tau / self.kappa)
        return factors.T[:, :, None] * w

    def step(self) -> None:
        """One iteration of ADMM from w."""
        kappa = self.kappa[:, None, None]
        self.phi_before = self.prox(self.w)
        v = 2.0 * self.phi_before - self.w
        self.C, self.z = self._s1(v)
        self.v = v
        self.w_next = self.w + self.settings.relaxation * (self.z - self.phi_before)
        self.phi = self.prox(self.w_next)
        self.u = self._feasible(kappa * (self.w_next - self.phi))
        if self.in_s1:
            self.u = self.u + self._shift()[:, None, None] * self.z

    def _feasible(self, u: Array) -> Array:
        return feasible(self.penalty, self.tau, u)

    def _shift(self) -> Array:
        """2τc: the elastic net's squared term as a multiple of B in S1."""
        return np.asarray(2.0 * self.tau * self.full_penalty.ridge)

    def _s1(self, v: Array) -> tuple[Array, Array]:
        if not self.in_s1:
            return self.problem.s1(v, self.kappa)
        # Completing the square: κ' = κ + 2τc and v' = κv/κ'.
        kappa = self.kappa + self._shift()
        return self.problem.s1((self.kappa / kappa)[:, None, None] * v, kappa)

    def multiplier(self) -> Array:
        """The u' with θ = θ(u')."""
        u = self.kappa[:, None, None] * (self.z - self.v)
        return u + self._shift()[:, None, None] * self.z if self.in_s1 else u

    def residuals(self) -> tuple[Array, Array]:
        """Primal ‖Zθ − φ‖ and dual κ‖φ − φ_before‖."""
        return norms(self.z - self.phi), self.kappa * norms(self.phi - self.phi_before)

    def certified(self, iteration: int) -> NDArray[np.bool_]:
        """Which rows have a gap of at most tol.

        The terms are tried in the order of their cost: first the one that needs no product, then
        the distance; what passes both is certified anew, without relying on S1's own Zθ. A row
        whose distance is far too large is left alone for a while.
        """
        limit = self.settings.tol * self.problem.scale
        gap = fenchel_gap(self.full_penalty, self.tau, self.z, self.u)
        gap[self.wait_until > iteration] = np.inf
        rows = np.flatnonzero(gap <= limit)
        if len(rows):
            gap[rows] += self.problem.half_distance(self.C[rows], self.u[rows])
            excess = gap[rows] / max(limit, np.finfo(float).tiny)
            # The gap falls by a factor of about four in an iteration where it falls fast.
            self.wait_until[rows] = iteration + np.clip(np.log(excess + 1e-300) / np.log(4), 1, 8)
            rows = rows[excess <= 1.0]
        if len(rows):
            gap[rows] = self.gap(rows)
        self.known_gap = gap
        return gap <= limit

    def gap(self, rows: NDArray[np.intp]) -> Array:
        """The duality gap of these rows, from scratch."""
        return certificate(
            self.problem, self.full_penalty, self.tau[rows], self.C[rows], self.u[rows]
        )

    def leave(self, finished: NDArray[np.bool_], iteration: int) -> Points:
        """Take the finished rows out of the batch."""
        rows = np.flatnonzero(finished)
        primal, dual = self.residuals()
        gap = self.known_gap[rows]
        converged = gap <= self.settings.tol * self.problem.scale
        if not converged.all():
            gap[~converged] = self.gap(rows[~converged])
            converged = gap <= self.settings.tol * self.problem.scale
        points = Points(
            self.tau[rows],
            self.C[rows],
            self.phi[rows],
            self.multiplier()[rows],
            self.u[rows],
            gap,
            self.kappa[rows],
            np.full(len(rows), iteration),
            primal[rows],
            dual[rows],
            np.where(converged, Status.CONVERGED, Status.MAX_ITER),
        )
        stay = ~finished
        for name in (
            "tau",
            "kappa",
            "wait_until",
            "w",
            "w_next",
            "phi",
            "phi_before",
            "z",
            "v",
            "u",
        ):
            setattr(self, name, getattr(self, name)[stay])
        self.C = self.C[stay]
        self.history.keep(stay)
        return points

    def extrapolate(self) -> None:
        """Move to the accelerated w."""
        self.w = self.history.extrapolate(self.w, self.w_next)

    def balance_kappa(self) -> None:
        """Multiply κ by √(relative primal / relative dual residual) where that is far from 1."""
        primal, dual = self.residuals()
        tiny = np.finfo(float).tiny
        relative_primal = primal / np.maximum(np.maximum(norms(self.z), norms(self.phi)), tiny)
        relative_dual = dual / np.maximum(norms(self.u), tiny)
        factor = np.sqrt(np.maximum(relative_primal, tiny) / np.maximum(relative_dual, tiny))
        factor = np.clip(factor, 1e-3, 1e3)
        system = self.problem.representation.system
        if not system.any_kappa:
            factor = np.full_like(factor, on_lattice(float(np.median(factor))))
        limit = self.settings.adapt_factor
        factor[(factor < limit) & (factor > 1.0 / limit)] = 1.0
        # Beyond these bounds one of the two terms of S1 is lost to rounding.
        unit = self.kappa * factor / system.kappa_unit
        factor[(unit < 1e-10) | (unit > 1e10)] = 1.0
        moved = factor != 1.0
        if moved.any():
            # φ and u = κλ stay; λ is rescaled.
            phi = self.prox(self.w)
            self.w = phi + (self.w - phi) / factor[:, None, None]
            self.kappa = self.kappa * factor
            self.history.forget(moved)
