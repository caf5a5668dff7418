"""Candidates from kernel ridge: recursive elimination, and soft reweighting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, product

import numpy as np
from joblib import Parallel, delayed

from nvsd.kernels import Kernel
from nvsd.selection.candidates import Candidate, nested
from nvsd.selection.inputs import check_count
from nvsd.selection.task import Task

Run = Callable[..., list[Candidate]]


def eliminate(task: Task) -> list[Candidate]:
    """Fit kernel ridge, drop the weakest unit, restrict the kernel to the rest, repeat.

    The order depends on ν and the width: there is a run for each width and each of a few ν. While
    more than 50 units are left, a fifth goes at a time.
    """
    return _for_each_model(task, _eliminate)


def reweight(task: Task, *, rounds: int = 3) -> list[Candidate]:
    """Scale every input by its derivative norm and refit, a few rounds; nested sets of each.

    Nothing is dropped for good, so an input that a first poor fit has missed can come back. The
    scales have mean square 1: what weak inputs lose, strong ones gain.
    """
    return _for_each_model(task, _reweight, check_count("rounds", rounds))


def _for_each_model(task: Task, run: Run, *args: int) -> list[Candidate]:
    models = product(enumerate(task.kernels), task.levels)
    runs = Parallel(task.n_jobs)(
        delayed(run)(task, kernel, nu, f"nu={nu:.3g}" + (f", width {i + 1}" if i else ""), *args)
        for (i, kernel), nu in models
    )
    return list(chain.from_iterable(runs))


def _eliminate(task: Task, kernel: Kernel, nu: float, origin: str) -> list[Candidate]:
    found = []
    norms = np.ones(len(task.units))
    for size in task.sizes():
        support = task.strongest(norms, size)
        clearness = task.clearness(norms, support)
        norms = task.norms(support, kernel, nu)
        found.append(Candidate(support, "eliminate", origin, norms, clearness=clearness))
    return found


def _reweight(task: Task, kernel: Kernel, nu: float, origin: str, rounds: int) -> list[Candidate]:
    found = []
    scale, every = np.ones(len(task.units)), np.ones(len(task.units), dtype=bool)
    for done in range(1, rounds + 1):
        # f(x) = g(scale x), so ∂f = scale ∂g.
        norms = scale * replace(task, X=task.X * scale).norms(every, kernel, nu)
        found += nested(task, norms, "reweight", f"{origin}, round {done}")
        strength = task.unit_norms(norms)[task.units]
        scale = strength / (np.sqrt(np.mean(strength**2)) or 1.0)
    return found
