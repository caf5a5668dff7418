"""ADMM on a batch of τ, accelerated.

Each row of the batch is one τ. With w = φ + λ the three steps of the paper are one map w → w⁺:

    φ = prox_{τJ/κ}(w), λ = w − φ          S2 and S3 of the previous step
    θ = argmin E(θ) + κ/2 ‖Zθ − φ + λ‖²     S1
    w⁺ = w + α (Zθ − φ)                     over-relaxation α

and its fixed points are the solutions. Anderson's acceleration extrapolates the last few w. Every w
that it proposes gives a feasible dual point u = κ(w − prox(w)), so the certificate holds for any
extrapolation.

The path is solved upwards from the smallest τ, where the solution is near kernel ridge. Every batch
starts on a straight line between its neighbour and the flat end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nvsd.penalties import BoundPenalty, block_norms
from nvsd.representations.base import Problem
from nvsd.solvers.balance import balance
from nvsd.solvers.base import Mask, Solver, State
from nvsd.solvers.certificate import certificate_terms
from nvsd.solvers.flat import FlatPoint
from nvsd.solvers.points import Settings, norms
from nvsd.tolerances import LARGEST_KAPPA, SMALLEST_KAPPA, TINY

Array = NDArray[np.float64]

RELAXATION = 1.7  # α in (0, 2): the fastest on E1 to E3, where 1.5 to 1.8 are similar
MEMORY = 8  # steps that Anderson's acceleration uses: more cost memory, fewer cost iterations
# κ is balanced every ten iterations (Boyd et al. 2011, §3.4.1, on relative residuals), but only if
# it changes by more than the factor: a new κ costs a factorisation and the acceleration's history.
ADAPT_EVERY, ADAPT_FACTOR = 10, 6.0
LARGEST_MOVE = 1e3  # factor on κ at once: residuals far from a solution can mislead
START_KAPPA = 2.0  # times ‖u‖/‖φ‖, the ratio at which primal and dual steps have the same scale
START_RANGE = 1e8  # range of κ at the start, in units of the system
# S1 in single precision: the smallest tol, and the largest number of iterations. Up to there its
# errors, relative 1e-7, left the number of iterations on E1 and E3 unchanged.
ROUGH_TOL, ROUGH_ITER = 1e-7, 100
STEEPEST = 1e30  # largest ½‖e‖²_H over ‖e‖²: where S1 goes wrong, e may vanish and the gap not
SUBGRADIENT_STEP = 1e-3  # share of the largest derivative norm of kernel ridge


def on_lattice(factor: float) -> float:
    """The nearest power of four: batches, μ and penalties with the same κ share its factor."""
    return float(4.0 ** np.round(np.log(factor) / np.log(4.0)))


class ADMM(Solver):
    """Needs S1 for any κ; takes the elastic net's squared term in S1 or S2."""

    name = "admm"
    needs = ("s1", "ridge", "derivatives", "half_distance")
    quadratic = ("S2", "S1")
    adapt_every = ADAPT_EVERY
    problem: Problem

    def __init__(
        self, problem: Problem, penalty: BoundPenalty, flat: FlatPoint, settings: Settings
    ) -> None:
        super().__init__(problem, penalty, flat, settings)
        # With the squared term in S1, S2 only has the norms.
        self.in_s1 = settings.quadratic == "S1" and penalty.ridge > 0
        if not self.in_s1 and problem.balance is None:  # S1 with that term has one κ for all
            self.problem = problem.balanced(balance(problem, penalty))
        self.s2_penalty = penalty.without_ridge() if self.in_s1 else penalty
        self.rough = settings.tol >= ROUGH_TOL
        self.neighbour: tuple[float, Array, Array] | None = None

    def batches(self, ascending: Array) -> list[Array]:
        """Each batch spans a factor of at most about ten, so that one κ suits all its τ."""
        if not len(ascending):
            return []
        span = np.log10(ascending[-1] / ascending[0])
        return np.array_split(ascending, min(len(ascending), max(1, round(span))))

    def warm_start(self, tau: Array) -> State:
        """On the line from the neighbour to the flat point, where φ = 0."""
        self.rough = self.settings.tol >= ROUGH_TOL  # what fails at one κ may do at another
        known, phi, u = self.neighbour or self._near_ridge(float(tau[0]))
        if np.isfinite(self.flat.tau_max):
            way = ((tau - known) / (self.flat.tau_max - known))[:, None, None]
        else:
            way = np.zeros((len(tau), 1, 1))
        grown = np.repeat(u[None], len(tau), axis=0)
        self.problem.inputs(grown)[...] *= (tau / known)[:, None, None]
        flat = self.flat
        return self.start(
            tau, phi * (1.0 - way) + flat.phi * way, grown * (1.0 - way) + flat.u * way
        )

    def _near_ridge(self, tau: float) -> tuple[float, Array, Array]:
        """φ of kernel ridge, and τ times a subgradient of J near it."""
        z, u = self.problem.ridge()[1], self.problem.ridge_multiplier()
        of_inputs = self.problem.inputs(z)
        R = block_norms(of_inputs)
        ones = float(self.penalty.value(np.ones_like(R))[0])
        step = SUBGRADIENT_STEP * float(R.max()) / max(1.0, ones) or 1.0
        slope = (1.0 - self.penalty.shrinkage(R, step)) / step
        self.problem.inputs(u)[...] = tau * slope[:, :, None] * of_inputs
        return tau, z[0], u[0]

    def start(self, tau: Array, phi: Array, u: Array) -> State:
        """w = φ + u/κ."""
        kappa = self._start_kappa(self.problem.inputs(phi), self.problem.inputs(u))
        return State.begin(tau, kappa, phi + u / self.problem.kappas(kappa), MEMORY)

    def _start_kappa(self, phi: Array, u: Array) -> Array:
        """κ ∝ ‖u‖/‖φ‖, in units of the system and within START_RANGE."""
        system = self.problem.system
        root = np.ones(1) if self.problem.balance is None else np.sqrt(self.problem.balance)
        ridge = self.problem.inputs(self.problem.ridge()[1])
        largest = norms(root * phi).max() or norms(root * ridge)[0]
        size = np.maximum(norms(root * phi), 1e-3 * largest + TINY)
        kappa: Array = START_KAPPA * norms(u / root) / size / system.kappa_unit
        kappa = np.clip(kappa, 1 / START_RANGE, START_RANGE)
        if not system.any_kappa:
            kappa = np.full(len(kappa), on_lattice(float(np.exp(np.mean(np.log(kappa))))))
        return kappa * system.kappa_unit

    def prox(self, state: State, w: Array) -> Array:
        """φ = prox_{τJ/κ}(w), without the part of J that is in S1."""
        return self.problem.prox(self.s2_penalty, w, state.tau, state.kappa)

    def step(self, state: State) -> None:
        """S2 and S3 of the previous step, S1, over-relaxation."""
        kappa = self.problem.kappas(state.kappa)
        state.phi_before = self.prox(state, state.w)
        v = 2.0 * state.phi_before - state.w
        state.C, state.z = self._s1(state, v)
        state.w_next = state.w + RELAXATION * (state.z - state.phi_before)
        state.phi = self.prox(state, state.w_next)
        u = kappa * (state.w_next - state.phi)
        state.u = self.problem.feasible(self.s2_penalty, u, state.tau)
        state.multiplier = kappa * (state.z - v)
        if self.in_s1:
            more = self._shift(state)[:, None, None] * state.z
            state.u, state.multiplier = state.u + more, state.multiplier + more

    def _shift(self, state: State) -> Array:
        """2τc: the elastic net's squared term as a multiple of B in S1."""
        return np.asarray(2.0 * state.tau * self.penalty.ridge)

    def _s1(self, state: State, v: Array) -> tuple[Array, Array]:
        problem = self.problem.near(state.C, state.z) if state.history.count else self.problem
        s1 = problem.s1_roughly if self.rough else problem.s1
        if not self.in_s1:
            return s1(v, state.kappa)
        # Completing the square: κ' = κ + 2τc and v' = κv/κ'.
        kappa = state.kappa + self._shift(state)
        return s1((state.kappa / kappa)[:, None, None] * v, kappa)

    def look(self, state: State, iteration: int) -> Mask:
        """Which rows have a gap of at most tol.

        The first term of the gap needs no product. The second is ½‖e‖² in the norm of H, with
        e = multiplier − u. From one iteration to the next it falls nearly as ‖e‖² does, so the
        gap is computed only where that promises enough.
        """
        gap = self.problem.fenchel_gap(self.penalty, state.tau, state.z, state.u)
        square = norms(state.multiplier - state.u) ** 2
        gap += state.curve * square
        rows = np.flatnonzero(gap <= self.limit)
        if len(rows):
            gap[rows], half = self._certify(state, rows)
            state.curve[rows] = half / np.maximum(square[rows], half / STEEPEST + TINY)
        self.rough &= iteration < ROUGH_ITER
        state.gap = gap
        return np.asarray(gap <= self.limit)

    def _certify(self, state: State, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """The gap of these rows and its first term; S1 is refined where its rounding shows."""
        gap, half = self._terms(state, rows)
        bad = gap - half > self.limit  # S1's own Zθ had promised less
        if self.rough and bad.any():
            these = rows[bad]
            kappa = state.kappa[these] + (self._shift(state)[these] if self.in_s1 else 0.0)
            C = self.problem.refined(state.C[these], state.z[these], kappa)
            state.multiplier[these] += (C - state.C[these]).reshape(state.z[these].shape)
            state.C[these] = C
            gap[bad], half[bad] = self._terms(state, these)
            self.rough = not (gap - half > self.limit).any()
        return gap, half

    def _terms(self, state: State, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        C, u = state.C[rows], state.u[rows]
        return certificate_terms(self.problem, self.penalty, state.tau[rows], C, u)

    def learn(self, state: State, rows: Mask) -> None:
        """The solution of the largest τ is the neighbour of the next batch.

        Below τ_max, that is: the line to the flat point starts there. At τ = 0 the dual point of
        the inputs is 0, and does not tell how it grows.
        """
        inside = (state.tau > 0) & (state.tau < self.flat.tau_max)
        for row in np.flatnonzero(rows & inside):
            if self.neighbour is None or state.tau[row] > self.neighbour[0]:
                self.neighbour = float(state.tau[row]), state.phi[row], state.u[row]

    def adapt(self, state: State) -> None:
        """Multiply κ by √(relative primal / relative dual residual) where that is far from 1."""
        primal, dual = self.residuals(state)
        z, phi, u = (norms(self.problem.inputs(each)) for each in (state.z, state.phi, state.u))
        relative_primal = primal / np.maximum(np.maximum(z, phi), TINY)
        relative_dual = dual / np.maximum(u, TINY)
        factor = np.sqrt(np.maximum(relative_primal, TINY) / np.maximum(relative_dual, TINY))
        factor = np.clip(factor, 1 / LARGEST_MOVE, LARGEST_MOVE)
        system = self.problem.system
        if not system.any_kappa:
            factor = np.full_like(factor, on_lattice(float(np.median(factor))))
        factor[(factor < ADAPT_FACTOR) & (factor > 1.0 / ADAPT_FACTOR)] = 1.0
        unit = state.kappa * factor / system.kappa_unit
        factor[(unit < SMALLEST_KAPPA) | (unit > LARGEST_KAPPA)] = 1.0
        moved = factor != 1.0
        if moved.any():
            # φ and u = κλ stay; λ is rescaled.
            w = self.problem.inputs(state.w)
            phi = self.problem.inputs(self.prox(state, state.w))
            w[...] = phi + (w - phi) / factor[:, None, None]
            state.kappa = state.kappa * factor
            state.history.forget(moved)
