"""Candidates from kernel ridge: recursive elimination, and soft reweighting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, product

import numpy as np
from joblib import Parallel, delayed

from nvsd.data.checks import check_count
from nvsd.kernels import Gaussian, Kernel
from nvsd.selection.candidates import Candidate, nested
from nvsd.selection.task import Task

Run = Callable[..., list[Candidate]]
Model = tuple[Kernel, float, str]  # kernel, ν and their description

# Gaussian kernels that support a polynomial one: multiples of the width that the nearest
# neighbours give, and ν. Tuned on E1 and E2 with n = 30, where they halve the errors of selection.
GUIDES = tuple(product((1.0, 2.0, 4.0), (1e-1, 1e-3)))


def eliminate(task: Task) -> list[Candidate]:
    """Fit kernel ridge, drop the weakest unit, restrict the kernel to the rest, repeat.

    The order depends on ν and the width, so there is a run for each width and each of a few ν.
    While more than 50 units are left, a fifth of them is dropped at a time.
    """
    return _for_each(_models(task), task, _eliminate)


def reweight(task: Task, *, rounds: int = 3) -> list[Candidate]:
    """Scale every input by its derivative norm and refit, for a few rounds; nested sets of each.

    No input is dropped for good, so one that a poor first fit has missed can come back. The scales
    have mean square 1, so strong inputs gain what weak ones lose. A polynomial in all inputs is a
    poor fit to few samples, so Gaussian kernels then propose sets too.

    Recursive feature machines rescale in the same way (Radhakrishnan et al., Mechanism for feature
    learning in neural networks and backpropagation-free machine learning models, Science 2024).
    """
    models = _models(task) + _guides(task)
    return _for_each(models, task, _reweight, check_count("rounds", rounds))


def _models(task: Task) -> list[Model]:
    """Each width with each of a few ν."""
    return [
        (kernel, nu, f"nu={nu:.3g}" + (f", width {i + 1}" if i else ""))
        for (i, kernel), nu in product(enumerate(task.kernels), task.levels)
    ]


def _guides(task: Task) -> list[Model]:
    """Gaussian kernels beside a polynomial one."""
    width = task.guide_width
    if width is None:
        return []
    return [
        (Gaussian(c * width), nu, f"nu={nu:.3g}, Gaussian({c * width:.3g})") for c, nu in GUIDES
    ]


def _for_each(models: list[Model], task: Task, run: Run, *args: int) -> list[Candidate]:
    runs = Parallel(task.n_jobs)(delayed(run)(task, *model, *args) for model in models)
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
