"""Losses that are not quadratic: the loss is split off, as the penalty is.

    minimise ν‖θ‖² + L(s) + τJ(z)      subject to  s = Φθ,  z = Zθ

Arrays have one block more than there are inputs, and it comes first: w is (k, 1 + d, n), with s in
block 0. Step S2 is the prox of L there and that of τJ in the others; step S1 is that of a quadratic
loss, see `nvsd.representations.splitting`. For any v with Σ_i v_i = 0 in the domain of L*, and any
u in that of (τJ)*, the duality gap has three terms, none of them negative:

    [ L(s) + L*(v) − vᵀs ]  +  [ τJ(z) + (τJ)*(u) − uᵀz ]  +  ν‖θ − θ(v, u)‖²
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.losses import LossTerm
from nvsd.penalties import BoundPenalty
from nvsd.representations.base import Problem, Representation
from nvsd.representations.flat_end import FLAT_KAPPA
from nvsd.representations.returned import Solution
from nvsd.representations.splitting import Curves, Image
from nvsd.solvers.anderson import Anderson

Array = NDArray[np.float64]

RELAXATION = 1.7  # as in ADMM
MEMORY = 8  # steps that Anderson's acceleration uses
# The ends of a path have no closed form. They are iterated to this gap, in units of the scale; the
# driver goes on from there if tol asks for more.
END_GAP = 1e-9
# Shares of the κ of the flat end, tried in turn: explicit features lose digits to a large one.
FLAT_SHARES = (1.0, 1e-3, 1e-5)
END_ITER = 2000  # largest number of iterations at an end
# Iterations without a smaller gap, after which the rest is rounding; more while the gap is rough,
# for with a small ν it may grow for long before it falls.
PATIENCE, MORE_PATIENCE, ROUGH_GAP = 50, 200, 1e-6


class End(NamedTuple):
    """A solution at an end of the path, its dual point (1, 1 + d, n), and its gap."""

    image: Image
    u: Array
    gap: float


class SplitProblem(Problem):
    """A representation with a loss that S2 takes; C are the coefficients of its splitting."""

    term: LossTerm

    def __init__(self, representation: Representation, term: LossTerm) -> None:
        self.representation, self.term = representation, term
        self.y, self.scale = term.y, term.scale
        self.splitting = representation.splitting()

    @property
    def shape(self) -> tuple[int, int]:
        """1 + d blocks of n rows."""
        d, n = self.representation.shape
        return 1 + d, n

    def inputs(self, Z: Array) -> Array:
        """All blocks but the first."""
        return Z[:, 1:]

    def kappas(self, kappa: Array) -> Array:
        """That of the splitting for s, κ for the derivatives: (k, 1 + d, 1)."""
        each = np.repeat(kappa[:, None], self.shape[0], axis=1)
        each[:, 0] = self.splitting.kappa
        return each[:, :, None]

    def metric(self, kappa: Array) -> Array | None:
        """The roots of `kappas`."""
        return np.sqrt(self.kappas(kappa) / kappa[:, None, None])

    def prox(self, penalty: BoundPenalty, W: Array, tau: Array, kappa: Array) -> Array:
        """The prox of L/κ in block 0, and of τJ/κ in the others."""
        s = self.term.prox(W[:, 0], self.splitting.kappa)
        return _stacked(s, penalty.prox(W[:, 1:], tau / kappa))

    def feasible(self, penalty: BoundPenalty, U: Array, tau: Array) -> Array:
        """v and u in the domains of the conjugates."""
        return _stacked(self.term.feasible(U[:, 0]), penalty.feasible(U[:, 1:], tau))

    def fenchel_gap(self, penalty: BoundPenalty, tau: Array, Z: Array, U: Array) -> Array:
        """The first two terms of the duality gap."""
        of_loss = self.term.fenchel_gap(Z[:, 0], U[:, 0])
        return super().fenchel_gap(penalty, tau, Z[:, 1:], U[:, 1:]) + of_loss

    def s1(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """C, and s and Zθ."""
        image = self.splitting.s1(np.ascontiguousarray(V[:, 0]), V[:, 1:], kappa)
        return image.C, _stacked(image.s, image.z)

    def derivatives(self, C: Array) -> Array:
        """Return s and Zθ."""
        image = self.splitting.image(C)
        return _stacked(image.s, image.z)

    def half_distance(self, C: Array, U: Array) -> Array:
        """ν‖θ − θ(v, u)‖²."""
        step = C - self.splitting.match(U[:, 0], U[:, 1:])
        return np.asarray(self.representation.nu * self.splitting.square_norm(step))

    def ridge(self) -> tuple[Array, Array]:
        """C, and s and Zθ, at τ = 0."""
        end = self._ridge
        return end.image.C, _stacked(end.image.s, end.image.z)

    def ridge_multiplier(self) -> Array:
        """v, and u = 0."""
        return self._ridge.u.copy()

    @cached_property
    def _ridge(self) -> End:
        """The loss alone, by S1 and S2 on s."""
        none = np.zeros((1, *self.representation.shape))
        return self._end(lambda T: (self.splitting.ridge(T), none))

    def flat(self) -> tuple[Array, Array, Array]:
        """C, s and Zθ, v and u at the minimum subject to Zθ = 0."""
        end = self._flat
        return end.image.C, _stacked(end.image.s, end.image.z), end.u

    @cached_property
    def _flat(self) -> End:
        """By the method of multipliers for the constraint, with the κ of a quadratic loss."""
        ends: list[End] = []
        for share in FLAT_SHARES:
            kappa = share * FLAT_KAPPA * self.representation.system.kappa_unit
            ends.append(self._end(self._flat_step(kappa)))
            if ends[-1].gap <= (ROUGH_GAP if share == FLAT_SHARES[0] else END_GAP) * self.scale:
                break
        return min(ends, key=lambda end: end.gap)

    def _flat_step(self, size: float) -> Callable[[Array], tuple[Image, Array]]:
        kappa, u = np.array([size]), np.zeros((1, *self.representation.shape))

        def step(T: Array) -> tuple[Image, Array]:
            image = self.splitting.s1(T, -u / kappa, kappa)
            u[...] += kappa * image.z
            return image, u

        return step

    def _end(self, s1: Callable[[Array], tuple[Image, Array]]) -> End:
        """The fixed point of S1 and S2 on s alone; S1 also gives the multiplier of its Zθ."""
        term, kappa, nu = self.term, self.splitting.kappa, self.representation.nu
        v = term.at_constant()
        if not self.scale:  # y is constant: f = 0 is exact, and nothing is small beside the scale
            u = np.zeros((1, *self.shape))
            return End(self.splitting.image(self.splitting.match(v, u[:, 1:])), u, 0.0)
        w, history = v / kappa, Anderson(v.shape, MEMORY)
        best, least, since = None, np.inf, 0
        for _ in range(END_ITER):
            s = term.prox(w, kappa)
            image, u = s1(2.0 * s - w)
            w_next = w + RELAXATION * (image.s - s)
            v = term.feasible(kappa * (w_next - term.prox(w_next, kappa)))
            step = image.C - self.splitting.match(v, u)
            gap = term.fenchel_gap(image.s, v) + nu * self.splitting.square_norm(step)
            since += 1
            if best is None or gap[0] < least:
                least, since = float(np.fmin(gap[0], np.inf)), 0
                best = End(image, _stacked(v, u), least)
            patience = PATIENCE if least <= ROUGH_GAP * self.scale else MORE_PATIENCE
            if least <= END_GAP * self.scale or since > patience:
                break
            w = history.extrapolate(w, w_next)
        assert best is not None
        return best

    def solution(self, C: Array, U: Array) -> Solution:
        """The loss with its best constant, which is returned with the coefficients."""
        found = self.splitting.coefficients(C, U[:, 0], U[:, 1:])
        return self.measured(self.splitting.image(C).s, self.splitting.square_norm(C), found)

    def measured(self, f: Array, norm: Array, coefficients: dict[str, Array]) -> Solution:
        """With the best constant of these values."""
        constant = self.term.constant(f)
        known = {**coefficients, "intercept": constant[:, 0]}
        return Solution(self.term.mean(f + constant), norm, f + constant, known)

    @property
    def curves(self) -> Curves:
        """Those of the splitting."""
        return self.splitting


def _stacked(s: Array, z: Array) -> Array:
    return np.concatenate([s[:, None], z], axis=1)
