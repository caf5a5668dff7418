"""What all kernels share: Gram blocks, evaluation, sums and multiples, JSON text."""

from __future__ import annotations

import inspect
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvsd._checks import check_pair, check_points, check_positive
from nvsd.linalg import product

Array = NDArray[np.float64]
Block = Array | None

CHUNK = 2**23  # numbers that the temporaries of `Kernel.apply` may hold: 64 MB


@dataclass(frozen=True)
class Kernel(ABC):
    """A positive semi-definite function k(x, x'), twice differentiable.

    Kernels can be added (``k1 + k2``) and multiplied by positive numbers (``2.0 * k``), compare by
    value, and travel as JSON text. Below, n and m are the rows of X and Y (Y=None means Y=X) and d
    is the number of inputs; derivatives are variable-major: row a*n + i is input a at x_i.
    """

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

    def _evaluate_in_chunks(
        self, X_new: Array, X: Array, alpha: Array, beta: Block, gradient: bool
    ) -> tuple[Array, Array]:
        m, (n, d), k = len(X_new), X.shape, alpha.shape[1]
        step = max(1, CHUNK // (8 * n + 2 * (d + 1) * k))
        if step >= m:
            return self._evaluate(X_new, X, alpha, beta, gradient)
        f, grad = np.empty((m, k)), np.empty((d if gradient else 0, m, k))
        for start in range(0, m, step):
            rows = slice(start, start + step)
            f[rows], grad[:, rows] = self._evaluate(X_new[rows], X, alpha, beta, gradient)
        return f, grad

    def K(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        """K_ij = k(x_i, y_j), shape (n, m)."""
        X, Y = check_pair(X, Y)
        K = np.zeros((len(X), len(Y)))
        self._accumulate(1.0, X, Y, K, None, None)
        return K

    def D(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        """D[a*n + i, j] = d k(s, y_j) / d s_a at s = x_i, shape (d*n, m)."""
        X, Y = check_pair(X, Y)
        (n, d), m = X.shape, len(Y)
        D = np.zeros((d, n, m))
        self._accumulate(1.0, X, Y, None, D, None)
        return D.reshape(d * n, m)

    def L(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        """L[a*n + i, b*m + j] = d^2 k(s, r) / (d s_a d r_b) at s = x_i, r = y_j, (d*n, d*m)."""
        X, Y = check_pair(X, Y)
        (n, d), m = X.shape, len(Y)
        L = np.zeros((d, n, d, m))
        self._accumulate(1.0, X, Y, None, None, L)
        return L.reshape(d * n, d * m)

    def blocks(self, X: ArrayLike) -> tuple[Array, Array, Array]:
        """K (n, n), D (d*n, n) and L (d*n, d*n) at the same points, sharing their geometry."""
        X = check_points(X)
        n, d = X.shape
        K, D, L = np.zeros((n, n)), np.zeros((d, n, n)), np.zeros((d, n, d, n))
        self._accumulate(1.0, X, X, K, D, L)
        return K, D.reshape(d * n, n), L.reshape(d * n, d * n)

    def G(self, X: ArrayLike, out: Array | None = None) -> Array:
        """G = [[K, D^T], [D, L]], shape (N, N) with N = n(d+1).

        The Gram matrix of all k(x_i, .) and d_a k(x_i, .): positive semi-definite and exactly
        symmetric. It is assembled in ``out`` when that is given.
        """
        X = check_points(X)
        n, d = X.shape
        N = n * (d + 1)
        if out is None:
            out = np.zeros((N, N))
        elif out.shape == (N, N) and out.dtype == np.float64:
            out.fill(0.0)
        else:
            raise ValueError(f"out is {out.dtype} {out.shape}; give a float64 array {(N, N)}.")
        # Splitting the axes of a slice gives views: each block is written where it belongs.
        D, L = out[n:, :n].reshape(d, n, n), out[n:, n:].reshape(d, n, d, n)
        self._accumulate(1.0, X, X, out[:n, :n], D, L)
        out[:n, n:] = out[n:, :n].T
        return out

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
            At least one of the two is needed; each of the k columns is a function.
        gradient : bool
            Whether the gradient is wanted.

        Returns
        -------
        f : (m,) or (m, k) array
        grad : (d, m) or (d, m, k) array, or None
        """
        X_new, X = check_pair(X_new, X)
        m, (n, d) = len(X_new), X.shape
        A, B, columns = _coefficients(alpha, beta, n, d)
        f, grad = self._evaluate_in_chunks(X_new, X, A, B, gradient)
        return f.reshape(m, *columns), grad.reshape(d, m, *columns) if gradient else None

    def G_product(self, X: ArrayLike, v: ArrayLike) -> Array:
        """G(X) @ v for v (N,) or (N, k), in O(n^2 d) for each column and without forming G."""
        X, v = check_points(X), np.asarray(v, dtype=float)
        n, d = X.shape
        if v.ndim not in (1, 2) or len(v) != n * (d + 1):
            raise ValueError(f"v has shape {v.shape}; give n(d+1) = {n * (d + 1)} rows.")
        V = v.reshape(d + 1, n, -1)
        f, grad = self._evaluate_in_chunks(X, X, V[0], V[1:], gradient=True)
        return np.concatenate([f[None], grad]).reshape(v.shape)

    def restrict(self, features: ArrayLike) -> Kernel:
        """Return the kernel on a subset of the inputs: indices, or a boolean mask."""
        return self

    def to_json(self) -> str:
        """Return the kernel as text, for `from_json`."""
        return json.dumps(_encode(self))

    @staticmethod
    def from_json(text: str) -> Kernel:
        """Return the kernel that `to_json` wrote."""
        try:
            kernel = _decode(json.loads(text))
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"{text[:60]!r} is no JSON; give what to_json returned.") from error
        if not isinstance(kernel, Kernel):
            raise ValueError(f"{text[:60]!r} describes no kernel; give what to_json returned.")
        return kernel

    def __add__(self, other: Kernel) -> Sum:
        return Sum((self, other))

    def __mul__(self, factor: float) -> Scaled:
        return Scaled(factor, self)

    __rmul__ = __mul__


class Profile(Kernel):
    """k(x, x') = h(t), a scalar function of one number t(x, x').

    Half a squared distance (`Isotropic`) and x.x' (`DotProduct`) share one geometry; with
    z = x / width it is::

        t = p (|z|^2 + |z'|^2) / 2 + q z.z'      isotropic p = 1, q = -1; dot product p = 0, q = 1
        dt/dx_a = (p z_a + q z'_a) / width_a     d^2 t / (dx_a dx'_b) = q 1[a = b] / width_a^2

    and the chain rule gives all the rest.
    """

    p: ClassVar[float]
    q: ClassVar[float]

    @abstractmethod
    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """Return h(t), h'(t) and h''(t), each shaped like t."""

    @abstractmethod
    def _geometry(self, X: Array, Y: Array) -> tuple[Array, Array, Array, Array]:
        """Return width (d,), z (n, d), z' (m, d) and t (n, m)."""

    def _accumulate(self, c: float, X: Array, Y: Array, K: Block, D: Block, L: Block) -> None:
        w, U, V, t = self._geometry(X, Y)
        h, h1, h2 = self.profile(t) if c == 1.0 else (c * values for values in self.profile(t))
        if K is not None:
            K += h
        if L is not None:
            T = (self.q * U[:, :, None] + self.p * V.T) / w[:, None]  # dt/dy_b, (n, d, m)
            slab = np.empty_like(T)
        for a in range(0 if D is None and L is None else len(w)):
            S = (self.p * U[:, a, None] + self.q * V[:, a]) / w[a]  # dt/dx_a, (n, m)
            if D is not None:
                D[a] += h1 * S
            if L is not None:
                # Only with h'' as the last factor is L exactly symmetric.
                np.multiply(S[:, None], T, out=slab)
                slab *= h2[:, None]
                L[a] += slab
                L[a, :, a] += self.q / w[a] ** 2 * h1

    def _evaluate(
        self, X_new: Array, X: Array, alpha: Array, beta: Block, gradient: bool
    ) -> tuple[Array, Array]:
        (m, d), (n, k) = X_new.shape, alpha.shape
        w, U, V, t = self._geometry(X_new, X)
        h, h1, h2 = self.profile(t)
        f: Array = product(h, alpha)
        grad = np.zeros((d if gradient else 0, m, k))
        if beta is not None:
            # sum_a beta_aj dt/dx_ja = (q U, p)_i . (B_j, V_j.B_j): one product for all i and j.
            E = np.column_stack([self.q * U, np.full(m, self.p)])
            B = np.empty((n, d + 1, k))
            np.divide(beta.swapaxes(0, 1), w[:, None], out=B[:, :d])
            np.einsum("ja,jak->jk", V, B[:, :d], out=B[:, d])
            HB = product(h1, B.reshape(n, -1)).reshape(m, d + 1, k)
            f += np.einsum("ia,iak->ik", E, HB)
            grad += self.q * HB[:, : len(grad)].swapaxes(0, 1)
        for c in range(k if gradient else 0):
            W = h1 * alpha[:, c]
            if beta is not None:
                W += h2 * product(E, B[:, :, c].T)
            grad[:, :, c] += (self.q * product(W, V) + self.p * W.sum(axis=1, keepdims=True) * U).T
        return f, grad / w[: len(grad), None, None]


@dataclass(frozen=True)
class Sum(Kernel):
    """k = k_1 + k_2 + ..., what ``k1 + k2`` makes; sums of sums are flattened."""

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        kernels = tuple(self.kernels)
        if not kernels or not all(isinstance(kernel, Kernel) for kernel in kernels):
            raise ValueError(f"{kernels!r} cannot be summed; give kernels, at least one.")
        parts = (kernel.kernels if isinstance(kernel, Sum) else (kernel,) for kernel in kernels)
        object.__setattr__(self, "kernels", tuple(chain.from_iterable(parts)))

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

    def restrict(self, features: ArrayLike) -> Kernel:
        """Return the kernel on a subset of the inputs: indices, or a boolean mask."""
        return Sum(tuple(kernel.restrict(features) for kernel in self.kernels))


@dataclass(frozen=True)
class Scaled(Kernel):
    """k = factor * kernel with a positive factor, what ``2.0 * k`` makes."""

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"{self.kernel!r} cannot be scaled; give a kernel.")
        object.__setattr__(self, "factor", check_positive("factor", self.factor))

    def _accumulate(self, c: float, X: Array, Y: Array, K: Block, D: Block, L: Block) -> None:
        self.kernel._accumulate(c * self.factor, X, Y, K, D, L)

    def _evaluate(
        self, X_new: Array, X: Array, alpha: Array, beta: Block, gradient: bool
    ) -> tuple[Array, Array]:
        f, grad = self.kernel._evaluate(X_new, X, alpha, beta, gradient)
        return self.factor * f, self.factor * grad

    def restrict(self, features: ArrayLike) -> Kernel:
        """Return the kernel on a subset of the inputs: indices, or a boolean mask."""
        return Scaled(self.factor, self.kernel.restrict(features))


def _coefficients(
    alpha: ArrayLike | None, beta: ArrayLike | None, n: int, d: int
) -> tuple[Array, Block, tuple[int, ...]]:
    """Return alpha (n, k), beta (d, n, k) or None, and the trailing shape given: () or (k,)."""
    B = None if beta is None else np.asarray(beta, dtype=float)
    if alpha is not None:
        A = np.asarray(alpha, dtype=float)
    elif B is not None:
        A = np.zeros(B.shape[1:])
    else:
        raise ValueError("neither alpha nor beta is given; give at least one of them.")
    columns = A.shape[1:]
    fits = A.shape == (n, *columns) and (B is None or B.shape == (d, n, *columns))
    if not fits or len(columns) > 1:
        raise ValueError(
            f"the shapes of alpha {A.shape} and beta {None if B is None else B.shape} do not fit; "
            f"give ({n},) and ({d}, {n}), or ({n}, k) and ({d}, {n}, k)."
        )
    k = math.prod(columns)
    return A.reshape(n, k), None if B is None else B.reshape(d, n, k), columns


def _concrete(kind: type) -> Iterator[type]:
    children: list[type] = kind.__subclasses__()
    for child in children:
        if not inspect.isabstract(child):
            yield child
        yield from _concrete(child)


def _encode(value: Any) -> Any:
    """Write a kernel as {name: fields}."""
    if isinstance(value, Kernel):
        content = {field.name: _encode(getattr(value, field.name)) for field in fields(value)}
        return {type(value).__name__: content}
    return [_encode(item) for item in value] if isinstance(value, tuple) else value


def _decode(value: Any) -> Any:
    """Read what `_encode` wrote."""
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    kinds = {kind.__name__: kind for kind in _concrete(Kernel)}
    name, content = next(iter(value.items()), ("", None))
    if len(value) != 1 or name not in kinds or not isinstance(content, dict):
        raise ValueError(
            f"{value!r} describes no kernel; give {{name: fields}}, the name one of "
            f"{', '.join(sorted(kinds))}."
        )
    try:
        return kinds[name](**{field: _decode(item) for field, item in content.items()})
    except TypeError as error:
        raise ValueError(
            f"{name} cannot be made from {content}; give {inspect.signature(kinds[name])}."
        ) from error
