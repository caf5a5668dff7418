"""UNSEEN: 24 further kinds of problems, kept apart from all tuning.

They were written from what scientists and data analysts have on their desks, without looking at
what any method makes of them, and none is of a kind that constants were tuned on. Inputs keep their
own units. Each is a function of a normal variable of its own; these variables are independent, or
correlated in a way that is given, so that an input can be drawn again given all others, exactly.
`effects` measures the effect of a true input in that way.

Do not look at results here to change the library: the set would no longer be unseen. Four kinds
have been looked at, with other seeds and sizes, for the pursuit in the ranking, and a fifth for
what was not kept: limiting, nested, regimes, inhibitor; category.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nvsd.benchmark.problems import Array, Problem, Rng
from nvsd.benchmark.unseen_inputs import (
    Column,
    Noise,
    blocks,
    chain,
    counts,
    heavy,
    integers,
    lognormal,
    normal,
    rounded,
    share,
    student,
    times,
    uniform,
    yes,
)
from nvsd.linalg import safe_threads

__all__ = ["KINDS", "Kind", "columns", "draw", "drawn", "make"]


class Kind(NamedTuple):
    """f of the first columns; the columns are repeated as often as needed."""

    f: Callable[[Array], Any]
    true: Sequence[int]
    columns: Sequence[Column]
    noise: Noise
    n: int
    d: int
    correlation: Callable[[int], Array] | None = None


def _dose(X: Array) -> Any:
    """Two drugs, each without effect below a threshold, synergy above; a saturating response."""
    a, b = np.maximum(X[:, 0] - 0.6, 0), np.maximum(X[:, 1] - 0.8, 0)
    total = a + b + 3 * a * b
    return 4 * total**1.5 / (0.7 + total**1.5) - 0.8 * np.log(X[:, 2])


def _season(X: Array) -> Any:
    """Day of the year, years since the start, weekend, temperature that matters on weekends."""
    yearly = 3 * np.cos(2 * np.pi * (X[:, 0] - 200) / 365)
    return yearly + 0.25 * X[:, 1] + X[:, 2] * (1.5 + 0.2 * (X[:, 3] - 15))


def _ripple(X: Array) -> Any:
    """Five and three periods over the range of the input."""
    return np.sin(10 * np.pi * X[:, 0]) + 0.8 * np.cos(6 * np.pi * X[:, 1]) + X[:, 2]


def _allometry(X: Array) -> Any:
    """A power law of three positive quantities."""
    return X[:, 0] ** 1.2 * X[:, 1] ** -0.7 / X[:, 2] ** 0.5


def _inhibitor(X: Array) -> Any:
    """Michaelis and Menten's rate with a competitive inhibitor, and an activator."""
    return 10 * X[:, 0] / (1 + X[:, 1] / 0.4 + X[:, 0]) * (1 + X[:, 2] / (0.5 + X[:, 2]))


def _category(X: Array) -> Any:
    """Six categories in no order, with a level and a slope each; another one with four."""
    level = np.array([0.0, 2.0, -1.0, 1.0, -2.0, 0.5])[X[:, 0].astype(int)]
    slope = np.array([1.0, -1.0, 1.5, 0.0, 0.5, -1.5])[X[:, 0].astype(int)]
    other = np.array([1.0, -1.0, -1.0, 1.0])[X[:, 2].astype(int)]
    return level + slope * X[:, 1] + other


def _sensors(X: Array) -> Any:
    """One sensor of each of three blocks of eight."""
    return 2 * np.tanh(2 * X[:, 3]) + X[:, 10] ** 2 + 2 * X[:, 20] * (X[:, 20] > 0)


def _counts(X: Array) -> Any:
    """Counts that are mostly zero."""
    return 2 * np.log1p(X[:, 0] + X[:, 1]) + 1.5 * ((X[:, 2] > 0) & (X[:, 3] == 0))


def _distance(X: Array) -> Any:
    """How far from the best setting of five controls."""
    best = np.array([0.3, -0.5, 0.0, 0.6, -0.2])
    return -3 * np.sqrt(((X[:, :5] - best) ** 2).sum(axis=1))


def _regimes(X: Array) -> Any:
    """The level of one input decides which law holds."""
    low, high = X[:, 0] < -0.4, X[:, 0] > 0.5
    middle = ~low & ~high
    return low * (2 * X[:, 1]) + middle * (3 - 1.5 * X[:, 2]) + high * (X[:, 3] ** 2 - 1)


def _volume(X: Array) -> Any:
    """Length times breadth times height, packed more densely in one of two cases."""
    return X[:, 0] * X[:, 1] * X[:, 2] * (1 + 0.6 * X[:, 3])


def _parity(X: Array) -> Any:
    """Three switches: each pair tells nothing of them; and a covariate."""
    return (2 * X[:, 0] - 1) * (2 * X[:, 1] - 1) * (2 * X[:, 2] - 1) + 0.7 * X[:, 3]


def _heavy(X: Array) -> Any:
    """Bounded effects of inputs without a variance."""
    return 1.5 * np.arctan(X[:, 0]) + 3 / (1 + X[:, 1] ** 2) + np.sign(X[:, 2])


def _faint(X: Array) -> Any:
    """Linear, a soft step, and a hump, of about equal size."""
    return X[:, 0] + np.tanh(3 * X[:, 1]) + 3 * np.exp(-2 * X[:, 2] ** 2)


def _genes(X: Array) -> Any:
    """Activation, a threshold, and a dip, among a thousand."""
    return 2 * np.tanh(X[:, 4]) + 2 * np.maximum(X[:, 400], 0) - 1.2 * np.abs(X[:, 700])


def _link(X: Array) -> Any:
    """A complementary log-log curve of one weighted sum."""
    return 4 * (1 - np.exp(-np.exp(X[:, :4] @ np.array([1.2, -1.0, 0.8, 0.6]))))


def _forty(X: Array) -> Any:
    return 1.5 * X[:, 0] + np.exp(0.8 * X[:, 1])


def _sixty(X: Array) -> Any:
    """A plant needs warmth and water; too much of either harms."""
    return 3 * np.exp(-(((X[:, 0] - 20) / 6) ** 2)) * np.sqrt(X[:, 1]) + 1.5 * X[:, 2]


def _survey(X: Array) -> Any:
    """Answers from 1 to 5, of which one moderates another."""
    return 5 + 0.8 * (X[:, 0] - 3) + 0.5 * (X[:, 1] - 3) * (X[:, 2] - 3) - 1.5 * (X[:, 3] == 5)


def _limiting(X: Array) -> Any:
    """Liebig: the scarcest of three nutrients limits the yield."""
    return 4 * np.min([X[:, 0], 1.3 * X[:, 1], 0.4 + 0.8 * X[:, 2]], axis=0)


def _growth(X: Array) -> Any:
    return np.exp(0.6 * X[:, 0]) * (2 + np.sin(2.5 * X[:, 1])) + np.abs(X[:, 2])


def _nested(X: Array) -> Any:
    """Conditions within conditions, as in a guideline."""
    treated = np.where(X[:, 1] > 60, 3.0, np.where(X[:, 2] > 140, 1.0, 0.0))
    others = np.where(X[:, 3] == 1, -2.0, np.where(X[:, 2] > 120, -0.5, 0.5))
    return np.where(X[:, 0] > 5, treated, others)


def _shadow(X: Array) -> Any:
    """One strong effect, and four weak ones beside it."""
    weak = np.sin(3 * X[:, 1]) + 0.6 * X[:, 2] ** 2 + 0.8 * X[:, 3] + 0.8 * X[:, 3] * X[:, 4]
    return 4 * X[:, 0] + weak


def _many(X: Array) -> Any:
    """Eight inputs of eight kinds."""
    main = X[:, 0] + np.abs(X[:, 1]) * 1.5 + 1.5 * np.sin(3 * X[:, 2]) + 2.0 * (X[:, 3] > 1)
    pair = 1.2 * X[:, 4] * X[:, 5] + 1.5 * np.maximum(X[:, 6], X[:, 7])
    return main + pair


DAY, YEAR, WEEKEND, WARMTH = uniform(1, 365), uniform(0, 10), yes(2 / 7), uniform(0, 30)
KINDS: dict[str, Kind] = {
    "dose": Kind(_dose, range(3), [lognormal(0.8)], share(0.9), 150, 15),
    "season": Kind(_season, range(4), [DAY, YEAR, WEEKEND, WARMTH], share(0.8), 400, 24),
    "ripple": Kind(_ripple, range(3), [uniform(0, 1)], share(0.9), 500, 20),
    "allometry": Kind(_allometry, range(3), [lognormal(0.6, 20)], times(0.3), 250, 30),
    "inhibitor": Kind(_inhibitor, range(3), [lognormal(1.0)], share(0.85), 200, 40),
    "category": Kind(
        _category, range(3), [integers(0, 5), normal, integers(0, 3)], share(0.85), 500, 21
    ),
    "sensors": Kind(_sensors, [3, 10, 20], [normal], share(0.8), 400, 96, blocks(8, 0.8)),
    "counts": Kind(_counts, range(4), [counts(0.7)], share(0.8), 300, 60),
    "distance": Kind(_distance, range(5), [uniform(-1, 1)], share(0.9), 300, 25),
    "regimes": Kind(_regimes, range(4), [normal], share(0.9), 800, 40),
    "volume": Kind(_volume, range(4), [*[uniform(0.5, 2)] * 3, yes(0.4)], times(0.15), 120, 28),
    "parity": Kind(_parity, range(4), [*[yes(0.5)] * 3, normal], share(0.9), 600, 20),
    "heavy": Kind(_heavy, range(3), [student(1.5)], heavy(1.5, 0.2), 300, 40),
    "faint": Kind(_faint, range(3), [normal], share(0.1), 1000, 30),
    "genes": Kind(_genes, [4, 400, 700], [normal], share(0.8), 200, 1000, chain(0.6)),
    "link": Kind(_link, range(4), [normal], share(0.85), 300, 300),
    "forty": Kind(_forty, range(2), [normal], share(0.9), 40, 8),
    "sixty": Kind(_sixty, range(3), [uniform(0, 35), uniform(0, 1), normal], share(0.9), 60, 12),
    "survey": Kind(_survey, range(4), [integers(1, 5)], rounded(0.8, 1, 0, 10), 400, 30),
    "limiting": Kind(_limiting, range(3), [uniform(0, 1)], share(0.85), 250, 100),
    "growth": Kind(_growth, range(3), [normal], times(0.4), 400, 25),
    "nested": Kind(
        _nested,
        range(4),
        [uniform(0, 10), uniform(20, 90), uniform(90, 180), yes(0.5)],
        share(0.85),
        600,
        32,
    ),
    "shadow": Kind(_shadow, range(5), [normal], share(0.95), 600, 50),
    "many": Kind(_many, range(8), [normal], share(0.7), 2000, 200),
}


def columns(kind: Kind, Z: Array) -> Array:
    """Inputs in their own units."""
    own = kind.columns
    return np.column_stack([own[a % len(own)](Z[:, a]) for a in range(Z.shape[1])])


def draw(kind: Kind, rng: Rng, n: int, d: int) -> Array:
    """The normal variables behind the inputs."""
    Z = rng.standard_normal((n, d))
    if kind.correlation is None:
        return Z
    with safe_threads(d):
        return Z @ np.linalg.cholesky(kind.correlation(d)).T


def make(
    name: str, seed: int, n: int | None = None, d: int | None = None, n_test: int = 1000
) -> Problem:
    """Draw one problem; n and d default to the kind's own. Test targets are without noise."""
    kind = KINDS[name]
    n, d = n or kind.n, d or kind.d
    return drawn(kind, np.random.default_rng([seed, *map(ord, name), n, d]), n, d, n_test)


def drawn(kind: Kind, rng: Rng, n: int, d: int, n_test: int = 1000) -> Problem:
    """Draw one problem; test targets are without noise."""
    X = columns(kind, draw(kind, rng, n + n_test, d))
    f = np.asarray(kind.f(X), dtype=float)
    y = kind.noise(rng, f[:n])
    return Problem(X[:n], y, list(kind.true), X[n:], f[n:])
