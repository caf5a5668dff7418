"""Which rows are held out in turn: a number of folds, a splitter of scikit-learn, or the splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold

from nvsd.data.checks import Index, check_splits, is_number
from nvsd.data.rows import ArrayRows
from nvsd.data.weights import row_weights, rows_that_count

Array = NDArray[np.float64]
Labels = NDArray[Any]  # of the rows: those with the same label belong together
Splits = list[tuple[Index, Index]]


class OfRows(NamedTuple):
    """What the user has said of the rows: weights, those of classes, and what belongs together."""

    sample_weight: Any = None
    class_weight: Any = None
    cv_groups: Any = None


NOTHING_SAID = OfRows()


def refuse_of_blocks(cv: Any, of_rows: OfRows) -> None:
    """Refuse what needs all rows at once."""
    if cv is not None and not isinstance(cv, Integral):
        raise ValueError(
            f"cv = {cv!r} needs all rows at once, but they are read in blocks; give a number of "
            "folds."
        )
    for name, value in of_rows._asdict().items():
        if value is not None:
            raise ValueError(
                f"{name} needs all rows at once, but they are read in blocks; give X as an array."
            )


def refuse_weights(method: str, n: int, of_rows: OfRows) -> None:
    """Refuse weights that differ, for a method that has none."""
    counted = row_weights(of_rows.sample_weight, n)
    unequal = counted.kept is not None or counted.values is not None
    for name, given in (("sample_weight", unequal), ("class_weight", of_rows.class_weight)):
        if given:
            raise ValueError(
                f"method = {method!r} does not take {name}; leave it out, or give method='anova'."
            )


def check_cv_groups(groups: Any, n: int) -> Labels | None:
    """Labels of n rows, if there are any."""
    if groups is None:
        return None
    labels = np.asarray(groups if hasattr(groups, "__array__") else list(groups))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise ValueError(
            f"cv_groups has shape {labels.shape} for {n} rows of X; give one label per row."
        )
    if pd.isna(labels).any():
        raise ValueError("cv_groups has missing labels; give a label for every row.")
    return labels


def that_count(
    rows: ArrayRows, of_rows: OfRows, cv: Any
) -> tuple[ArrayRows, Array | None, Labels | None, Any]:
    """The rows of positive weight, their weights and labels, and cv if it lists the splits."""
    groups = check_cv_groups(of_rows.cv_groups, len(rows.points()))
    found, counted = rows_that_count(rows, of_rows.sample_weight)
    assert isinstance(found, ArrayRows)
    if counted.kept is not None and is_pairs(cv):
        cv = without(check_splits(cv, counted.n), counted.kept, counted.n)
    return found, counted.values, counted.take(groups), cv


def splits_of(
    cv: Any, X: Array, y: Array, seed: int, classes: bool = False, groups: Labels | None = None
) -> Splits:
    """The folds (train, test), as row indices.

    Parameters
    ----------
    cv : int, splitter, or sequence of (train, test)
    classes : bool
        Whether y holds the numbers of classes; folds then keep their shares.
    groups : (n,) array, optional
        Rows with the same label are held out together.
    """
    n = len(y)
    if is_number(cv, Integral):
        if not 2 <= cv <= n:
            raise ValueError(f"cv = {cv} is not allowed; give from 2 to {n} folds for {n} rows.")
        return check_splits(list(_folds(int(cv), y, seed, classes, groups)), n)
    if hasattr(cv, "split") and not isinstance(cv, str):
        return check_splits(split_by(cv, X, y, groups), n)
    if groups is not None:
        raise ValueError("cv lists the splits, so cv_groups has no effect; leave one of them out.")
    return check_splits(cv, n)


def is_pairs(cv: Any) -> bool:
    """Whether cv lists the splits."""
    return not is_number(cv, Integral) and not hasattr(cv, "split")


def split_by(splitter: Any, X: Any, y: Any, groups: Labels | None) -> list[Any]:
    """The folds of a splitter."""
    try:
        return list(splitter.split(X, y) if groups is None else splitter.split(X, y, groups))
    except ValueError as error:
        if groups is None and "group" in str(error):
            raise ValueError(
                f"cv = {splitter!r} splits by groups of rows; give cv_groups, one label per row."
            ) from error
        raise


def without(splits: Splits, kept: Index, n: int) -> Splits:
    """The splits of n rows as those of the rows kept."""
    place = np.full(n, -1)
    place[kept] = np.arange(len(kept))
    found = [tuple(part[part >= 0] for part in (place[a], place[b])) for a, b in splits]
    return check_splits(found, len(kept))


def own_order(X: Array, y: Array, names: Sequence[str], seed: int) -> Index:
    """An order of the rows that depends on their values alone, and on the seed.

    Rows are sorted by y and then by the inputs, in the order of their names, and shuffled. So
    neither the order of rows and columns nor their units matter.
    """
    columns = sorted(range(len(names)), key=lambda a: names[a], reverse=True)
    ascending = np.lexsort([*X.T[columns], y])
    return np.asarray(ascending[np.random.default_rng(seed).permutation(len(y))])


def moved(splits: Splits, order: Index) -> Splits:
    """The same splits of rows that were put in another order."""
    place = np.argsort(order)
    return [(np.sort(place[train]), place[test]) for train, test in splits]


def _folds(
    cv: int, y: Array, seed: int, classes: bool, groups: Labels | None = None
) -> Iterator[tuple[Index, Index]]:
    """Shuffled folds, which keep the shares of classes: the rows of each are dealt out in turn."""
    if groups is not None:
        if (count := len(np.unique(groups))) < cv:
            raise ValueError(
                f"cv = {cv} folds are more than the {count} labels of cv_groups; give fewer folds."
            )
        kind = StratifiedGroupKFold if classes else GroupKFold
        yield from kind(cv, shuffle=True, random_state=seed).split(y, y, groups)
    elif not classes:
        yield from KFold(cv, shuffle=True, random_state=seed).split(y)
    else:
        order = np.random.default_rng(seed).permutation(len(y))
        order = order[np.argsort(y[order], kind="stable")]
        for fold in range(cv):
            test = np.zeros(len(y), dtype=bool)
            test[order[fold::cv]] = True
            yield np.flatnonzero(~test), np.flatnonzero(test)
