"""The selection of this library, on the same data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from nvsd.experiments.methods.base import Method, Model, best_of, validation_error
from nvsd.experiments.methods.paper import make_penalty
from nvsd.experiments.protocol import Experiment, Split
from nvsd.selection import select


@dataclass(frozen=True)
class Selected(Method):
    """`nvsd.select` with one of its methods.

    With groups, candidates consist of whole groups; penalty "GL" implies that.
    """

    method: str = "pool"
    penalty: str = ""
    groups: bool = False

    family = "ours"
    rule: ClassVar[str] = "clear"
    width_per_input: ClassVar[bool] = False
    folds: ClassVar[bool] = False

    def fit(self, split: Split) -> Model:
        """Select once; methods that use only a path, once for each width."""
        widths = split.base_widths if self.method in ("rank", "adaptive") else (1.0,)
        return best_of(self._select(split, width) for width in widths)

    def _select(self, split: Split, width: float) -> Model:
        options: dict[str, Any] = {}
        if len(split.widths) > 1:
            options["widths"] = [factor / width for factor in split.widths]
            options["width_per_input"] = self.width_per_input
        selection = select(
            split.X,
            split.y,
            method=self.method,
            kernel=split.kernel_at(width),
            groups=split.groups if self.groups else None,
            penalty=make_penalty(self.penalty, split) if self.penalty else None,
            nu=split.nu,
            validation=None if self.folds else (split.X_val, split.y_val),
            nus=split.nus,
            rule=self.rule,
            standardize=False,
            progress=False,
            **options,
        )
        predict, facts = selection.refit.predict, {"ridge_nu": selection.refit.nu}
        error = validation_error(predict, split) if self.folds else selection.score
        return Model(selection.support, predict, error, facts)

    def applies(self, experiment: Experiment, groups: bool) -> bool:
        """Where the paper's method with the same penalty is; with groups where they are used."""
        known = not self.penalty or self.penalty in experiment.penalties
        judged = experiment.synthetic or experiment.widths == (1.0,) or self.rule == "min"
        return known and judged and super().applies(experiment, groups)

    @property
    def uses_groups(self) -> bool:
        """Whether it was made with groups=True."""
        return self.groups


@dataclass(frozen=True)
class LeastError(Selected):
    """`nvsd.select` with rule="min": validation error alone decides, as for the other methods.

    With groups, sets of whole groups compete with sets of single inputs.
    """

    rule = "min"

    def fit(self, split: Split) -> Model:
        """Select inputs and, if there are groups, also groups."""
        ways = (False, True) if self.groups else (False,)
        return best_of(Selected.fit(replace(self, groups=way), split) for way in ways)

    def applies(self, experiment: Experiment, groups: bool) -> bool:
        """With groups on real data, where tables judge only the error of the predictions."""
        judged = not (self.groups and experiment.synthetic)
        return judged and super().applies(experiment, groups)


@dataclass(frozen=True)
class WidthPerInput(Selected):
    """The set of least error; its refit has a width for each input if widths may be chosen."""

    rule = "min"
    width_per_input = True

    def applies(self, experiment: Experiment, groups: bool) -> bool:
        """On real data where widths are chosen, or where the kernel has none."""
        fixed = experiment.kernel is None and len(experiment.widths) == 1
        return not (experiment.synthetic or fixed) and super().applies(experiment, groups)


@dataclass(frozen=True)
class FoldsAlone(Selected):
    """`nvsd.select` with the kernel of the protocol, but folds of the training rows choose."""

    rule = "min"  # what "clear" falls back to without validation data
    folds = True


@dataclass(frozen=True)
class Engine(Method):
    """`nvsd.select` by default, told neither kernel nor width.

    The set is the smallest that explains y; predictions are those of the fit of least error, which
    may use more inputs.

    Attributes
    ----------
    folds : bool
        Whether folds of the training rows choose, and nothing sees the validation data.
    version : int
        Raise it when the engine changes what it finds: results of another one are made again.
    """

    folds: bool = False
    version: int = 1

    family = "ours"

    def fit(self, split: Split) -> Model:
        """Select once."""
        judges = None if self.folds else (split.X_val, split.y_val)
        found = select(split.X, split.y, method="anova", validation=judges, progress=False)
        error = validation_error(found.predict, split)
        facts, used = {"ridge_nu": found.predictor.nu}, found.predictor.fit.features
        return Model(found.support, found.predict, error, facts, used)
