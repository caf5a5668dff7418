"""What all solvers share: the running rows of a batch, and the steps that the driver calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from nvsd.descriptions import by_name, short_names
from nvsd.penalties import BoundPenalty
from nvsd.representations.base import Problem
from nvsd.solvers.anderson import Anderson
from nvsd.solvers.certificate import certificate
from nvsd.solvers.flat import FlatPoint
from nvsd.solvers.points import Points, Settings, norms
from nvsd.solvers.status import Status

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass
class State:
    """The running rows of a batch, one per τ.

    Attributes
    ----------
    tau, kappa : (k,) arrays
        The weight of the penalty, and the step size.
    w, w_next : (k, d, rows) arrays
        Start and end of the step.
    phi_before, phi : (k, d, rows) arrays
        prox_{τJ/κ} of both.
    C, z : arrays
        θ and its derivatives Zθ.
    multiplier, u : (k, d, rows) arrays
        θ = θ(multiplier), and the feasible dual point.
    gap : (k,) array
        The duality gap where it was computed; elsewhere an estimate above tol.
    curve : (k,) array
        ½‖θ − θ(u)‖²_A over ‖multiplier − u‖², where the gap was last computed.
    history : Anderson
        The history of w.
    """

    tau: Array
    kappa: Array
    w: Array
    w_next: Array
    phi_before: Array
    phi: Array
    C: Array
    z: Array
    multiplier: Array
    u: Array
    gap: Array
    curve: Array
    history: Anderson

    @classmethod
    def begin(cls, tau: Array, kappa: Array, w: Array, memory: int) -> Self:
        """The state before the first step, when only w is known."""
        unknown, none = np.full(len(tau), np.inf), np.zeros(len(tau))
        return cls(tau, kappa, w, w, w, w, w, w, w, w, unknown, none, Anderson(w.shape, memory))

    def drop(self, rows: Mask) -> None:
        """Take rows out of the batch."""
        for each in fields(self):
            if each.name == "history":
                self.history.keep(~rows)
            else:
                setattr(self, each.name, getattr(self, each.name)[~rows])


class Solver(ABC):
    """One iteration w → w⁺ whose fixed points are solutions; the driver does the rest.

    Attributes
    ----------
    name : str
        Its name in `nvsd_path(solver=...)`.
    needs : sequence of str
        The methods and attributes of the problem that it uses.
    quadratic : sequence of str
        Where it can put the elastic net's squared term.
    adapt_every : int
        Number of iterations between calls of `adapt`; 0: never.

    Examples
    --------
    >>> from nvsd.solvers import ADMM, Solver
    >>> issubclass(ADMM, Solver), ADMM.name
    (True, 'admm')
    """

    name: ClassVar[str]
    needs: ClassVar[Sequence[str]]
    quadratic: ClassVar[Sequence[str]] = ("S2",)
    adapt_every: ClassVar[int] = 0

    def __init__(
        self, problem: Any, penalty: BoundPenalty, flat: FlatPoint, settings: Settings
    ) -> None:
        self.problem, self.penalty, self.flat, self.settings = problem, penalty, flat, settings
        self.limit = settings.tol * problem.scale

    @classmethod
    def refusal(
        cls, problem: Problem, settings: Settings, bounds: Sequence[BoundPenalty]
    ) -> str | None:
        """Why it cannot solve this problem, as one sentence; None if it can."""
        missing = [need for need in cls.needs if not hasattr(problem, need)]
        if missing:
            return (
                f"solver {cls.name!r} needs {', '.join(missing)}, which representation "
                f"{problem.representation.kind!r} does not have; give solver="
                f"{problem.representation.solver!r}, or another representation."
            )
        if settings.quadratic not in cls.quadratic:
            return (
                f"solver {cls.name!r} does not take quadratic = {settings.quadratic!r}; give "
                f"{' or '.join(map(repr, cls.quadratic))}, or solver='admm'."
            )
        return None

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        """Whether "auto" should take it before the solver that the representation names."""
        return False

    @abstractmethod
    def batches(self, ascending: Array) -> list[Array]:
        """The τ in the order of solution; those iterated together form one array."""

    @abstractmethod
    def warm_start(self, tau: Array) -> State:
        """Where to start a batch, from earlier solutions."""

    @abstractmethod
    def start(self, tau: Array, phi: Array, u: Array) -> State:
        """Start from derivatives φ and a dual point u, (k, d, rows)."""

    def beyond(self, tau: Array, u: Array) -> State:
        """Where to start for τ ≥ τ_max, where u is the dual point of the flat point."""
        return self.start(tau, np.repeat(self.flat.phi, len(tau), axis=0), u)

    @abstractmethod
    def step(self, state: State) -> None:
        """One iteration from w; updates all of the state except the gap."""

    @abstractmethod
    def look(self, state: State, iteration: int) -> Mask:
        """Set the gap where it is known; return the rows whose gap is at most tol."""

    def learn(self, state: State, rows: Mask) -> None:
        """Remember solved rows for later starts."""
        return

    def adapt(self, state: State) -> None:
        """Change the step sizes if that is worth it."""
        return

    def extrapolate(self, state: State) -> None:
        """Move to the accelerated w, in the metric in which plain steps do not expand."""
        root = self.problem.metric(state.kappa)
        if root is None:
            state.w = state.history.extrapolate(state.w, state.w_next)
        else:
            state.w = state.history.extrapolate(root * state.w, root * state.w_next) / root

    def prox(self, state: State, w: Array) -> Array:
        """φ = prox_{τJ/κ}(w)."""
        return np.asarray(self.problem.prox(self.penalty, w, state.tau, state.kappa))

    def gap(self, state: State, rows: NDArray[np.intp]) -> Array:
        """The duality gap of these rows, from scratch."""
        return certificate(
            self.problem, self.penalty, state.tau[rows], state.C[rows], state.u[rows]
        )

    def residuals(self, state: State) -> tuple[Array, Array]:
        """Primal ‖Zθ − φ‖ and dual κ‖φ − φ_before‖, of the derivatives."""
        primal = self.problem.inputs(state.z - state.phi)
        dual = self.problem.inputs(state.phi - state.phi_before)
        return norms(primal), norms(self.problem.inputs(self.problem.kappas(state.kappa)) * dual)

    def points(self, state: State, finished: Mask, iteration: int) -> Points:
        """The finished rows, as they are returned."""
        rows = np.flatnonzero(finished)
        primal, dual = self.residuals(state)
        gap = state.gap[rows]
        unsure = ~(gap <= self.limit)
        if unsure.any():
            gap[unsure] = self.gap(state, rows[unsure])
        return Points(
            state.tau[rows],
            state.C[rows],
            state.phi[rows],
            state.multiplier[rows],
            state.u[rows],
            gap,
            state.kappa[rows],
            np.full(len(rows), iteration),
            primal[rows],
            dual[rows],
            np.where(gap <= self.limit, Status.CONVERGED, Status.MAX_ITER),
        )


def solver_named(
    name: str, problem: Problem, settings: Settings, bounds: Sequence[BoundPenalty] = ()
) -> type[Solver]:
    """The requested solver for these penalties.

    "auto" is the first one that calls itself suited and can solve the problem, or else the one
    that the representation names.
    """
    known = short_names(Solver, "name")  # type: ignore[type-abstract]
    suited = [
        each
        for each in known.values()
        if each.suits(problem) and each.refusal(problem, settings, bounds) is None
    ]
    usual = known[problem.representation.solver]
    solver = by_name("solver", name, {"auto": suited[0] if bounds and suited else usual, **known})
    refusal = solver.refusal(problem, settings, bounds)
    if refusal is not None:
        raise ValueError(refusal)
    return solver
