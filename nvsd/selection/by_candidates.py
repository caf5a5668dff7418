"""`select` by the methods that propose candidates: judge them, and refit the winner."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import xarray as xr

from nvsd.data.columns import Columns
from nvsd.progress import progress_bar
from nvsd.results.schema import SELECTION, library_version, text
from nvsd.selection.candidates import Candidate, Judged, Method, judge
from nvsd.selection.pooling import POOLED, default_methods, pool
from nvsd.selection.result import Refit, Selection
from nvsd.selection.seen import Inputs
from nvsd.selection.subsamples import stability
from nvsd.selection.task import Array, Task
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
    unit = "set" if isinstance(task.held_out, tuple) else "fold"
    with progress_bar(progress, None, method, unit) as tick:
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
        raise ValueError(f"method = {name!r} is unknown; give one of {', '.join(METHODS)}.")
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


def history(task: Task, judged: Judged, method: str, chosen: int, columns: Columns) -> xr.Dataset:
    """Every candidate with its errors, strengths and settings."""
    rows = judged.candidates
    support = np.array([row.support for row in rows])

    @cache
    def norms(key: bytes, kernel: int, nu: float) -> Array:
        return task.norms(np.frombuffer(key, dtype=bool), task.kernels[kernel], nu)

    models = zip(support, judged.kernel, judged.nu, strict=True)
    derivative_norm = np.array([norms(row.tobytes(), *model) for row, *model in models])
    support = columns.of_columns(support)
    data: dict[str, Any] = {
        "support": support,
        "derivative_norm": columns.joined(derivative_norm),
        "strength": columns.joined(np.array([row.strength for row in rows])),
        "n_selected": support.sum(axis=1),
        "error": judged.error,
        "error_se": judged.error_se,
        "clearness": np.array([row.clearness for row in rows]),
        "ridge_nu": judged.nu,
        "kernel": text(task.kernels[i].to_json() for i in judged.kernel),
        "method": text(row.method for row in rows),
        "origin": text(row.origin for row in rows),
        "tau": np.array([row.tau for row in rows]),
    }
    coords = {"step": np.arange(len(rows)), "feature": text(columns.names)}
    attrs = {
        "method": method,
        "chosen": chosen,
        "rule": task.rule,
        "nvsd_version": library_version(),
        **({} if columns.plain else {"columns": columns.to_json()}),
        **dict(rows[chosen].notes),
    }
    return SELECTION.make(data, coords, attrs)
