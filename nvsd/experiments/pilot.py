"""Choices made once, on replications that are not reported: ν, c, and the groups of Table 4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from nvsd.experiments.grouping import SIZES, group_by_frequency
from nvsd.experiments.methods import METHODS
from nvsd.experiments.protocol import EXPERIMENTS, PILOT, Experiment
from nvsd.kernels import Polynomial

NUS = (1e-5, 1e-4, 1e-3, 1e-2)
OFFSETS = (1.0, 3.0, 10.0)


class Choice(NamedTuple):
    """Validation errors of one setting."""

    experiment: str
    setting: str
    method: str
    n: int
    rmse: float


def compare_settings(
    names: list[str], replications: int, jobs: int | None, methods: tuple[str, ...]
) -> list[Choice]:
    """Root mean squared validation errors for several ν and, with a cubic kernel, offsets c."""
    runs = [
        (experiment, setting, key, n)
        for name in names
        for setting, experiment in _settings(EXPERIMENTS[name])
        for n in _ends(experiment)
        for key in methods
        if METHODS[key].applies(experiment, False)
    ]
    errors = Parallel(jobs)(
        delayed(_validation)(experiment, n, key, PILOT + r)
        for experiment, _, key, n in runs
        for r in range(replications)
    )
    means = np.sqrt(np.reshape(errors, (len(runs), replications))).mean(axis=1)
    return [
        Choice(experiment.name, setting, key, n, float(mean))
        for (experiment, setting, key, n), mean in zip(runs, means, strict=True)
    ]


def _settings(experiment: Experiment) -> Iterator[tuple[str, Experiment]]:
    for nu in NUS:
        yield f"nu = {nu:g}", replace(experiment, nu=nu)
    if isinstance(experiment.kernel, Polynomial):
        for c in OFFSETS[1:]:
            yield f"c = {c:g}", replace(experiment, kernel=replace(experiment.kernel, offset=c))


def _ends(experiment: Experiment) -> tuple[int, ...]:
    return tuple(dict.fromkeys((experiment.sizes[0], experiment.sizes[-1])))


def _validation(experiment: Experiment, n: int, key: str, replication: int) -> float:
    return METHODS[key].fit(experiment.split(n, replication)).error


def frequency_groups(replications: int, jobs: int | None) -> dict[str, tuple[str, ...]]:
    """Groups of CP and EL from how often NVSD(EN) selects each input."""
    found = {}
    for code, sizes in SIZES.items():
        supports = Parallel(jobs)(
            delayed(_selected)(EXPERIMENTS[code], PILOT + r) for r in range(replications)
        )
        found[code] = group_by_frequency(np.mean(supports, axis=0), sizes)
    return found


def _selected(experiment: Experiment, replication: int) -> list[bool]:
    split = experiment.split(experiment.sizes[0], replication)
    return METHODS["nvsd-en"].fit(split).support.tolist()  # type: ignore[no-any-return]
