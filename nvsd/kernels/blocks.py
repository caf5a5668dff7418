"""Gram blocks of a kernel, and functions made of it, at points that are known to be valid.

The library itself calls these functions. They check nothing: arrays must be float64, finite, and of
matching shapes. The methods of `Kernel` with the same names are for users and check first.

Below, n and m are the rows of X and Y (Y=None means Y=X) and d is the number of inputs; derivatives
are variable-major: row a*n + i is input a at x_i.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Block = Array | None

PIECE = 2**24  # numbers of a block between two looks for signals: a fraction of a second
CHUNK = 2**23  # numbers that the temporaries of `evaluate` may hold: 64 MB


class Accumulates(Protocol):
    """The two methods that every kernel has."""

    def _accumulate(self, c: float, X: Array, Y: Array, K: Block, D: Block, L: Block) -> None: ...

    def _evaluate(
        self, X_new: Array, X: Array, alpha: Array, beta: Block, gradient: bool
    ) -> tuple[Array, Array]: ...


def K(kernel: Accumulates, X: Array, Y: Array | None = None) -> Array:
    """K_ij = k(x_i, y_j), shape (n, m)."""
    Y = X if Y is None else Y
    out = np.zeros((len(X), len(Y)))
    _accumulate(kernel, X, Y, out, None, None)
    return out


def D(kernel: Accumulates, X: Array, Y: Array | None = None) -> Array:
    """D[a*n + i, j] = d k(s, y_j) / d s_a at s = x_i, shape (d*n, m)."""
    Y = X if Y is None else Y
    (n, d), m = X.shape, len(Y)
    out = np.zeros((d, n, m))
    _accumulate(kernel, X, Y, None, out, None)
    return out.reshape(d * n, m)


def L(kernel: Accumulates, X: Array, Y: Array | None = None) -> Array:
    """L[a*n + i, b*m + j] = d^2 k(s, r) / (d s_a d r_b) at s = x_i, r = y_j, (d*n, d*m)."""
    Y = X if Y is None else Y
    (n, d), m = X.shape, len(Y)
    out = np.zeros((d, n, d, m))
    _accumulate(kernel, X, Y, None, None, out)
    return out.reshape(d * n, d * m)


def KDL(kernel: Accumulates, X: Array) -> tuple[Array, Array, Array]:
    """K (n, n), D (d*n, n) and L (d*n, d*n) at the same points, sharing their geometry."""
    n, d = X.shape
    K, D, L = np.zeros((n, n)), np.zeros((d, n, n)), np.zeros((d, n, d, n))
    _accumulate(kernel, X, X, K, D, L)
    return K, D.reshape(d * n, n), L.reshape(d * n, d * n)


def _accumulate(kernel: Accumulates, X: Array, Y: Array, K: Block, D: Block, L: Block) -> None:
    """Fill the blocks that are not None, some rows of X at a time if they are large."""
    n, d = X.shape
    step = max(1, PIECE // (len(Y) * (1 if L is None else d)))
    if step >= n:
        kernel._accumulate(1.0, X, Y, K, D, L)
        return
    for start in range(0, n, step):
        rows = slice(start, start + step)
        parts = (each if each is None else each[:, rows] for each in (D, L))
        kernel._accumulate(1.0, X[rows], Y, None if K is None else K[rows], *parts)


def G(kernel: Accumulates, X: Array, out: Array | None = None) -> Array:
    """G = [[K, D^T], [D, L]], shape (N, N) with N = n(d+1); assembled in ``out`` if it is given."""
    n, d = X.shape
    N = n * (d + 1)
    if out is None:
        out = np.zeros((N, N))
    else:
        out.fill(0.0)
    # Splitting the axes of a slice gives views: each block is written where it belongs.
    D, L = out[n:, :n].reshape(d, n, n), out[n:, n:].reshape(d, n, d, n)
    kernel._accumulate(1.0, X, X, out[:n, :n], D, L)
    out[:n, n:] = out[n:, :n].T
    return out


def largest_diagonal(kernel: Accumulates, X: Array) -> tuple[float, Array]:
    """The roots of k(x, x) and of ∂_a∂'_a k(x, x) at the point farthest from the origin."""
    far = X[[int(np.argmax(np.einsum("ia,ia->i", X, X)))]]
    return float(np.sqrt(K(kernel, far)[0, 0])), np.sqrt(L(kernel, far).diagonal())


def evaluate(
    kernel: Accumulates,
    X_new: Array,
    X: Array,
    alpha: Array | None,
    beta: Block = None,
    *,
    gradient: bool = True,
) -> tuple[Array, Array]:
    """f = sum_j alpha_j k(x_j, .) + sum_aj beta_aj d_a k(x_j, .) and its gradient at new points.

    alpha is (n, k), beta (d, n, k); f is (m, k) and the gradient (d, m, k), or (0, m, k) if it is
    not wanted. O(m n d) for each column; no derivative block is formed, and temporaries stay small.
    """
    if alpha is None:
        assert beta is not None
        alpha = np.zeros(beta.shape[1:])
    m, (n, d), k = len(X_new), X.shape, alpha.shape[1]
    step = max(1, CHUNK // (8 * n + 2 * (d + 1) * k))
    if step >= m:
        return kernel._evaluate(X_new, X, alpha, beta, gradient)
    f, grad = np.empty((m, k)), np.empty((d if gradient else 0, m, k))
    for start in range(0, m, step):
        rows = slice(start, start + step)
        f[rows], grad[:, rows] = kernel._evaluate(X_new[rows], X, alpha, beta, gradient)
    return f, grad


def rows_first(
    kernel: Accumulates,
    X_new: Array,
    X: Array,
    alpha: Array | None,
    beta: Block = None,
    *,
    gradient: bool = True,
) -> tuple[Array, Array]:
    """`evaluate` with the functions along the first axis everywhere.

    alpha is (k, n), beta (k, d, n); f is (k, m) and the gradient (k, d, m), or (k, 0, m).
    """
    f, slopes = evaluate(
        kernel,
        X_new,
        X,
        None if alpha is None else alpha.T,
        None if beta is None else np.moveaxis(beta, 0, -1),
        gradient=gradient,
    )
    return f.T, np.moveaxis(slopes, -1, 0)
