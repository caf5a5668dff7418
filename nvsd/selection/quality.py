"""How good predicted probabilities are: log-loss, Brier score, AUC, accuracy, calibration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BINS = 10  # of equally many probabilities, for the calibration error


def quality(P: Array, codes: Index) -> dict[str, float]:
    """Scores of probabilities.

    Parameters
    ----------
    P : (n, classes) array
        Rows add up to 1.
    codes : (n,) int array
        The class of each row.

    Returns
    -------
    dict
        `log_loss`; `brier`, the mean of Σ_k (p_k − 1[class k])², halved for two classes, where both
        terms are equal; `auc`, of each class against the rest, its mean over the classes;
        `accuracy` of the most probable class; `calibration_error`, the mean over ten bins, each of
        equally many probabilities, of |mean probability − share of the class|.
    """
    is_class = codes[:, None] == np.arange(P.shape[1])
    squares = float(np.mean(np.sum((P - is_class) ** 2, axis=1)))
    kinds = [1] if P.shape[1] == 2 else range(P.shape[1])
    return {
        "log_loss": float(-np.mean(np.log(P[np.arange(len(P)), codes]))),
        "brier": squares / 2 if P.shape[1] == 2 else squares,
        "auc": float(np.mean([auc(P[:, k], is_class[:, k]) for k in kinds])),
        "accuracy": float(np.mean(P.argmax(axis=1) == codes)),
        "calibration_error": float(
            np.mean([calibration_error(P[:, k], is_class[:, k]) for k in kinds])
        ),
    }


def auc(p: Array, positive: NDArray[np.bool_]) -> float:
    """The share of pairs of a positive and a negative row that are in order; ties count half.

    One half where there are no such pairs.
    """
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return 0.5
    return float((rankdata(p)[positive].sum() - n * (n + 1) / 2) / (n * m))


def calibration_error(p: Array, positive: NDArray[np.bool_]) -> float:
    """The mean of |mean probability − share| over bins of equally many probabilities."""
    order = np.argsort(p, kind="stable")
    bins = np.array_split(order, min(BINS, len(p)))
    gaps = [abs(float(p[b].mean() - positive[b].mean())) for b in bins]
    return float(np.average(gaps, weights=[len(b) for b in bins]))
