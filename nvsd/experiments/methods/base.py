"""What a method is, and the refit that all kernel methods share."""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nvsd.experiments.protocol import Experiment, Split
from nvsd.ridge.dense import RidgeFit, fit_ridge

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Model:
    """What a method has learned.

    Attributes
    ----------
    support : (d,) bool array
        The inputs that it selects.
    predict : callable
        From (m, d) points to (m,) predictions.
    error : float
        Mean squared error on the validation data, by which the hyper-parameters were chosen.
    facts : dict
        Chosen hyper-parameters, and how the fit went.
    predicts_with : (d,) bool array, optional
        The inputs that predictions use, if these are not the selected ones.
    """

    support: Mask
    predict: Callable[[Array], Array]
    error: float
    facts: dict[str, float] = field(default_factory=dict)
    predicts_with: Mask | None = None


@dataclass(frozen=True)
class Method(ABC):
    """A method: `fit` learns on the training data and chooses by the validation data.

    Attributes
    ----------
    key : str
        Name in files and on the command line.
    label : str
        Name in tables.
    """

    key: str
    label: str

    # ours, paper (its methods, as it describes them), baseline, linear, competitor, or oracle
    family: ClassVar[str] = "baseline"
    packages: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def fit(self, split: Split) -> Model:
        """Learn."""

    def applies(self, experiment: Experiment, groups: bool) -> bool:
        """Whether the method takes part in an experiment; groups: whether inputs have groups."""
        return groups or not self.uses_groups

    @property
    def uses_groups(self) -> bool:
        """Whether it needs the groups of the inputs."""
        return False

    @property
    def missing(self) -> tuple[str, ...]:
        """Packages that the method needs and that are not installed."""
        return tuple(name for name in self.packages if importlib.util.find_spec(name) is None)


def best_refit(split: Split, supports: Iterable[Mask], **facts: float) -> Model:
    """Kernel ridge on each set of inputs; the least validation error wins.

    The kernel is restricted to the set. Ridge levels and widths come from one grid for all
    methods; ties go to the first set.
    """
    distinct = {mask.tobytes(): mask for mask in np.atleast_2d(np.asarray(list(supports), bool))}
    best: Model | None = None
    for mask in distinct.values():
        for width in split.widths if mask.any() else (1.0,):
            fit = fit_ridge(split.X, split.y, split.kernel_at(width), split.nus, mask)
            errors = np.mean((fit.predict(split.X_val) - split.y_val) ** 2, axis=1)
            k = int(np.argmin(errors))
            if best is None or errors[k] < best.error:
                details = {"ridge_nu": float(split.nus[k]), "width": width, **facts}
                best = Model(mask, _prediction(fit.at(k)), float(errors[k]), details)
    assert best is not None
    return best


def _prediction(fit: RidgeFit) -> Callable[[Array], Array]:
    return lambda X: fit.predict(X)[0]


def validation_error(predict: Callable[[Array], Array], split: Split) -> float:
    """Mean squared error on the validation data."""
    return float(np.mean((predict(split.X_val) - split.y_val) ** 2))


def nested(strength: Array) -> list[Mask]:
    """The sets of the strongest inputs, from none to all; ties keep the order of the inputs."""
    rank = np.empty(len(strength), dtype=int)
    rank[np.argsort(-np.asarray(strength), kind="stable")] = np.arange(len(strength))
    return [rank < size for size in range(len(strength) + 1)]


def lengths(V: Array) -> Array:
    """The norm of each column."""
    return np.asarray(np.linalg.norm(V, axis=0))


def best_of(models: Iterable[Model]) -> Model:
    """The model of least validation error; ties go to the first."""
    return min(models, key=lambda model: model.error)


def linear_path(split: Split, coefficients: Array, **facts: float) -> Model:
    """The best linear model of a path; coefficients (d, k), for centred inputs and target."""
    centre, mean = split.X.mean(axis=0), float(split.y.mean())
    predictions = mean + (split.X_val - centre) @ coefficients
    errors = np.mean((predictions - split.y_val[:, None]) ** 2, axis=0)
    k = int(np.argmin(errors))
    w = coefficients[:, k]
    return Model(w != 0, lambda X: mean + (X - centre) @ w, float(errors[k]), facts)
