"""`select` by the engine: rank, judge in folds, refit. It needs no kernel, width or penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from nvsd.data.checks import Index
from nvsd.data.columns import Columns
from nvsd.data.names import find_columns
from nvsd.engine.judged import Judged
from nvsd.engine.judging import RANK_ROWS, Judging, Structure, sufficient
from nvsd.engine.ranking import Ranked
from nvsd.engine.refits import MANY_ROWS
from nvsd.inference.hypotheses import Testable
from nvsd.progress import progress_bar
from nvsd.results.schema import library_version, text
from nvsd.selection.evidence import Evidence
from nvsd.selection.procedures import Procedure
from nvsd.selection.question import Question
from nvsd.selection.refits import Refit
from nvsd.selection.result import METHOD, Selection
from nvsd.selection.task import Array, Mask
from nvsd.tolerances import TINY

# All inputs are used to predict if their error is 5 % less: the refit of a set gains about as much.
ALL_BETTER = 0.95
LARGER_BETTER = 0.97  # another set is used to predict if its error is 3 % less


def select_by_engine(question: Question, procedure: Procedure) -> Selection:
    """The inputs that y depends on: the set that explains y, and the fit that predicts it."""
    structure = _structure(question)
    data, steps = question.data, len(question.data.splits) + 2 + question.tests
    with progress_bar(question.progress, steps, "select", "step") as tick:
        with threadpool_limits(1):
            *folds, whole = procedure.ranked(question.n_jobs, tick)
            ranking = procedure.ranking(whole)
            judged = procedure.judged(folds, structure)
            models = procedure.models(folds, structure)
            evidence = _evidence(question, models)
        # Inside the bar of the selection, where the tests are one step.
        tests = replace(evidence, progress=False).dataset() if question.tests else None
        tick(int(question.tests))
        kept = None if question.fdr is None else _kept(question, structure, tests)
        in_groups = data.cv_groups is not None
        of_ranking = Sizes(structure, folds, whole, ranking, in_groups)
        chosen = _chosen(judged, question, kept, of_ranking)
        support = structure.support(ranking, chosen.size) if kept is None else kept
        # BLAS threads save time only in sums over many rows.
        with threadpool_limits(None if data.n_source > MANY_ROWS else 1):
            explains = procedure.refit(ranking, support)
            fits = Fits(procedure, structure, ranking, judged, chosen, explains)
            predicts, uses = _predictor(question, fits, of_ranking)
        tick(1)
    columns = data.columns
    parts = {
        "support": columns.of_columns(support),
        "features": question.features,
        "groups": question.groups,
        "method": METHOD,
        "history": _history(question, fits, support, tests),
        "refit": explains,
        "score": chosen.error,
        "strength": columns.joined(ranking.score),
        "order": _order(ranking, columns),
        "predictor": predicts,
        "predicts_with": uses,
        "evidence": evidence if tests is None else tests,
    }
    return procedure.selection(folds, structure, judged.sizes[chosen.position], parts)


def _evidence(question: Question, models: Sequence[Testable]) -> Evidence:
    """What tests of all units need."""
    data, which = question.data, np.arange(len(question.features))
    given = data.X, data.columns, question.groups, [models], which, question.seed
    return Evidence(*given, data.weights, question.progress)


def _order(ranking: Ranked, columns: Columns) -> Index:
    """The columns, best first."""
    if columns.one_to_one:
        return ranking.order
    nothing = np.zeros(len(columns.names), dtype=bool)
    return Structure(columns.owner, nothing).order(ranking)


def _kept(question: Question, structure: Structure, tests: xr.Dataset | None) -> Mask:
    """The inputs of the units that pass at the false discovery rate, or that are always kept."""
    assert tests is not None
    assert question.fdr is not None
    names = tests["feature" if question.groups is None else "group"].values.tolist()
    good = set(np.array(names, dtype=object)[tests["q_value"].values <= question.fdr])
    labels = question.features if question.groups is None else question.groups
    passed = np.array([label in good for label in labels])[question.data.columns.owner]
    return np.asarray(passed | structure.keep[structure.units])


class Sizes(NamedTuple):
    """Sizes of sets in the ranking of all rows, for sizes that the folds have judged."""

    structure: Structure
    folds: Sequence[Judging]
    whole: Judging
    ranking: Ranked
    in_groups: bool  # of rows: leave-one-out errors then say nothing on new groups

    def of(self, judged: int) -> int:
        """At most as many units as have an effect, and as many as explain y as in the folds.

        If one fold has ranked an input low, only large sets have a small error there. The inputs
        that would fill them in the ranking of all rows have no effect.
        """
        most = self.structure.with_effect(self.ranking)
        if self.in_groups:
            return min(judged, most)
        return sufficient(self.whole, self.folds, self.structure, min(judged, most), most)


class Chosen(NamedTuple):
    """The position of the chosen size among those that were judged, the size, and its error."""

    position: int
    size: int
    error: float
    judged: int


class Fits(NamedTuple):
    """What was ranked, judged and chosen, and the fit on the chosen set."""

    procedure: Procedure
    structure: Structure
    ranking: Ranked
    judged: Judged
    chosen: Chosen
    explains: Refit


def _structure(question: Question) -> Structure:
    labels = question.features if question.groups is None else question.groups
    number = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    units = np.array([number[label] for label in labels])  # of the columns
    keep = np.zeros(len(number), dtype=bool)
    for place in find_columns("keep", question.keep, question.features):
        keep[units[place]] = True
    if question.k is not None and not keep.sum() <= question.k <= len(keep):
        raise ValueError(
            f"k = {question.k} is not allowed; give from {int(keep.sum())}, the number of those in "
            f"keep, to {len(keep)}."
        )
    return Structure(units[question.data.columns.owner], keep)


def _chosen(judged: Judged, question: Question, kept: Mask | None, sizes: Sizes) -> Chosen:
    """The size that was asked for, or that the rule chooses."""
    size = question.k
    if kept is not None:
        labels = question.features if question.groups is None else question.groups
        on = question.data.columns.of_columns(kept)
        size = len(set(np.array(labels, dtype=object)[on]))
    if size is None:
        best = judged.smallest() if question.rule == "smallest" else int(np.argmin(judged.loss))
        by_rule = judged.sizes[best]
        size = sizes.of(by_rule)
    else:
        by_rule = size
    # A size that was not judged gets the error of the nearest one.
    position = int(np.argmin(np.abs(np.array(judged.sizes) - size)))
    return Chosen(position, size, float(judged.cost[position]), by_rule)


def _predictor(question: Question, fits: Fits, sizes: Sizes) -> tuple[Refit, str]:
    """The fit of least error, and which inputs it uses."""
    procedure, structure, ranking, judged, chosen, explains = fits
    loss, of_all = judged.loss, judged.loss_of_all
    best = int(np.argmin(loss))
    if not chosen.size and question.k is None:
        return explains, procedure.nothing
    if of_all < ALL_BETTER * loss[best]:
        active = np.zeros(len(ranking.score), dtype=bool)
        active[ranking.active] = True
        return procedure.refit(ranking, active), "all inputs that have an effect"
    size = sizes.of(judged.sizes[best])
    if size == chosen.size or not loss[best] < LARGER_BETTER * loss[chosen.position]:
        return explains, "the selected inputs"
    support = structure.support(ranking, size)
    return procedure.refit(ranking, support), f"the first {size} of the ranking"


def _history(
    question: Question, fits: Fits, selected: Mask, tests: xr.Dataset | None
) -> xr.Dataset:
    """Every size with its error, the differences that the rule compared, and the tests if made."""
    procedure, structure, ranking, judged, chosen, explains = fits
    columns = question.data.columns
    sizes, chosen_at = list(judged.sizes), chosen.position
    if chosen.size not in sizes:
        sizes[chosen_at] = chosen.size
    support = np.array([structure.support(ranking, size) for size in sizes])
    support[chosen_at] = selected
    support = columns.of_columns(support)
    norms = np.full(support.shape, np.nan)
    norms[chosen_at] = columns.joined(explains.derivative_norms(question.data.train[0]))
    mean, se = judged.differences()
    data = {
        "support": support,
        "derivative_norm": norms,
        "strength": np.broadcast_to(columns.joined(ranking.score), support.shape),
        "n_selected": support.sum(axis=1),
        "error": judged.cost,
        "error_se": judged.cost_se,
        "excess": mean,
        "excess_se": se,
        "clearness": np.ones(len(sizes)),
        "ridge_nu": np.full(len(sizes), explains.nu),
        "kernel": text([explains.kernel.to_json()] * len(sizes)),
        "method": text([METHOD] * len(sizes)),
        "origin": text(["ranking"] * len(sizes)),
        "tau": np.full(len(sizes), np.nan),
    }
    data |= {} if tests is None else _of_columns(tests, structure, question)
    coords = {"step": np.arange(len(sizes)), "feature": text(question.features)}
    attrs = {
        "method": METHOD,
        "chosen": chosen_at,
        "rule": question.decides,
        "n_samples": question.data.n_source,
        "n_ranked": min(question.data.n_train, RANK_ROWS),
        "reason": _reason(question, mean, se, sizes, chosen),
        "nvsd_version": library_version(),
        **({} if columns.plain else {"columns": columns.to_json()}),
    }
    return procedure.schema.make(data, coords, attrs)


def _of_columns(tests: xr.Dataset, structure: Structure, question: Question) -> dict[str, Array]:
    """The tests of each column, or of its group."""
    grouped = question.groups is not None
    places = question.data.columns.of_columns(structure.units) if grouped else slice(None)
    return {name: tests[name].values[places] for name in ("p_value", "q_value")}


def _reason(question: Question, mean: Array, se: Array, sizes: list[int], choice: Chosen) -> str:
    """Why this set was chosen, as a sentence."""
    best, chosen = int(np.argmin(mean)), choice.position
    least = f"{_the_set(sizes[best])} has the least error"
    if question.fdr is not None:
        which = "the selected inputs pass" if sizes[chosen] else "no input passes"
        return f"{which} the tests at a false discovery rate of {question.fdr:g}; {least}"
    if question.k is not None:
        least = least if best != chosen else "this set has the least error"
        return f"this number was requested; {least}"
    if choice.size < choice.judged:
        return f"{least}, but only these inputs have an effect in the fit to all rows"
    if choice.size > choice.judged:
        return (
            f"{least}; {_the_set(choice.judged)} is enough for the rule, but in the ranking of all "
            "rows these inputs are needed to explain as much"
        )
    if chosen == best:
        return least
    z = mean[chosen] / max(float(se[chosen]), TINY)
    return (
        f"{least}, and {_the_set(sizes[chosen])} is the smallest whose error is not clearly "
        f"larger: the difference is {z:.1f} standard errors"
    )


def _the_set(size: int) -> str:
    return f"the set of {size}" if size else "the empty set"
