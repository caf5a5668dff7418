"""What all kernels share: checked Gram blocks and evaluation, sums, multiples, JSON text."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from nvsd.data.checks import check_coefficients, check_pair, check_points, check_positive
from nvsd.descriptions import Brief, decoded, encoded
from nvsd.kernels import blocks
from nvsd.kernels.blocks import Array, Block
from nvsd.kernels.normal import mean_of
from nvsd.kernels.products import AppliedProducts, Products, SumProducts


@dataclass(frozen=True)
class Kernel(Brief, ABC):
    """A positive semi-definite function k(x, x'), twice differentiable.

    Kernels can be added (``k1 + k2``), multiplied by positive numbers (``2.0 * k``), compared by
    value, and written as JSON text. Below, n and m are the rows of X and Y (Y=None means Y=X) and d
    is the number of inputs; derivatives are variable-major: row a*n + i is input a at x_i.

    Attributes
    ----------
    short_name : str
        Name of the class, made without arguments, in estimators and on the command line; "" if it
        has none there.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.kernels import Gaussian, Kernel, Linear
    >>> kernel = Linear() + 0.5 * Gaussian(2.0)
    >>> kernel
    Linear() + 0.5 * Gaussian(width=2.0)
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> kernel.K(X).shape, kernel.D(X).shape, kernel.L(X).shape
    ((2, 2), (4, 2), (4, 4))
    >>> Kernel.from_json(kernel.to_json()) == kernel
    True
    """

    short_name: ClassVar[str] = ""
    # Without this ``np.float64(2) * kernel`` would be an array of objects.
    __array_ufunc__: ClassVar[None] = None

    @abstractmethod
    def _accumulate(self, c: float, X: Array, Y: Array, K: Block, D: Block, L: Block) -> None:
        """Add c times each block that is not None: K (n, m), D (d, n, m), L (d, n, d, m)."""

    @abstractmethod
    def _evaluate(
        self, X_new: Array, X: Array, alpha: Array, beta: Block, gradient: bool
    ) -> tuple[Array, Array]:
        """Return f (m, k) and its gradient (d, m, k), or (0, m, k), for `apply`."""

    def K(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        """K_ij = k(x_i, y_j), shape (n, m)."""
        return blocks.K(self, *check_pair(X, Y))

    def D(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        """D[a*n + i, j] = d k(s, y_j) / d s_a at s = x_i, shape (d*n, m)."""
        return blocks.D(self, *check_pair(X, Y))

    def L(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        """L[a*n + i, b*m + j] = d^2 k(s, r) / (d s_a d r_b) at s = x_i, r = y_j, (d*n, d*m)."""
        return blocks.L(self, *check_pair(X, Y))

    def blocks(self, X: ArrayLike) -> tuple[Array, Array, Array]:
        """K (n, n), D (d*n, n) and L (d*n, d*n) at the same points, sharing their geometry."""
        return blocks.KDL(self, check_points(X))

    def G(self, X: ArrayLike, out: Array | None = None) -> Array:
        """G = [[K, D^T], [D, L]], shape (N, N) with N = n(d+1).

        The Gram matrix of all k(x_i, .) and d_a k(x_i, .): positive semi-definite and exactly
        symmetric. It is assembled in ``out`` when that is given.
        """
        X = check_points(X)
        N = X.shape[0] * (X.shape[1] + 1)
        if out is not None and (out.shape != (N, N) or out.dtype != np.float64):
            raise ValueError(f"out is {out.dtype} {out.shape}; give a float64 array {(N, N)}.")
        return blocks.G(self, X, out)

    def apply(
        self,
        X_new: ArrayLike,
        X: ArrayLike,
        alpha: ArrayLike | None = None,
        beta: ArrayLike | None = None,
        *,
        gradient: bool = True,
    ) -> tuple[Array, Array | None]:
        """Evaluate f = sum_j alpha_j k(x_j, .) + sum_aj beta_aj d_a k(x_j, .) and its gradient.

        O(m n d) for each column; no derivative block is formed, and temporaries stay near 64 MB.

        Parameters
        ----------
        X_new : (m, d) array
            Where to evaluate.
        X : (n, d) array
            The centres x_j.
        alpha : (n,) or (n, k) array, optional
        beta : (d, n) or (d, n, k) array, optional
            Give alpha, beta or both; each of the k columns is a function.
        gradient : bool
            Whether the gradient is wanted.

        Returns
        -------
        f : (m,) or (m, k) array
        grad : (d, m) or (d, m, k) array, or None
        """
        X_new, X = check_pair(X_new, X)
        m, (n, d) = len(X_new), X.shape
        A, B, columns = check_coefficients(alpha, beta, n, d)
        f, grad = blocks.evaluate(self, X_new, X, A, B, gradient=gradient)
        return f.reshape(m, *columns), grad.reshape(d, m, *columns) if gradient else None

    def G_product(self, X: ArrayLike, v: ArrayLike) -> Array:
        """G(X) @ v for v (N,) or (N, k), in O(n^2 d) for each column and without forming G."""
        X, v = check_points(X), np.asarray(v, dtype=float)
        n, d = X.shape
        if v.ndim not in (1, 2) or len(v) != n * (d + 1):
            raise ValueError(f"v has shape {v.shape}; give n(d+1) = {n * (d + 1)} rows.")
        V = v.reshape(d + 1, n, -1)
        f, grad = blocks.evaluate(self, X, X, V[0], V[1:])
        return np.concatenate([f[None], grad]).reshape(v.shape)

    def products(self, X: Array, factor: float = 1.0) -> Products:
        """D and L at fixed points, times a factor, as products without the matrices."""
        return AppliedProducts(self, X, factor)

    def restrict(self, features: ArrayLike) -> Kernel:
        """Return the kernel on a subset of the inputs: indices, or a boolean mask."""
        return self

    def widened(self, factor: float | Array) -> Kernel:
        """Return the kernel with its width multiplied, by one factor or one per input."""
        raise ValueError(
            f"{self!r} has no width to multiply; give a kernel with a width, or no width factors."
        )

    def filled(self, width: float) -> Kernel:
        """Return the kernel with this width wherever a width was not given."""
        return self

    def normal_mean(self, x: Array) -> tuple[Array, Array]:
        """m(x) = ∫ k(x, t) dN(t; 0, 1) and its derivative at (n,) points of one input.

        By Gauss-Hermite quadrature, unless the kernel has a closed form.
        """
        return mean_of(self, x)

    def factors(self, X: Array, Y: Array) -> tuple[list[Array], int] | None:
        """Z_a (n, m) of each input, and q, if k = constant + Σ_{s=1..q} e_s(z_1, …, z_d)."""
        return None

    @property
    def polynomial(self) -> tuple[int, float] | None:
        """p and c if k(x, x') = (x.x' + c)^p, which has explicit features; None otherwise."""
        return None

    @property
    def roundings(self) -> int:
        """Relative rounding errors of k(x, x') and its derivatives, as a multiple of eps."""
        return 1

    def to_json(self) -> str:
        """Return the kernel as text, for `from_json`."""
        return json.dumps(encoded(self, Kernel))

    @staticmethod
    def from_json(text: str) -> Kernel:
        """Return the kernel that `to_json` wrote."""
        try:
            kernel = decoded(json.loads(text), Kernel, "kernel")
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"{text[:60]!r} is not JSON; give what to_json returned.") from error
        if not isinstance(kernel, Kernel):
            raise ValueError(
                f"{text[:60]!r} does not describe a kernel; give what to_json returned."
            )
        return kernel

    def __add__(self, other: Kernel) -> Sum:
        return Sum((self, other))

    def __mul__(self, factor: float) -> Scaled:
        return Scaled(factor, self)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Sum(Kernel):
    """k = k_1 + k_2 + ..., the result of ``k1 + k2``; sums of sums are flattened.

    Examples
    --------
    >>> from nvsd.kernels import Gaussian, Linear
    >>> Linear() + Gaussian(2.0)
    Linear() + Gaussian(width=2.0)
    """

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        kernels = tuple(self.kernels)
        if not kernels or not all(isinstance(kernel, Kernel) for kernel in kernels):
            raise ValueError(f"{kernels!r} cannot be summed; give one or more kernels.")
        parts = (kernel.kernels if isinstance(kernel, Sum) else (kernel,) for kernel in kernels)
        object.__setattr__(self, "kernels", tuple(chain.from_iterable(parts)))

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.kernels))

    def _accumulate(self, c: float, X: Array, Y: Array, K: Block, D: Block, L: Block) -> None:
        for kernel in self.kernels:
            kernel._accumulate(c, X, Y, K, D, L)

    def _evaluate(
        self, X_new: Array, X: Array, alpha: Array, beta: Block, gradient: bool
    ) -> tuple[Array, Array]:
        f, grad = self.kernels[0]._evaluate(X_new, X, alpha, beta, gradient)
        for kernel in self.kernels[1:]:
            more_f, more_grad = kernel._evaluate(X_new, X, alpha, beta, gradient)
            f += more_f
            grad += more_grad
        return f, grad

    @property
    def roundings(self) -> int:
        """The largest of the parts."""
        return max(kernel.roundings for kernel in self.kernels)

    def products(self, X: Array, factor: float = 1.0) -> Products:
        """The products of all parts, summed."""
        return SumProducts([kernel.products(X, factor) for kernel in self.kernels])

    def restrict(self, features: ArrayLike) -> Kernel:
        """Return the kernel on a subset of the inputs: indices, or a boolean mask."""
        return Sum(tuple(kernel.restrict(features) for kernel in self.kernels))

    def normal_mean(self, x: Array) -> tuple[Array, Array]:
        """The sum over the parts."""
        means, slopes = zip(*(kernel.normal_mean(x) for kernel in self.kernels), strict=True)
        return np.sum(means, axis=0), np.sum(slopes, axis=0)

    def widened(self, factor: float | Array) -> Kernel:
        """Return the sum with all widths multiplied."""
        return Sum(tuple(kernel.widened(factor) for kernel in self.kernels))

    def filled(self, width: float) -> Kernel:
        """Return the sum with this width wherever a width was not given."""
        return Sum(tuple(kernel.filled(width) for kernel in self.kernels))


@dataclass(frozen=True)
class Scaled(Kernel):
    """k = factor * kernel with a positive factor, the result of ``2.0 * k``.

    Examples
    --------
    >>> from nvsd.kernels import Linear
    >>> 2.0 * Linear()
    2 * Linear()
    """

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"{self.kernel!r} cannot be scaled; give a kernel.")
        object.__setattr__(self, "factor", check_positive("factor", self.factor))

    def __repr__(self) -> str:
        return f"{self.factor:g} * " + (
            f"({self.kernel!r})" if isinstance(self.kernel, Sum) else repr(self.kernel)
        )

    def _accumulate(self, c: float, X: Array, Y: Array, K: Block, D: Block, L: Block) -> None:
        self.kernel._accumulate(c * self.factor, X, Y, K, D, L)

    def _evaluate(
        self, X_new: Array, X: Array, alpha: Array, beta: Block, gradient: bool
    ) -> tuple[Array, Array]:
        f, grad = self.kernel._evaluate(X_new, X, alpha, beta, gradient)
        return self.factor * f, self.factor * grad

    @property
    def roundings(self) -> int:
        """Those of the kernel."""
        return self.kernel.roundings

    def products(self, X: Array, factor: float = 1.0) -> Products:
        """The products of the kernel, times the factor."""
        return self.kernel.products(X, factor * self.factor)

    def restrict(self, features: ArrayLike) -> Kernel:
        """Return the kernel on a subset of the inputs: indices, or a boolean mask."""
        return Scaled(self.factor, self.kernel.restrict(features))

    def normal_mean(self, x: Array) -> tuple[Array, Array]:
        """The mean and derivative of the kernel, times the factor."""
        mean, slope = self.kernel.normal_mean(x)
        return self.factor * mean, self.factor * slope

    def widened(self, factor: float | Array) -> Kernel:
        """Return the kernel with its width multiplied."""
        return Scaled(self.factor, self.kernel.widened(factor))

    def filled(self, width: float) -> Kernel:
        """Return the kernel with this width, if it has none."""
        return Scaled(self.factor, self.kernel.filled(width))
