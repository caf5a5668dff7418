"""What the user gave as y and loss: numbers, or labels of classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.data.classes import Labels, labels_of
from nvsd.data.rows import Rows
from nvsd.data.sources import rows_of
from nvsd.data.weights import unequal
from nvsd.engine.aims import Aim
from nvsd.losses import Logistic, Loss, QuadraticLoss, weights_of_classes
from nvsd.losses.named import loss_by_name
from nvsd.selection.folds import NOTHING_SAID, OfRows
from nvsd.selection.inputs import JudgedRows, judged_rows

Array = NDArray[np.float64]


class Target(NamedTuple):
    """The target of a selection.

    Attributes
    ----------
    y : array or None
        Numbers, or the number of each row's class; None where it comes with X.
    loss : Loss or None
        None for squares.
    classes : array or None
        The labels, sorted.
    """

    y: Any
    loss: Loss | None = None
    classes: NDArray[Any] | None = None

    def judged(
        self,
        X: Any,
        validation: Any,
        cv: Any,
        seed: int,
        progress: bool | None,
        of_rows: OfRows = NOTHING_SAID,
    ) -> JudgedRows:
        """The samples with this target, and which of them judge."""
        if of_rows.class_weight is not None and self.classes is None:
            raise ValueError("class_weight was given, but y holds no classes; leave it out.")
        if isinstance(X, Rows) and self.y is not None:
            rows: Rows = X.with_target(self.y)
        else:
            rows = rows_of(X, self.y, progress)
        pair = isinstance(validation, tuple | list) and len(validation) == 2
        if self.classes is not None and pair:
            validation = validation[0], codes_in(self.classes, validation[1])
        data = judged_rows(rows, validation, cv, seed, self.classes is not None, of_rows)
        if self.classes is None or of_rows.class_weight is None:
            return data
        codes = data.y.astype(np.intp)
        labels = Labels(self.classes, codes[: data.n_train])
        each = weights_of_classes(of_rows.class_weight, labels)[codes]
        return data._replace(weights=unequal(each if data.weights is None else each * data.weights))


def target_of(X: Any, y: Any, loss: Any) -> Target:
    """What y is: labels if they are text, booleans or categories, or if the loss is of classes."""
    found = loss_by_name(loss)
    if found is None and y is not None and are_labels(y):
        found = Logistic()
    if found is None or isinstance(found, QuadraticLoss):
        return Target(y)
    if not found.of_classes:
        return Target(y, found)
    if y is None and not isinstance(X, Rows):
        raise ValueError("the labels of classes come in blocks; give X and y as arrays.")
    labels = _labels(X.target() if y is None else y)
    return Target(labels.codes.astype(float), found, labels.classes)


def aim_of(target: Target, data: JudgedRows) -> Aim:
    """The aim of all rows; constants of the loss are those of the rows to fit."""
    assert target.loss is not None
    if target.classes is not None:
        codes, n_classes = data.y.astype(np.intp), len(target.classes)
        return Aim.of_classes(target.loss, codes, n_classes, data.weights)
    loss = target.loss.bound(data.train[1], data.train_weights)
    return Aim(loss, data.y[None], data.weights)


def are_labels(y: Any) -> bool:
    """Whether y is text, booleans or categories."""
    if str(getattr(y, "dtype", "")) == "category":
        return True
    values = np.asarray(y)
    if values.dtype == object:
        kinds = {isinstance(value, str | bool | np.bool_) for value in values.ravel().tolist()}
        return kinds == {True}
    return values.dtype.kind in "bUS"


def codes_in(classes: NDArray[Any], y: Any) -> Array:
    """The numbers of the classes that labels of other rows belong to."""
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    number = {label: code for code, label in enumerate(classes.tolist())}
    unknown = [label for label in values.tolist() if label not in number]
    if unknown:
        raise ValueError(
            f"validation y holds {unknown[0]!r}, which is not a class of y; give rows of "
            f"{', '.join(map(repr, classes.tolist()[:5]))}."
        )
    return np.array([number[label] for label in values.tolist()], dtype=float)


def _labels(y: Any) -> Labels:
    missing = int(np.sum(y.isna())) if hasattr(y, "isna") else 0
    if missing:
        raise ValueError(f"y has {missing} missing labels; give a label for every row.")
    labels = labels_of(y)
    if len(labels.classes) == len(labels.codes) > 2:
        raise ValueError(
            f"y holds a different label in each of {len(labels.codes)} rows, so they are no "
            "classes; give numbers as numbers, or a label that several rows share."
        )
    return labels
