"""Candidates, and how they are judged on held-out data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from nvsd.selection.task import Array, Mask, Task
from nvsd.tolerances import EPS, TIE

T = TypeVar("T")

NOISE = 2.0  # a difference of errors of up to this many standard errors may be chance
SLACK = 1.05  # largest error of a clear set, relative to the least, however uncertain errors are
PARTS = 50  # parts into which validation data are divided for standard errors


class Candidate(NamedTuple):
    """A set of inputs and its source: sets with the same method and origin form a sequence."""

    support: Mask
    method: str
    origin: str
    strength: Array  # by which the inputs were ranked: derivative norms, or frequencies
    tau: float = np.nan
    clearness: float = 1.0  # norm of the weakest unit inside over the strongest outside
    notes: tuple[tuple[str, float | int], ...] = ()  # attributes of the history if it wins


Method = Callable[[Task], list[Candidate]]
Tick = Callable[[int], object] | None


def nested(
    task: Task, norms: Array, method: str, origin: str, tau: float = np.nan
) -> list[Candidate]:
    """The sets of the units of largest norm, for every size."""
    sets = [task.strongest(norms, size) for size in task.sizes()]
    return [
        Candidate(support, method, origin, norms, tau, task.clearness(norms, support))
        for support in sets
    ]


@dataclass(frozen=True, eq=False)
class Judged:
    """Candidates with their errors on held-out data, each with its best ν and kernel.

    Attributes
    ----------
    candidates : list of Candidate
    error : array
        Mean squared error.
    parts, share : (parts, candidates) and (parts,) arrays
        The same on parts of the validation data, or on the folds, and the weight of each part.
    nu : array
    kernel : int array
        Positions in `Task.kernels`.
    of_sets : bool
        Whether errors are those of fixed sets; with folds, each fold may propose another set.
    """

    candidates: list[Candidate]
    error: Array
    parts: Array
    share: Array
    nu: Array
    kernel: NDArray[np.intp]
    of_sets: bool = True

    @property
    def error_se(self) -> Array:
        """Standard errors of the mean squared errors."""
        return _standard_error(self.parts, self.share)

    def best(self, rule: str) -> int:
        """The candidate that the rule chooses; see `select`.

        If errors are equal, the smaller set wins; if sizes are equal too, the first.
        """
        size = np.array([candidate.support.sum() for candidate in self.candidates])
        least = int(np.lexsort((size, self.error))[0])
        near = self.error <= self.error[least] * (1 + TIE)
        first = size
        if rule == "1se":
            near = self.error <= self.error[least] * (1 + TIE) + self.error_se[least]
        elif rule == "clear" and self.of_sets and size[least]:  # the empty set may be the best
            # Differences on the same data: whatever makes all errors large or small cancels.
            difference = self.parts - self.parts[:, [least]]
            chance = NOISE * _standard_error(difference, self.share)
            near |= (self.error <= self.error[least] + chance) & (
                self.error <= SLACK * self.error[least]
            )
            first = np.array([-candidate.clearness for candidate in self.candidates])
        return int(min(np.flatnonzero(near), key=lambda i: (first[i], size[i], self.error[i])))


def judge(task: Task, method: Method, tick: Tick = None) -> Judged:
    """Let a method propose candidates, and judge them on held-out data.

    On validation data each set is judged by itself. Cross-validation judges the whole procedure:
    the method proposes again from the training part of every fold, and the error of the i-th
    candidate is the mean error of the i-th proposals. If inputs were ranked on all samples and the
    sets then cross-validated, noise that the ranking has fitted would look like signal. But the
    procedure may find the right set in every fold and a wrong one on all samples. So the error of
    the candidate's own set in these folds is computed too, and the larger of the two counts.

    Parameters
    ----------
    tick : callable, optional
        Called with 1 for every set or fold that is done.
    """
    candidates = method(task)
    if isinstance(task.held_out, tuple):
        parts = _errors(task, candidates, task.held_out, PARTS, tick)
        share = _shares(len(task.held_out[1]), PARTS)
    else:
        calls = (delayed(_fold)(task, method, candidates, *split) for split in task.held_out)
        ways, sets = np.concatenate(Parallel(task.n_jobs)(_told(calls, tick)), axis=1)
        parts = np.where(sets.mean(axis=0) > ways.mean(axis=0), sets, ways)
        share = np.full(len(parts), 1 / len(parts))
    # Errors below the rounding of y count as equal.
    floor = (8 * EPS * np.abs(task.y).max()) ** 2
    error = np.maximum(np.tensordot(share, parts, 1), floor)
    best = error.reshape(len(error), -1).argmin(axis=1)
    kernel, nu = np.unravel_index(best, error.shape[1:])
    where = np.arange(len(candidates)), kernel, nu
    of_sets = isinstance(task.held_out, tuple)
    return Judged(candidates, error[where], parts[:, *where], share, task.nus[nu], kernel, of_sets)


def _standard_error(parts: Array, share: Array) -> Array:
    """Standard error of the mean of parts, weighted by their shares; 0 for a single part."""
    centred = parts - share @ parts
    return np.asarray(np.sqrt(share @ centred**2 / max(1, len(share) - 1)))


def _divided(rows: int, parts: int) -> list[NDArray[np.intp]]:
    """The rows in parts of equal size, or each by itself if there are fewer rows than parts."""
    return np.array_split(np.arange(rows), min(rows, parts))


def _shares(rows: int, parts: int) -> Array:
    """The share of the rows in each part."""
    return np.array([len(part) for part in _divided(rows, parts)]) / rows


def _fold(
    task: Task,
    method: Method,
    candidates: list[Candidate],
    train: NDArray[Any],
    test: NDArray[Any],
) -> Array:
    """Errors on the test rows, (2, 1, candidates, kernels, nus).

    First those of the sets that the method proposes from the training rows, then those of the
    candidates.
    """
    part = task.rows(train)
    held_out = task.X[test], task.y[test]
    error = _errors(part, [*method(part), *candidates], held_out, 1)
    return np.stack(np.split(error, 2, axis=1))


def _errors(
    task: Task,
    candidates: list[Candidate],
    held_out: tuple[Array, Array],
    parts: int,
    tick: Tick = None,
) -> Array:
    """Mean squared errors on parts of the data, (parts, candidates, kernels, nus)."""
    sets = {candidate.support.tobytes(): candidate.support for candidate in candidates}
    calls = (delayed(set_errors)(task, support, *held_out, parts) for support in sets.values())
    known = dict(zip(sets, Parallel(task.n_jobs)(_told(calls, tick)), strict=True))
    found = [known[candidate.support.tobytes()] for candidate in candidates]
    return np.stack(found, axis=1)


def set_errors(task: Task, support: Mask, X: Array, y: Array, parts: int) -> Array:
    """Mean squared errors of one set on parts of the data, (parts, kernels, nus)."""
    divided = _divided(len(y), parts)
    error = np.empty((len(divided), len(task.kernels), len(task.nus)))
    starts = [rows[0] for rows in divided]
    for i, kernel in enumerate(task.kernels):
        losses = task.loss.pointwise(y, task.fit(support, kernel, task.nus).predict(X))
        error[:, i] = np.add.reduceat(losses, starts, axis=1).T
    return np.asarray(error / np.array([len(rows) for rows in divided])[:, None, None])


def _told(calls: Iterable[T], tick: Tick) -> Iterator[T]:
    """The calls; `tick` is called for each one when the next is requested."""
    for call in calls:
        yield call
        if tick is not None:
            tick(1)
