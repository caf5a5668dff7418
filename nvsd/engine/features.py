"""One small feature matrix per unit, so that κ_u = Φ_u Φ_uᵀ.

Every input is brought to a common scale, squashed to (−4, 4), and expanded in the eigenfunctions of
a one-dimensional kernel. The eigenfunctions are the same for all inputs, so that the features of a
whole table are one vectorised expression.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nvsd.data.scaling import centred, filled
from nvsd.kernels.warped import EDGE, squash
from nvsd.linalg import pieces, safe_threads
from nvsd.tolerances import CONSTANT_INPUT, TINY

Array = NDArray[np.float64]
Index = NDArray[np.intp]

WINSOR = 3.0  # robust sds at which an input is clipped to find its scale; uniform inputs never are
MIDDLE_HALF = 1.349  # interquartile range of a standard normal: that of an input gives a robust sd
RANK = 1e-3  # share of the first eigenvalue: smaller ones changed no ranking of the tuning problems
ROUGH_STEP = 0.4  # replaces the width in the grid of the exponential kernel, a mixture of widths
ROUGH_RANK = 4.0  # times RANK for the exponential kernel: its eigenvalues fall slowly
PROFILE = 1000.0  # flops in the time of one value of a profile: 10 to 30 ns
GRID_PER_WIDTH = 2.0  # landmarks per width: the Nyström error is then under 1e-3


@dataclass(frozen=True)
class Base:
    """The kernel of one input: a width in standard deviations, and a share of a linear kernel.

    With `rough` the kernel is exponential, a mixture of all widths. It suits functions with both
    steps and slopes.
    """

    width: float
    linear: float = 0.0
    rough: bool = False


Bases = tuple[Base, ...]


@dataclass(frozen=True, eq=False)
class Scaler:
    """Robust location and scale of each input: a few extreme values do not determine them."""

    centre: Array
    scale: Array

    @classmethod
    def fit(cls, X: Array) -> Scaler:
        """Fit to the rows of X; a constant input has scale 1."""
        X = filled(X)
        low, centre, high = np.quantile(X, (0.25, 0.5, 0.75), axis=0)
        spread, sd = (high - low) / MIDDLE_HALF, X.std(axis=0)
        spread = np.where(spread > 1e-9 * (sd + TINY), spread, sd)
        clipped = np.clip(X, centre - WINSOR * spread, centre + WINSOR * spread)
        scale = clipped.std(axis=0)
        constant = scale <= CONSTANT_INPUT * np.abs(X).max(axis=0)
        return cls(clipped.mean(axis=0), np.where(constant, 1.0, scale))

    def __call__(self, X: Array) -> Array:
        """The squashed inputs, inside (−4, 4); a missing value is at the centre."""
        return squash(centred(X, self.centre, self.scale))

    def take(self, inputs: Index) -> Scaler:
        """The scaler of some of the inputs."""
        return Scaler(self.centre[inputs], self.scale[inputs])


def profile(u: Array, width: float, rough: bool) -> Array:
    """The profile of the kernel at the differences u: exponential if rough, else Gaussian."""
    return np.asarray(np.exp(-np.abs(u) / width) if rough else np.exp(-0.5 * (u / width) ** 2))


@lru_cache(maxsize=16)
def _eigenfunctions(width: float, rough: bool) -> tuple[Array, Array]:
    """Landmarks z (m,) and a map W (m, r): k(x, z) W are the features of the first eigenfunctions.

    The eigenproblem is weighted by a normal density plus a small constant, which is roughly how
    inputs are distributed.
    """
    step = ROUGH_STEP if rough else width
    z = np.linspace(-EDGE, EDGE, max(16, int(np.ceil(GRID_PER_WIDTH * 2 * EDGE / step))))
    weight = np.sqrt(np.exp(-0.5 * (z / 1.3) ** 2) + 0.02)
    K = profile(z[:, None] - z, width, rough)
    with safe_threads(len(z)):
        values, U = np.linalg.eigh(weight[:, None] * K * weight)
    keep = values > RANK * values[-1] * (ROUGH_RANK if rough else 1.0)
    W = weight[:, None] * U[:, keep] / np.sqrt(values[keep])
    return z, W[:, ::-1]


def _raw(Z: Array, base: Base) -> Array:
    """Features (n, d, r) of squashed inputs, neither centred nor scaled."""
    if base.linear == 1:
        return Z[:, :, None]
    z, W = _eigenfunctions(base.width, base.rough)
    values, Phi = Z.reshape(-1, 1), np.empty((*Z.shape, W.shape[1]))
    for rows in pieces(0, len(values), PROFILE * len(z)):
        K = profile(values[rows] - z, base.width, base.rough)
        np.matmul(K, W, out=Phi.reshape(-1, W.shape[1])[rows])
    if not base.linear:
        return Phi
    line = np.sqrt(base.linear) * Z[:, :, None]
    return np.concatenate([np.sqrt(1 - base.linear) * Phi, line], axis=2)


def _all_raw(Z: Array, bases: Bases) -> Array:
    """Raw features of all bases side by side, padded to the same rank."""
    parts = [_raw(Z, base) for base in bases]
    r = max(part.shape[2] for part in parts)
    padded = [np.pad(part, ((0, 0), (0, 0), (0, r - part.shape[2]))) for part in parts]
    return padded[0] if len(padded) == 1 else np.concatenate(padded, axis=1)


@dataclass(frozen=True, eq=False)
class Units:
    """Features of all units on given rows, and what is needed to compute them at new rows.

    With one base each input is a unit. With m bases unit j d + a is input a in base j, so that each
    input can find its own width.

    Attributes
    ----------
    mean, scale : arrays
        Features are (raw features − mean) times scale. On the rows that they were made from, κ_u
        has column means 0 and mean diagonal 1.
    Phi : (n, units, r) array
    kin : (units,) int array or None
        The number of the set of near copies that the input of a unit is in, or −1.
    """

    bases: Bases
    scaler: Scaler
    mean: Array
    scale: Array
    Phi: Array
    kin: Index | None

    @classmethod
    def make(
        cls, X: Array, bases: Bases, scaler: Scaler | None = None, kin: Index | None = None
    ) -> Units:
        """The units of all inputs of X, of which some may be near copies of each other."""
        scaler = Scaler.fit(X) if scaler is None else scaler
        Phi = _all_raw(scaler(X), bases)
        mean = Phi.mean(axis=0)
        Phi -= mean
        diagonal = np.einsum("iar,iar->a", Phi, Phi) / len(X)
        scale = np.where(diagonal > 1e-10, 1 / np.sqrt(np.maximum(diagonal, 1e-10)), 0.0)
        Phi *= scale[:, None]
        return cls(
            bases, scaler, mean, scale, Phi, None if kin is None else np.tile(kin, len(bases))
        )

    @property
    def d(self) -> int:
        """Number of inputs."""
        return int(self.Phi.shape[1] // len(self.bases))

    def at(self, X: Array) -> Array:
        """Features of new rows, (m, units, r)."""
        return np.asarray((_all_raw(self.scaler(X), self.bases) - self.mean) * self.scale[:, None])

    def take(self, inputs: Index) -> Units:
        """The units of some of the inputs, in the given order."""
        units = self.of(inputs)
        Phi = np.ascontiguousarray(self.Phi[:, units])
        mean, scale = self.mean[units], self.scale[units]
        kin = None if self.kin is None else self.kin[units]
        return Units(self.bases, self.scaler.take(inputs), mean, scale, Phi, kin)

    def of(self, inputs: Index) -> Index:
        """The indices of the units of some inputs."""
        return np.concatenate([j * self.d + inputs for j in range(len(self.bases))])

    def per_input(self, effect: Array) -> Array:
        """One number for each input: the root of the sum of squares over its units."""
        return np.asarray(np.sqrt(np.sum(effect.reshape(len(self.bases), -1) ** 2, axis=0)))
