"""Active sets, for kernels of degree 1: every derivative is one number, and J is a lasso.

    minimise ½ zᵀMz − gᵀz + τ Σ_a w_a |z_a| + τc ‖z‖²

If the inputs S that are on and their signs s are known, z solves

    (M_SS + 2τc I) z_S = g_S − τ w_S s_S.

The set is right if no z_a has lost its sign and |u_a| ≤ τ w_a for the others, where u = g − Mz.
Without squares z and u are straight lines in τ as long as S stays, so one factorisation serves all
τ up to the next change. The path goes from τ_max down; where the lines leave the conditions at the
next τ, all inputs that violate them change at once. That nearly always ends after two or three
sets. If not, the set is found by steps that never increase the objective.

The solution is exact up to rounding: its gap is far below tol. ADMM needs some eight iterations for
each τ to reach tol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from nvsd.linalg import product, safe_threads
from nvsd.penalties import BoundPenalty
from nvsd.representations.base import Problem
from nvsd.representations.feature_space import FeatureProblem
from nvsd.solvers.base import Mask, Solver, State
from nvsd.solvers.points import Points, Settings
from nvsd.solvers.status import Status
from nvsd.tolerances import EPS

Array = NDArray[np.float64]

AHEAD = 10  # τ for which a set is tried at once: few sets serve more
TRIES = 10  # sets in which all violating inputs change at once, before the steps become careful
# Inputs above which "auto" leaves the path to ADMM: there a few factorisations are made for all τ,
# here one for every set.
MOST_INPUTS = 400


class Line(NamedTuple):
    """z = p − τq and u = e + τf: the solution as long as the set stays, all (d,).

    `rounding` is that of u.
    """

    p: Array
    q: Array
    e: Array
    f: Array
    rounding: float

    def at(self, tau: Array) -> tuple[Array, Array]:
        """z and u of each τ, a column."""
        return self.p - tau * self.q, self.e + tau * self.f


class Scalar:
    """The lasso in d numbers."""

    def __init__(self, M: Array, g: Array, weights: Array, ridge: float, most: int) -> None:
        self.M, self.g, self.w, self.ridge, self.most = M, g, weights, ridge, most
        self._free = weights == 0.0
        self._largest = float(np.abs(M).max(initial=0.0)), float(np.abs(g).max(initial=0.0))

    def line(self, on: Mask, pull: Array, tau: float) -> Line:
        """The line of the inputs that are on, pulled to zero by τ times pull = w s."""
        of_M, of_g = self._largest
        p, q = both = np.zeros((2, len(self.g)))
        index = np.flatnonzero(on)
        if not len(index):
            return Line(p, q, self.g, p, EPS * of_g)
        rows = self.M.take(index, axis=0)
        M = rows.take(index, axis=1)
        if self.ridge:
            M[np.diag_indices(len(M))] += 2.0 * tau * self.ridge
        right = np.array([self.g.take(index), pull.take(index)])
        with safe_threads(len(M)):
            _, found, info = lapack.dposv(M.T, right.T, lower=1)
        if info:  # rounding has made it indefinite
            found = np.linalg.lstsq(M, right.T)[0]
        both[:, index] = found.T
        e, f = product(np.ascontiguousarray(found.T), rows)
        size = np.abs(found).sum(axis=0)
        return Line(p, q, self.g - e, f, EPS * (of_g + of_M * float(size[0] + tau * size[1])))

    def path(self, taus: Array) -> tuple[Array, NDArray[np.intp], Mask]:
        """z of each τ, descending; the sets that were tried for it; whether it was found."""
        k, d = len(taus), len(self.g)
        z, tries, found = np.zeros((k, d)), np.ones(k, dtype=np.intp), np.ones(k, dtype=bool)
        on, pull, row = self._free.copy(), np.zeros(d), 0
        ahead = 1 if self.ridge else AHEAD
        while row < k:
            some = taus[row : row + ahead, None]
            line = self.line(on, pull, taus[row])
            Z, U = line.at(some)
            wrong = self._wrong(Z, U, on, pull, some, line.rounding)
            bad = wrong.any(axis=1)
            right = int(bad.argmax()) if bad.any() else len(some)
            z[row : row + right] = Z[:right]
            row += right
            if right == len(some):
                continue
            if right == 0:
                tries[row] += 1
            if tries[row] > min(TRIES, self.most):
                z[row], more, found[row] = self._carefully(taus[row], z[max(row - 1, 0)])
                tries[row] += more
                on, pull = self._free | (z[row] != 0), self.w * np.sign(z[row])
                row += 1
            else:
                on = on ^ wrong[right]
                pull = np.where(pull == 0, self.w * np.sign(U[right]), pull) * on
        return z, tries, found

    def _wrong(
        self, Z: Array, U: Array, on: Mask, pull: Array, tau: Array, rounding: float
    ) -> Mask:
        """Inputs that are on with the wrong sign, or off with a |u| above τw by more than rounding.

        Without a weight there is no sign.
        """
        beyond = np.abs(U) > tau * self.w + rounding
        return np.asarray(np.where(on, Z * pull < 0, beyond))

    def _carefully(self, tau: float, z: Array) -> tuple[Array, int, bool]:
        """One input more at a time, and steps that end where an input changes its sign.

        The objective falls with every step, so no set comes twice.
        """
        of_M, of_g = self._largest
        for count in range(self.most):
            on, sign = self._free | (z != 0), np.sign(z)
            u = self.g - (self.M @ z + 2.0 * tau * self.ridge * z)
            rounding = EPS * (of_g + of_M * float(np.abs(z).sum()))
            excess = np.where(on, -np.inf, np.abs(u) - tau * self.w - rounding)
            new = int(np.argmax(excess))
            if excess[new] > 0:
                on[new], sign[new] = True, np.sign(u[new])
            elif count:
                return z, count, True
            z = self._descend(tau, z, on, sign)
        return z, self.most, False

    def _descend(self, tau: float, z: Array, on: Mask, sign: Array) -> Array:
        """To the minimum with these inputs, without those that change their sign on the way."""
        while True:
            line = self.line(on, self.w * sign, tau)
            end = line.p - tau * line.q
            crossed = np.flatnonzero(on & ~self._free & (end * sign < 0))
            if not len(crossed):
                return end
            steps = z[crossed] / (z - end)[crossed]
            first = crossed[np.argmin(steps)]
            z = z + float(steps.min()) * (end - z)
            z[first], on[first], sign[first] = 0.0, False, 0.0


class ActiveSet(Solver):
    """Needs derivatives that are one number each; solves all τ, from the largest down."""

    name = "active-set"
    needs = ("scalars", "derivatives", "half_distance")
    problem: FeatureProblem

    @classmethod
    def refusal(
        cls, problem: Problem, settings: Settings, bounds: Sequence[BoundPenalty]
    ) -> str | None:
        """It needs a kernel of degree 1 and a penalty without groups."""
        if getattr(problem, "scalars", None) is None:
            return (
                f"solver {cls.name!r} needs monomials of degree 1, a quadratic loss "
                f"and s1 = 'auto'; give solver={problem.representation.solver!r}."
            )
        if any(bound.weights_alone is None for bound in bounds):
            return f"solver {cls.name!r} does not take groups; give solver='admm'."
        return super().refusal(problem, settings, bounds)

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        """While a factorisation for every set is cheap."""
        return problem.shape[0] <= MOST_INPUTS

    def batches(self, ascending: Array) -> list[Array]:
        """All τ together."""
        return [ascending] if len(ascending) else []

    def warm_start(self, tau: Array) -> State:
        """From the flat point: the path knows its start."""
        none = np.zeros((len(tau), *self.problem.shape))
        return self.start(tau, none, none)

    def start(self, tau: Array, phi: Array, u: Array) -> State:
        """The same from anywhere."""
        return State.begin(tau, np.zeros(len(tau)), phi, 0)

    def step(self, state: State) -> None:
        """The whole path."""
        weights, scalars = self.penalty.weights_alone, self.problem.scalars
        assert weights is not None
        assert scalars is not None
        g = scalars.slope(self.problem.b)
        lasso = Scalar(scalars.M, g, weights, self.penalty.ridge, self.settings.max_iter)
        order = np.argsort(-state.tau)
        back = np.argsort(order)
        found, tries, right = lasso.path(state.tau[order])
        z, self._tries, self._found = found[back], tries[back], right[back]
        state.C = scalars.theta(z, self.problem.b)
        state.z = state.phi = state.phi_before = state.w_next = z[:, :, None]
        state.multiplier = (g - product(z, scalars.M))[:, :, None]
        state.u = self.problem.feasible(self.penalty, state.multiplier, state.tau)

    def look(self, state: State, iteration: int) -> Mask:
        """All rows are done: where the gap is above tol, a second step would change nothing."""
        state.gap = self.gap(state, np.arange(len(state.tau)))
        return np.ones(len(state.tau), dtype=bool)

    def points(self, state: State, finished: Mask, iteration: int) -> Points:
        """With the number of sets for each τ; a right set with a gap above tol shows rounding."""
        points = super().points(state, finished, iteration)
        spoilt = (points.status == Status.MAX_ITER) & self._found[finished]
        status = np.where(spoilt, Status.ROUNDING, points.status)
        return replace(points, n_iter=self._tries[finished], status=status)
