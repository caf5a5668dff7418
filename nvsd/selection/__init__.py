"""From data to a set of inputs: `select`, its methods and its result.

Every method proposes candidates, sets of inputs. All are judged alike: kernel ridge with the kernel
restricted to the set, its ridge ν from one grid, on validation data or by cross-validation. What
wins is refitted, and only the refit ignores the inputs that were dropped.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from nvsd.kernels import Kernel, widened
from nvsd.penalties import Groups, Penalty
from nvsd.progress import progress_bar
from nvsd.selection.candidates import Candidate, Method, judge
from nvsd.selection.inputs import make_task
from nvsd.selection.pooling import POOLED, default_methods, pool
from nvsd.selection.result import Refit, Selection, history
from nvsd.selection.subsamples import stability
from nvsd.selection.task import Task
from nvsd.selection.widths import with_widths

__all__ = ["METHODS", "Refit", "Selection", "select"]

METHODS: dict[str, Callable[..., list[Candidate]]] = {
    **POOLED,
    "stability": stability,
    "pool": pool,
}


def select(
    X: ArrayLike,
    y: ArrayLike,
    *,
    method: str = "pool",
    kernel: Kernel | None = None,
    groups: Groups | None = None,
    penalty: Penalty | None = None,
    nu: float = 1e-3,
    validation: tuple[ArrayLike, ArrayLike] | None = None,
    cv: Any = 5,
    nus: ArrayLike | None = None,
    widths: ArrayLike | None = None,
    width_per_input: bool = False,
    rule: str = "clear",
    standardize: bool = True,
    value_points: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Selection:
    """Select the inputs that y depends on.

    Candidates S are sets of inputs, or of whole groups; each is judged by kernel ridge on S alone,

        f_S = argmin (1/n) Σ_i (y_i − f(x_i))² + ν ‖f‖²   over the f that depend on S only,

    by its mean squared error on held-out data, with the best ν (and width) of one grid.

    Parameters
    ----------
    X : (n, d) array or DataFrame
        Samples; the columns of a DataFrame give the names of the inputs.
    y : (n,) array
        The target; centred inside.
    method : str
        Which candidates there are:

        - "eliminate": fit kernel ridge, drop the input with the smallest derivative norm, restrict
          the kernel to the rest, repeat;
        - "reweight": scale every input by its derivative norm, refit, a few rounds; nested sets,
          with a polynomial kernel and few rows from Gaussian kernels too;
        - "support": the supports along the regularisation path, as in the paper;
        - "rank": nested sets by derivative norm at each τ of the path;
        - "adaptive": the same on several paths, each with weights from the one before;
        - "stability": what most of the halves of the samples select;
        - "pool": several of these, compared on the same data.
    kernel : Kernel, optional
        By default Gaussian, its width the median distance to the 20 nearest neighbours.
    groups : sequence or mapping, optional
        One label per input, or {group: inputs}; groups are kept or dropped as a whole.
    penalty : Penalty, optional
        Of the methods that use a path; `Lasso()`, or `GroupLasso(groups)` with groups.
    nu : float
        ν of the path.
    validation : (X, y), optional
        Held-out data that judge; the fits use X alone, as in the paper.
    cv : int, splitter, or sequence of (train, test)
        Without validation data: number of shuffled folds, a scikit-learn splitter, or the splits.
        The method then proposes anew in every fold. A candidate has the mean error of what was
        proposed in its place, or of its own set in the same folds, whichever is larger.
    nus : sequence of float, optional
        Grid for ν of kernel ridge; `nvsd.ridge.default_nus` by default.
    widths : sequence of float, optional
        Multiples of the kernel's width to choose from for each candidate, as fewer inputs may
        need another width.
    width_per_input : bool
        Whether the refit may have a width for each selected input: these are divided by the
        derivative norms, a few rounds, where that lowers the error on held-out data. It changes
        the refit, not the set. For kernels with a width.
    rule : {"clear", "min", "1se"}
        "min" chooses the candidate of least error, of equal ones the smaller. "clear" chooses among
        those whose error is larger by at most a twentieth, and by less than two standard errors of
        the difference: the one with the widest gap, as a ratio, between the derivative norms inside
        and outside. Inputs that repeat each other have equal norms, and are kept or dropped
        together, where errors alone would leave it to chance. That needs validation data: folds
        judge the way to a set, which leads to another set in each of them, and "clear" is then
        "min". "1se" chooses the smallest candidate within a standard error of the least.
    standardize : bool
        Whether to centre the inputs and scale them to unit variance.
    value_points : int, optional
        For many rows: f_S is made of so many kernel sections, at rows drawn at random, while the
        loss remains that of all rows; see `nvsd.nystrom`. A thousand do for most data. By default
        all rows, which takes memory of order n² and time of order n³.
    random_state : int
        Seed of folds, subsamples and points.
    n_jobs : int, optional
        Fits done at once, through joblib.
    progress : bool, optional
        Show a progress bar; by default only in an interactive session on a terminal.
    **options
        Of the method. "support", "rank" and "adaptive": n_taus, tau_ratio, tol of the path;
        "adaptive": stages; "reweight": rounds; "stability": base, n_pairs, threshold; "pool":
        methods. See the functions in `nvsd.selection.METHODS`.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.kernels import Polynomial
    >>> from nvsd.selection import select
    >>> data = nvsd.datasets.make_e2(70, seed=0)
    >>> result = select(data.X, data.y, kernel=Polynomial(3), method="eliminate")
    >>> result.selected
    ['x0', 'x1', 'x2', 'x6', 'x7', 'x8']
    """
    task, inputs = make_task(
        X,
        y,
        kernel=kernel,
        groups=groups,
        penalty=penalty,
        nu=nu,
        validation=validation,
        cv=cv,
        nus=nus,
        widths=widths,
        rule=rule,
        standardize=standardize,
        value_points=value_points,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    if width_per_input:
        widened(task.kernel, 1.0)  # a kernel without a width is refused now, not at the end
    propose = _method(task, method, options)
    unit = "fold" if validation is None else "set"
    with progress_bar(progress, None, method, unit) as tick:
        judged = judge(task, propose, tick)
    best = judged.best(rule)
    support = judged.candidates[best].support
    if width_per_input and support.any():
        task, judged = with_widths(task, judged, best)
    best_kernel = task.kernels[judged.kernel[best]]
    fit = task.fit(support, best_kernel, judged.nu[best])
    return Selection(
        support=support,
        features=task.features,
        groups=task.groups,
        method=method,
        history=history(task, judged, method, best),
        refit=Refit(fit, inputs),
        score=float(judged.error[best]),
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
        # Decided once, for all folds alike.
        given = options.get("methods")
        options = {"methods": default_methods(task) if given is None else given}
    return partial(METHODS[name], **options)
