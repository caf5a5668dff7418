"""The paper's objective and its dual in 300 decimal digits: rounding plays no part in the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal, localcontext
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Any

import numpy as np

from nvsd.kernels import Gaussian, Kernel, Linear, Matern52, Polynomial
from nvsd.penalties import Penalty
from reference.penalties import terms

# A kernel matrix of degree 6 on inputs of size 1e8 has a condition number near 1e100.
DIGITS = 300
HALF = Decimal("0.5")
Profile = Callable[[Decimal], tuple[Decimal, Decimal, Decimal]]


@contextmanager
def many_digits() -> Iterator[None]:
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = DIGITS, -999999, 999999
        yield


def decimals(values: Any) -> np.ndarray:
    """The same numbers, every bit of them."""
    array = np.asarray(values, dtype=float)
    flat = [Decimal(value) for value in array.ravel().tolist()]
    return np.array(flat, dtype=object).reshape(array.shape)


def norm(v: np.ndarray) -> Decimal:
    return (v * v).sum().sqrt()


class Exact:
    """minimise (1/n)|y − f|² + τ J(φ) + ν|f|² for given X, y, kernel, penalty and ν > 0.

    y is measured from the mean that the library took off.
    """

    def __init__(
        self, X: np.ndarray, y: np.ndarray, kernel: Kernel, penalty: Penalty, nu: float, mean: float
    ) -> None:
        self.n, self.d = X.shape
        self.kernel, self.nu = kernel, Decimal(nu)
        self.terms = terms(penalty, [f"x{a}" for a in range(self.d)])
        with many_digits():
            self.X = decimals(X)
            self.y = decimals(y) - Decimal(mean)
            self.root_n = Decimal(self.n).sqrt()
            self.K, self.D, self.L = gram(self.X, kernel)

    def objective(self, tau: float, alpha: np.ndarray, beta: np.ndarray) -> Decimal:
        """Of f = Σ α_i k(x_i, ·) + Σ β_ai ∂_a k(x_i, ·)."""
        with many_digits():
            f, phi, square = self._function(decimals(alpha), decimals(beta).ravel())
            return self._objective(tau, f, phi, square)

    def objective_of_monomials(self, tau: float, theta: np.ndarray) -> Decimal:
        """Of θ on the monomials of (x·x' + c)^p, in the order of degree and of sorted inputs."""
        with many_digits():
            theta = decimals(theta)
            f, phi = monomials(self.X, self.kernel, theta)
            return self._objective(tau, f, phi, (theta * theta).sum())

    def lower_bound(self, tau: float, u: np.ndarray) -> Decimal:
        """What no f can be below, from any u (d, n), by duality.

        u is first shrunk into the dual ball of τJ, term by term; with squares in J there is none.
        """
        with many_digits():
            u, conjugate = self._feasible(decimals(u), Decimal(tau))
            beta = -u.ravel() / (2 * self.nu)
            shifted = self.K + self.n * self.nu * np.eye(self.n, dtype=int)
            alpha = solve(shifted, self.y - self.D.T @ beta)
            f, phi, square = self._function(alpha, beta)
            loss = ((self.y - f) ** 2).sum() / self.n
            return loss + self.nu * square + (u * phi).sum() - conjugate

    def _function(self, alpha: np.ndarray, beta: np.ndarray) -> tuple[Any, Any, Decimal]:
        """Values, derivatives and squared norm of f."""
        f = self.K @ alpha + self.D.T @ beta
        phi = self.D @ alpha + self.L @ beta
        return f, phi.reshape(self.d, self.n), alpha @ f + beta @ phi

    def _objective(self, tau: float, f: np.ndarray, phi: np.ndarray, square: Decimal) -> Decimal:
        J = sum(Decimal(w) * norm(phi[index].ravel()) for w, index in self.terms.norms)
        J = J / self.root_n + Decimal(self.terms.ridge) * (phi * phi).sum() / self.n
        return ((self.y - f) ** 2).sum() / self.n + Decimal(tau) * J + self.nu * square

    def _feasible(self, u: np.ndarray, tau: Decimal) -> tuple[np.ndarray, Decimal]:
        """u inside its ball, or the conjugate of τJ at u where J has squares."""
        u, ridge = u.copy(), Decimal(self.terms.ridge) * tau
        conjugate = Decimal(0)
        for w, index in self.terms.norms:
            size, limit = norm(u[index].ravel()), tau * Decimal(w) / self.root_n
            if size <= limit:
                continue
            if ridge:
                conjugate += (size - limit) ** 2 * self.n / (4 * ridge)
            else:
                u[index] = u[index] * (limit / size)
        return u, conjugate


def gram(X: np.ndarray, kernel: Kernel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K (n, n), D (d·n, n) and L (d·n, d·n), rows variable-major, from the design's formulas."""
    n, d = X.shape
    K = np.empty((n, n), dtype=object)
    D, L = np.empty((d, n, n), dtype=object), np.empty((d, n, d, n), dtype=object)
    isotropic = hasattr(kernel, "width")
    scale = Decimal(1) / Decimal(kernel.width) ** 2 if isotropic else Decimal(1)
    unit = np.eye(d, dtype=int)
    for i in range(n):
        for j in range(n):
            if isotropic:
                v = (X[i] - X[j]) * scale
                K[i, j], first, second = profile(kernel, HALF * ((X[i] - X[j]) * v).sum())
                D[:, i, j] = first * v
                L[:, i, :, j] = -second * np.outer(v, v) - first * scale * unit
            else:
                K[i, j], first, second = profile(kernel, X[i] @ X[j])
                D[:, i, j] = first * X[j]
                L[:, i, :, j] = second * np.outer(X[j], X[i]) + first * unit
    return K, D.reshape(d * n, n), L.reshape(d * n, d * n)


def profile(kernel: Kernel, t: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    """h and its first two derivatives."""
    if isinstance(kernel, Gaussian):
        h = (-t).exp()
        return h, -h, h
    if isinstance(kernel, Matern52):
        q = (10 * t).sqrt()
        e = (-q).exp()
        return (1 + q + q * q / 3) * e, -Decimal(5) / 3 * (1 + q) * e, Decimal(25) / 3 * e
    if isinstance(kernel, Linear):
        return t, Decimal(1), Decimal(0)
    assert isinstance(kernel, Polynomial)
    p, t = kernel.degree, t + Decimal(kernel.offset)
    powers = [Decimal(1)]
    for _ in range(p):
        powers.append(powers[-1] * t)
    return powers[p], p * powers[p - 1], p * (p - 1) * powers[max(p - 2, 0)]


def monomials(X: np.ndarray, kernel: Kernel, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f (n,) and its derivatives (d, n)."""
    n, d = X.shape
    p, c = getattr(kernel, "degree", 1), Decimal(getattr(kernel, "offset", 0.0))
    sizes = range(p + 1) if c else [p]
    lists = [m for k in sizes for m in combinations_with_replacement(range(d), k)]
    f, phi = decimals(np.zeros(n)), decimals(np.zeros((d, n)))
    for coefficient, inputs in zip(theta, lists, strict=True):
        k, rest = [inputs.count(a) for a in range(d)], p - len(inputs)
        ways = comb(p, rest) * factorial(len(inputs)) // prod(map(factorial, k))
        weight = coefficient * (ways * (c**rest if rest else Decimal(1))).sqrt()
        f = f + weight * power(X, k)
        for a in set(inputs):
            phi[a] = phi[a] + weight * k[a] * power(X, [e - (b == a) for b, e in enumerate(k)])
    return f, phi


def power(X: np.ndarray, exponents: list[int]) -> np.ndarray:
    """Π_a x_a^k_a for each row."""
    value = decimals(np.ones(len(X)))
    for a, k in enumerate(exponents):
        for _ in range(k):
            value = value * X[:, a]
    return value


def solve(M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Gauss with pivots."""
    A, n = np.column_stack([M, b]), len(M)
    for k in range(n):
        pivot = k + int(np.argmax([abs(v) for v in A[k:, k]]))
        A[[k, pivot]] = A[[pivot, k]]
        for i in range(k + 1, n):
            A[i, k:] = A[i, k:] - A[k, k:] * (A[i, k] / A[k, k])
    x = A[:, n].copy()
    for k in reversed(range(n)):
        x[k] = (x[k] - A[k, k + 1 : n] @ x[k + 1 :]) / A[k, k]
    return x
