"""Kernels of the distance: Gaussian, Matérn, rational quadratic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from nvsd.data.checks import check_positive
from nvsd.kernels import blocks
from nvsd.kernels.base import Kernel
from nvsd.kernels.blocks import Array
from nvsd.kernels.profile import Profile
from nvsd.linalg import pieces
from nvsd.tolerances import TINY

Width = float | tuple[float, ...] | None

DISTANCE = 30.0  # flops of a matrix product in the time of one difference and its square


class Isotropic(Profile):
    """k(x, x') = h(s), s = |(x - x') / width|^2 / 2, with one width or one per input.

    A subclass is a frozen dataclass with a field ``width`` and a method ``profile``. A width of
    None is taken from the data by `nvsd.kernels.widths.with_width`.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.kernels import Gaussian, Isotropic
    >>> isinstance(Gaussian(2.0), Isotropic)
    True
    >>> h, slope, bend = Gaussian(2.0).profile(np.array([0.0, 1.0]))
    >>> h.round(3)
    array([1.   , 0.368])
    """

    p, q = 1.0, -1.0
    width: Width

    def __post_init__(self) -> None:
        if self.width is None:
            return
        if np.ndim(self.width) == 0:
            width: float | tuple[float, ...] = check_positive("width", self.width)
        else:
            width = tuple(check_positive("width", w) for w in np.asarray(self.width).tolist())
        if width == ():
            raise ValueError("width is empty; give one positive number, or one per input.")
        if not all(TINY < each * each < 1.0 / TINY for each in np.atleast_1d(width).tolist()):
            raise ValueError(
                f"width = {self.width!r} is too close to the limits of floating-point numbers; "
                "give it, and X, in other units."
            )
        object.__setattr__(self, "width", width)

    def _known_width(self) -> Array:
        """The width, or one per input."""
        if self.width is None:
            name = type(self).__name__
            raise ValueError(
                f"{self!r} has no width, which only paths, selections and estimators take from the "
                f"data; give one, such as {name}(width=1.0)."
            )
        return np.asarray(self.width)

    def _geometry(self, X: Array, Y: Array) -> tuple[Array, Array, Array, Array]:
        w, d = self._known_width(), X.shape[1]
        if w.shape not in ((), (d,)):
            raise ValueError(
                f"there are {w.size} widths for {d} inputs; give one width, or one per input."
            )
        # A shift leaves distances unchanged; far from the origin products would lose digits.
        centre = Y.mean(axis=0)
        U = (X - centre) / w
        V = U if Y is X else (Y - centre) / w
        t = np.empty((len(X), len(Y)))
        for rows in pieces(0, len(X), DISTANCE * V.size):
            cdist(U[rows], V, "sqeuclidean", out=t[rows])
        t /= 2
        return np.broadcast_to(w, d), U, V, t

    def widened(self, factor: float | Array) -> Kernel:
        """Return the kernel with its width multiplied, by one factor or one per input."""
        width = factor * self._known_width()
        return replace(self, width=width)  # type: ignore[call-arg]  # subclasses have it

    def filled(self, width: float) -> Kernel:
        """Return the kernel with this width, if it has none."""
        if self.width is not None:
            return self
        return replace(self, width=width)  # type: ignore[call-arg]  # subclasses have it

    def restrict(self, features: ArrayLike) -> Kernel:
        """Return the kernel on a subset of the inputs: indices, or a boolean mask."""
        if not isinstance(self.width, tuple):
            return self
        try:
            width = np.asarray(self.width)[np.atleast_1d(features)]
        except IndexError as error:
            raise ValueError(
                f"features = {features!r} do not fit {len(self.width)} widths; "
                "give indices of inputs, or a boolean mask over all of them."
            ) from error
        return replace(self, width=tuple(width))  # type: ignore[call-arg]  # subclasses have it


@dataclass(frozen=True)
class Gaussian(Isotropic):
    """k(x, x') = exp(-|(x - x') / width|^2 / 2), with one width or one per input.

    A width that is not given is the median distance to the 20 nearest neighbours, taken from the
    data by paths, selections and estimators; the same holds for the other kernels with a width.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.kernels import Gaussian
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> Gaussian(width=2.0).K(X).round(3)
    array([[1.   , 0.882],
           [0.882, 1.   ]])
    """

    width: Width = None
    short_name: ClassVar[str] = "gaussian"

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """h(s) = exp(-s)."""
        h = np.exp(-t)
        return h, -h, h

    def factors(self, X: Array, Y: Array) -> tuple[list[Array], int] | None:
        """Z_a = k_a − 1, because k = Π_a k_a = Π_a (1 + z_a)."""
        d = X.shape[1]
        one = [blocks.K(self.restrict([a]), X[:, [a]], Y[:, [a]]) - 1 for a in range(d)]
        return one, d

    def normal_mean(self, x: Array) -> tuple[Array, Array]:
        """m(x) = w (w² + 1)^(-1/2) exp(-x²/(2(w² + 1))), in closed form."""
        square = float(np.max(self._known_width())) ** 2
        m = np.sqrt(square / (square + 1)) * np.exp(-0.5 * x**2 / (square + 1))
        return m, -x / (square + 1) * m


@dataclass(frozen=True)
class Matern52(Isotropic):
    """k(x, x') = (1 + q + q^2/3) exp(-q), q = sqrt(5) |(x - x') / width|.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.kernels import Matern52
    >>> Matern52(width=2.0).K(np.array([[0.0, 0.0], [1.0, 0.0]])).round(3)
    array([[1.   , 0.829],
           [0.829, 1.   ]])
    """

    width: Width = None
    short_name: ClassVar[str] = "matern"

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """h(s) = (1 + q + q^2/3) exp(-q), q = sqrt(10 s)."""
        q = np.sqrt(10 * t)
        decay = np.exp(-q)
        return (1 + q + q * q / 3) * decay, -5 / 3 * (1 + q) * decay, 25 / 3 * decay


@dataclass(frozen=True)
class RationalQuadratic(Isotropic):
    """k(x, x') = (1 + s/alpha)^(-alpha), s = |(x - x') / width|^2 / 2, alpha > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.kernels import RationalQuadratic
    >>> RationalQuadratic(alpha=1.0, width=2.0).K(np.array([[0.0, 0.0], [1.0, 0.0]])).round(3)
    array([[1.   , 0.889],
           [0.889, 1.   ]])
    """

    alpha: float = 1.0
    width: Width = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", check_positive("alpha", self.alpha))

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """h(s) = (1 + s/alpha)^(-alpha)."""
        base = 1 + t / self.alpha
        h = base**-self.alpha
        return h, -h / base, (1 + 1 / self.alpha) * h / base**2
