"""What a problem is, and the laws of inputs and noise that problems share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Array",
    "Draw",
    "Kind",
    "Noise",
    "Problem",
    "Rng",
    "ar",
    "as_numbers",
    "drawn",
    "normal",
    "sd",
    "shuffled",
    "snr",
    "t3",
    "uniform",
    "unit",
]

Array = NDArray[np.float64]
Rng = np.random.Generator
Draw = Callable[[Rng, int, int], Array]
Noise = Callable[[Rng, Array, Array], Array]


class Problem(NamedTuple):
    """One draw of a problem.

    Attributes
    ----------
    X : (n, d) array
        Training rows.
    y : (n,) array
        Their targets, or their classes 0, 1, ….
    true : list of int or None
        The inputs that y depends on; None if they are not known.
    X_test, y_test : arrays
        Fresh rows; their targets have noise only where the data are real.
    classes : bool
        Whether y holds classes.
    """

    X: Array
    y: NDArray[Any]
    true: list[int] | None
    X_test: Array
    y_test: NDArray[Any]
    classes: bool = False


class Kind(NamedTuple):
    """A function of some inputs, the laws of inputs and noise, and the usual size."""

    f: Callable[[Array], Any]
    true: Sequence[int]
    draw: Draw
    noise: Noise
    n: int
    d: int


def as_numbers(values: Any) -> Array:
    """Truth values as 0 and 1."""
    return np.asarray(values, dtype=float)


def drawn(kind: Kind, rng: Rng, n: int, d: int, n_test: int = 1000) -> Problem:
    """Draw one problem; test targets are without noise."""
    X = kind.draw(rng, n + n_test, d)
    f = as_numbers(kind.f(X))
    y = f + kind.noise(rng, f, X)
    X = X[:, :d]
    return Problem(X[:n], y[:n], list(kind.true), X[n:], f[n:])


def shuffled(problem: Problem, rng: Rng) -> Problem:
    """The same problem with its columns in another order, so that ties in rankings help nobody."""
    order = rng.permutation(problem.X.shape[1])
    true = problem.true
    if true is not None:
        true = sorted(np.argsort(order)[np.asarray(true, dtype=int)].tolist())
    return problem._replace(X=problem.X[:, order], X_test=problem.X_test[:, order], true=true)


def normal(rng: Rng, n: int, d: int) -> Array:
    """Independent standard normal inputs."""
    return rng.standard_normal((n, d))


def uniform(rng: Rng, n: int, d: int) -> Array:
    """Uniform on [-1, 1]."""
    return rng.uniform(-1, 1, (n, d))


def unit(rng: Rng, n: int, d: int) -> Array:
    """Uniform on [0, 1]."""
    return rng.uniform(0, 1, (n, d))


def ar(rho: float) -> Draw:
    """Normal inputs; neighbours are correlated rho, their neighbours rho², …."""

    def draw(rng: Rng, n: int, d: int) -> Array:
        E = rng.standard_normal((n, d))
        for a in range(1, d):
            E[:, a] = rho * E[:, a - 1] + np.sqrt(1 - rho**2) * E[:, a]
        return E

    return draw


def t3(rng: Rng, n: int, d: int) -> Array:
    """Student's t with three degrees of freedom."""
    return rng.standard_t(3, (n, d))


def sd(size: float) -> Noise:
    """Normal noise of a standard deviation."""
    return lambda rng, f, X: size * rng.standard_normal(len(f))


def snr(r2: float) -> Noise:
    """Normal noise; f explains a share r2 of the variance."""
    return lambda rng, f, X: f.std() * np.sqrt(1 / r2 - 1) * rng.standard_normal(len(f))
