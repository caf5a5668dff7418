"""How the engine ranks, judges and refits: by squares, or by another loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nvsd.data.weights import joined
from nvsd.engine.aims import Aim, probabilities
from nvsd.engine.judged import Judged
from nvsd.engine.judging import Fold, Structure, and_whole, judge, rank_in_folds
from nvsd.engine.loss_judging import JudgedLosses, LossFold, rank_aim_in_folds
from nvsd.engine.loss_refits import refit_by
from nvsd.engine.ranking import Ranked
from nvsd.engine.refits import refit
from nvsd.inference.hypotheses import Testable
from nvsd.inference.loss_hypotheses import LossModel
from nvsd.results.schema import SELECTION, selection_by
from nvsd.results.variables import Schema
from nvsd.selection.classes import ClassSelection
from nvsd.selection.inputs import JudgedRows
from nvsd.selection.quality import quality
from nvsd.selection.refits import ClassRefit, Refit
from nvsd.selection.result import Selection
from nvsd.selection.significance import models_of
from nvsd.selection.targets import Target, aim_of
from nvsd.selection.task import Array, Mask

Tick = Callable[[int], object]


class Procedure(Protocol):
    """What `select_by_engine` leaves to the loss.

    Attributes
    ----------
    nothing : str
        What predicts without inputs.
    schema : Schema
        Of the history.
    """

    @property
    def nothing(self) -> str: ...  # noqa: D102
    @property
    def schema(self) -> Schema: ...  # noqa: D102

    def ranked(self, n_jobs: int | None, tick: Tick) -> list[Any]:
        """The folds, and last one that holds nothing out."""
        ...

    def ranking(self, whole: Any) -> Ranked:
        """The ranking of the last fold, in units of y."""
        ...

    def judged(self, folds: list[Any], structure: Structure) -> Judged:
        """What the folds say of each size."""
        ...

    def models(self, folds: list[Any], structure: Structure) -> Sequence[Testable]:
        """What is tested: the fit of each fold."""
        ...

    def refit(self, ranking: Any, support: Mask) -> Refit:
        """The last fit on some inputs."""
        ...

    def selection(
        self, folds: list[Any], structure: Structure, size: int, parts: dict[str, Any]
    ) -> Selection:
        """The result."""
        ...


@dataclass(frozen=True, eq=False)
class BySquares:
    """Reweighted kernel ridge, and the mean squared error."""

    data: JudgedRows
    seed: int
    nothing = "the mean"
    schema = SELECTION

    @cached_property
    def unit(self) -> float:
        """y is scaled to unit variance, because the race is in single precision."""
        return float(self.data.y.std()) or 1.0

    def ranked(self, n_jobs: int | None, tick: Tick) -> list[Fold]:
        """The folds, and last one that holds nothing out."""
        data, splits = self.data, and_whole(self.data.splits, self.data.n_train)
        y = data.y / self.unit
        return rank_in_folds(data.X, y, splits, self.seed, n_jobs, tick, data.weights)

    def ranking(self, whole: Fold) -> Ranked:
        """The ranking of the last fold, in units of y."""
        return whole.ranking.times(self.unit)

    def judged(self, folds: list[Any], structure: Structure) -> Judged:
        """What the folds say of each size."""
        return judge(self.data.X, folds, structure).times(self.unit)

    def models(self, folds: list[Any], structure: Structure) -> Sequence[Testable]:
        """What is tested: the fit of each fold."""
        return models_of(folds, structure, self.seed)

    def refit(self, ranking: Any, support: Mask) -> Refit:
        """The last fit on some inputs."""
        data = self.data
        known, rows = (ranking.score, ranking.config), (data.source, data.train_weights)
        fit, scaler = refit(*data.train, support, *known, self.seed, *rows)
        return Refit(fit, data.seen_by(scaler))

    def selection(
        self, folds: list[Any], structure: Structure, size: int, parts: dict[str, Any]
    ) -> Selection:
        """The result."""
        return Selection(**parts)


@dataclass(frozen=True, eq=False)
class ByLoss:
    """Proposals by squares on codes of the targets; fits and judgement by the loss.

    Attributes
    ----------
    aim : Aim
        On all rows, those that judge among them.
    classes : array or None
        The labels, if y are classes.
    """

    data: JudgedRows
    seed: int
    aim: Aim
    classes: NDArray[Any] | None

    @property
    def nothing(self) -> str:
        """What predicts without inputs."""
        return "one constant" if self.classes is None else "the shares of the classes"

    @property
    def schema(self) -> Schema:
        """Of the history."""
        squared = "" if self.classes is not None else "y^2" if self._squared else "y"
        return selection_by(self.aim.loss.measure, squared)

    @property
    def _squared(self) -> bool:
        """Whether the loss is in squares of the units of y: doubling errors in it and y."""
        one, two = (self.aim.loss.pointwise(np.zeros(1), np.full(1, e)) for e in (1e-9, 2e-9))
        return bool(two[0] > 3 * one[0])

    def ranked(self, n_jobs: int | None, tick: Tick) -> list[LossFold]:
        """The folds, and last one that holds nothing out."""
        data, splits = self.data, and_whole(self.data.splits, self.data.n_train)
        return rank_aim_in_folds(data.X, self.aim, splits, self.seed, n_jobs, tick)

    def ranking(self, whole: LossFold) -> Ranked:
        """The ranking of the last fold."""
        return whole.ranking

    def judged(self, folds: list[Any], structure: Structure) -> Judged:
        """What the folds say of each size."""
        return judge(self.data.X, folds, structure, JudgedLosses)

    def models(self, folds: list[Any], structure: Structure) -> Sequence[Testable]:
        """What is tested: the fit of each fold."""
        return [LossModel.of(fold, structure, self.seed + k) for k, fold in enumerate(folds)]

    def refit(self, ranking: Any, support: Mask) -> Refit:
        """The last fit on some inputs."""
        data, known = self.data, self.aim.take(np.arange(self.data.n_train))
        fit, scaler = refit_by(data.train[0], known, support, ranking, self.seed)
        inputs = data.seen_by(scaler)
        if self.classes is None:
            return Refit(fit.of(0), inputs)
        return ClassRefit(fit, inputs, self.classes, known.origin, known.n)

    def selection(
        self, folds: list[Any], structure: Structure, size: int, parts: dict[str, Any]
    ) -> Selection:
        """The result; with classes, scores of the held-out probabilities of the chosen size."""
        parts = parts | {"measure": self.aim.loss.measure}
        parts["history"].attrs["loss"] = self.aim.loss.to_json()
        if self.classes is None:
            return Selection(**parts)
        P, codes = self._held_out(folds, structure, size)
        found = quality(P, codes, joined([fold.weights for fold in folds]))
        parts["history"].attrs.update(found)
        return ClassSelection(
            **parts,
            classes=self.classes,
            held_out=found,
            held_out_probability=P,
            held_out_class=codes,
        )

    def _held_out(
        self, folds: list[LossFold], structure: Structure, size: int
    ) -> tuple[Array, NDArray[np.intp]]:
        """Probabilities of the rows held out, (rows, classes), and their classes."""
        P = [
            probabilities(
                fold.predicted(self.data.X, structure, size),
                fold.ranking.aim.origin,
                fold.ranking.aim.n,
            )
            for fold in folds
        ]
        rows = np.concatenate([fold.held for fold in folds])
        return np.concatenate(P, axis=1).T, self.data.y[rows].astype(np.intp)


def procedure_of(target: Target, data: JudgedRows, seed: int) -> Procedure:
    """By squares, or by the loss of the target."""
    if target.loss is None:
        return BySquares(data, seed)
    return ByLoss(data, seed, aim_of(target, data), target.classes)
