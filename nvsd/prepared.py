"""Everything about a problem that does not depend on y, computed once."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvsd.data.checkpoint import Checkpoint
from nvsd.data.checks import check_flag, check_non_negative, check_positive, check_target
from nvsd.data.classes import Labels, labels_of
from nvsd.data.landmarks import Landmarks, Points
from nvsd.data.names import refuse_misaligned
from nvsd.data.random import Rng, seed_of
from nvsd.data.rows import ArrayRows, Rows
from nvsd.data.sources import rows_of
from nvsd.data.units import warn_of_units
from nvsd.data.weights import ALL_ROWS, RowWeights, rows_that_count, unequal
from nvsd.descriptions import html
from nvsd.kernels import Gaussian, Kernel
from nvsd.kernels.named import kernel_for
from nvsd.kernels.widths import needs_width
from nvsd.linalg import check_method
from nvsd.losses import (
    SQUARED,
    Loss,
    LossTerm,
    QuadraticLoss,
    class_weights,
    loss_term,
)
from nvsd.representations import (
    Problem,
    Representation,
    Request,
    choose,
    predicted_seconds,
)
from nvsd.solvers.split import SplitProblem
from nvsd.tolerances import MEAN_ROUNDING

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Samples, kernel and ν with their factorisations, shared by every y, penalty and τ.

    Attributes
    ----------
    rows : Rows
        Where the samples come from.
    loss : Loss
        The loss between f and y.
    counted : RowWeights
        The samples that count, and their weights in the loss.
    class_weight : mapping, "balanced" or None
        Of the samples of each class.
    labels : (n,) array or None
        The classes that came with X, if the loss is of classes.
    max_memory : float or None
        Bytes that paths may use; None: the free memory of the machine.
    seconds : float
        About how long a path takes; 0 if that is not known.

    Examples
    --------
    >>> import nvsd
    >>> data = nvsd.datasets.make_e1(30, seed=0)
    >>> nvsd.prepare(data.X, kernel=nvsd.kernels.Gaussian(4.0))
    Prepared: 30 rows, 18 inputs, Squared()
      Gaussian(width=4.0), nu=0.001, 'derivative'
    """

    rows: Rows
    kernel: Kernel
    nu: float
    representation: Representation
    loss: Loss = SQUARED
    max_memory: float | None = None
    counted: RowWeights = ALL_ROWS
    class_weight: Any = None
    labels: NDArray[Any] | None = None
    seconds: float = 0.0

    @property
    def X(self) -> Array:
        """The samples as the kernel sees them, (n, d)."""
        return self.rows.points()

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self.rows.features

    @property
    def x_mean(self) -> Array:
        """X = (given − x_mean) / x_scale."""
        return self.rows.mean

    @property
    def x_scale(self) -> Array:
        """X = (given − x_mean) / x_scale."""
        return self.rows.scale

    @property
    def weights(self) -> Array | None:
        """Weights of the samples in the loss, with mean 1; None if they are equal."""
        return self.counted.values

    @property
    def has_target(self) -> bool:
        """Whether y was given together with X."""
        return self.rows.has_target or self.labels is not None

    def __repr__(self) -> str:
        n, d = self.representation.n, len(self.features)
        more = "" if self.weights is None else ", weighted"
        return (
            f"Prepared: {n} rows, {d} inputs, {self.loss!r}{more}\n"
            f"  {self.kernel!r}, nu={self.nu:g}, {self.representation.kind!r}"
        )

    def _repr_html_(self) -> str:
        of_kernel = {"kernel": repr(self.kernel), "nu": f"{self.nu:g}"}
        known = {**of_kernel, "representation": self.representation.kind}
        return html("Prepared", repr(self).split("\n")[0].removeprefix("Prepared: "), known)

    def _own_target(self) -> Any:
        return self.rows.target() if self.labels is None else self.labels

    def several_classes(self, y: Any) -> Labels | None:
        """The labels, if the loss is of classes and there are more than two."""
        if not self.loss.of_classes:
            return None
        given = self.labels if y is None else self.counted.take(y)
        labels = None if given is None else labels_of(given, self.representation.n)
        return labels if labels is not None and len(labels.classes) > 2 else None

    def weighing(self, labels: Labels) -> Prepared:
        """For other y of the samples that count, with the weights of these classes in theirs."""
        each = class_weights(self.class_weight, labels)
        both = each if self.weights is None else self.weights * each
        return replace(self, counted=RowWeights(values=unequal(both)), class_weight=None)

    def problem(self, y: ArrayLike | None, center: bool) -> tuple[Problem, float]:
        """The problem for y, or for the y read with X; and the constant subtracted from y."""
        if y is None and not self.has_target:
            raise ValueError("y is missing; give one number for each row of X.")
        own = self.representation.own_problem(center) if y is None else None
        if own is not None:
            return own
        n = self.representation.n
        given = self._own_target() if y is None else self.counted.take(y)
        if not isinstance(self.loss, QuadraticLoss):
            term = loss_term(self.loss, given, n, self.weights, self.class_weight, center)
            return SplitProblem(self.representation, term), 0.0
        target = check_target(given, n)
        origin = self.loss.origin(target, self.weights) if center else 0.0
        centred = target - origin
        if np.abs(centred).max() <= MEAN_ROUNDING * np.abs(target).max():
            centred = np.zeros_like(target)  # y is constant: this is the rounding of its mean
        if self.weights is None:
            return self.representation.problem(centred), origin
        term = LossTerm(self.loss, centred, self.weights, False)
        return SplitProblem(self.representation, term), origin


def prepare(
    X: Any,
    *,
    y: Any = None,
    kernel: str | Kernel | None = None,
    loss: Loss | None = None,
    nu: float = 1e-3,
    sample_weight: ArrayLike | None = None,
    class_weight: Any = None,
    standardize: bool = False,
    representation: str = "auto",
    value_points: Points | None = None,
    derivative_points: Points | None = None,
    random_state: int | None = None,
    rng: Rng = None,
    s1: str = "auto",
    max_memory: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Prepared:
    """Factorise once for ``nvsd_path(prepared, y, penalty=...)`` with several y and penalties.

    Parameters
    ----------
    X : (n, d) array, memory map, DataFrame, Dask array, or iterable of blocks (X, y)
        Samples; the columns of a DataFrame give the names of the inputs. Blocks, and data too
        large for memory, are read once, in bounded memory; that needs a polynomial kernel or
        landmarks.
    y : (n,) array, memory map or Dask array, optional
        The target. With many rows it is read in the same pass as X, and ``nvsd_path(prepared)``
        then needs no y.
    kernel : {"gaussian", "matern", "polynomial", "linear"} or Kernel, optional
        By default Gaussian. A width that is not given, as in `Gaussian()`, is the median distance
        to the 20 nearest neighbours, among the derivative points if there are landmarks.
    loss : Loss, optional
        The loss between f and y; `nvsd.losses.Squared` by default. Losses that are not quadratic
        need all samples in memory.
    nu : float
        Weight ν ≥ 0 of the squared RKHS norm. Zero needs a polynomial kernel and no fewer samples
        than monomials.
    sample_weight : (n,) array, optional
        Weights w ≥ 0 of the samples in the loss, (1/Σw) Σ_i w_i ℓ(y_i, f(x_i)); only their ratios
        matter. Samples of weight 0 are left out, from the result too. In J all others count alike.
    class_weight : mapping or "balanced", optional
        Weights of the classes as {label: weight}; "balanced" gives all classes the same total.
    standardize : bool
        Whether to centre the inputs and scale them to unit variance; constant inputs are only
        centred. Blocks are then read twice.
    representation : {"auto", "derivative", "matrix-free", "preconditioned", "monomial", ...}
        "derivative" works with the nd derivatives and any kernel; without a matrix of order nd do
        "matrix-free", for many inputs, and "preconditioned", for many rows. "monomial" uses the
        features of a polynomial kernel, "factor" a pivoted Cholesky factor of the joint Gram
        matrix. "auto" takes the cheapest. "landmarks" approximates, see `nvsd.representations`.
    value_points, derivative_points : int or sequence of int, optional
        Landmarks: the number of rows to draw, or the row indices. By default both kinds are equally
        many, and f is made of about 3000 functions: each value point gives one and each derivative
        point one per input.
    random_state : int, optional
        Seed for drawing the landmarks; 0 by default.
    rng : int or numpy Generator, optional
        In place of random_state.
    s1 : {"auto", "cholesky", "diagonal"}
        How the linear system of S1 is solved for many κ.
    max_memory : float, optional
        Bytes that may be used; by default the free memory of the machine.
    checkpoint : path, optional
        A file that lets an interrupted pass over the rows continue. It also saves the pass over
        the same rows with another nu.
    progress : bool, optional
        Show a progress bar over the blocks; by default at a terminal and in notebooks.

    Returns
    -------
    Prepared

    Examples
    --------
    >>> import nvsd
    >>> data = nvsd.datasets.make_e1(30, seed=0)
    >>> prepared = nvsd.prepare(data.X)  # factorises once
    >>> [nvsd.nvsd_path(prepared, y, n_taus=5).sizes["tau"] for y in (data.y, -(data.y**2))]
    [5, 5]
    """
    nu, seed = check_non_negative("nu", nu), seed_of(random_state, rng)
    kernel, loss = Gaussian() if kernel is None else kernel, SQUARED if loss is None else loss
    if not isinstance(loss, Loss):
        raise ValueError(f"loss = {loss!r} is not a loss; give one of nvsd.losses.")
    labels = y if loss.of_classes else None
    if class_weight is not None and not loss.of_classes:
        raise ValueError(f"class_weight was given, but {loss!r} is not a loss of classes.")
    refuse_misaligned(X, y=y, sample_weight=sample_weight)
    rows = rows_of(X, None if loss.of_classes else y, progress)
    rows, counted = rows_that_count(rows, sample_weight)
    labels = counted.take(labels)
    curvature = _curvature(loss, rows, counted.values)
    if check_flag("standardize", standardize):
        rows = rows.standardized()
    elif not isinstance(X, Rows):
        warn_of_units(rows, kernel)
    landmarks = None
    if representation == "landmarks" or value_points is not None or derivative_points is not None:
        landmarks = Landmarks.draw(rows, value_points, derivative_points, seed)
    check_method(s1)
    if max_memory is not None and max_memory != math.inf:
        check_positive("max_memory", max_memory)
    in_memory = landmarks is None and isinstance(rows, ArrayRows) and checkpoint is None
    if in_memory and isinstance(kernel, Kernel) and needs_width(kernel):
        # What does not fit is refused before the width, which takes seconds with many inputs.
        unknown = Request(rows, kernel, nu, loss, s1, None, None, curvature)
        choose(unknown, representation, max_memory)
    kernel = _kernel(kernel, rows, landmarks)
    saved = None
    if checkpoint is not None:
        digest = None if landmarks is None else landmarks.digest
        problem = {"kernel": kernel.to_json(), "features": rows.features, "landmarks": digest}
        saved = Checkpoint(checkpoint, problem)
    request = Request(rows, kernel, nu, loss, s1, landmarks, saved, curvature)
    kind = choose(request, representation, max_memory)
    seconds = predicted_seconds(kind, request)
    with np.errstate(over="ignore", invalid="ignore"):  # values that are too large are refused
        made = kind.make(request)
    held = max_memory, counted, class_weight, labels, seconds
    return Prepared(rows, kernel, nu, made, loss, *held)


def _curvature(loss: Loss, rows: Rows, weights: Array | None) -> float | None:
    """The curvature of S1's parabola if S2 takes the loss; else None."""
    if isinstance(loss, QuadraticLoss) and weights is None:
        return None
    if not isinstance(rows, ArrayRows):
        raise ValueError(
            f"{loss!r} needs all samples in memory, but they come in blocks; give X as an array."
        )
    return loss.splitting_curvature(rows.target() if rows.has_target else None)


def _kernel(kernel: str | Kernel, rows: Rows, landmarks: Landmarks | None) -> Kernel:
    if isinstance(kernel, Kernel) and not needs_width(kernel):
        return kernel
    if landmarks is None and not isinstance(rows, ArrayRows):
        raise ValueError(
            "rows that come in blocks need a kernel; give a Linear or Polynomial kernel."
        )
    return kernel_for(landmarks.derivatives if landmarks else rows.points(), kernel)
