"""How good a ranking, a set and predictions are; NaN for what a method does not have."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.benchmark.methods.base import Array, Fit, Mask, Order, Predict
from nvsd.benchmark.methods.forests import forest_on
from nvsd.benchmark.problems import Problem

__all__ = [
    "SCORES",
    "Score",
    "average_precision",
    "class_scores",
    "quality",
    "ranking_scores",
    "refit_set",
    "scores",
    "set_scores",
]

LEAST = 1e-3  # probability; forests say 0, and would have no log-loss
# Trees of the common refit. With 500, R² changed by .0001 on average in ten cells, .008 at most.
REFIT_TREES = 100


class Score(NamedTuple):
    """A score, what it is, and whether more of it is better (1) or less (-1)."""

    name: str
    title: str
    sign: int


SCORES = (
    Score("share", "share of the k true inputs among the first k", 1),
    Score("average_precision", "area under the precision-recall curve of the ranking", 1),
    Score("exact", "whether the set is the true one", 1),
    Score("distance", "Tanimoto distance of the set from the true one", -1),
    Score("fdp", "share of false inputs in the set", -1),
    Score("power", "share of the true inputs that are in the set", 1),
    Score("size", "number of inputs in the set", -1),
    Score("r2", "R² of the method's own predictions", 1),
    Score("log_loss", "log-loss of the method's own probabilities", -1),
    Score("auc", "AUC of the method's own probabilities", 1),
    Score("refit_r2", "R² of a forest on the set", 1),
    Score("refit_log_loss", "log-loss of a forest on the set", -1),
    Score("refit_auc", "AUC of a forest on the set", 1),
)


def scores(problem: Problem, fit: Fit, seed: int) -> dict[str, float]:
    """All scores of a fit."""
    found = dict.fromkeys((score.name for score in SCORES), math.nan)
    if fit.ranking is not None and problem.true:
        found |= ranking_scores(fit.ranking, problem.true)
    if fit.selected is not None:
        found["size"] = float(np.sum(fit.selected))
        if problem.true is not None:
            found |= set_scores(fit.selected, problem.true)
    if fit.predict is not None:
        found |= quality(problem, fit.predict)
    used = refit_set(problem, fit)
    if used is not None:
        given = problem.X, problem.y, problem.classes, seed
        common = forest_on(used, *given, n_estimators=REFIT_TREES)
        found |= {f"refit_{name}": value for name, value in quality(problem, common).items()}
    return found


def ranking_scores(ranking: Order, true: list[int]) -> dict[str, float]:
    """How far up the true inputs are."""
    hits = np.isin(ranking, true)
    return {
        "share": float(hits[: len(true)].mean()),
        "average_precision": average_precision(hits),
    }


def average_precision(hits: Mask) -> float:
    """Mean over the true inputs of the share of true ones down to each, in the ranking."""
    places = np.flatnonzero(hits)
    return float(np.mean(np.arange(1, len(places) + 1) / (places + 1)))


def set_scores(selected: Mask, true: list[int]) -> dict[str, float]:
    """Errors of a set; power is NaN if there is nothing to find."""
    truth = np.zeros(len(selected), bool)
    truth[true] = True
    both, either = int((selected & truth).sum()), int((selected | truth).sum())
    chosen = int(selected.sum())
    return {
        "exact": float(both == either),
        "distance": 1 - both / either if either else 0.0,
        "fdp": (chosen - both) / max(chosen, 1),
        "power": both / len(true) if true else math.nan,
    }


def quality(problem: Problem, predict: Predict) -> dict[str, float]:
    """R², or log-loss and AUC for classes, on the test rows."""
    predicted = np.asarray(predict(problem.X_test), dtype=float)
    if problem.classes:
        found = class_scores(problem.y_test, predicted)
        return {name: found[name] for name in ("log_loss", "auc")}
    error = np.mean((problem.y_test - np.ravel(predicted)) ** 2)
    return {"r2": float(1 - error / problem.y_test.var())}


def class_scores(y: NDArray[Any], P: Array) -> dict[str, float]:
    """Log-loss, AUC (each class against the others) and accuracy of probabilities."""
    from sklearn.metrics import log_loss, roc_auc_score

    P = np.maximum(P, LEAST)
    P = P / P.sum(axis=1, keepdims=True)
    present = [code for code in range(P.shape[1]) if 0 < np.mean(y == code) < 1]
    areas = [roc_auc_score(y == code, P[:, code]) for code in present]
    return {
        "log_loss": float(log_loss(y, P, labels=np.arange(P.shape[1]))),
        "auc": float(np.mean(areas)) if areas else math.nan,
        "accuracy": float(np.mean(P.argmax(axis=1) == y)),
    }


def refit_set(problem: Problem, fit: Fit) -> Mask | None:
    """The set that all methods are refitted on in the same way.

    Without a set it is the first k of the ranking: k is the number of true inputs, or half of all
    inputs if the true ones are not known.
    """
    if fit.selected is not None:
        return fit.selected
    d = problem.X.shape[1]
    k = math.ceil(d / 2) if problem.true is None else len(problem.true)
    if fit.ranking is None or not k:
        return None
    used = np.zeros(d, bool)
    used[fit.ranking[:k]] = True
    return used
