"""Kernel ridge with an unpenalised mean and its exact leave-one-out errors.

    f = mean + Kα,    S = K + λI,    P = S⁻¹ − S⁻¹11ᵀS⁻¹ / (1ᵀS⁻¹1)
    α = Py,           leave-one-out error e_i = (Py)_i / P_ii

λ is a share of the mean diagonal of K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, lapack, solve_triangular

from nvsd.linalg import safe_threads, symmetric_eigen
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
LEAF = 64  # order below which LAPACK inverts: 32 to 128 are equally fast
DOUBLE = (lapack.dpotrf, lapack.dtrtri)
SINGLE = (lapack.spotrf, lapack.strtri)


@dataclass(frozen=True, eq=False)
class LooFit:
    """One fit: α, the mean, λ, and the leave-one-out errors."""

    alpha: Array
    mean: float
    lam: float
    errors: Array

    @property
    def error(self) -> float:
        """Mean squared leave-one-out error."""
        return float(np.mean(np.square(self.errors)))


def inverse_factor(S: Array) -> Array | None:
    """J, lower triangular, with S⁻¹ = JᵀJ; None if S is not positive definite, up to rounding.

    The inverse of the Cholesky factor, computed by halves: with S₁₁⁻¹ = J₁₁ᵀJ₁₁ and M = S₂₁J₁₁ᵀ,

        J = [[J₁₁, 0], [−J₂₂ M J₁₁, J₂₂]],    J₂₂ of S₂₂ − MMᵀ.

    Nearly all work is in matrix products. They are twice as fast as LAPACK's triangular inverse,
    and let other threads use the interpreter meanwhile.
    """
    J = np.zeros_like(S)
    potrf, trtri = SINGLE if S.dtype == np.float32 else DOUBLE

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
        M = S[h:, :h] @ J[:h, :h].T
        if not fill(S[h:, h:] - M @ M.T, J[h:, h:]):
            return False
        np.matmul(J[h:, h:], -(M @ J[:h, :h]), out=J[h:, :h])
        return True

    return J if fill(S, J) else None


def loo_ridge(K: Array, y: Array, lam: float) -> LooFit:
    """The fit for one λ; errors are infinite if K + λI is not positive definite, up to rounding."""
    n = len(y)
    unit = float(np.trace(K)) / n
    if unit <= TINY:  # no input varies: f is the mean, whose leave-one-out errors are known
        return LooFit(np.zeros(n), float(y.mean()), lam, (y - y.mean()) * (n / max(n - 1, 1)))
    S = K.copy()
    S[np.diag_indices(n)] += lam * unit
    J = inverse_factor(S)
    if J is None:
        return LooFit(np.zeros(n), float(y.mean()), lam, np.full(n, np.inf))
    # A mean far from 0 would cost digits, and single precision has a small range.
    centre, spread = float(y.mean()), max(float(y.std()), TINY)
    target = np.column_stack([(y - centre) / spread, np.ones(n)]).astype(J.dtype)
    v, u = (J.T @ (J @ target)).T
    diagonal = np.einsum("ij,ij->j", J, J)
    total = u.sum()
    mean = v.sum() / total
    alpha = v - u * mean
    errors = alpha / np.maximum(diagonal - u * u / total, np.finfo(K.dtype).tiny)
    alpha, errors = spread * alpha.astype(float), spread * errors.astype(float)
    return LooFit(alpha, centre + spread * float(mean), lam, errors)


def best_loo_ridge(K: Array, y: Array, last: float | None = None) -> LooFit:
    """The fit whose λ has the least leave-one-out error, near the last λ or on a coarse grid."""
    lowest = LOWEST_SINGLE if K.dtype == np.float32 else LOWEST
    seen: dict[int, LooFit] = {}

    def at(step: int) -> LooFit:
        if step not in seen:
            seen[step] = loo_ridge(K, y, 10.0 ** (step / 2))
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


def quick_loo_ridge(K: Array, y: Array, last: float | None = None) -> LooFit:
    """The same in single precision, which is twice as fast, unless λ becomes too small for it."""
    if last is None or last > LOWEST_SINGLE:
        fit = best_loo_ridge(K.astype(np.float32), y, last)
        if fit.lam > LOWEST_SINGLE and np.isfinite(fit.error):
            return fit
        last = fit.lam
    return best_loo_ridge(K, y, last)


def nystrom_loo_ridge(C: Array, W: Array, y: Array) -> LooFit:
    """Kernel ridge with kernel sections at m landmarks, and its exact leave-one-out errors.

    With W = RRᵀ and Φ = CR⁻ᵀ this is ridge regression on the features Φ with an unpenalised mean.
    One eigendecomposition of ΦᵀΦ serves every λ of the grid.

    Parameters
    ----------
    C : (n, m) array
        The kernel between rows and landmarks.
    W : (m, m) array
        The kernel between landmarks.
    """
    n, m = C.shape
    unit = float(np.trace(W)) / m
    if unit <= TINY:
        return LooFit(np.zeros(m), float(y.mean()), 1.0, (y - y.mean()) * (n / max(n - 1, 1)))
    floor = RIDGE_OF_LANDMARKS[C.dtype == np.float32] * unit
    with safe_threads(m):
        R = cholesky(W.astype(float) + floor * np.eye(m), lower=True, check_finite=False)
    whiten = solve_triangular(R, np.eye(m), lower=True, check_finite=False).T
    Phi = C @ whiten.astype(C.dtype)
    centre, origin = Phi.mean(axis=0, dtype=float), float(y.mean())
    Phi -= centre.astype(C.dtype)
    values, V = symmetric_eigen((Phi.T @ Phi).astype(float))
    P = Phi @ V.astype(C.dtype)
    steps = np.arange(round(2 * np.log10(LOWEST)), round(2 * np.log10(HIGHEST)) + 1)
    lams = 10.0 ** (steps / 2)
    shrunk = 1 / (np.maximum(values, 0.0)[:, None] + lams * unit)
    theta = (P.T @ (y - origin).astype(C.dtype)).astype(float)[:, None] * shrunk
    leverage = np.square(P) @ shrunk.astype(C.dtype) + 1 / n
    fitted = P @ theta.astype(C.dtype)
    errors = ((y - origin)[:, None] - fitted) / np.maximum(1 - leverage.astype(float), LEFT)
    best = int(np.argmin(np.mean(np.square(errors), axis=0)))
    coefficients = V @ theta[:, best]
    alpha = whiten @ coefficients
    mean = origin - float(centre @ coefficients)
    return LooFit(alpha, mean, float(lams[best]), errors[:, best])
