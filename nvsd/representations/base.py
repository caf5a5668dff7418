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
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.data.checkpoint import Checkpoint
from nvsd.data.landmarks import Landmarks
from nvsd.data.rows import ArrayRows, Rows
from nvsd.descriptions import concrete
from nvsd.kernels import Kernel
from nvsd.linalg import ShiftedSystem
from nvsd.losses import Loss, QuadraticLoss

Array = NDArray[np.float64]

FLAT_KAPPA = 1e9  # times the system's unit: so large that S1 nearly enforces Zθ = v


class Cost(NamedTuple):
    """Flops of the set-up with a few factorisations, and bytes of memory."""

    flops: float
    memory: float


@dataclass(frozen=True, eq=False)
class Request:
    """Everything that a representation is made from.

    Attributes
    ----------
    s1 : {"auto", "cholesky", "diagonal"}
        How the linear system of S1 is solved for many κ.
    landmarks : Landmarks or None
        Points that carry f, if it is to be approximated.
    checkpoint : Checkpoint or None
        Lets an interrupted pass over the rows continue.
    """

    rows: Rows
    kernel: Kernel
    nu: float
    loss: Loss
    s1: str = "auto"
    landmarks: Landmarks | None = None
    checkpoint: Checkpoint | None = None

    @property
    def n(self) -> int | None:
        """Number of samples; None if they come in blocks, where only sums can be kept."""
        return self.rows.n if isinstance(self.rows, ArrayRows) else None

    @property
    def d(self) -> int:
        """Number of inputs."""
        return len(self.rows.features)

    @property
    def points(self) -> Array:
        """All samples, as the kernel sees them."""
        return self.rows.points()


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
    shape : (int, int)
        d blocks of derivatives and the rows in each.
    system : ShiftedSystem
        Solves the linear system of S1 for every κ.
    details : dict
        Further facts that the result should report.
    """

    kind: ClassVar[str]
    solver: ClassVar[str] = "admm"
    automatic: ClassVar[bool] = True
    reads_rows: ClassVar[bool] = False
    factorises: ClassVar[bool] = True
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
        if "monomial" in possible:
            return "use a smaller degree, landmarks (value_points=...) or fewer inputs"
        slow = "" if cls.kind == "matrix-free" else "'matrix-free' (slow if there are few inputs), "
        return (
            f"use landmarks (value_points=...), {slow}a Polynomial kernel (its cost does not "
            "grow with n), or fewer samples"
        )

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

        H = Z A⁻¹ Zᵀ, and H_aa is its block of input a. They depend on nothing but the samples, the
        kernel and ν, and are computed once.
        """

    @property
    def curve_inverse_norms(self) -> Array:
        """Upper bounds of ‖(H⁻¹)_aa‖₂, (d,); inf where H is not surely positive definite.

        What cannot tell says inf: then no input is certified to be off.
        """
        return np.full(self.shape[0], np.inf)

    def own_problem(self, center: bool) -> tuple[Problem, float] | None:
        """The problem for a y that was summed with the rows, and the constant subtracted from y.

        None if no y was summed.
        """
        return None


class Solution(NamedTuple):
    """What the result reports for each θ: parts of the objective, f, and its coefficients."""

    loss: Array
    rkhs_norm: Array
    fitted: Array | None
    coefficients: dict[str, Array]


class Problem(ABC):
    """A representation with its y. Each point θ is held as coefficients, one row of C.

    Attributes
    ----------
    scale : float
        The loss of f = 0; (1/n)‖y‖² for the squared loss.
    y : (n,) array or None
        The target, if it was kept.
    """

    representation: Representation
    scale: float
    y: Array | None

    @property
    def shape(self) -> tuple[int, int]:
        """d blocks of derivatives and the rows in each."""
        return self.representation.shape

    @abstractmethod
    def s1(self, V: Array, kappa: Array) -> tuple[Array, Array]:
        """C and Zθ for the θ that minimises E(θ) + κ/2 ‖Zθ − v‖², for each row v of V."""

    @abstractmethod
    def ridge(self) -> tuple[Array, Array]:
        """C and Zθ at τ = 0."""

    @abstractmethod
    def derivatives(self, C: Array) -> Array:
        """Zθ, from its definition, without any factorisation of S1."""

    @abstractmethod
    def half_distance(self, C: Array, U: Array) -> Array:
        """½‖θ − θ(u)‖²_A, the first term of the duality gap."""

    @abstractmethod
    def solution(self, C: Array, U: Array) -> Solution:
        """All that the result reports for each θ.

        Its coefficients are alpha (k, n) and beta (k, d, n), and/or theta (k, r). U holds the
        multipliers κ(Zθ − v) of S1, with which θ = θ(u).
        """


def kinds() -> dict[str, type[Representation]]:
    """The representations that can be requested, by name."""
    return {each.kind: each for each in concrete(Representation)}  # type: ignore[type-abstract]


def refuse_common(cls: type[Representation], request: Request) -> str | None:
    """Why options that do not fit this class are refused, as one sentence; None if all fit."""
    if not isinstance(request.loss, QuadraticLoss):
        return f"representation {cls.kind!r} needs a quadratic loss, not {request.loss!r}."
    if not cls.factorises and request.s1 != "auto":
        return (
            f"representation {cls.kind!r} has no factorisation, so s1 = {request.s1!r} has no "
            "effect; leave s1 out, or give another representation."
        )
    if not cls.reads_rows and request.checkpoint is not None:
        return f"{cls.kind!r} makes no pass over the rows; leave out the checkpoint."
    return None


def refuse_blocks(cls: type[Representation], request: Request) -> str | None:
    """Why rows that come in blocks, or ν = 0, are not possible."""
    if request.n is None:
        return (
            f"representation {cls.kind!r} needs all samples in memory, but they come in blocks; "
            "give X as an array, or leave out the representation."
        )
    if not request.nu:
        return f"representation {cls.kind!r} needs nu > 0, not {request.nu:g}; give nu > 0."
    return None
