"""What the solver sees of a problem, and how its solution becomes coefficients of f.

With Z scaled by 1/√n once, the solver sees for a quadratic loss of curvature c

    minimise ½ (θ − A⁻¹b)ᵀ A (θ − A⁻¹b) + τ J(Zθ) + const,   A = 2νI + (c/n)ΦᵀΦ,  b = (c/n)Φᵀy,

and never a kernel. `feature_space` works with θ itself; `derivative` needs no features at all:
there θ stays implicit as θ(u) = A⁻¹(b − Zᵀu), and H = Z A⁻¹ Zᵀ and h = Z A⁻¹ b are computed from
the kernel. Neither representation depends on y until `problem(y)`, nor on τ or the penalty.

Arrays that hold several points, one per τ, have the points first: z and u are (k, d, rows).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nvsd.descriptions import concrete
from nvsd.kernels import Kernel
from nvsd.linalg import ShiftedSystem
from nvsd.losses import LossTerm, QuadraticLoss
from nvsd.penalties import BoundPenalty, block_norms
from nvsd.representations.flat_end import flat_end
from nvsd.representations.request import Cost, Request, less_memory, refuse_common
from nvsd.representations.returned import Back, Solution
from nvsd.representations.splitting import Curves, Splitting

Array = NDArray[np.float64]


class Representation(ABC):
    """The part of a problem that does not depend on y: n, d, factorisations, coefficients of f.

    Users can request a subclass by its `kind`, and "auto" compares its cost with the others.

    Attributes
    ----------
    kind : str
        Its name.
    on_samples : bool
        Whether f is returned as a combination of kernels and their derivatives at the samples. If
        so, its gap is verified on these coefficients.
    solver : str
        The solver that suits it.
    automatic : bool
        Whether "auto" may choose it.
    reads_rows : bool
        Whether it makes a pass over the rows, whose sums a checkpoint can keep.
    factorises : bool
        Whether S1 has a factorisation, for which the option s1 chooses the method.
    splits : bool
        Whether it has a `splitting`, which losses need that are not quadratic.
    dual_coefficients : bool
        Whether α and β are those of θ(u), so that rounding alone can put f and θ apart.
    shape : (int, int)
        d blocks of derivatives and the rows in each.
    system : ShiftedSystem
        Solves the linear system of S1 for every κ.
    details : dict
        Further facts that the result should report.

    Examples
    --------
    >>> import nvsd
    >>> nvsd.prepare(nvsd.datasets.make_e1(30, seed=0).X).representation.kind
    'derivative'
    """

    kind: ClassVar[str]
    solver: ClassVar[str] = "admm"
    automatic: ClassVar[bool] = True
    reads_rows: ClassVar[bool] = False
    factorises: ClassVar[bool] = True
    splits: ClassVar[bool] = False
    dual_coefficients: ClassVar[bool] = False
    details: Mapping[str, int] = MappingProxyType({})
    n: int
    nu: float
    loss: QuadraticLoss
    shape: tuple[int, int]
    system: ShiftedSystem

    @property
    @abstractmethod
    def on_samples(self) -> bool:
        """Whether f is returned as α and β at the samples."""

    @classmethod
    def refusal(cls, request: Request) -> str | None:
        """Why it cannot be made, as one sentence; None if it can."""
        return refuse_common(cls, request)

    @classmethod
    @abstractmethod
    def cost(cls, request: Request) -> Cost:
        """Flops and memory that it takes, if it is possible."""

    @classmethod
    @abstractmethod
    def make(cls, request: Request) -> Representation:
        """The representation of these samples."""

    @classmethod
    def smaller(cls, possible: set[str]) -> str:
        """What to do when there is too little memory for it."""
        return less_memory(cls.kind, possible)

    @staticmethod
    @abstractmethod
    def evaluate_stored(
        stored: Mapping[str, Array], kernel: Kernel, X_new: Array, gradient: bool
    ) -> tuple[Array, Array]:
        """f (k, m) and its gradient (k, d, m) at new points, from what the result has stored.

        ``stored`` holds the coefficients of `Problem.solution`, with the functions along the first
        axis. It also holds the samples as ``points``, if f has kernel sections there.
        """

    @abstractmethod
    def problem(self, y: Array) -> Problem:
        """The problem for this y, sharing all factorisations."""

    @abstractmethod
    def size(self) -> int:
        """Order of the system that S1 factorises."""

    @abstractmethod
    def full_row_rank(self) -> bool:
        """Whether the rows of Z are known to be independent, so that Zᵀu determines u."""

    @property
    @abstractmethod
    def curve_norms(self) -> Array:
        """Upper bounds of ‖H_aa‖₂, (d,): how much of a gap can go into the norm of ∂_a f.

        H = Z A⁻¹ Zᵀ, and H_aa is its block of input a. They do not depend on y.
        """

    @property
    def curve_floors(self) -> Array:
        """Upper bounds of the least eigenvalue of H_aa, (d,).

        (H⁻¹)_aa is at least the inverse of H_aa: where even that is too large for a proof, there
        is no need to invert H.
        """
        return self.curve_norms

    @property
    def curve_inverse_norms(self) -> Array:
        """Upper bounds of ‖(H⁻¹)_aa‖₂, (d,); inf unless H is surely positive definite."""
        return np.full(self.shape[0], np.inf)

    def splitting(self) -> Splitting:
        """For losses that are not quadratic; only if `splits`."""
        raise NotImplementedError(f"representation {self.kind!r} has no splitting")

    def own_problem(self, center: bool) -> tuple[Problem, float] | None:
        """The problem for a y summed with the rows, if any, and the constant subtracted from y."""
        return None


class Problem(ABC):
    """A representation with its y. Each point θ is held as coefficients, one row of C.

    Attributes
    ----------
    scale : float
        The loss of f = 0; (1/n)‖y‖² for the squared loss.
    y : (n,) array or None
        The target, if it was kept.
    term : LossTerm or None
        The loss, if S2 takes it: `nvsd.solvers.split`.
    balance : (d, 1) array or None
        κ of each input beside that of the others: see `balanced`.
    """

    representation: Representation
    term: LossTerm | None = None
    balance: Array | None = None
    scale: float
    y: Array | None

    @property
    def quadratic(self) -> bool:
        """Whether the loss is part of S1."""
        return self.term is None

    @property
    def shape(self) -> tuple[int, int]:
        """How many blocks S2 acts on, and the rows in each."""
        return self.representation.shape

    def inputs(self, Z: Array) -> Array:
        """The blocks of Z that belong to inputs, as a view: all, if the loss is quadratic."""
        return Z

    @property
    def system(self) -> ShiftedSystem:
        """What S1 solves."""
        return self.representation.system

    def balanced(self, balance: Array | None) -> Problem:
        """With κ times these numbers (d,) for the inputs; unchanged for None, or if S1 cannot."""
        return self

    def kappas(self, kappa: Array) -> Array:
        """κ of every block, shaped to multiply z."""
        each = kappa[:, None, None]
        return each if self.balance is None else each * self.balance

    def metric(self, kappa: Array) -> Array | None:
        """The roots of `kappas`, up to one factor for each point; None if all are equal."""
        return None if self.balance is None else np.sqrt(self.balance)[None]

    def prox(self, penalty: BoundPenalty, W: Array, tau: Array, kappa: Array) -> Array:
        """S2: the prox of τJ/κ."""
        step = tau / kappa
        return penalty.prox(W, step if self.balance is None else step[:, None] / self.balance[:, 0])

    def feasible(self, penalty: BoundPenalty, U: Array, tau: Array) -> Array:
        """U in the domain of the conjugate of what S2 takes, from which rounding may move it."""
        return penalty.feasible(U, tau)

    def fenchel_gap(self, penalty: BoundPenalty, tau: Array, Z: Array, U: Array) -> Array:
        """τJ(z) + (τJ)*(u) − uᵀz ≥ 0, one term of the duality gap."""
        J = penalty.value(block_norms(Z))
        conjugate = penalty.conjugate(block_norms(U), tau)
        inner = np.einsum("kam,kam->k", U, Z)
        return np.asarray(np.maximum(tau * J + conjugate - inner, 0.0))

    @abstractmethod
    def s1(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """C and Zθ for the θ that minimises E(θ) + κ/2 ‖Zθ − v‖², for each row v of V."""

    def s1_roughly(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """`s1` with errors of single precision, if that is faster."""
        return self.s1(V, kappa)

    def refined(self, C: Array, Z: Array, kappa: Array) -> Array:
        """C of `s1_roughly`, which gave Z for Zθ, with smaller errors."""
        return C

    def near(self, C: Array, Z: Array) -> Problem:
        """The same, where it helps with S1 that starts from solutions C with derivatives Z."""
        return self

    @abstractmethod
    def ridge(self) -> tuple[Array, Array]:
        """C and Zθ at τ = 0."""

    def flat(self) -> tuple[Array, Array, Array]:
        """C, Zθ and the multiplier u of least norm at the minimum subject to Zθ = 0."""
        return flat_end(self)

    def flat_is_known(self, Z: Array) -> bool:
        """Whether `flat`, which gave Z, found that minimum."""
        return True

    def ridge_multiplier(self) -> Array:
        """The dual point at τ = 0."""
        return np.zeros((1, *self.shape))

    @property
    def curves(self) -> Curves:
        """What turns a gap into intervals of derivative norms."""
        return self.representation

    @abstractmethod
    def derivatives(self, C: Array) -> Array:
        """Zθ, from its definition, without any factorisation of S1."""

    @abstractmethod
    def half_distance(self, C: Array, U: Array) -> Array:
        """½‖θ − θ(u)‖²_A, the first term of the duality gap."""

    def compared(self, C: Array, U: Array) -> tuple[Array, Array]:
        """`derivatives` and `half_distance`, all that a certificate needs."""
        return self.derivatives(C), self.half_distance(C, U)

    @abstractmethod
    def solution(self, C: Array, U: Array) -> Solution:
        """All that the result reports for each θ.

        Its coefficients are alpha (k, n) and beta (k, d, n), and/or theta (k, r). U holds the
        multipliers κ(Zθ − v) of S1, with which θ = θ(u).
        """

    def measured(self, f: Array, norm: Array, coefficients: dict[str, Array]) -> Solution:
        """The same for values f at the samples (k, n) and ‖f‖² of the coefficients."""
        assert self.y is not None
        return Solution(self.representation.loss.of_residuals(self.y - f), norm, f, coefficients)

    def returned(self, C: Array, found: Solution) -> Back:
        """What the coefficients say, where they are those of features."""
        return Back(self.derivatives(C), np.zeros(len(C)), found.rkhs_norm)


def kinds() -> dict[str, type[Representation]]:
    """The representations that can be requested, by name."""
    return {each.kind: each for each in concrete(Representation)}  # type: ignore[type-abstract]
