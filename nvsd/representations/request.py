"""What a representation is made from, and why it may not be possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nvsd.data.checkpoint import Checkpoint
from nvsd.data.landmarks import Landmarks
from nvsd.data.rows import ArrayRows, Rows
from nvsd.kernels import Kernel
from nvsd.losses import Loss, Parabola, QuadraticLoss

Array = NDArray[np.float64]

VECTORS, VECTORS_FOR = 450, 50  # vectors of size nd that the iteration and a path of 50 points hold


class Cost(NamedTuple):
    """Flops of the set-up with a few factorisations, and bytes of memory."""

    flops: float
    memory: float


@dataclass(frozen=True, eq=False)
class Request:
    """Everything that a representation is made from.

    Attributes
    ----------
    loss : Loss
    curvature : float or None
        If S2 takes the loss: that of the parabola in S1, see `nvsd.representations.splitting`.
    s1 : {"auto", "cholesky", "diagonal"}
        How the linear system of S1 is solved for many κ.
    landmarks : Landmarks or None
        Points that carry f, if it is to be approximated.
    checkpoint : Checkpoint or None
        Lets an interrupted pass over the rows continue.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.data.sources import rows_of
    >>> from nvsd.kernels import Linear
    >>> from nvsd.losses import Squared
    >>> from nvsd.representations import Request
    >>> request = Request(rows_of(np.ones((5, 3)), None, False), Linear(), 1e-3, Squared())
    >>> request.n, request.d
    (5, 3)
    """

    rows: Rows
    kernel: Kernel
    nu: float
    loss: Loss
    s1: str = "auto"
    landmarks: Landmarks | None = None
    checkpoint: Checkpoint | None = None
    curvature: float | None = None

    @property
    def parabola(self) -> QuadraticLoss:
        """The quadratic loss that S1 has."""
        if self.curvature is not None:
            return Parabola(self.curvature)
        assert isinstance(self.loss, QuadraticLoss)
        return self.loss

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


class Able(Protocol):
    """What a kind of representation declares; see `nvsd.representations.base.Representation`."""

    kind: str
    reads_rows: bool
    factorises: bool
    splits: bool


def refuse_common(cls: Able, request: Request) -> str | None:
    """Why options that do not fit this class are refused, as one sentence; None if all fit."""
    if request.curvature is not None and not cls.splits:
        return (
            f"representation {cls.kind!r} needs a quadratic loss without weights, not "
            f"{request.loss!r}; leave out the representation."
        )
    if not cls.factorises and request.s1 != "auto":
        return (
            f"representation {cls.kind!r} has no factorisation, so s1 = {request.s1!r} has no "
            "effect; leave s1 out, or give another representation."
        )
    if not cls.reads_rows and request.checkpoint is not None:
        return f"{cls.kind!r} makes no pass over the rows; leave out the checkpoint."
    return None


def refuse_blocks(cls: Able, request: Request) -> str | None:
    """Why rows that come in blocks, or ν = 0, are not possible."""
    if request.n is None:
        return (
            f"representation {cls.kind!r} needs all samples in memory, but they come in blocks; "
            "give X as an array, or leave out the representation."
        )
    if not request.nu:
        return f"representation {cls.kind!r} needs nu > 0, not {request.nu:g}; give nu > 0."
    return None


def less_memory(kind: str, possible: set[str]) -> str:
    """What to do when there is too little memory for a kind of representation."""
    if "monomial" in possible:
        return "use a smaller degree, landmarks (value_points=...) or fewer inputs"
    others = "'preconditioned', 'matrix-free' (slow if there are few inputs), "
    exact = "" if kind in ("matrix-free", "preconditioned") else others
    return (
        f"use landmarks (value_points=...), {exact}a Polynomial kernel (its cost does not "
        "grow with n), or fewer samples"
    )
