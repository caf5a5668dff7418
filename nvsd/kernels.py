"""Kernels: three scalar functions each, on the geometry that `Isotropic` or `DotProduct` gives."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from nvsd._checks import check_points, check_positive, is_number
from nvsd.kernel_base import Array, Kernel, Profile, Scaled, Sum
from nvsd.linalg import gram, product

__all__ = [
    "DotProduct",
    "Gaussian",
    "Isotropic",
    "Kernel",
    "Linear",
    "Matern52",
    "Polynomial",
    "RationalQuadratic",
    "Scaled",
    "Sum",
    "neighbour_width",
]

Width = float | tuple[float, ...]


class Isotropic(Profile):
    """k(x, x') = h(s), s = |(x - x') / width|^2 / 2, with one width or one per input.

    A subclass is a frozen dataclass with a field ``width`` and a method ``profile``.
    """

    p, q = 1.0, -1.0
    width: Width

    def __post_init__(self) -> None:
        if np.ndim(self.width) == 0:
            width: Width = check_positive("width", self.width)
        else:
            width = tuple(check_positive("width", w) for w in np.asarray(self.width).tolist())
        if width == ():
            raise ValueError("width is empty; give one positive number, or one per input.")
        object.__setattr__(self, "width", width)

    def _geometry(self, X: Array, Y: Array) -> tuple[Array, Array, Array, Array]:
        w, d = np.asarray(self.width), X.shape[1]
        if w.shape not in ((), (d,)):
            raise ValueError(
                f"there are {w.size} widths for {d} inputs; give one width, or one per input."
            )
        # A shift changes no distance, but far from the origin products would lose digits.
        centre = Y.mean(axis=0)
        U = (X - centre) / w
        V = U if Y is X else (Y - centre) / w
        t = cdist(U, V, "sqeuclidean")
        t /= 2
        return np.broadcast_to(w, d), U, V, t

    def restrict(self, features: ArrayLike) -> Kernel:
        """Return the kernel on a subset of the inputs: indices, or a boolean mask."""
        if isinstance(self.width, float):
            return self
        try:
            width = np.asarray(self.width)[np.atleast_1d(features)]
        except IndexError as error:
            raise ValueError(
                f"features = {features!r} do not fit {len(self.width)} widths; "
                "give indices of inputs, or a boolean mask over all of them."
            ) from error
        return replace(self, width=tuple(width))  # type: ignore[call-arg]  # subclasses have it


class DotProduct(Profile):
    """k(x, x') = h(t), t = x.x'; a subclass is a frozen dataclass with a method ``profile``."""

    p, q = 0.0, 1.0

    def _geometry(self, X: Array, Y: Array) -> tuple[Array, Array, Array, Array]:
        t = gram(X) if Y is X else product(X, Y.T)
        return np.ones(X.shape[1]), X, Y, t


@dataclass(frozen=True)
class Linear(DotProduct):
    """k(x, x') = x.x'."""

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """h(t) = t."""
        return t, np.ones_like(t), np.zeros_like(t)


@dataclass(frozen=True)
class Polynomial(DotProduct):
    """k(x, x') = (x.x' + offset)^degree, with an integer degree >= 1 and an offset >= 0."""

    degree: int = 3
    offset: float = 1.0

    def __post_init__(self) -> None:
        if not is_number(self.degree, Integral) or self.degree < 1:
            raise ValueError(f"degree = {self.degree!r} is not allowed; give an integer >= 1.")
        if not is_number(self.offset) or not 0 <= self.offset < math.inf:
            raise ValueError(f"offset = {self.offset!r} is not allowed; give a finite number >= 0.")
        object.__setattr__(self, "degree", int(self.degree))
        object.__setattr__(self, "offset", float(self.offset))

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """h(t) = (t + offset)^degree."""
        p, t = self.degree, t + self.offset
        if p == 1:
            return t, np.ones_like(t), np.zeros_like(t)
        power = t ** (p - 2)
        return power * t * t, p * power * t, p * (p - 1) * power


@dataclass(frozen=True)
class Gaussian(Isotropic):
    """k(x, x') = exp(-|(x - x') / width|^2 / 2), with one width or one per input."""

    width: Width = 4.0

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """h(s) = exp(-s)."""
        h = np.exp(-t)
        return h, -h, h


@dataclass(frozen=True)
class Matern52(Isotropic):
    """k(x, x') = (1 + q + q^2/3) exp(-q), q = sqrt(5) |(x - x') / width|."""

    width: Width = 1.0

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """h(s) = (1 + q + q^2/3) exp(-q), q = sqrt(10 s)."""
        q = np.sqrt(10 * t)
        decay = np.exp(-q)
        return (1 + q + q * q / 3) * decay, -5 / 3 * (1 + q) * decay, 25 / 3 * decay


@dataclass(frozen=True)
class RationalQuadratic(Isotropic):
    """k(x, x') = (1 + s/alpha)^(-alpha), s = |(x - x') / width|^2 / 2, alpha > 0."""

    alpha: float = 1.0
    width: Width = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", check_positive("alpha", self.alpha))

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """h(s) = (1 + s/alpha)^(-alpha)."""
        base = 1 + t / self.alpha
        h = base**-self.alpha
        return h, -h / base, (1 + 1 / self.alpha) * h / base**2


ASKED = 2000  # rows whose neighbours give the median: it is known to a percent then


def neighbour_width(X: ArrayLike, n_neighbours: int = 20) -> float:
    """Median distance over the nearest 20 neighbours of every row, the paper's rule for a width.

    A row is not its own neighbour, but its repeats are, at distance zero; with fewer rows than
    ``n_neighbours`` all the others count. Of more than 2000 rows so many, evenly spread, are asked
    for their neighbours among all.
    """
    X = check_points(X)
    if not is_number(n_neighbours, Integral) or n_neighbours < 1:
        raise ValueError(f"n_neighbours = {n_neighbours!r} is not allowed; give an integer >= 1.")
    if len(X) < 2:
        raise ValueError("X has one row, which has no neighbours; give at least two rows.")
    others = min(n_neighbours, len(X) - 1)
    asked = X[np.linspace(0, len(X) - 1, min(len(X), ASKED)).round().astype(int)]
    distances, _ = cKDTree(X).query(asked, others + 1)
    width = float(np.median(distances[:, 1:]))
    if width == 0:
        raise ValueError(
            f"the median distance over the nearest {others} rows is 0, as most rows of X repeat; "
            "drop the repeats, or choose the width yourself."
        )
    return width


def widened(kernel: Kernel, factor: float | Array) -> Kernel:
    """The kernel with its width multiplied, by one factor or one per input."""
    match kernel:
        case Isotropic():
            width = factor * np.asarray(kernel.width)
            return replace(kernel, width=width)  # type: ignore[call-arg]  # subclasses have it
        case Scaled():
            return Scaled(kernel.factor, widened(kernel.kernel, factor))
        case Sum():
            return Sum(tuple(widened(part, factor) for part in kernel.kernels))
    raise ValueError(
        f"{kernel!r} has no width to multiply; leave that out, or give a kernel that has one."
    )
