"""From the user's arguments to a `Task`; wrong ones raise a ValueError of one sentence."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nvsd.data.checks import (
    check_count,
    check_flag,
    check_non_negative,
    check_positive,
    check_seed,
    check_target,
    is_number,
)
from nvsd.data.columns import Columns
from nvsd.data.rows import ArrayRows, Rows
from nvsd.data.sample import Sample
from nvsd.data.weights import weights_at
from nvsd.engine.features import Scaler
from nvsd.kernels import Kernel
from nvsd.kernels.named import kernel_for
from nvsd.kernels.widths import median_distance
from nvsd.penalties import GroupLasso, Groups, Lasso, Penalty
from nvsd.penalties.named import penalty_by_name
from nvsd.ridge.dense import default_nus, refuse_large_ridge
from nvsd.selection.folds import (
    NOTHING_SAID,
    Labels,
    OfRows,
    Splits,
    check_cv_groups,
    moved,
    own_order,
    refuse_of_blocks,
    splits_of,
    that_count,
)  # fmt: skip
from nvsd.selection.seen import Inputs
from nvsd.selection.task import Array, HeldOut, Task

# Rows that are kept in memory if rows come in blocks: in five folds each has 8000 to rank on, and
# judging draws as many as it needs.
SAMPLED = 10_000
FEW_ROWS = 1000  # with more, a polynomial kernel needs no Gaussian ones to propose sets


def checked_rows(X: Any, y: ArrayLike | None) -> ArrayRows:
    """The samples with their names, checked once."""
    if isinstance(X, ArrayRows):
        return X if y is None else X.with_target(y)
    return ArrayRows(X, y)


def check_rule(rule: str | None, allowed: tuple[str, ...]) -> str:
    """The rule, by default the first that is allowed."""
    if rule is None:
        return allowed[0]
    if rule not in allowed:
        raise ValueError(
            f"rule = {rule!r} is unknown; give {' or '.join(repr(each) for each in allowed)}."
        )
    return rule


def check_rate(fdr: float | None, k: int | None) -> float | None:
    """Return the false discovery rate, if there is one."""
    if fdr is None:
        return None
    if not is_number(fdr) or not 0 < fdr < 1:
        raise ValueError(f"fdr = {fdr!r} is not allowed; give a number in (0, 1), such as 0.1.")
    if k is not None:
        raise ValueError("k and fdr both say how many inputs to keep; leave one of them out.")
    return float(fdr)


class JudgedRows(NamedTuple):
    """Samples as given by the user, and how they are split for judging.

    Attributes
    ----------
    X, y : (n, d) and (n,) arrays
    columns : Columns
        How the columns of a table became the inputs of X.
    splits : list of (train, test)
        Row numbers. Validation data are the last rows, held out by a single split.
    n_train : int
        Number of rows to fit: all, or those before the validation data.
    source : Rows or None
        All rows to fit, if X and y are a sample of them.
    n_source : int
        Number of all rows to fit.
    weights : (n,) array or None
        Of the rows, if they differ; validation data have the weight 1.
    cv_groups : array or None
        Labels of rows that are held out together.
    """

    X: Array
    y: Array
    columns: Columns
    splits: Splits
    n_train: int
    source: Rows | None
    n_source: int
    weights: Array | None = None
    cv_groups: Labels | None = None

    @property
    def train_weights(self) -> Array | None:
        """Weights of the rows to fit, with mean 1; None if they are equal."""
        return weights_at(self.weights, slice(self.n_train))

    @property
    def train(self) -> tuple[Array, Array]:
        """The rows to fit."""
        return self.X[: self.n_train], self.y[: self.n_train]

    def seen_by(self, scaler: Scaler) -> Inputs:
        """The inputs as a fit sees them."""
        return Inputs(self.columns.inputs, scaler.centre, scaler.scale, self.columns)

    def split_again(self, cv: int, seed: int, classes: bool = False) -> JudgedRows:
        """The same rows in other folds."""
        folds = splits_of(int(cv), self.X, self.y, seed, classes, self.cv_groups)
        return self._replace(splits=folds)


def judged_rows(
    rows: Rows,
    validation: Any,
    cv: Any,
    seed: int,
    classes: bool = False,
    of_rows: OfRows = NOTHING_SAID,
) -> JudgedRows:
    """The samples, with validation data as further rows.

    If the rows are read in blocks, a sample of them is drawn in one pass. If y holds the numbers of
    classes, folds keep their shares.
    """
    source, n_source = None, 0
    if not (isinstance(rows, ArrayRows) and not rows.lazy):
        refuse_of_blocks(None if validation is not None else cv, of_rows)
        rows.check_again("a selection reads the rows twice")
        sample = rows.total(partial(Sample.of, SAMPLED, seed))
        source, n_source = rows, sample.n
        rows = ArrayRows(sample.X, sample.y, features=rows.features, checked=True)
    rows, weights, groups, cv = that_count(rows, of_rows, cv)
    X, y, d = rows.points(), rows.target(), len(rows.features)
    columns = rows.columns or Columns.of_numbers(rows.features)
    inputs = Inputs(rows.features, np.zeros(d), np.ones(d), columns)
    held = _held_out(rows, inputs, validation, cv, seed, classes, groups)
    n = len(X)
    if source is None and (isinstance(held, tuple) or not is_number(cv, Integral)):
        # With given folds the order of the rows says nothing, so it must not decide anything.
        order = own_order(X, y, columns.inputs, seed)
        X, y = X[order], y[order]
        weights, groups = (v if v is None else v[order] for v in (weights, groups))
        held = held if isinstance(held, tuple) else moved(held, order)
    if isinstance(held, tuple):
        X, y = np.vstack([X, held[0]]), np.concatenate([y, held[1]])
        weights = None if weights is None else np.concatenate([weights, np.ones(len(X) - n)])
        held = [(np.arange(n), np.arange(n, len(X)))]
    return JudgedRows(X, y, columns, held, n, source, n_source or n, weights, groups)


def group_labels(groups: Groups | None, features: tuple[str, ...]) -> tuple[str, ...] | None:
    """The group of each input, if there are groups."""
    return None if groups is None else tuple(GroupLasso(groups).group_labels(features))


def make_task(
    X: Any,
    y: ArrayLike | None,
    *,
    kernel: str | Kernel | None,
    groups: Groups | None,
    penalty: str | Penalty | None,
    nu: float,
    validation: Any,
    cv: Any,
    nus: ArrayLike | None,
    widths: ArrayLike | None,
    rule: str,
    standardize: bool,
    value_points: int | None,
    random_state: int,
    n_jobs: int | None,
    cv_groups: Any = None,
) -> tuple[Task, Inputs]:
    """Return the task, and how the kernel sees the inputs."""
    seed = check_seed(random_state)
    rows = checked_rows(X, y)
    rows = rows.standardized() if check_flag("standardize", standardize) else rows
    columns = rows.columns or Columns.of_numbers(rows.features)
    inputs = Inputs(rows.features, rows.mean, rows.scale, columns)
    kernel = kernel_for(rows.points(), kernel)
    penalty, labels = _structure(penalty, groups, columns)
    together = check_cv_groups(cv_groups, len(rows.points()))
    task = Task(
        X=rows.points(),
        y=rows.target(),
        features=rows.features,
        groups=labels,
        kernels=(kernel,) if widths is None else _widths(kernel, widths),
        nus=default_nus(kernel, rows.points()) if nus is None else _numbers("nus", nus),
        held_out=_held_out(rows, inputs, validation, cv, seed, groups=together),
        rule=rule,
        kernel=kernel,
        penalty=penalty,
        nu=check_non_negative("nu", nu),
        seed=seed,
        n_jobs=n_jobs,
        value_points=_value_points(value_points, len(rows.points())),
        guide_width=_guide_width(kernel, rows.points()),
    )
    return task, inputs


def _value_points(value_points: int | None, n: int) -> int | None:
    """The number of kernel sections; None means all rows, refused if they do not fit in memory."""
    if value_points is not None:
        return check_count("value_points", value_points)
    refuse_large_ridge(n)
    return None


def _guide_width(kernel: Kernel, X: Array) -> float | None:
    """The width of Gaussian kernels that support a polynomial one, if there are few rows."""
    if kernel.polynomial is None or len(X) > FEW_ROWS:
        return None
    try:
        return median_distance(X)
    except ValueError:  # most samples are identical
        return None


def _structure(
    penalty: str | Penalty | None, groups: Groups | None, columns: Columns
) -> tuple[Penalty, tuple[str, ...] | None]:
    """The penalty of the path, and the group of each input if there are groups."""
    if groups is None and isinstance(penalty, GroupLasso):
        groups = penalty.groups
    labels = group_labels(groups, columns.names)
    if not columns.one_to_one:  # the levels of a category are a group
        labels = groups = columns.labels(labels or columns.names)
    if penalty is None:
        penalty = Lasso() if groups is None else GroupLasso(groups)
    if not isinstance(penalty, Penalty):
        penalty = penalty_by_name(penalty, groups, None)
    if not columns.one_to_one and hasattr(penalty, "groups"):
        penalty = replace(penalty, groups=labels)  # type: ignore[call-arg]
    return penalty, labels


def _widths(kernel: Kernel, factors: ArrayLike) -> tuple[Kernel, ...]:
    return tuple(kernel.widened(factor) for factor in _numbers("widths", factors).tolist())


def _numbers(name: str, values: ArrayLike) -> Array:
    """Positive numbers, descending and distinct."""
    numbers = np.atleast_1d(np.asarray(values, dtype=float))
    if numbers.ndim != 1 or not numbers.size:
        raise ValueError(f"{name} has shape {numbers.shape}; give at least one number in a row.")
    for number in numbers.tolist():
        check_positive(f"a number of {name}", number)
    return np.asarray(np.unique(numbers)[::-1])


def _held_out(
    rows: ArrayRows,
    inputs: Inputs,
    validation: Any,
    cv: Any,
    seed: int,
    classes: bool = False,
    groups: Labels | None = None,
) -> HeldOut:
    """Validation data (X, y), or a list of splits."""
    if validation is not None:
        if not isinstance(validation, (tuple, list)) or len(validation) != 2:
            raise ValueError("validation is not a pair; give (X, y), or None for cross-validation.")
        points = inputs.points(validation[0], np.ones(len(inputs.features), bool), "validation X")
        if len(points) < 2:
            raise ValueError("validation X has fewer than 2 rows; give more, or use cv instead.")
        return points, check_target(validation[1], len(points))
    return splits_of(cv, rows.points(), rows.target(), seed, classes, groups)
