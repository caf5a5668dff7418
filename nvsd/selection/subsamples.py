"""Stability selection (Meinshausen and Bühlmann 2010; in pairs: Shah and Samworth 2013)."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from nvsd.data.checks import check_count, is_number
from nvsd.selection import bounds
from nvsd.selection.candidates import Candidate, judge, nested
from nvsd.selection.pooling import POOLED, check_methods
from nvsd.selection.task import Array, Mask, Task


def stability(
    task: Task, *, base: str = "eliminate", n_pairs: int = 20, threshold: float | None = 0.6
) -> list[Candidate]:
    """The units that at least a share `threshold` of the halves of the samples select.

    The samples are split into halves at random, n_pairs times, and the base method selects from
    each half. Without validation data the other half judges. With ``threshold=None`` the candidates
    are the sets of the most frequent units, of every size.

    With a threshold the result bounds the expected number of false selections: see
    `Selection.false_selections` and `nvsd.selection.bounds`.
    """
    check_methods([base])
    if threshold is not None and not (is_number(threshold) and 0 < threshold <= 1):
        raise ValueError(f"threshold = {threshold!r} is not allowed; give a number in (0, 1].")
    if len(task.y) < 4:
        raise ValueError(
            f"halves of {len(task.y)} samples are too small to select from; give more samples, "
            "more folds or another method."
        )
    rng = np.random.default_rng(task.seed)
    halves = [
        half
        for _ in range(check_count("n_pairs", n_pairs))
        for half in _halves(rng.permutation(len(task.y)))
    ]
    picked = Parallel(task.n_jobs)(delayed(_pick)(task, base, *half) for half in halves)
    frequency: Array = np.mean(picked, axis=0)
    if threshold is None:
        return nested(task, frequency, "stability", base)
    notes = _notes(task, np.array(picked), n_pairs, float(threshold))
    return [Candidate(frequency >= threshold, "stability", base, frequency, notes=notes)]


def _notes(
    task: Task, picked: Mask, n_pairs: int, threshold: float
) -> tuple[tuple[str, float | int], ...]:
    """Attributes of the history: settings, mean size, and the bounds below the number of units."""
    first = np.unique(task.units, return_index=True)[1]  # one input of each unit
    d, q = len(first), float(picked[:, first].sum(axis=1).mean())
    limits = {
        "false_selections_exchangeable": bounds.meinshausen_buhlmann(q, d, threshold),
        "false_selections_unimodal": bounds.unimodal(q, d, threshold, n_pairs),
        "false_selections_r_concave": bounds.r_concave(q, d, threshold, n_pairs),
    }
    told = {name: bound for name, bound in limits.items() if bound < d}
    known = {"n_pairs": n_pairs, "threshold": threshold, "n_units": d, "mean_selected": q}
    return tuple((known | told).items())


def _halves(order: NDArray[np.intp]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Two halves, each with the other one; if the number of samples is odd, one is left out."""
    middle = len(order) // 2
    one, other = order[:middle], order[middle : 2 * middle]
    return [(one, other), (other, one)]


def _pick(task: Task, base: str, half: NDArray[np.intp], other: NDArray[np.intp]) -> Mask:
    """What the base method selects from one half."""
    given = isinstance(task.held_out, tuple)
    held_out = task.held_out if given else (task.X[other], task.y[other])
    judged = judge(task.rows(half, held_out=held_out), POOLED[base])
    return judged.candidates[judged.best(task.rule)].support
