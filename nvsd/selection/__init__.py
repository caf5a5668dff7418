"""From data to a set of inputs: `select`, its methods and its result.

The default, "anova", is the engine of `nvsd.engine`: it needs no kernel, width or penalty. Every
other method proposes candidates, which are sets of inputs. All are judged in the same way: by
kernel ridge with the kernel restricted to the set and ν from one grid, on validation data or by
cross-validation. The winner is refitted. Only the refit ignores the inputs that were dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from nvsd.data.checks import check_flag, check_non_negative
from nvsd.data.names import name_of, refuse_misaligned
from nvsd.data.random import Rng, seed_of
from nvsd.data.units import DataWarning
from nvsd.kernels import Kernel
from nvsd.losses import Loss
from nvsd.penalties import Groups, Penalty
from nvsd.selection.by_candidates import METHODS, select_by_candidates
from nvsd.selection.cautions import read_warily
from nvsd.selection.classes import ClassSelection
from nvsd.selection.engine import select_by_engine
from nvsd.selection.folds import OfRows, refuse_weights
from nvsd.selection.inputs import check_rate, check_rule, group_labels, make_task
from nvsd.selection.loading import load_selection
from nvsd.selection.procedures import procedure_of
from nvsd.selection.question import RULES, Question, refuse_given, refuse_of_engine
from nvsd.selection.refits import Refit
from nvsd.selection.result import METHOD, Selection
from nvsd.selection.targets import target_of

__all__ = [
    "METHODS",
    "ClassSelection",
    "DataWarning",
    "Refit",
    "Selection",
    "load_selection",
    "select",
]

POOL_RULES = ("clear", "1se")  # rules that the default method does not have
NU = 1e-3  # ν of the path; the default method has no path


def select(
    X: Any,
    y: ArrayLike | None = None,
    *,
    method: str = "auto",
    loss: str | Loss | None = None,
    kernel: str | Kernel | None = None,
    groups: Groups | None = None,
    penalty: str | Penalty | None = None,
    nu: float = NU,
    sample_weight: ArrayLike | None = None,
    class_weight: Any = None,
    validation: tuple[ArrayLike, ArrayLike] | None = None,
    cv: Any = 5,
    cv_groups: ArrayLike | None = None,
    nus: ArrayLike | None = None,
    widths: ArrayLike | None = None,
    width_per_input: bool = False,
    rule: str | None = None,
    keep: Sequence[Any] = (),
    k: int | None = None,
    fdr: float | None = None,
    p_values: bool = False,
    standardize: bool = True,
    value_points: int | None = None,
    random_state: int | None = None,
    rng: Rng = None,
    n_jobs: int | None = None,
    missing: str = "error",
    progress: bool | None = None,
    **options: Any,
) -> Selection:
    """Select the inputs that y depends on.

    Candidates S are sets of inputs, or of whole groups. Each is judged by kernel ridge on S alone,

        f_S = argmin (1/n) Σ_i (y_i − f(x_i))² + ν ‖f‖²   over the f that depend on S only,

    by its mean squared error on held-out data; another loss may take the place of squares. By
    default nothing else needs to be given: the inputs are ranked by their effect on a reweighted
    ANOVA kernel ridge, and the whole procedure is repeated in every fold. The empty set competes.
    The winner is the smallest set whose error is not clearly larger than the least.

    Parameters
    ----------
    X : (n, d) array or table of pandas, polars or pyarrow
        Samples; the columns of a table give the names of the inputs. Text, categories and booleans
        are coded, and each such column is selected as a whole; see `Selection.columns`. With
        "anova" also a memory map, a Dask array, or an iterable of blocks (X, y): then a sample of
        the rows is used to rank and judge, and the last fit sums over all rows in one pass.
    y : (n,) array
        The target: numbers, or labels of classes. Text, booleans and pandas categories are labels
        by themselves. Whole numbers, 0 and 1 too, are numbers unless loss="logistic" is given.
    method : str
        How candidates are proposed. "auto" is "anova", or "pool" if kernel, penalty, nu, widths,
        nus, value_points, width_per_input, an option, or the rule "clear" or "1se" is given:

        - "anova": nested sets of a ranking by total effects, with kernels chosen from the data; it
          finds main effects and interactions, and takes groups, keep, k and fdr;
        - "eliminate": fit kernel ridge, drop the input with the smallest derivative norm, restrict
          the kernel to the rest, repeat;
        - "reweight": scale every input by its derivative norm and refit, for a few rounds; nested
          sets. Given a polynomial kernel and few rows, Gaussian kernels propose sets too;
        - "support": the supports along the regularisation path, as in the paper;
        - "rank": nested sets by derivative norm at each τ of the path;
        - "adaptive": the same on several paths, each with weights from the previous one;
        - "stability": the inputs that most halves of the samples select;
        - "pool": several of these, compared on the same data.
    loss : {"squared", "huber", "quantile", "logistic"} or Loss, optional
        With "anova". By default squares, or "logistic" for labels: sets are then judged by log-loss
        in folds that keep the shares of the classes. Several classes are fitted one against the
        rest, and their probabilities divided by their sum.
    kernel : {"gaussian", "matern", "polynomial", "linear"} or Kernel, optional
        By default Gaussian. A width that is not given, as in `Gaussian()`, is the median distance
        to the 20 nearest neighbours.
    groups : sequence or mapping, optional
        One label per input, {group: inputs} or {input: group}; groups are kept or dropped as a
        whole. Inputs that a mapping does not name are on their own.
    penalty : {"lasso", "group", "elastic-net", "sparse-group"} or Penalty, optional
        For methods that use a path; by default `Lasso()`, or `GroupLasso(groups)` with groups.
    nu : float
        ν of the path.
    sample_weight : (n,) array, optional
        Weights w ≥ 0 of the rows, of which only ratios matter: fits minimise (1/Σw) Σ_i w_i ℓ_i,
        and errors on held-out rows are weighted means; validation data count alike. Only with
        "anova".
    class_weight : mapping or "balanced", optional
        {label: weight}, by which the weights of the rows are multiplied; "balanced" gives all
        classes the same total.
    validation : (X, y), optional
        Held-out data for judging; the fits use X alone, as in the paper.
    cv : int, splitter, or sequence of (train, test)
        Without validation data: number of shuffled folds, a scikit-learn splitter, or the splits.
        The method then proposes again in every fold. The error of a candidate is the mean error of
        what was proposed in its place. Except with "anova", the mean error of its own set in the
        same folds is used if that is larger.
    cv_groups : (n,) array, optional
        Labels of rows that belong together, such as a patient or a day: rows with the same label
        are held out together, with a number of folds or a splitter such as `GroupKFold`.
    nus : sequence of float, optional
        Grid of ν for kernel ridge; `nvsd.ridge.dense.default_nus` by default.
    widths : sequence of float, optional
        Multiples of the kernel's width to choose from for each candidate: fewer inputs may need
        another width.
    width_per_input : bool
        Whether the refit may have a width for each selected input. For a few rounds, widths are
        divided by the derivative norms, if that lowers the error on held-out data. It changes the
        refit, not the set. Only for kernels with a width.
    rule : str, optional
        With "anova": "smallest" (the default) chooses the smallest set whose error is not clearly
        larger than the least, by paired differences on held-out rows; "min" the set of least error.
        With the other methods: "clear" (the default), "min" or "1se".
        "min" chooses the candidate of least error, and the smallest if several have it. "clear"
        chooses among those whose error is larger by at most a twentieth, and by less than two
        standard errors of the difference. It takes the one with the largest ratio of the weakest
        derivative norm inside to the strongest outside. Inputs that repeat each other have equal
        norms, so they are kept or dropped together; by errors alone this would depend on chance.
        "clear" needs validation data: each fold may propose a different set, so with folds it is
        "min". "1se" chooses the smallest candidate within one standard error of the least.
    keep : sequence
        Inputs that are always selected, by name or number; only with "anova".
    k : int, optional
        The exact number of inputs, or groups, to select; only with "anova".
    fdr : float, optional
        Select the inputs, or groups, that pass tests at this false discovery rate, instead of by
        errors; only with "anova". See `nvsd.significance` for what is tested.
    p_values : bool
        Whether to make these tests now, and to store them in the history. By default they are made
        when `Selection.p_values` is first used.
    standardize : bool
        Whether to centre the inputs and scale them to unit variance; "anova" always scales them.
    value_points : int, optional
        For many rows: the number of kernel sections in f_S, at rows drawn at random. The loss is
        still that of all rows, see `nvsd.ridge.nystrom`. A thousand are enough for most data. By
        default all rows are used, which takes memory of order n² and time of order n³.
    random_state : int, optional
        Seed of folds, subsamples and points; 0 by default.
    rng : int or numpy Generator, optional
        In place of random_state.
    n_jobs : int, optional
        Number of parallel fits, by joblib, as processes with one BLAS thread each.
    missing : {"error", "drop", "impute"}
        What to do about missing values: refuse them, leave out the rows, or put them at the centre
        of the rows that a fold trains on, beside an input that says where they were; the last only
        with "anova". Predictions may then have missing values too.
    progress : bool, optional
        Show a progress bar; by default at a terminal and in notebooks.
    **options
        Options of the method. "support", "rank" and "adaptive": n_taus, tau_ratio, tol of the path;
        "adaptive": stages; "reweight": rounds; "stability": base, n_pairs, threshold; "pool":
        methods. See the functions in `nvsd.selection.METHODS`.

    Returns
    -------
    Selection or, for classes, ClassSelection

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.kernels import Polynomial
    >>> from nvsd.selection import select
    >>> sample = nvsd.datasets.make_e3(110, seed=0)
    >>> len(select(sample.X, sample.y).ranking)
    18
    >>> data = nvsd.datasets.make_e2(70, seed=0)
    >>> result = select(data.X, data.y, kernel=Polynomial(3), method="eliminate")
    >>> result.selected
    ['x0', 'x1', 'x2', 'x6', 'x7', 'x8']
    """
    given = {
        "kernel": kernel, "penalty": penalty, "nus": nus, "widths": widths,
        "width_per_input": width_per_input or None, "value_points": value_points,
        "nu": None if nu == NU else nu,
    }  # fmt: skip
    pooled = options or rule in POOL_RULES or any(v is not None for v in given.values())
    method = ("pool" if pooled else METHOD) if method == "auto" else method
    check_flag("standardize", standardize)
    check_non_negative("nu", nu)
    seed = seed_of(random_state, rng)
    refuse_misaligned(X, sample_weight=sample_weight, cv_groups=cv_groups)
    source = read_warily(X, y, loss, missing, validation, cv, progress)
    X, y, validation, _ = source
    target = target_of(X, y, loss)
    of_rows = OfRows(source.rows(sample_weight), class_weight, source.rows(cv_groups))
    if method == METHOD:
        refuse_given(given | options)
        allowed = check_rule(rule, RULES)
        data = target.judged(X, validation, cv, seed, progress, of_rows)
        labels = group_labels(groups, data.columns.names)
        at_once, level = check_flag("p_values", p_values), check_rate(fdr, k)
        question = Question(data, labels, keep, k, allowed, level, at_once, seed, n_jobs, progress)
        return select_by_engine(question, procedure_of(target, data, seed)).named(name_of(y))
    asked = bool(keep) or k is not None or fdr is not None or p_values
    refuse_of_engine(method, asked, target.loss, missing)
    task, inputs = make_task(
        X, y, kernel=kernel, groups=groups, penalty=penalty, nu=nu, validation=validation, cv=cv,
        nus=nus, widths=widths, rule=check_rule(rule, ("clear", "min", "1se")),
        standardize=standardize, value_points=value_points, random_state=seed, n_jobs=n_jobs,
        cv_groups=of_rows.cv_groups,
    )  # fmt: skip
    refuse_weights(method, len(task.y), of_rows)
    found = select_by_candidates(task, inputs, method, options, width_per_input, progress)
    return found.named(name_of(y))
