"""Candidates, and how they are judged on held-out data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from nvsd.kernels import Isotropic, Kernel, Scaled, Sum
from nvsd.ridge import fit_ridge
from nvsd.selection.task import Array, Mask, Task

T = TypeVar("T")

TIE = 1e-9  # relative differences of errors that are rounding


class Candidate(NamedTuple):
    """A set of inputs and where it comes from: sets with one method and origin are a sequence."""

    support: Mask
    method: str
    origin: str
    strength: Array  # what its inputs were ranked by: derivative norms, or frequencies
    tau: float = np.nan


Method = Callable[[Task], list[Candidate]]
Tick = Callable[[int], object] | None


def nested(
    task: Task, norms: Array, method: str, origin: str, tau: float = np.nan
) -> list[Candidate]:
    """The sets that keep the units of largest norm."""
    return [
        Candidate(task.strongest(norms, size), method, origin, norms, tau) for size in task.sizes()
    ]


@dataclass(frozen=True, eq=False)
class Judged:
    """Candidates with their errors on held-out data, each with its best ν and kernel.

    Attributes
    ----------
    candidates : list of Candidate
    error, error_se : arrays
        Mean squared error, and its standard error over the validation data or over the folds.
    nu : array
    kernel : int array
        Positions in `Task.kernels`.
    """

    candidates: list[Candidate]
    error: Array
    error_se: Array
    nu: Array
    kernel: NDArray[np.intp]

    def best(self, rule: str) -> int:
        """The candidate of least error, or the smallest one within a standard error of it.

        Of equal errors the smaller set wins, and of equal sizes the first.
        """
        size = np.array([candidate.support.sum() for candidate in self.candidates])
        least = int(np.lexsort((size, self.error))[0])
        limit = self.error[least] * (1 + TIE)
        if rule == "1se":
            limit += self.error_se[least]
        return int(min(np.flatnonzero(self.error <= limit), key=lambda i: (size[i], self.error[i])))


def judge(task: Task, method: Method, tick: Tick = None) -> Judged:
    """Let a method propose candidates, and judge them on held-out data.

    On validation data each set is judged by itself. Cross-validation judges the way that led to a
    set: the method proposes anew from the training part of every fold, and the i-th candidate has
    the mean error of the i-th proposals. To rank inputs by all samples and then cross-validate the
    sets would let noise that the ranking has fitted pass for signal.

    Parameters
    ----------
    tick : callable, optional
        Told of every set or fold that is done.
    """
    candidates = method(task)
    if isinstance(task.held_out, tuple):
        error, se = _errors(task, candidates, task.held_out, tick)
    else:
        calls = (delayed(_fold)(task, method, train, test) for train, test in _splits(task))
        folds = Parallel(task.n_jobs)(_told(calls, tick))
        error, se = np.mean(folds, axis=0), _standard_error(np.array(folds), axis=0)
    # Below the rounding of y all errors are the same.
    error = np.maximum(error, (8 * np.finfo(float).eps * np.abs(task.y).max()) ** 2)
    best = error.reshape(len(error), -1).argmin(axis=1)
    kernel, nu = np.unravel_index(best, error.shape[1:])
    where = np.arange(len(candidates)), kernel, nu
    return Judged(candidates, error[where], se[where], task.nus[nu], kernel)


def _standard_error(values: Array, axis: int) -> Array:
    """Of the mean; 0 for the mean of one value."""
    return np.asarray(values.std(axis=axis) / np.sqrt(max(1, values.shape[axis] - 1)))


def _splits(task: Task) -> list[Any]:
    """The folds as (train, test)."""
    held_out = task.held_out
    return held_out if isinstance(held_out, list) else list(held_out.split(task.X, task.y))


def _fold(task: Task, method: Method, train: NDArray[Any], test: NDArray[Any]) -> Array:
    """Errors, on the rest, of what the method proposes from a part of the samples."""
    part = task.rows(train)
    return _errors(part, method(part), (task.X[test], task.y[test]))[0]


def _errors(
    task: Task, candidates: list[Candidate], held_out: tuple[Array, Array], tick: Tick = None
) -> tuple[Array, Array]:
    """Mean squared errors and their standard errors, each (candidates, kernels, nus)."""
    sets = {candidate.support.tobytes(): candidate.support for candidate in candidates}
    calls = (delayed(_error)(task, support, *held_out) for support in sets.values())
    known = dict(zip(sets, Parallel(task.n_jobs)(_told(calls, tick)), strict=True))
    found = np.array([known[candidate.support.tobytes()] for candidate in candidates])
    return found[:, 0], found[:, 1]


def _error(task: Task, support: Mask, X: Array, y: Array) -> Array:
    """Mean squared error and its standard error, (2, kernels, nus), of one set."""
    error = np.empty((2, len(task.kernels), len(task.nus)))
    for i, kernel in enumerate(task.kernels):
        squares = (fit_ridge(task.X, task.y, kernel, task.nus, support).predict(X) - y) ** 2
        error[0, i] = squares.mean(axis=1)
        error[1, i] = _standard_error(squares, axis=1)
    return error


def _told(calls: Iterable[T], tick: Tick) -> Iterator[T]:
    """The calls, telling of each when the next one is asked for."""
    for call in calls:
        yield call
        if tick is not None:
            tick(1)


def widened(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with its width multiplied."""
    match kernel:
        case Isotropic():
            width = factor * np.asarray(kernel.width)
            return replace(kernel, width=width)  # type: ignore[call-arg]  # subclasses have it
        case Scaled():
            return Scaled(kernel.factor, widened(kernel.kernel, factor))
        case Sum():
            return Sum(tuple(widened(part, factor) for part in kernel.kernels))
    raise ValueError(f"{kernel!r} has no width to multiply; leave out widths.")
