"""The paper's methods as it describes them: supports of φ along the path, then debiasing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nvsd.experiments.methods.base import Method, Model, best_refit
from nvsd.experiments.protocol import Experiment, Split
from nvsd.kernels import Kernel
from nvsd.path import nvsd_path
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty
from nvsd.prepared import prepare
from nvsd.solvers import flat_point, is_certified

MU = (0.1, 0.3, 0.5, 0.7, 0.9)
N_TAUS = 50


def make_penalty(name: str, split: Split) -> Penalty:
    """L, GL or EN, with the grid of μ of the paper."""
    if name == "GL":
        assert split.groups is not None
        return GroupLasso(split.groups)
    return Lasso() if name == "L" else ElasticNet(mu=MU)


def tau_max(split: Split, kernel: Kernel, penalty: Penalty) -> float:
    """A τ from which on all derivatives are zero: the upper end of a grid."""
    problem, _ = prepare(split.X, kernel=kernel, nu=split.nu).problem(split.y, True)
    features = [f"x{a}" for a in range(split.X.shape[1])]
    return flat_point(problem, penalty.bind(features)).tau_max


@dataclass(frozen=True)
class PaperNVSD(Method):
    """NVSD as the paper describes it.

    Every τ (and μ) of the path gives one candidate, the inputs with φ_a ≠ 0. Kernel ridge is
    refitted on each, and the validation error of these refits chooses.
    """

    penalty: str = "L"

    family = "paper"

    def fit(self, split: Split) -> Model:
        """The path at each width, then the refits."""
        supports, converged = [], []
        for width in split.base_widths:
            path = nvsd_path(
                split.X,
                split.y,
                kernel=split.kernel_at(width),
                penalty=make_penalty(self.penalty, split),
                nu=split.nu,
                n_taus=N_TAUS,
                progress=False,
            )
            supports += list(path["support"].values.reshape(-1, split.X.shape[1]))
            converged.append(float(np.mean(is_certified(path["status"].values))))
        return best_refit(split, supports, converged=float(np.mean(converged)))

    def applies(self, experiment: Experiment, groups: bool) -> bool:
        """Where the paper has it."""
        return self.penalty in experiment.penalties and super().applies(experiment, groups)

    @property
    def uses_groups(self) -> bool:
        """The group lasso does."""
        return self.penalty == "GL"
