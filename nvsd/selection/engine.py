"""`select` by the engine: rank, judge in folds, refit; no kernel, width or penalty to choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from nvsd.data.names import find_column
from nvsd.engine.judging import RANK_ROWS, Judged, Structure, rank_and_judge
from nvsd.engine.ranking import Ranking
from nvsd.engine.refits import MANY_ROWS, refit
from nvsd.progress import progress_bar
from nvsd.results.schema import SELECTION, library_version, text
from nvsd.selection.inputs import Inputs, JudgedRows
from nvsd.selection.result import Refit, Selection
from nvsd.selection.task import Array, Mask
from nvsd.tolerances import TINY

METHOD = "anova"
RULES = ("smallest", "min")
# The fit on all inputs predicts where its error is 5 % less: a refit of a set gains about that.
ALL_BETTER = 0.95
LARGER_BETTER = 0.97  # and a larger set where its error is 3 % less


class Question(NamedTuple):
    """What to select from, and how.

    Attributes
    ----------
    data : JudgedRows
    groups : tuple of str or None
        The group of each input.
    keep : sequence
        Inputs that are always in.
    k : int or None
        How many units to select.
    rule : {"smallest", "min"}
    """

    data: JudgedRows
    groups: tuple[str, ...] | None = None
    keep: Sequence[Any] = ()
    k: int | None = None
    rule: str = "smallest"
    seed: int = 0
    n_jobs: int | None = None
    progress: bool | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """Names of all inputs."""
        return self.data.features


def select_by_engine(question: Question) -> Selection:
    """Which inputs y depends on: the set that explains, and the fit that predicts."""
    structure = _structure(question)
    data, steps = question.data, len(question.data.splits) + 2
    with progress_bar(question.progress, steps, "select", "step") as tick:
        with threadpool_limits(1):
            # In units of its own: the race is in single precision.
            unit = float(data.y.std()) or 1.0
            ranking, judged = rank_and_judge(
                data.X,
                data.y / unit,
                np.arange(data.n_train),
                data.splits,
                structure,
                question.seed,
                question.n_jobs,
                tick,
            )
            ranking, judged = ranking.times(unit), judged.times(unit)
        chosen = _chosen(judged, question)
        support = structure.support(ranking, chosen.size)
        # Threads of BLAS pay for sums over many rows only.
        with threadpool_limits(None if data.n_source > MANY_ROWS else 1):
            explains = _refit(question, ranking, support)
            predicts, uses = _predictor(question, structure, ranking, judged, chosen, explains)
        tick(1)
    return Selection(
        support=support,
        features=question.features,
        groups=question.groups,
        method=METHOD,
        history=_history(question, structure, ranking, judged, chosen, explains),
        refit=explains,
        score=chosen.error,
        strength=ranking.score,
        order=ranking.order,
        predictor=predicts,
        predicts_with=uses,
    )


class Chosen(NamedTuple):
    """The position of the chosen size among those that were judged, the size, and its error."""

    position: int
    size: int
    error: float


def _structure(question: Question) -> Structure:
    labels = question.features if question.groups is None else question.groups
    number = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    units = np.array([number[label] for label in labels])
    keep = np.zeros(len(number), dtype=bool)
    for name in question.keep:
        place = find_column(name, question.features)
        if place is None:
            raise ValueError(f"keep names {name!r}, which is not an input; give names of inputs.")
        keep[units[place]] = True
    if question.k is not None and not keep.sum() <= question.k <= len(keep):
        raise ValueError(
            f"k = {question.k} is not allowed; give from {int(keep.sum())}, the inputs that are "
            f"kept, to {len(keep)}."
        )
    return Structure(units, keep)


def _chosen(judged: Judged, question: Question) -> Chosen:
    errors = judged.squares.mean(axis=0)
    if question.k is not None:
        # A size that was not judged has the error of the nearest one.
        position = int(np.argmin(np.abs(np.array(judged.sizes) - question.k)))
        return Chosen(position, question.k, float(errors[position]))
    position = judged.smallest() if question.rule == "smallest" else int(np.argmin(judged.loss))
    return Chosen(position, judged.sizes[position], float(errors[position]))


def _refit(question: Question, ranking: Ranking, support: Mask) -> Refit:
    data = question.data
    fit, scaler = refit(
        *data.train, support, ranking.score, ranking.config, question.seed, data.source
    )
    return Refit(fit, Inputs(question.features, scaler.centre, scaler.scale))


def _predictor(
    question: Question,
    structure: Structure,
    ranking: Ranking,
    judged: Judged,
    chosen: Chosen,
    explains: Refit,
) -> tuple[Refit, str]:
    """The fit of least error, and which inputs it uses."""
    loss, of_all = judged.loss, float(judged.losses[:, -1].mean())
    best = int(np.argmin(loss))
    if not chosen.size and question.k is None:
        return explains, "the mean"
    if of_all < ALL_BETTER * loss[best]:
        active = np.zeros(len(question.features), dtype=bool)
        active[ranking.columns] = ranking.units.per_input(ranking.last.eta) > 0
        return _refit(question, ranking, active), "all inputs that have an effect"
    size = judged.sizes[best]
    if size == chosen.size or not loss[best] < LARGER_BETTER * loss[chosen.position]:
        return explains, "the selected inputs"
    support = structure.support(ranking, size)
    return _refit(question, ranking, support), f"the first {size} of the ranking"


def _history(
    question: Question,
    structure: Structure,
    ranking: Ranking,
    judged: Judged,
    chosen: Chosen,
    explains: Refit,
) -> Any:
    """Every size with its error, and what the rule compared."""
    sizes, chosen_at = list(judged.sizes), chosen.position
    if chosen.size not in sizes:
        sizes[chosen_at] = chosen.size
    support = np.array([structure.support(ranking, size) for size in sizes])
    norms = np.full(support.shape, np.nan)
    norms[chosen_at] = explains.derivative_norms(question.data.train[0])
    mean, se = judged.differences()
    data = {
        "support": support,
        "derivative_norm": norms,
        "strength": np.broadcast_to(ranking.score, support.shape),
        "n_selected": support.sum(axis=1),
        "error": judged.squares.mean(axis=0),
        "error_se": judged.squares.std(axis=0) / np.sqrt(len(judged.errors)),
        "excess": mean,
        "excess_se": se,
        "clearness": np.ones(len(sizes)),
        "ridge_nu": np.full(len(sizes), explains.nu),
        "kernel": text([explains.kernel.to_json()] * len(sizes)),
        "method": text([METHOD] * len(sizes)),
        "origin": text(["ranking"] * len(sizes)),
        "tau": np.full(len(sizes), np.nan),
    }
    coords = {"step": np.arange(len(sizes)), "feature": text(question.features)}
    attrs = {
        "method": METHOD,
        "chosen": chosen_at,
        "rule": "k" if question.k is not None else question.rule,
        "n_samples": question.data.n_source,
        "n_ranked": min(question.data.n_train, RANK_ROWS),
        "reason": _reason(question, mean, se, sizes, chosen_at),
        "nvsd_version": library_version(),
    }
    return SELECTION.make(data, coords, attrs)


def _reason(question: Question, mean: Array, se: Array, sizes: list[int], chosen: int) -> str:
    """What the rule did, as a sentence."""
    best = int(np.argmin(mean))
    least = f"{_the_set(sizes[best])} has the least error"
    if question.k is not None:
        least = least if best != chosen else "this set has the least error"
        return f"as many as were asked for; {least}"
    if chosen == best:
        return least
    z = mean[chosen] / max(float(se[chosen]), TINY)
    return (
        f"{least}, and {_the_set(sizes[chosen])} is the smallest that the errors cannot tell from "
        f"it: {z:.1f} standard errors apart"
    )


def _the_set(size: int) -> str:
    return f"the set of {size}" if size else "the empty set"
