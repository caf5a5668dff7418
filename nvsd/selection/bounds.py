"""Bounds on the expected number of false selections in stability selection.

There are d units, and 2B halves of the samples: B pairs of complementary halves. A unit is kept if
at least a share π of the halves select it. Let q be the mean number of units that a half selects
and θ = q/d. V is the number of kept units that should not have been kept:

- Meinshausen and Bühlmann (2010), where V counts units without influence. These must be
  exchangeable and not more likely to be selected than the others:

      E[V] ≤ q² / ((2π − 1) d)                                                   for π > ½;

- Shah and Samworth (2013), where V counts all units that a half selects with a probability of at
  most θ. Without any assumption E[V] has the same bound. If the distribution of the share of pairs
  whose halves both select a unit is unimodal, E[V] ≤ C(π, B) q²/d (theorem 2). If these shares and
  those of the halves are r-concave with r = −½ and −¼,

      E[V] ≤ d min( D(θ², 2π − 1, B, −½), D(θ, π, 2B, −¼) ),                     (theorem 3)

  where D(η, t, B, r) is the largest P(X ≥ t) of an X on {0, 1/B, …, 1} that is r-concave and has
  mean η.

In practice q is not known, and the mean over the halves that were drawn is used.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

Array = NDArray[np.float64]

WIDEST = 1e5  # offset a of (a + i)^(1/r) that counts as infinite: all values are equal
NARROWEST = 1e-5  # offset that puts all mass on 0
ROUNDING = 1e-9  # rounding of shares, which are multiples of 1/(2B)


def meinshausen_buhlmann(q: float, d: int, threshold: float) -> float:
    """q²/((2π − 1)d), at most d; inf for π ≤ ½, where the theorem does not apply."""
    if threshold <= 0.5:
        return math.inf
    return min(float(d), q**2 / ((2.0 * threshold - 1.0) * d))


def unimodal(q: float, d: int, threshold: float, n_pairs: int) -> float:
    """C(π, B) q²/d, at most d; inf where the theorem does not apply.

    C = 1/(2(2π − 1 − 1/(2B))) for π up to ¾ and 4(1 − π + 1/(2B))/(1 + 1/B) above. It needs
    θ ≤ 1/√3, π > ½ + min(θ², 1/(2B) + ¾θ²) and π ≥ ½ + 1/B; π is rounded up to multiples of 1/(2B).
    """
    B, theta, share = n_pairs, q / d, _on_grid(threshold, n_pairs) / (2 * n_pairs)
    least = 0.5 + min(theta**2, 0.5 / B + 0.75 * theta**2)
    if theta > 1 / math.sqrt(3) or share <= least or share < 0.5 + 1 / B - ROUNDING:
        return math.inf
    if share <= 0.75 + ROUNDING:
        C = 0.5 / (2.0 * share - 1.0 - 0.5 / B)
    else:
        C = 4.0 * (1.0 - share + 0.5 / B) / (1.0 + 1.0 / B)
    return min(float(d), C * q**2 / d)


def r_concave(q: float, d: int, threshold: float, n_pairs: int) -> float:
    """d min(D(θ², 2π − 1, B, −½), D(θ, π, 2B, −¼)): at most d."""
    B, theta, place = n_pairs, q / d, _on_grid(threshold, n_pairs)
    both = largest_tail(theta**2, place - B, B, -0.5)
    return float(d) * min(both, largest_tail(theta, place, 2 * B, -0.25))


def largest_tail(mean: float, place: int, B: int, r: float) -> float:
    """D: the largest P(X ≥ place/B) of an r-concave X on {0, 1/B, …, 1} with this mean, r < 0.

    Notes
    -----
    The maximum is attained by a distribution (Shah and Samworth 2013, appendix) of the form

        f(i) = c (a + i)^(1/r) for i ≤ k,     and the rest of the mass at k + 1,

    where k runs up to B − 1, from place − 1 or about twice the mean, whichever is larger. The
    offset a lies between two values: with one, no mass is left at k + 1; with the other, k + 1
    follows the same law. Then the mean gives c:

        c Σ_{i≤k} (k + 1 − i)(a + i)^(1/r) = k + 1 − mean B.

    For places below twice the mean, 1 is returned.
    """
    if mean <= 0:
        return 0.0 if place > 0 else 1.0
    first = math.ceil(2 * mean * B - ROUNDING) + 1
    if place < first or first >= B:
        return 1.0
    offsets = {k: _offset(mean * B, k, 1.0 / r) for k in range(max(first, place - 1), B + 1)}
    best = 0.0
    for k in range(max(first, place - 1), B):
        tail = _Tail(mean * B, place, k, 1.0 / r)
        low, high = offsets[k + 1], offsets[k]
        inner = minimize_scalar(lambda a, tail=tail: -tail(a), bounds=(low, high), method="bounded")
        best = max(best, tail(low), tail(high), -float(inner.fun))
    return min(best, 1.0)


class _Tail:
    """P(X ≥ place) as a function of a."""

    def __init__(self, mean: float, place: int, k: int, s: float) -> None:
        self.mean, self.place, self.k, self.s = mean, place, k, s

    def __call__(self, a: float) -> float:
        f = (a + np.arange(self.k + 1.0)) ** self.s
        c = (self.k + 1 - self.mean) / (np.arange(self.k + 1, 0, -1.0) @ f)
        return float(1.0 - c * f[: self.place].sum())


def _offset(mean: float, k: int, s: float) -> float:
    """The a for which f(i) ∝ (a + i)^s on 0, …, k has this mean."""
    i = np.arange(k + 1.0)

    def excess(a: float) -> float:
        f = ((a + i) / a) ** s  # divided by its value at 0, to avoid overflow
        return float(i @ f / f.sum() - mean)

    if excess(NARROWEST) >= 0:
        return NARROWEST
    return WIDEST if excess(WIDEST) <= 0 else float(brentq(excess, NARROWEST, WIDEST, xtol=1e-12))


def _on_grid(threshold: float, n_pairs: int) -> int:
    """The least number of the 2B halves whose share reaches the threshold."""
    return math.ceil(2 * n_pairs * threshold - ROUNDING)
