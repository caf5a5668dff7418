"""Kernels of the scalar product: linear and polynomial."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np

from nvsd.data.checks import is_number
from nvsd.kernels.blocks import Array
from nvsd.kernels.profile import Profile
from nvsd.linalg import gram, product


class DotProduct(Profile):
    """k(x, x') = h(t), t = x.x'; a subclass is a frozen dataclass with a method ``profile``.

    Examples
    --------
    >>> from nvsd.kernels import DotProduct, Linear, Polynomial
    >>> [issubclass(kernel, DotProduct) for kernel in (Linear, Polynomial)]
    [True, True]
    """

    p, q = 0.0, 1.0

    @property
    def roundings(self) -> int:
        """One for the scalar product, and one for each power of it."""
        return 1 + (1 if self.polynomial is None else self.polynomial[0])

    def _geometry(self, X: Array, Y: Array) -> tuple[Array, Array, Array, Array]:
        t = gram(X) if Y is X else product(X, Y.T)
        return np.ones(X.shape[1]), X, Y, t


@dataclass(frozen=True)
class Linear(DotProduct):
    """k(x, x') = x.x'.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.kernels import Linear
    >>> Linear().K(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 5., 11.],
           [11., 25.]])
    """

    short_name: ClassVar[str] = "linear"

    @property
    def polynomial(self) -> tuple[int, float]:
        """Degree 1 and offset 0."""
        return 1, 0.0

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """h(t) = t."""
        return t, np.ones_like(t), np.zeros_like(t)


@dataclass(frozen=True)
class Polynomial(DotProduct):
    """k(x, x') = (x.x' + offset)^degree, with an integer degree >= 1 and an offset >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.kernels import Polynomial
    >>> Polynomial(degree=2, offset=1.0).K(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 36., 144.],
           [144., 676.]])
    """

    degree: int = 3
    offset: float = 1.0
    short_name: ClassVar[str] = "polynomial"

    def __post_init__(self) -> None:
        if not is_number(self.degree, Integral) or self.degree < 1:
            raise ValueError(f"degree = {self.degree!r} is not allowed; give an integer >= 1.")
        if not is_number(self.offset) or not 0 <= self.offset < math.inf:
            raise ValueError(f"offset = {self.offset!r} is not allowed; give a finite number >= 0.")
        object.__setattr__(self, "degree", int(self.degree))
        object.__setattr__(self, "offset", float(self.offset))

    @property
    def polynomial(self) -> tuple[int, float]:
        """Degree and offset."""
        return self.degree, self.offset

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """h(t) = (t + offset)^degree."""
        p, t = self.degree, t + self.offset
        if p == 1:
            return t, np.ones_like(t), np.zeros_like(t)
        power = t ** (p - 2)
        return power * t * t, p * power * t, p * (p - 1) * power
