"""Kernel ridge with an unpenalised mean and its exact leave-one-out errors.

    f = mean + Kα,    S = K + λI,    P = S⁻¹ − S⁻¹11ᵀS⁻¹ / (1ᵀS⁻¹1)
    α = Py,           leave-one-out error e_i = (Py)_i / P_ii

λ is a share of the mean diagonal of K. With weights w of the rows and s = √w, all this holds for
the rows times s: sKs, sy and s take the places of K, y and 1. Then α is what was found times s, and
e is what was found divided by s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cholesky, lapack, solve_triangular

from nvsd.data.weights import deviation, mean
from nvsd.linalg import eigen, safe_threads
from nvsd.tolerances import TINY

Array = NDArray[Any]  # in single precision if K is

FIRST_STEPS = (-6, -4, -2, 0, 2)  # half decades of λ that are tried first if no last λ is known
WALK = 6  # largest number of half decades that λ moves from there in one direction
FLAT = 0.003  # relative improvement of the error that is too small to move λ
LOWEST_SINGLE = 1e-4  # least λ in single precision: below, the factor loses all digits
LOWEST, HIGHEST = 1e-6, 1e3  # limits of λ: below, the factor loses digits; above, f is the mean

# Added to the diagonal of W, relative to its mean, in double and in single precision. Otherwise W
# has no Cholesky factor if landmarks are close to each other.
RIDGE_OF_LANDMARKS = (1e-8, 1e-5)
LEFT = 1e-4  # least 1 − leverage of a row: smaller values are rounding in single precision
LEAF = 100  # order below which LAPACK inverts: 64 to 128 are equally fast
DOUBLE = (lapack.dpotrf, lapack.dtrtri, blas.dtrmm)
SINGLE = (lapack.spotrf, lapack.strtri, blas.strmm)


@dataclass(frozen=True, eq=False)
class LooFit:
    """One fit: α, the mean, λ, the leave-one-out errors, and the weights of the rows if unequal."""

    alpha: Array
    mean: float
    lam: float
    errors: Array
    weights: Array | None = None

    @cached_property
    def error(self) -> float:
        """Mean squared leave-one-out error."""
        return float(mean(np.square(self.errors), self.weights))

    @classmethod
    def of_mean(cls, y: Array, size: int, lam: float, weights: Array | None = None) -> LooFit:
        """The fit without f, with `size` zeros as α."""
        n, origin = len(y), float(mean(y, weights))
        rest = max(n - 1, 1) if weights is None else n - weights
        return cls(np.zeros(size), origin, lam, (y - origin) * (n / rest), weights)


def inverse_factor(S: Array) -> Array | None:
    """J, lower triangular, with S⁻¹ = JᵀJ; None if S is not positive definite, up to rounding.

    The inverse of the Cholesky factor, computed by halves: with S₁₁⁻¹ = J₁₁ᵀJ₁₁ and M = S₂₁J₁₁ᵀ,

        J = [[J₁₁, 0], [−J₂₂ M J₁₁, J₂₂]],    J₂₂ of S₂₂ − MMᵀ.

    Nearly all work is in products with triangular matrices. They are twice as fast as LAPACK's
    triangular inverse. BLAS stores by columns, so it is given transposes, which are not copied.
    """
    J = np.zeros_like(S)
    potrf, trtri, trmm = SINGLE if S.dtype == np.float32 else DOUBLE

    def fill(S: Array, J: Array) -> bool:
        if len(S) <= LEAF:
            with safe_threads(len(S)):
                factor, info = potrf(S, lower=1, clean=1)
                if info == 0:
                    J[...] = trtri(factor, lower=1)[0]
            return bool(info == 0)
        h = len(S) // 2
        if not fill(S[:h, :h], J[:h, :h]):
            return False
        upper = np.ascontiguousarray(J[:h, :h]).T  # J₁₁ᵀ
        M = trmm(1.0, upper, S[h:, :h].T, trans_a=1).T
        if not fill(S[h:, h:] - M @ M.T, J[h:, h:]):
            return False
        below = trmm(-1.0, upper, M.T, overwrite_b=1)
        upper = np.ascontiguousarray(J[h:, h:]).T
        J[h:, :h] = trmm(1.0, upper, below, side=1, overwrite_b=1).T
        return True

    return J if fill(S, J) else None


class LooRidge:
    """The fits for any λ to the same K and y: what does not depend on λ is computed once.

    Parameters
    ----------
    K : (n, n) array
    y : (n,) array
    weights : (n,) array, optional
        Positive, with mean 1.
    """

    def __init__(self, K: Array, y: Array, weights: Array | None = None) -> None:
        self.y, self.weights = y, weights
        self.s = None if weights is None else np.sqrt(weights)
        self.S = K if self.s is None else K * np.outer(self.s, self.s).astype(K.dtype)
        self.unit = float(np.trace(self.S)) / len(y)
        # A mean far from 0 would cost digits, and single precision has a small range.
        self.centre = float(mean(y, weights))
        self.spread = max(float(deviation(y, weights)), TINY)
        target = np.ones((len(y), 2))
        target[:, 0] = (y - self.centre) / self.spread
        target = target if self.s is None else target * self.s[:, None]
        self.target = target.astype(K.dtype)

    def fit(self, lam: float) -> LooFit:
        """The fit for one λ; errors are infinite if K + λI is not positive definite."""
        n = len(self.y)
        if self.unit <= TINY:  # no input varies: f is the mean, whose errors are known
            return LooFit.of_mean(self.y, n, lam, self.weights)
        S = self.S.copy()
        S.flat[:: n + 1] += lam * self.unit
        J = inverse_factor(S)
        if J is None:
            alone = LooFit.of_mean(self.y, n, lam, self.weights)
            return replace(alone, errors=np.full(n, np.inf))
        v, u = (J.T @ (J @ self.target)).T
        one = self.target[:, 1]
        total = u @ one
        origin = (v @ one) / total
        left = np.einsum("ij,ij->j", J, J) - u * u / total
        alpha = v - u * origin
        errors = alpha / np.maximum(left, np.finfo(J.dtype).tiny)
        alpha, errors = self.spread * alpha.astype(float), self.spread * errors.astype(float)
        if self.s is not None:
            alpha, errors = alpha * self.s, errors / self.s
        constant = self.centre + self.spread * float(origin)
        return LooFit(alpha, constant, lam, errors, self.weights)


def loo_ridge(K: Array, y: Array, lam: float, weights: Array | None = None) -> LooFit:
    """The fit for one λ; errors are infinite if K + λI is not positive definite, up to rounding."""
    return LooRidge(K, y, weights).fit(lam)


def best_loo_ridge(
    K: Array, y: Array, last: float | None = None, weights: Array | None = None
) -> LooFit:
    """The fit whose λ has the least leave-one-out error, near the last λ or on a coarse grid."""
    lowest = LOWEST_SINGLE if K.dtype == np.float32 else LOWEST
    ridge, seen = LooRidge(K, y, weights), dict[int, LooFit]()

    def at(step: int) -> LooFit:
        if step not in seen:
            seen[step] = ridge.fit(10.0 ** (step / 2))
        return seen[step]

    bottom, top = round(2 * np.log10(lowest)), round(2 * np.log10(HIGHEST))
    if last is None:
        best = min(FIRST_STEPS, key=lambda step: at(step).error)
    else:
        best = int(np.clip(round(2 * np.log10(last)), bottom, top))
    # The best λ falls as weights concentrate on few inputs. So smaller λ are tried first, and
    # larger ones only if smaller ones are clearly worse.
    for direction in (-1, 1):
        start = best
        for _ in range(WALK):
            step = best + direction
            if not bottom <= step <= top or at(step).error >= (1 - FLAT) * at(best).error:
                break
            best = step
        below = seen.get(best - 1)
        if best != start or (below is not None and below.error <= (1 + FLAT) * at(best).error):
            break
    return at(best)


def quick_loo_ridge(
    K: Array, y: Array, last: float | None = None, weights: Array | None = None
) -> LooFit:
    """The same in single precision, which is twice as fast, unless λ becomes too small for it."""
    if last is None or last > LOWEST_SINGLE:
        fit = best_loo_ridge(K.astype(np.float32), y, last, weights)
        if fit.lam > LOWEST_SINGLE and np.isfinite(fit.error):
            return fit
        last = fit.lam
    return best_loo_ridge(K, y, last, weights)


def nystrom_loo_ridge(C: Array, W: Array, y: Array, weights: Array | None = None) -> LooFit:
    """Kernel ridge with kernel sections at m landmarks, and its exact leave-one-out errors.

    With W = RRᵀ and Φ = CR⁻ᵀ this is ridge regression on the features Φ with an unpenalised mean.
    One eigendecomposition of ΦᵀΦ serves every λ of the grid.

    Parameters
    ----------
    C : (n, m) array
        The kernel between rows and landmarks.
    W : (m, m) array
        The kernel between landmarks.
    weights : (n,) array, optional
        Positive, with mean 1.
    """
    n, m = C.shape
    unit = float(np.trace(W)) / m
    if unit <= TINY:
        return LooFit.of_mean(y, m, 1.0, weights)
    floor = RIDGE_OF_LANDMARKS[C.dtype == np.float32] * unit
    with safe_threads(m):
        R = cholesky(W.astype(float) + floor * np.eye(m), lower=True, check_finite=False)
    whiten = solve_triangular(R, np.eye(m), lower=True, check_finite=False).T
    Phi = C @ whiten.astype(C.dtype)
    s = np.ones(1) if weights is None else np.sqrt(weights)
    centre = np.square(s) @ Phi / n if weights is not None else Phi.mean(axis=0, dtype=float)
    origin = float(mean(y, weights))
    Phi -= centre.astype(C.dtype)
    Phi *= s[:, None].astype(C.dtype)
    target = s * (y - origin)
    values, V = eigen((Phi.T @ Phi).astype(float))
    P = Phi @ V.astype(C.dtype)
    steps = np.arange(round(2 * np.log10(LOWEST)), round(2 * np.log10(HIGHEST)) + 1)
    lams = 10.0 ** (steps / 2)
    shrunk = 1 / (np.maximum(values, 0.0)[:, None] + lams * unit)
    theta = (P.T @ target.astype(C.dtype)).astype(float)[:, None] * shrunk
    leverage = np.square(P) @ shrunk.astype(C.dtype) + (np.square(s) / n)[:, None].astype(C.dtype)
    fitted = P @ theta.astype(C.dtype)
    errors = (target[:, None] - fitted) / np.maximum(1 - leverage.astype(float), LEFT)
    best = int(np.argmin(np.mean(np.square(errors), axis=0)))
    coefficients = V @ theta[:, best]
    alpha = whiten @ coefficients
    constant = origin - float(centre @ coefficients)
    return LooFit(alpha, constant, float(lams[best]), errors[:, best] / s, weights)
