"""`select` by candidates: sets that a method proposes, judged on the same held-out data."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nvsd.progress import progress_bar
from nvsd.results.schema import text
from nvsd.selection.candidates import Candidate, Method, judge
from nvsd.selection.history import history
from nvsd.selection.pooling import POOLED, default_methods, pool
from nvsd.selection.refits import Refit
from nvsd.selection.result import Selection
from nvsd.selection.seen import Inputs
from nvsd.selection.subsamples import stability
from nvsd.selection.task import Task
from nvsd.selection.widths import with_widths

METHODS: dict[str, Callable[..., list[Candidate]]] = {
    **POOLED,
    "stability": stability,
    "pool": pool,
}


def select_by_candidates(
    task: Task,
    inputs: Inputs,
    method: str,
    options: dict[str, Any],
    width_per_input: bool,
    progress: bool | None,
) -> Selection:
    """Judge the candidates of the method, and refit the winner."""
    if width_per_input:
        task.kernel.widened(1.0)  # a kernel without a width is refused now, not at the end
    propose = _method(task, method, options)
    folds = None if isinstance(task.held_out, tuple) else len(task.held_out)
    with progress_bar(progress, folds, method, "set" if folds is None else "fold") as tick:
        judged = judge(task, propose, tick)
    best = judged.best(task.rule)
    support = judged.candidates[best].support
    if width_per_input and support.any():
        task, judged = with_widths(task, judged, best)
    best_kernel = task.kernels[judged.kernel[best]]
    refit = Refit(task.fit(support, best_kernel, judged.nu[best]), inputs)
    columns = refit.columns
    strength = columns.joined(judged.candidates[best].strength)
    support = columns.of_columns(support)
    # Without groups of the user, the levels of a category were a group.
    groups = None if task.groups is None else tuple(columns.of_columns(text(task.groups)))
    return Selection(
        support=support,
        features=columns.names,
        groups=None if groups == columns.names else groups,
        method=method,
        history=history(task, judged, method, best, columns),
        refit=refit,
        score=float(judged.error[best]),
        strength=strength,
        order=np.lexsort((-strength, ~support)),
        predictor=refit,
        predicts_with="the selected inputs",
    )


def _method(task: Task, name: str, options: dict[str, Any]) -> Method:
    """The method with its options."""
    if name not in METHODS:
        known = ", ".join(["auto", "anova", *METHODS])
        raise ValueError(f"method = {name!r} is unknown; give one of {known}.")
    allowed = list(inspect.signature(METHODS[name]).parameters)[1:]
    for option in options:
        if option not in allowed:
            raise ValueError(
                f"{name!r} has no option {option!r}; give {' or '.join(allowed) or 'none'}."
            )
    if name == "pool":
        # Decided once, so that all folds use the same methods.
        given = options.get("methods")
        options = {"methods": default_methods(task) if given is None else given}
    return partial(METHODS[name], **options)
