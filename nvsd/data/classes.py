"""Labels of classes: text, booleans or whole numbers, as codes 0, 1, ... and back."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.data.checks import Index

MOST_CLASSES = 100  # more are refused: y is a number then, or a name of each row


class Labels(NamedTuple):
    """The class of each row.

    Attributes
    ----------
    classes : array
        The labels, sorted, each once.
    codes : (n,) array of int
        Their places in it, one for each row.
    """

    classes: NDArray[Any]
    codes: Index

    @property
    def signs(self) -> NDArray[np.float64]:
        """Of two classes: −1 for the first, 1 for the second."""
        return np.where(self.codes == 1, 1.0, -1.0)


def labels_of(y: Any, n: int | None = None) -> Labels:
    """Labels of at least two classes, checked."""
    # A list of numbers and text would become text, and labels 1 and "1" the same.
    values = np.asarray(y) if hasattr(y, "__array__") else np.array(list(y), dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or (n is not None and len(values) != n):
        rows = "" if n is None else f" for {n} rows of X"
        raise ValueError(f"y has shape {values.shape}{rows}; give one label per row.")
    _refuse_missing(values)
    if values.dtype == object:
        kinds = {_kind(value) for value in values}
        if len(kinds) > 1:
            raise ValueError(
                f"y mixes labels of types {' and '.join(sorted(kinds))}; give labels of one type."
            )
        values = np.array(values.tolist())
    if values.dtype.kind == "f" and not (values == np.round(values)).all():
        raise ValueError(
            "y holds numbers with fractions, which are not labels of classes; give labels, or "
            "leave out the loss of classes."
        )
    if values.dtype.kind not in "biufUS":
        raise ValueError(f"y has type {values.dtype}; give text, booleans or whole numbers.")
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes[0]!s}; give samples of two classes.")
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"y holds {len(classes)} different labels, more than {MOST_CLASSES}; give classes, or "
            "a loss for numbers."
        )
    return Labels(classes, codes.astype(np.intp))


def two_labels_of(y: Any, n: int | None = None) -> Labels:
    """Labels of exactly two classes."""
    labels = labels_of(y, n)
    if len(labels.classes) > 2:
        raise ValueError(
            f"y holds {len(labels.classes)} classes, but this loss tells two apart; give one class "
            "against the others, as in y == label, or use a classifier."
        )
    return labels


def classes_to_json(classes: NDArray[Any]) -> str:
    """The labels as text, for `classes_from_json`."""
    return json.dumps(classes.tolist())


def classes_from_json(text: str) -> NDArray[Any]:
    """The labels that `classes_to_json` wrote."""
    return np.array(json.loads(text))


def _refuse_missing(values: NDArray[Any]) -> None:
    if values.dtype == object:
        missing = sum(value is None or value != value for value in values)
    elif values.dtype.kind == "f":
        missing = int((~np.isfinite(values)).sum())
    else:
        missing = 0
    if missing:
        raise ValueError(f"y has {missing} missing labels; give a label for every row.")


def _kind(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "bool"
    return "text" if isinstance(value, str) else "number"
