"""The certificate in three terms cannot lie either: break what other losses use, and it tells.

As in `test_certificate_mutations`: every mutation is put into the library while `nvsd_path` runs.
Whatever comes out, the true distance to the minimum (CVXPY's) is at most the gap.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
import xarray as xr
from loss_problems import LossCase, LossTruth, sample
from test_certificate_mutations import (
    Mutation,
    after,
    before,
    both,
    noise,
    stop_at_once,
    systems,
)

import nvsd
from nvsd import ConvergenceWarning, solved
from nvsd.kernels import Gaussian, Kernel, Polynomial
from nvsd.losses import Huber, Logistic, Loss, LossTerm, Quantile
from nvsd.penalties import BoundPenalty, ElasticNet, Lasso, Penalty
from nvsd.representations.derivative import DerivativeSplitting
from nvsd.representations.feature_splitting import FeatureSplitting
from nvsd.representations.splitting import Image
from nvsd.solvers import is_certified, split
from nvsd.solvers.anderson import Anderson
from nvsd.solvers.split import End, SplitProblem

N, D, NU, TOL = 8, 3, 1e-2, 1e-9
MAX_ITER = 80
FRACTIONS = (0.4, 0.02, 0.0)
PROBLEMS: list[tuple[Loss, Penalty]] = [
    (Huber(0.5), ElasticNet(0.4)),
    (Quantile(0.3), Lasso()),
    (Logistic(), Lasso()),
]
KERNELS: dict[str, Kernel] = {
    "derivative": Gaussian(1.5),
    "monomial": Polynomial(3),
    "factor": Gaussian(1.5),
}
ROUNDING = 1e-10  # of the loss of the best constant


@cache
def truth(kind: str, number: int) -> tuple[LossCase, list[LossTruth]]:
    loss, penalty = PROBLEMS[number]
    X, y = sample(3, N, D, loss, "rows")
    weights = np.random.default_rng(3).uniform(0.3, 3.0, N)
    case = LossCase(X, y, KERNELS[kind], penalty, NU, loss, weights)
    return case, [case.truth(fraction * case.tau_unit) for fraction in FRACTIONS]


# --- what goes wrong -----------------------------------------------------------------------------


def splittings(name: str, how: Any, change: Any) -> Mutation:
    return both(*(how(kind, name, change) for kind in (DerivativeSplitting, FeatureSplitting)))


def losses(name: str, how: Any, change: Any) -> Mutation:
    return both(*(how(kind, name, change) for kind in (Logistic, Huber, Quantile)))


def another_kappa(patch: pytest.MonkeyPatch) -> None:
    """S2 takes κ_s to be three times that of S1."""
    right = SplitProblem.__init__

    def wrong(self: SplitProblem, *given: Any) -> None:
        right(self, *given)
        prox = self.term.prox
        object.__setattr__(self.term, "prox", lambda W, kappa: prox(W, 3.0 * kappa))

    patch.setattr(SplitProblem, "__init__", wrong)


def unbalanced(patch: pytest.MonkeyPatch) -> None:
    """Σ v_i is not brought to zero."""

    def feasible(self: LossTerm, V: np.ndarray) -> np.ndarray:
        per_sample = self.weights / self.n
        return per_sample * self.loss.feasible(self.y, V / per_sample)

    patch.setattr(LossTerm, "feasible", feasible)


MUTATIONS: dict[str, Mutation] = {
    "stops at once": stop_at_once,
    "prox of the loss at half the step": losses("prox", before, lambda y, W, t, *s: (y, W, t / 2)),
    "prox of the loss is off": losses("prox", after, lambda T: noise(T, 0.01)),
    "prox of the loss does nothing": before(LossTerm, "prox", lambda W, k: (W, 1e12 * k)),
    "prox without the constant": before(LossTerm, "prox", lambda W, k: (W + 1.0, k)),
    "another kappa for the loss": another_kappa,
    "S1 with other targets": splittings("s1", before, lambda T, V, k: (noise(T, 0.1), V, k)),
    "S1 with another v": splittings("s1", before, lambda T, V, k: (T, noise(V, 0.1), k)),
    "S1's theta is off": splittings("s1", after, lambda i: Image(noise(i.C, 0.01), i.s, i.z)),
    "S1's values are off": splittings("s1", after, lambda i: Image(i.C, noise(i.s, 0.01), i.z)),
    "perturbed factor": systems("solve", after, lambda x: noise(x, 0.01)),
    "prox of half the penalty": before(BoundPenalty, "shrinkage", lambda R, t: (R, 0.5 * t)),
    "v is half of what it should be": after(LossTerm, "feasible", lambda V: 0.5 * V),
    "v is noisy": after(LossTerm, "feasible", lambda V: _balanced(noise(V, 0.01))),
    "v is too large": after(LossTerm, "feasible", lambda V: 1.5 * V),
    "wild extrapolation": after(Anderson, "_correction", lambda x: 3.0 * x + 0.01),
    "the ends are wrong": after(SplitProblem, "_end", lambda end: _moved(end)),
    "a wrong tau_max": after(solved, "flat_point", lambda flat: _lower(flat)),
}
# Ends that the certificate does not prove are iterated as any other τ is.
HARMLESS = {"the ends are wrong", "a wrong tau_max"}


def _balanced(V: np.ndarray) -> np.ndarray:
    return 0.9 * (V - V.mean(axis=1, keepdims=True))


def _moved(end: End) -> End:
    C = noise(end.image.C, 0.1)
    return end._replace(image=end.image._replace(C=C), u=end.u * 0.5)


def _lower(flat: Any) -> Any:
    flat.tau_max *= 0.01
    return flat


# --- what is reported ----------------------------------------------------------------------------


def run(
    kind: str, number: int, mutation: Mutation | None, patch: pytest.MonkeyPatch
) -> tuple[xr.Dataset, bool]:
    """The path, and whether it warned."""
    case, truths = truth(kind, number)
    if mutation is not None:
        mutation(patch)
    patch.setattr(split, "END_ITER", MAX_ITER)  # a wrong end is not worth waiting for
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        path = nvsd.nvsd_path(
            case.X, case.y, taus=[t.tau for t in truths], tol=TOL, max_iter=MAX_ITER,
            representation=kind, penalty=case.penalty, **case.prepared,
        )  # fmt: skip
    patch.undo()
    return path, any(issubclass(w.category, ConvergenceWarning) for w in caught)


def excess(path: xr.Dataset, kind: str, number: int) -> np.ndarray:
    """True distance to the minimum minus the gap, in units of the loss of the best constant."""
    case, truths = truth(kind, number)
    found = []
    for i, known in enumerate(truths):
        row = path.isel(tau=i)
        parts = case.dense_parts(row)
        value = parts["loss"] + known.tau * parts["penalty"] + NU * parts["rkhs_norm"]
        slack = parts["loss_error"] + known.tau * parts["penalty_error"] + NU * parts["norm_error"]
        found.append((value - known.minimum - slack - known.accuracy - float(row.gap)) / case.unit)
    return np.array(found)


# Every loss and every representation, not all pairs of them: where the iteration leads nowhere, the
# roots of the logistic loss take their time.
every_problem = [
    pytest.param(
        kind, i, id=f"{kind}-{loss}", marks=[pytest.mark.slow] * ((kind, i) != ("derivative", 0))
    )
    for k, kind in enumerate(KERNELS)
    for i, (loss, _) in enumerate(PROBLEMS)
    if (k + i) % len(PROBLEMS) == 0
]


@pytest.mark.parametrize(("kind", "number"), every_problem)
@pytest.mark.parametrize("name", MUTATIONS)
def test_the_gap_tells(name: str, kind: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path, warned = run(kind, number, MUTATIONS[name], monkeypatch)
    unfinished = ~(path.gap.values <= TOL * path.attrs["scale"])
    # A gap that is no number claims nothing.
    claimed = np.isfinite(path.gap.values)
    assert (excess(path, kind, number)[claimed] <= ROUNDING).all()
    np.testing.assert_array_equal(~is_certified(path.status.values), unfinished)
    assert warned == unfinished.any()


@pytest.mark.parametrize("kind", KERNELS)
def test_the_solver_as_it_is_converges(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the mutations would show nothing."""
    for number in range(len(PROBLEMS)):
        path, warned = run(kind, number, None, monkeypatch)
        assert not warned
        assert (excess(path, kind, number) <= ROUNDING).all()


@pytest.mark.parametrize("name", sorted(set(MUTATIONS) - HARMLESS))
def test_the_mutations_do_harm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them is noticed with Huber's or the quantile loss."""
    assert any(run("derivative", i, MUTATIONS[name], monkeypatch)[1] for i in range(2))
