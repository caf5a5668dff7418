"""What inputs do alone and what they do in pairs: the ANOVA decomposition of a fit.

    f(x) = f_0 + Σ_a f_a(x_a) + Σ_{a<b} f_ab(x_a, x_b) + …

under the law in which the inputs are independent and each has the distribution of the samples. Each
part has mean 0 in each of its inputs, so the parts are uncorrelated and their variances add up to
that of f (Hoeffding 1948, Sobol 1993). For a kernel constant + Σ_{s≤q} e_s(z), with m_a(j) the mean
of z_a(·, x_j) under the law and z̃_a = z_a − m_a,

    f_a  = Σ_j α_j z̃_a(x_a, x_j)                   Σ_{s<q}   e_s(m(j) without a)
    f_ab = Σ_j α_j z̃_a(x_a, x_j) z̃_b(x_b, x_j)   Σ_{s<q−1} e_s(m(j) without a and b)

For other kernels the means are taken over draws.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.kernels import blocks
from nvsd.kernels.symmetric import elementary
from nvsd.ridge.dense import RidgeFit
from nvsd.tolerances import EPS

Array = NDArray[np.float64]

LAW = 128  # rows that stand for the distribution of each input
DRAWS = 4096  # independent draws, for the variance of an f with interactions of three inputs
GRID, OTHERS = 24, 32  # without factors: values of two inputs, and draws of all others
MOST_PAIRS = 300  # without factors: pairs whose means are taken, those of largest derivatives
STEP = EPS ** (1 / 3)  # of a central difference of gradients, in standard deviations of an input


class Decomposition(NamedTuple):
    """Variances of the parts of f; if there are several f, summed over them.

    Attributes
    ----------
    total : float
    main : (s,) array
        Of the main effect of each input that f uses.
    pair : (s, s) array
        Of what two inputs do together, beyond their main effects; 0 on the diagonal.
    """

    total: float
    main: Array
    pair: Array


def decompose(fit: RidgeFit) -> Decomposition:
    """Variances of main effects and of pairs."""
    s = fit.X.shape[1]
    if not s:
        return Decomposition(0.0, np.zeros(0), np.zeros((0, 0)))
    rows = evenly(fit.X, LAW)
    factors = fit.kernel.factors(rows, fit.X)
    if factors is None:
        main, pair = by_draws(fit, rows)
        least = 3  # nothing is known of the order
    else:
        main, pair = by_factors(fit.alpha, *factors)
        least = factors[1]
    known = float(main.sum() + pair.sum() / 2)
    if min(least, s) <= 2:
        return Decomposition(known, main, pair)
    drawn = values(fit, independent(rows, DRAWS))
    return Decomposition(max(known, float(drawn.var(axis=1).sum())), main, pair)


def by_factors(alpha: Array, z: list[Array], q: int) -> tuple[Array, Array]:
    """Variances of main effects and pairs of f = Σ_j α_j Σ_{s≤q} e_s(z(·, x_j)).

    Parameters
    ----------
    alpha : (c, n) array
    z : list of (rows, n) arrays
        One for each input, between the rows of the law and the points.
    """
    s, m = len(z), np.array([each.mean(axis=0) for each in z])
    Z = [each - mean for each, mean in zip(z, m, strict=True)]
    main, pair = np.zeros(s), np.zeros((s, s))
    for a in range(s):
        main[a] = np.sum((Z[a] @ (alpha * _others(m, (a,), q - 1)).T) ** 2) / len(Z[a])
    for a, b in combinations(range(s), 2) if q > 1 else ():
        weights = alpha * _others(m, (a, b), q - 2)
        both = [np.mean(((Z[a] * w) @ Z[b].T) ** 2) for w in weights]
        pair[a, b] = pair[b, a] = float(np.sum(both))
    return main, pair


def _others(m: Array, left_out: tuple[int, ...], most: int) -> Array:
    """Σ_{s≤most} e_s of the m of all other inputs, which are along the first axis."""
    kept = np.delete(m, left_out, axis=0)
    if most >= len(kept):  # all orders: Π(1 + m), where the sum would cancel
        return np.asarray(np.prod(1 + kept, axis=0))
    e = elementary(kept.reshape(len(kept), 1, -1), most, (1, m[0].size))
    return np.asarray(np.sum(e, axis=0).reshape(m.shape[1:]))


def by_draws(fit: RidgeFit, rows: Array) -> tuple[Array, Array]:
    """The same for any kernel: means of f over draws of the other inputs."""
    s = rows.shape[1]
    grid = np.quantile(rows, (np.arange(GRID) + 0.5) / GRID, axis=0, method="inverted_cdf")
    others = independent(rows, OTHERS)
    main, pair = np.zeros(s), np.zeros((s, s))
    for a in range(s):
        P = np.repeat(others[None], len(rows), axis=0)
        P[:, :, a] = rows[:, a, None]
        main[a] = _mean_over_others(fit, P).var(axis=1).sum()
    size = mixed_norms(fit, rows)
    ranked = sorted(combinations(range(s), 2), key=lambda ab: -size[ab])
    for a, b in ranked[:MOST_PAIRS]:
        P = np.tile(others, (GRID, GRID, 1, 1))
        P[..., a], P[..., b] = grid[:, a, None, None], grid[:, b, None]
        f = _mean_over_others(fit, P)
        f = f - f.mean(axis=1, keepdims=True) - f.mean(axis=2, keepdims=True)
        pair[a, b] = pair[b, a] = f.var(axis=(1, 2)).sum()
    return main, pair


def _mean_over_others(fit: RidgeFit, P: Array) -> Array:
    """The mean of f over the last axis but one of the points, functions first."""
    f = values(fit, P.reshape(-1, P.shape[-1]))
    return np.asarray(f.reshape(len(f), *P.shape[:-1]).mean(axis=-1))


def mixed_norms(fit: RidgeFit, rows: Array) -> Array:
    """‖∂_a ∂_b f‖ over rows, (s, s), for a ≠ b; the diagonal is 0.

    With factors ∂_a∂_b f = Σ_j α_j ∂_a z_a ∂_b z_b Σ_{s<q−1} e_s(z without a and b); otherwise they
    are central differences of the gradient.
    """
    s = rows.shape[1]
    H = np.zeros((s, s))
    steps = [fit.kernel.factors(rows + shift, fit.X) for shift in (0.0, STEP, -STEP)]
    known = [np.array(each[0]) for each in steps if each is not None]
    if steps[0] is not None:
        q, slopes = steps[0][1], (known[1] - known[2]) / (2 * STEP)
        for a, b in combinations(range(s), 2) if q > 1 else ():
            bend = (slopes[a] * slopes[b] * _others(known[0], (a, b), q - 2)) @ fit.alpha.T
            H[a, b] = H[b, a] = np.sqrt(np.mean(np.sum(bend**2, axis=1)))
        return H
    for a in range(s):
        step = np.zeros(s)
        step[a] = STEP
        up, down = (_gradient(fit, rows + sign * step) for sign in (1, -1))
        H[a] = np.sqrt(np.mean(np.sum(((up - down) / (2 * STEP)) ** 2, axis=0), axis=1))
    np.fill_diagonal(H, 0.0)
    return np.asarray((H + H.T) / 2)


def values(fit: RidgeFit, P: Array) -> Array:
    """All functions of the fit, without their constants, at points of its own inputs, (c, m)."""
    return blocks.rows_first(fit.kernel, P, fit.X, fit.alpha, gradient=False)[0]


def _gradient(fit: RidgeFit, P: Array) -> Array:
    return blocks.rows_first(fit.kernel, P, fit.X, fit.alpha)[1]


def evenly(X: Array, most: int) -> Array:
    """At most so many rows, evenly spaced."""
    return np.asarray(X[np.linspace(0, len(X) - 1, min(len(X), most)).round().astype(int)])


def independent(rows: Array, size: int) -> Array:
    """Draws of all inputs, each from its own values and independent of the others."""
    picked = np.random.default_rng(0).integers(len(rows), size=(size, rows.shape[1]))
    return np.asarray(np.take_along_axis(rows, picked, axis=0))
