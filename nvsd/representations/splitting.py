"""What a representation offers for losses that are not quadratic.

The loss then is no part of A. The solver splits f at the samples off, as s = Φθ, beside the
derivatives z = Zθ, and sees

    minimise ν‖θ‖² + L(s) + τJ(z)      subject to  s = Φθ,  z = Zθ.

S1 replaces L by a parabola of curvature c around targets t, so that all factorisations are those of
a quadratic loss:

    minimise ν‖θ‖² + (c/2n)‖Φθ − t‖² + κ/2 ‖Zθ − v‖².

For dual points v of s and u of z the point that matches them is θ(v, u) = −(Φᵀv + Zᵀu)/(2ν).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Image(NamedTuple):
    """Points θ as coefficients C, f at the samples (k, n) and its derivatives (k, d, n)."""

    C: Array
    s: Array
    z: Array


class Curves(Protocol):
    """How much of a gap can go into derivative norms: see `Representation`."""

    @property
    def curve_norms(self) -> Array:
        """Upper bounds of ‖H_aa‖₂, (d,)."""
        ...

    @property
    def curve_floors(self) -> Array:
        """Upper bounds of the least eigenvalue of H_aa, (d,)."""
        ...

    @property
    def curve_inverse_norms(self) -> Array:
        """Upper bounds of ‖(H⁻¹)_aa‖₂, (d,)."""
        ...


class Splitting(ABC):
    """S1 with targets, and what the certificate needs.

    Attributes
    ----------
    kappa : float
        c/n, the weight of the parabola.
    """

    kappa: float

    @abstractmethod
    def s1(self, T: Array, V: Array, kappa: Array) -> Image:
        """The θ that minimises S1 for each target t (k, n), v (k, d, n) and κ (k,)."""

    @abstractmethod
    def ridge(self, T: Array) -> Image:
        """The same with κ = 0: kernel ridge."""

    @abstractmethod
    def image(self, C: Array) -> Image:
        """Φθ and Zθ from their definitions."""

    @abstractmethod
    def match(self, v: Array, u: Array) -> Array:
        """The coefficients of θ(v, u)."""

    @abstractmethod
    def square_norm(self, C: Array) -> Array:
        """‖θ‖² of each point."""

    @property
    @abstractmethod
    def curve_norms(self) -> Array:
        """‖Z_aZ_aᵀ‖₂/(2ν), (d,): H has A = 2νI, all the curvature that is sure."""

    @property
    def curve_floors(self) -> Array:
        """No better than the norms."""
        return self.curve_norms

    @property
    def curve_inverse_norms(self) -> Array:
        """Not known: no input is certified to be off."""
        return np.full(len(self.curve_norms), np.inf)

    @abstractmethod
    def coefficients(self, C: Array, v: Array, u: Array) -> dict[str, Array]:
        """f as the result stores it; θ = θ(v, u)."""
