"""One hard problem, its result, and the truth about it in 300 digits."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import xarray as xr
from exact_problems import Exact, many_digits
from file_problems import check_sentence

import nvsd
import nvsd.path
from nvsd import ConvergenceWarning
from nvsd.kernels import Kernel
from nvsd.penalties import Lasso, Penalty
from nvsd.representations.monomials import Monomials
from nvsd.solvers import Points, is_certified

# Of |y|²/n: what a gap may be off by up to τ_max (3e-10 was met). Beyond, τJ grows with τ, and
# with it the rounding errors of derivatives that are zero.
ROUNDING = 1e-9
CLOSED_FORM = 1e-10  # of |y|²/n: a known solution is emitted with a gap of this size, likewise
MAX_ITER = 2000
PATIENCE = 60.0  # seconds for one problem of this size; more is a hang
FRACTIONS = (10.0, 1.0, 0.3, 0.01, 0.0)  # of τ_max


@dataclass
class Hard:
    """A problem that a program may fail at."""

    X: Any
    y: Any
    kernel: Kernel | None
    penalty: Penalty = field(default_factory=Lasso)
    nu: float = 1e-3
    tol: float = 1e-6
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Outcome:
    """A refusal, or a path with the dual points that its solver ended with."""

    refusal: str | None = None
    path: xr.Dataset | None = None
    points: Points | None = None
    warned: bool = False


def attempt(hard: Hard, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    """Run it from 10 τ_max to 0; only a sentence may come instead, only a known warning with it."""
    kept: list[Points] = []
    make = nvsd.path.path_dataset

    def keep(prepared: Any, problem: Any, points: Points, *rest: Any) -> xr.Dataset:
        kept.append(points)
        return make(prepared, problem, points, *rest)

    monkeypatch.setattr(nvsd.path, "path_dataset", keep)
    arguments = {"penalty": hard.penalty, "tol": hard.tol, "max_iter": MAX_ITER}
    start = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            prepared = nvsd.prepare(hard.X, kernel=hard.kernel, nu=hard.nu, **hard.options)
            first = nvsd.nvsd_path(prepared, hard.y, n_taus=2, **arguments)
            caught.clear()
            taus = float(first.tau[0]) * np.array(FRACTIONS)
            path = nvsd.nvsd_path(prepared, hard.y, taus=taus, **arguments)
        except ValueError as error:
            return Outcome(refusal=check_sentence(error))
    assert time.monotonic() - start < PATIENCE
    strange = [str(w.message) for w in caught if w.category is not ConvergenceWarning]
    assert not strange, strange[0]
    return Outcome(None, path, kept[-1], bool(caught))


def check_form(path: xr.Dataset, warned: bool, tol: float) -> None:
    """Finite everywhere, bounded, and a gap above tol is told of."""
    for name, values in path.variables.items():
        assert values.dtype.kind not in "fc" or np.isfinite(values.values).all(), name
    assert int(path.n_iter.max()) <= MAX_ITER
    assert (path.gap >= 0).all()
    scale = path.attrs["scale"]
    unfinished = ~is_certified(path.status.values)
    limit = np.maximum(tol, CLOSED_FORM * np.maximum(FRACTIONS, 1.0)) * scale
    assert (path.gap.values <= limit)[~unfinished].all()
    assert warned == unfinished.any()


def check_truth(hard: Hard, path: xr.Dataset, points: Points) -> None:
    """No objective is further from the minimum than its gap says; certified or not."""
    X, y = np.asarray(hard.X, dtype=float), np.asarray(hard.y, dtype=float)
    kernel = Kernel.from_json(path.kernel.item())
    exact = Exact(X, y, kernel, hard.penalty, hard.nu, float(path.y_mean))
    for i, tau in enumerate(path.tau.values):
        row = path.isel(tau=i)
        slack = ROUNDING * path.attrs["scale"] * (1 + FRACTIONS[i])
        value = objective(exact, row)
        bounds = [exact.lower_bound(tau, u) for u in witnesses(X, kernel, points, i)]
        with many_digits():
            excess = float(value - max(bounds))
        certified = bool(is_certified(row.status.values))
        allowed = 1 + 1e-9 if certified else 1.01
        assert excess <= allowed * float(row.gap) + slack, (tau, excess, float(row.gap))
        # A point that is not certified is known to be bad; how bad is a matter of rounding.
        if certified:
            assert abs(float(value) - float(row.objective)) <= float(row.gap) + slack


def objective(exact: Exact, row: xr.Dataset) -> Any:
    """Of what predictions are made from."""
    tau = float(row.tau)
    if "theta" in row:
        return exact.objective_of_monomials(tau, row.theta.values)
    return exact.objective(tau, row.alpha.values, row.beta.values)


def witnesses(X: np.ndarray, kernel: Kernel, points: Points, i: int) -> list[np.ndarray]:
    """Dual points (d, n) in the paper's scale; whatever they are, they prove a lower bound."""
    n = len(X)
    found = [points.u[i] / np.sqrt(n), points.multiplier[i] / np.sqrt(n)]
    if found[0].shape[1] == n:
        return found
    assert kernel.polynomial is not None
    # Above q samples the derivatives are those of a triangle R with Ψ = QR: back to the samples.
    Q, _ = np.linalg.qr(Monomials(X.shape[1], *kernel.polynomial).lower(X))
    return [u @ Q.T for u in found]
