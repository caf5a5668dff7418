"""Public problems whose y is a class, with known inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nvsd.benchmark import public
from nvsd.benchmark.problems import Array, Problem, Rng, drawn

__all__ = ["DRAWN", "PROBLEMS", "RINGS", "cancer", "drawn_by", "labelled", "orange_skin", "xor4"]

Labels = NDArray[np.intp]
Draw = Callable[[Rng, int, int], tuple[Array, Labels]]


def orange_skin(rng: Rng, n: int, d: int) -> tuple[Array, Labels]:
    """Chen et al. 2017: of the second class, the first four inputs lie in a shell."""
    y = (rng.random(n) < 0.5).astype(int)
    X = rng.standard_normal((n, d))
    while (off := y.astype(bool) & ~_in_shell(X)).any():
        X[off, :4] = rng.standard_normal((int(off.sum()), 4))
    return X, y


def _in_shell(X: Array) -> NDArray[np.bool_]:
    square = (X[:, :4] ** 2).sum(axis=1)
    return np.asarray((square >= 9) & (square <= 16))


def xor4(rng: Rng, n: int, d: int) -> tuple[Array, Labels]:
    """Chen et al. 2017: corners of a cube, each with the opposite one in a class; variance ½."""
    corner = rng.choice([-1.0, 1.0], (n, 3))
    X = rng.standard_normal((n, d))
    X[:, :3] = corner + np.sqrt(0.5) * X[:, :3]
    first, second = corner[:, 0] * corner[:, 2] > 0, corner[:, 1] * corner[:, 2] > 0
    return X, 2 * first.astype(int) + second


def cancer(rng: Rng, n: int, d: int, n_test: int | None = None) -> Problem:
    """Breast cancer of Wisconsin, with permuted columns of its own beside the thirty."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    planted = [rng.permutation(X[:, a % 30]) for a in range(d - 30)]
    X = np.column_stack([X, *planted])
    rows = rng.permutation(len(y))
    train, test = rows[:n], rows[n:][:n_test]
    return Problem(X[train], y[train], list(range(30)), X[test], y[test], True)


def labelled(problem: Problem) -> Problem:
    """A problem whose targets are 0 and 1, as one of classes."""
    y, y_test = problem.y.astype(int), problem.y_test.astype(int)
    return problem._replace(y=y, y_test=y_test, classes=True)


def drawn_by(draw: Draw, true: int, rng: Rng, n: int, d: int, n_test: int) -> Problem:
    """A problem whose first inputs are the true ones."""
    X, y = draw(rng, n + n_test, d)
    return Problem(X[:n], y[:n], list(range(true)), X[n:], y[n:], True)


def _ring(name: str) -> Callable[[Rng, int, int, int], Problem]:
    return lambda rng, n, d, n_test: labelled(drawn(public.KINDS[name], rng, n, d, n_test))


RINGS = ("ring", "xor", "ringxor", "ringxorsum")
DRAWN: dict[str, tuple[Draw, int]] = {"orange": (orange_skin, 4), "xor4": (xor4, 3)}

# From a generator, n, d and the number of test rows to a problem.
PROBLEMS: dict[str, Callable[[Rng, int, int, int], Problem]] = {
    **{name: _ring(name) for name in RINGS},
    **{name: partial(drawn_by, *known) for name, known in DRAWN.items()},
    "cancer": cancer,
}
