"""How good predicted probabilities are: log-loss, Brier score, AUC, accuracy, calibration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from nvsd.data.weights import mean

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BINS = 10  # of equally many probabilities, for the calibration error


def quality(P: Array, codes: Index, weights: Array | None = None) -> dict[str, float]:
    """Scores of probabilities.

    Parameters
    ----------
    P : (n, classes) array
        Rows add up to 1.
    codes : (n,) int array
        The class of each row.
    weights : (n,) array, optional
        Of the rows, in all means.

    Returns
    -------
    dict
        `log_loss`; `brier`, the mean of Σ_k (p_k − 1[class k])², halved for two classes, where both
        terms are equal; `auc`, of each class against the rest, its mean over the classes;
        `accuracy` of the most probable class; `calibration_error`, the mean over ten bins, each of
        equally many probabilities, of |mean probability − share of the class|.
    """
    is_class = codes[:, None] == np.arange(P.shape[1])
    squares = float(mean(np.sum((P - is_class) ** 2, axis=1), weights))
    kinds = [1] if P.shape[1] == 2 else range(P.shape[1])
    return {
        "log_loss": float(-mean(np.log(P[np.arange(len(P)), codes]), weights)),
        "brier": squares / 2 if P.shape[1] == 2 else squares,
        "auc": float(np.mean([auc(P[:, k], is_class[:, k], weights) for k in kinds])),
        "accuracy": float(mean(P.argmax(axis=1) == codes, weights)),
        "calibration_error": float(
            np.mean([calibration_error(P[:, k], is_class[:, k], weights) for k in kinds])
        ),
    }


def auc(p: Array, positive: NDArray[np.bool_], weights: Array | None = None) -> float:
    """The share of pairs of a positive and a negative row that are in order; ties count half.

    One half where there are no such pairs. The weight of a pair is the product of its rows'.
    """
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return 0.5
    if weights is None:
        return float((rankdata(p)[positive].sum() - n * (n + 1) / 2) / (n * m))
    _, level = np.unique(p, return_inverse=True)
    up, down = (np.bincount(level, weights * part) for part in (positive, ~positive))
    below = np.cumsum(down) - down / 2
    return float(up @ below / (up.sum() * down.sum()))


def calibration_error(p: Array, positive: NDArray[np.bool_], weights: Array | None = None) -> float:
    """The mean of |mean probability − share| over bins of equally many probabilities."""
    order = np.argsort(p, kind="stable")
    bins = np.array_split(order, min(BINS, len(p)))
    of_bins = [None if weights is None else weights[b] for b in bins]
    gaps = [
        abs(float(mean(p[b], w) - mean(positive[b], w))) for b, w in zip(bins, of_bins, strict=True)
    ]
    sizes = [len(b) if w is None else float(w.sum()) for b, w in zip(bins, of_bins, strict=True)]
    return float(np.average(gaps, weights=sizes))
