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
from scipy.linalg import lapack

from nvsd.tolerances import TINY

Array = NDArray[Any]  # of single precision where K is

FIRST_STEPS = (-6, -4, -2, 0, 2)  # half decades of λ that are tried without a last one
WALK = 6  # half decades that λ may walk from there
LOWEST_SINGLE = 1e-4  # λ in single precision: below, the factor loses all digits
LOWEST, HIGHEST = 1e-6, 1e3  # below, the factor loses digits; above, f is the mean

DOUBLE = (lapack.dpotrf, lapack.dpotrs, lapack.dtrtri)
SINGLE = (lapack.spotrf, lapack.spotrs, lapack.strtri)


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
        return float(np.mean(np.square(self.errors, dtype=float)))


def loo_ridge(K: Array, y: Array, lam: float) -> LooFit:
    """The fit for one λ; infinite errors where K + λI is not positive definite to rounding."""
    n = len(y)
    unit = float(np.trace(K)) / n
    if unit <= TINY:  # no input varies: the mean alone, whose leave-one-out errors are known
        return LooFit(np.zeros(n), float(y.mean()), lam, (y - y.mean()) * (n / max(n - 1, 1)))
    potrf, potrs, trtri = SINGLE if K.dtype == np.float32 else DOUBLE
    S = K.copy(order="F")
    S[np.diag_indices(n)] += lam * unit
    factor, info = potrf(S, lower=1, overwrite_a=1, clean=1)
    if info != 0:
        return LooFit(np.zeros(n), float(y.mean()), lam, np.full(n, np.inf))
    solved, _ = potrs(factor, np.column_stack([y, np.ones(n)]), lower=1)
    v, u = solved.T
    lower, _ = trtri(factor, lower=1, overwrite_c=1)  # half the work of the whole inverse
    diagonal = np.einsum("ij,ij->j", lower, lower)
    total = u.sum()
    mean = v.sum() / total
    alpha = v - u * mean
    errors = alpha / np.maximum(diagonal - u * u / total, np.finfo(K.dtype).tiny)
    return LooFit(alpha, float(mean), lam, errors)


def best_loo_ridge(K: Array, y: Array, last: float | None = None) -> LooFit:
    """The fit with λ of least leave-one-out error: a coarse grid, or a walk from the last best."""
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
    # Weights that concentrate want a smaller λ: look down first, and up only if that fails.
    for direction in (-1, 1):
        start = best
        for _ in range(WALK):
            step = best + direction
            if not bottom <= step <= top or at(step).error >= at(best).error:
                break
            best = step
        if best != start:
            break
    return at(best)
