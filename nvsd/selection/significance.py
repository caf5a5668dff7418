"""Does y depend on an input given the others? `significance`, and p-values of `select`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from nvsd.data.checks import Index, check_count, is_number
from nvsd.data.names import find_columns, refuse_misaligned
from nvsd.data.random import Rng, seed_of
from nvsd.data.sources import read_source
from nvsd.engine.judging import Fold, Structure, rank_in_folds
from nvsd.engine.loss_judging import rank_aim_in_folds
from nvsd.inference.hypotheses import Model, Testable
from nvsd.inference.loss_hypotheses import LossModel
from nvsd.inference.multiplicity import CORRECTIONS
from nvsd.losses import Loss
from nvsd.penalties import Groups
from nvsd.progress import progress_bar
from nvsd.selection.evidence import N_COPIES, CopyWarning, Evidence
from nvsd.selection.folds import OfRows
from nvsd.selection.inputs import JudgedRows, group_labels
from nvsd.selection.targets import Target, aim_of, target_of

__all__ = ["CopyWarning", "models_of", "significance"]


def models_of(folds: Sequence[Fold], structure: Structure, seed: int) -> list[Model]:
    """The models to test: the fit of each fold, with rows that it has not seen."""
    return [Model.of(fold, structure, seed + k) for k, fold in enumerate(folds)]


def significance(
    X: Any,
    y: ArrayLike | None = None,
    *,
    loss: str | Loss | None = None,
    inputs: Sequence[Any] | None = None,
    groups: Groups | None = None,
    sample_weight: ArrayLike | None = None,
    missing: str = "error",
    cv: Any = 5,
    cv_groups: ArrayLike | None = None,
    repeats: int = 1,
    n_copies: int = N_COPIES,
    correction: str = "bh",
    random_state: int | None = None,
    rng: Rng = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> xr.Dataset:
    """Test for every input whether y depends on it given the others.

        hypothesis     y ⟂ x_a given the other inputs
        statistic      t = mean(Δ) / se(Δ),   Δ_i = ℓ(y_i, f(x_i, copy of x_a)) − ℓ(y_i, f(x_i))

    f is fitted in folds, and Δ_i belongs to a row that its f has not seen: ranking, selection and
    fit see only the other rows. The copy of x_a is drawn from a model of x_a given the other
    inputs. Under the hypothesis x_a and a good copy are exchangeable, so Δ has mean 0 for any f. A
    poor f costs power. A poor model of x_a costs validity, and `copy_check` shows how poor it is.

    Parameters
    ----------
    X : (n, d) array or DataFrame
        Samples; also a memory map, a Dask array, or an iterable of blocks (X, y), of which a sample
        is tested.
    y : (n,) array
        Numbers, or labels of classes, as for `nvsd.select`.
    loss : {"squared", "huber", "quantile", "logistic"} or Loss, optional
        ℓ above, as for `nvsd.select`: by default squares, or with labels the log-loss.
    inputs : sequence, optional
        Names or numbers of the inputs to test; all by default. f may use all inputs in any case.
    groups : sequence or mapping, optional
        One label per input, {group: inputs} or {input: group}; groups are tested as a whole.
    sample_weight : (n,) array, optional
        Weights w ≥ 0 of the rows, in the fits and in the mean of Δ.
    missing : {"error", "drop", "impute"}
        What to do about missing values, as for `nvsd.select`.
    cv : int, splitter, or sequence of (train, test)
        Number of shuffled folds, a scikit-learn splitter, or the splits.
    cv_groups : (n,) array, optional
        Labels of rows that belong together, as for `nvsd.select`.
    repeats : int
        Number of times that folds are drawn. Δ of a row is its mean over the repeats, so that the
        result depends less on the split.
    n_copies : int
        Number of copies of each input, over which the loss is averaged.
    correction : {"bh", "by", "holm"}
        How q-values are made: Benjamini and Hochberg's false discovery rate, Benjamini and
        Yekutieli's for any dependence, or Holm's family-wise error rate.
    random_state : int, optional
        Seed of folds and copies; 0 by default.
    rng : int or numpy Generator, optional
        In place of random_state.
    n_jobs : int, optional
        Number of folds fitted in parallel, as processes with one BLAS thread each.
    progress : bool, optional
        Show a progress bar; by default at a terminal and in notebooks.

    Returns
    -------
    Dataset
        Over `feature`, or over `group`: `statistic`, `p_value`, `q_value`, `importance` (the mean
        of Δ as a share of the loss of the mean of y) with its standard error and a 95 % interval,
        `explained` (the share of the input that the others explain) and `copy_check`. Inputs that
        are near copies of each other (`near_copies`) are tested together as well, in
        `p_value_together`; their q-value is that of the set.

    Notes
    -----
    An input that no fold uses has p-value 1. Errors beyond a bound count linearly, so that a few
    outliers of y do not decide. Rows must be independent of each other; with cv_groups only the
    fits keep rows that belong together apart. Given the other inputs, weights must not depend on
    the input that is tested.

    References
    ----------
    Candès, Fan, Janson and Lv, Panning for gold, J. R. Stat. Soc. B 2018. Tansey et al., The
    holdout randomization test, J. Comput. Graph. Stat. 2022. Watson and Wright, Testing conditional
    independence in supervised learning algorithms, Mach. Learn. 2021.

    Examples
    --------
    >>> import numpy as np, nvsd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 6))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.standard_normal(200)
    >>> found = nvsd.significance(X, y)
    >>> found.feature.values[found.q_value < 0.1].tolist()
    ['x0', 'x1']
    """
    seed, repeats = seed_of(random_state, rng), check_count("repeats", repeats)
    n_copies = check_count("n_copies", n_copies)
    if correction not in CORRECTIONS:
        allowed = " or ".join(map(repr, CORRECTIONS))
        raise ValueError(f"correction = {correction!r} is unknown; give {allowed}.")
    if repeats > 1 and not is_number(cv, Integral):
        raise ValueError(
            f"repeats = {repeats} draws new folds; give a number of folds as cv, or repeats=1."
        )
    refuse_misaligned(X, sample_weight=sample_weight, cv_groups=cv_groups)
    source = read_source(X, y, missing, None, cv, progress)
    target = target_of(source.X, source.y, loss)
    classes = target.classes is not None
    of_rows = OfRows(source.rows(sample_weight), None, source.rows(cv_groups))
    data = target.judged(source.X, None, cv, seed, progress, of_rows)
    labels = group_labels(groups, data.columns.names)
    with progress_bar(progress, repeats * len(data.splits), "fits", "fold") as tick:
        parts = []
        for r in range(repeats):
            again = data if r == 0 else data.split_again(cv, seed + r, classes)
            parts.append(_repeat(target, again, seed + r, n_jobs, tick))
    where = _inputs(inputs, data.columns.names)
    evidence = Evidence(data.X, data.columns, labels, parts, where, seed, data.weights, progress)
    return evidence.dataset(correction, n_copies)


def _repeat(
    target: Target,
    data: JudgedRows,
    seed: int,
    n_jobs: int | None,
    tick: Callable[[int], object],
) -> Sequence[Testable]:
    """The models of one repeat."""
    structure = Structure(data.columns.owner, np.zeros(len(data.columns.names), dtype=bool))
    if target.loss is not None:
        aim = aim_of(target, data)
        with threadpool_limits(1):
            judged = rank_aim_in_folds(data.X, aim, data.splits, seed, n_jobs, tick)
            return [LossModel.of(fold, structure, seed + k) for k, fold in enumerate(judged)]
    unit = float(data.y.std()) or 1.0
    with threadpool_limits(1):
        given = data.splits, seed, n_jobs, tick
        folds = rank_in_folds(data.X, data.y / unit, *given, weights=data.weights)
        return models_of(folds, structure, seed)


def _inputs(inputs: Sequence[Any] | None, features: tuple[str, ...]) -> Index:
    """Numbers of the inputs to test."""
    if inputs is None:
        return np.arange(len(features))
    return np.unique(np.array(find_columns("inputs", inputs, features), dtype=np.intp))
