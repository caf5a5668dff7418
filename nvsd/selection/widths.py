"""A width for each input: a refit that weighs the selected inputs by their derivatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed

from nvsd.kernels import Kernel
from nvsd.selection.candidates import Judged, set_errors
from nvsd.selection.task import Array, Mask, Task

ROUNDS = 3
LEAST = 1e-3  # least norm over the root mean square of all norms: it limits how wide widths get


def with_widths(task: Task, judged: Judged, chosen: int) -> tuple[Task, Judged]:
    """Give the chosen candidate the kernel and ν of least error, with a width for each input.

    Folds judge how sets are proposed, so with folds the candidate keeps its error.
    """
    support = judged.candidates[chosen].support
    kernel, nu = _choose(task, support)
    kernels = (*task.kernels, kernel)
    position, nus = judged.kernel.copy(), judged.nu.copy()
    position[chosen], nus[chosen] = len(kernels) - 1, nu
    parts, error = judged.parts.copy(), judged.error.copy()
    if isinstance(task.held_out, tuple):
        X, y = task.held_out
        alone = replace(task, kernels=(kernel,), nus=np.array([nu]))
        parts[:, chosen] = set_errors(alone, support, X, y, len(parts))[:, 0, 0]
        error[chosen] = judged.share @ parts[:, chosen]
    changed = replace(judged, kernel=position, nu=nus, parts=parts, error=error)
    return replace(task, kernels=kernels), changed


def _choose(task: Task, support: Mask) -> tuple[Kernel, float]:
    """The kernel and ν of least error on held-out data; folds find widths on training rows."""
    if isinstance(task.held_out, tuple):
        error = _errors(task, support, *task.held_out)
    else:
        folds = Parallel(task.n_jobs)(
            delayed(_errors)(task.rows(train), support, task.X[test], task.y[test])
            for train, test in task.held_out
        )
        error = np.mean(folds, axis=0)
    i, j = np.unravel_index(error.argmin(), error.shape)
    return width_per_input(task, support)[i], float(task.nus[j])


def width_per_input(task: Task, support: Mask) -> list[Kernel]:
    """The kernels of the task, and the kernels that each gives in a few rounds, for a few ν.

    A round fits kernel ridge and divides the width of input a by ‖∂_a f‖ over the root mean square
    of these norms. So strong inputs get narrow widths, and weak inputs get wide ones.
    """
    found = []
    for kernel in task.kernels:
        found.append(kernel)
        for nu in task.levels:
            current = kernel
            for _ in range(ROUNDS):
                norms = task.norms(support, current, nu)
                size = np.sqrt(np.mean(norms[support] ** 2)) or 1.0
                scale = np.where(support, np.maximum(norms / size, LEAST), 1.0)
                current = kernel.widened(1.0 / scale)
                found.append(current)
    return found


def _errors(task: Task, support: Mask, X: Array, y: Array) -> Array:
    """Mean squared errors, (kernels, nus)."""
    kernels = tuple(width_per_input(task, support))
    return np.asarray(set_errors(replace(task, kernels=kernels), support, X, y, 1)[0])
