"""Held-out probabilities of classes: calibration, ROC curves, the confusion matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nvsd.report.numbers import digits

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

BINS = 10  # of equally many probabilities
ROC_POINTS = 120
CURVES = 7  # classes that are drawn
MATRIX = 12  # classes in the confusion matrix


def classes_content(selection: Any) -> dict[str, Any] | None:
    """What held-out rows say of the probabilities; None if y are numbers."""
    if not hasattr(selection, "held_out_probability"):
        return None
    P, codes = selection.held_out_probability, selection.held_out_class
    c = P.shape[1]
    drawn = [1] if c == 2 else np.argsort(-np.bincount(codes, minlength=c), kind="stable")[:CURVES]
    is_class = codes[:, None] == np.arange(c)
    curves = []
    for k in np.sort(drawn).tolist():
        fpr, tpr = roc(P[:, k], is_class[:, k])
        mean, share, se = calibration(P[:, k], is_class[:, k])
        curves.append(
            {
                "class": k,
                "auc": digits([area(fpr, tpr)])[0],
                "roc": [digits(each, 3) for each in _thinned(fpr, tpr)],
                "calibration": [digits(each, 3) for each in (mean, share, se)],
            }
        )
    return {
        "labels": [str(label) for label in selection.classes.tolist()],
        "count": len(codes),
        "quality": {name: digits([value])[0] for name, value in selection.held_out.items()},
        "curves": curves,
        "confusion": confusion(P, codes).tolist() if c <= MATRIX else None,
    }


def roc(p: Array, positive: Mask) -> tuple[Array, Array]:
    """Shares of the other rows, and of the class, whose probability reaches each threshold."""
    order = np.argsort(-p, kind="stable")
    last = np.flatnonzero(np.append(np.diff(p[order]) != 0, True))  # ties are one step
    hits, all_rows = np.cumsum(positive[order])[last], last + 1
    n, m = max(int(positive.sum()), 1), max(int((~positive).sum()), 1)
    return np.append(0.0, (all_rows - hits) / m), np.append(0.0, hits / n)


def area(fpr: Array, tpr: Array) -> float:
    """The area under an ROC curve."""
    return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2))


def calibration(p: Array, positive: Mask) -> tuple[Array, Array, Array]:
    """Mean probability, share of the class and its standard error, in bins of equally many rows."""
    bins = np.array_split(np.argsort(p, kind="stable"), min(BINS, len(p)))
    mean, share = (np.array([each[b].mean() for b in bins]) for each in (p, positive))
    sizes = np.array([len(b) for b in bins])
    return mean, share, np.sqrt(share * (1 - share) / sizes)


def confusion(P: Array, codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Counts of rows by class, and by their most probable class."""
    counts = np.zeros((P.shape[1], P.shape[1]), dtype=np.intp)
    np.add.at(counts, (codes, P.argmax(axis=1)), 1)
    return counts


def _thinned(fpr: Array, tpr: Array) -> tuple[Array, Array]:
    keep = np.unique(np.linspace(0, len(fpr) - 1, min(len(fpr), ROC_POINTS)).round().astype(int))
    return fpr[keep], tpr[keep]
