"""Scans of inputs, pairs and triples: squared correlations with products of cosines of ranks.

    T_ab = n Σ_{k,l≤m} corr(y, c_ak c_bl)²        about χ² with m² degrees of freedom by chance

T_ab becomes a normal score (Wilson and Hilferty), and the largest score over several m counts. Each
k, l takes one BLAS-3 product: O(n d²) in single precision, in blocks of inputs. A pure interaction,
such as a ring or an exclusive or, is not visible in single inputs but in pairs. And x₁x₂x₃ is not
visible in pairs but in triples. Triples take O(n d³), with only the first cosine of each input.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from nvsd.data.scaling import filled
from nvsd.data.weights import mean
from nvsd.tolerances import TINY

Array = NDArray[np.float64]
Single = NDArray[np.float32]

COSINES = 4  # cosines per input: a ring needs the second and the fourth
LEVELS = (1, 2, 4)  # numbers of cosines whose scores compete
COSINES_MANY, MANY = 2, 1500  # for pairs of more than MANY inputs: products take half of the time
BLOCK = 512  # rows of the d x d score matrix held at a time
PAIRS = 2**22  # scores of one block: with 10⁵ inputs one of BLOCK inputs would hear no Ctrl-C
WIDE = 6000  # largest number of inputs whose pairs are scanned: those of the best main effects
TOP = 64  # largest number of pairs, and of triples, that are kept
TRIPLE_WORK = 3e10  # operations that a scan of triples may take: about half a second
FLAT = 1e-3  # a cosine whose part orthogonal to earlier ones is smaller than this is rounding


@dataclass(frozen=True, eq=False)
class Scan:
    """Normal scores: of each input alone, of each input's best pair, and the best pairs.

    Attributes
    ----------
    main, best : (d,) arrays
    pairs : list of tuple
        A score and two inputs, best first.
    c, r : (n, d) and (n,) arrays
        First cosines and residual, from which triples are found when asked for.
    """

    main: Array
    best: Array
    pairs: list[tuple[float, int, int]]
    c: Single
    r: Single

    @cached_property
    def triples(self) -> list[tuple[float, int, int, int]]:
        """A score and three inputs, of those above chance, best first."""
        return scan_triples(self.c, self.r)


def cosines(X: Array, m: int = COSINES) -> Single:
    """The first m cosines of the mid-ranks of each input, orthonormal over the rows: (m, n, d)."""
    n = len(X)
    u = (rankdata(filled(X), axis=0) - 0.5) / n
    C = np.empty((m, *X.shape), dtype=np.float32)
    for k in range(m):
        c = np.cos((k + 1) * np.pi * u)
        c -= c.mean(axis=0)
        for j in range(k):
            c -= C[j] * np.einsum("ia,ia->a", C[j], c) / n
        size = np.sqrt(np.mean(c * c, axis=0))
        C[k] = np.where(size > FLAT, c / np.maximum(size, FLAT), 0.0)
    return C


def normal_score(T: NDArray[np.floating], nu: int) -> NDArray[np.floating]:
    """Wilson and Hilferty's normal score of a χ² variable with ν degrees of freedom."""
    c = 2 / (9 * nu)
    return np.asarray((np.cbrt(T / nu) - (1 - c)) / np.sqrt(c))


def counted(y: Array, weights: Array | None) -> Array:
    """What a scan of weighted rows takes as y: w (y − mean). Its sum is 0, as chance needs it."""
    return y if weights is None else np.asarray(weights * (y - mean(y, weights)))


def _unit(y: Array) -> Single:
    y = y - y.mean()
    return np.asarray(y / max(float(np.sqrt(np.mean(y * y))), TINY), dtype=np.float32)


def scan_main(C: Single, y: Array) -> Array:
    """The normal score of each input's main effect."""
    n = C.shape[1]
    squares = np.cumsum(np.einsum("kia,i->ka", C, _unit(y)) ** 2 / n, axis=0)
    scores = [normal_score(squares[m - 1], m) for m in LEVELS if m <= len(C)]
    return np.asarray(np.max(scores, axis=0), dtype=float)


def scan(C: Single, y: Array, residual: Array) -> Scan:
    """Scan y for main effects, and the residual of an additive fit for pairs and triples."""
    d = C.shape[2]
    main, best = scan_main(C, y), np.full(d, -np.inf)
    if d > WIDE:
        some = np.sort(np.argsort(-main, kind="stable")[:WIDE])
        inner = scan(C[:, :, some], y, residual)
        best[some] = inner.best
        pairs = [(score, int(some[a]), int(some[b])) for score, a, b in inner.pairs]
        return Scan(main, best, pairs, C[0], inner.r)
    r, inputs = _unit(residual), np.arange(d)
    if d < 2:
        return Scan(main, best, [], C[0], r)
    C = C if d <= MANY else C[:COSINES_MANY]
    found: list[tuple[float, int, int]] = []
    size = max(1, min(BLOCK, PAIRS // d))
    for start in range(0, d, size):
        rows = inputs[start : start + size]
        z = _block_scores(C, r, rows)
        z[inputs[None, :] <= rows[:, None]] = -np.inf
        best = np.maximum(best, z.max(axis=0))
        best[rows] = np.maximum(best[rows], z.max(axis=1))
        count = min(TOP, z.size)
        places = np.argpartition(z.ravel(), -count)[-count:]
        a, b = np.divmod(places, d)
        found += [(float(z[i, j]), int(rows[i]), int(j)) for i, j in zip(a, b, strict=True)]
    found = sorted(one for one in found if np.isfinite(one[0]))[::-1]
    return Scan(main, best, found[:TOP], C[0], r)


def pairs_with(C: Single, residual: Array, inputs: NDArray[np.intp]) -> Array:
    """The best score of each input's pairs with some inputs."""
    C = C if C.shape[2] <= MANY else C[:COSINES_MANY]
    return np.asarray(_block_scores(C, _unit(residual), inputs).max(axis=0), dtype=float)


def by_chance(trials: float) -> float:
    """About the largest of this number of standard normal draws."""
    return float(np.sqrt(2 * np.log(max(trials, 2.0))))


def scan_triples(c: Single, r: Single) -> list[tuple[float, int, int, int]]:
    """The triples whose score is above chance, best first; none if the scan would take too long."""
    n, d = c.shape
    if d < 3 or n * d**3 / 3 > TRIPLE_WORK:
        return []
    chance, found = by_chance(d**3 / 6), list[tuple[float, int, int, int]]()
    limit = chance * np.sqrt(n)
    for a in range(d - 2):
        later = c[:, a + 1 :]
        S = (later * (r * c[:, a])[:, None]).T @ later
        np.fill_diagonal(S, 0.0)
        if max(S.max(), -S.min()) <= limit:  # nearly always, and much faster than a search
            continue
        for b, e in np.argwhere(np.abs(S) > limit):
            if b < e:  # S is symmetric
                score = float(abs(S[b, e])) / np.sqrt(n)  # one degree of freedom
                found.append((score, a, a + 1 + int(b), a + 1 + int(e)))
    return sorted(found, reverse=True)[:TOP]


def _block_scores(C: Single, r: Single, rows: NDArray[np.intp]) -> Single:
    """Scores of the pairs of some inputs with all."""
    m, n, d = C.shape
    left = C[:, :, rows] * r[:, None]
    total = np.zeros((len(rows), d), dtype=np.float32)
    best = np.full((len(rows), d), -np.inf, dtype=np.float32)
    for level in range(1, m + 1):
        for j in range(level):
            for k, other in {(level - 1, j), (j, level - 1)}:
                product = left[k].T @ C[other]
                total += product * product
        if level in LEVELS:
            np.maximum(best, normal_score(total / n, level * level), out=best)
    return best
