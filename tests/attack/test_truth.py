"""What a path says of its functions is true of the coefficients that it holds.

ATTACK_CASES is the number of random problems (30); the truth is computed in `truth_problems`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from reliability_record import recorder
from truth_problems import truth

import nvsd
from nvsd.kernels import Gaussian, Linear, Matern52, Polynomial, RationalQuadratic
from nvsd.losses import Huber, Quantile
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, SparseGroupLasso
from nvsd.solvers import is_certified

CASES = int(os.environ.get("ATTACK_CASES", "30"))
BATCH = 10
TOL = 1e-6
FRACTIONS = np.array([1e9, 1e5, 10.0, 1.0, 0.3, 0.01, 0.0])  # of τ_max
ROUNDING = 1e-9  # of the scale: what a certified objective may be off by beside its gap
KERNELS = (
    Gaussian(1.5),
    Gaussian(5.0),
    Matern52(2.0),
    RationalQuadratic(1.5, 2.0),
    Linear(),
    Polynomial(2),
    Polynomial(3),
    Gaussian(2.0) + Linear(),
    Gaussian(3.0) + 0.1 * Polynomial(2),
    Gaussian(1.0) + Matern52(3.0),
)


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Few samples, near the origin or far from it, and any options."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 16)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, d))
    y = X[:, 0] + np.sin(3 * X[:, -1]) + 0.3 * rng.standard_normal(n)
    groups = [str(label) for label in rng.integers(0, 2, d)]
    penalties = [Lasso(), ElasticNet(0.4), GroupLasso(groups), SparseGroupLasso(groups, rho=0.3)]
    loss = [None, None, Huber(0.5), Quantile(0.3)][rng.integers(4)]
    kernel = KERNELS[rng.integers(len(KERNELS))]
    kinds = ["derivative", "factor"]
    kinds += ["matrix-free", "landmarks"] if loss is None else []
    kinds += ["monomial"] if kernel.polynomial else []
    kind = kinds[rng.integers(len(kinds))]
    options = {
        "kernel": kernel,
        "penalty": penalties[rng.integers(4)],
        "loss": loss,
        "representation": kind,
        "nu": float(10.0 ** rng.integers(-9, 1)),
    }
    if kind == "landmarks":
        options |= {"value_points": n // 2, "derivative_points": n // 2}
    return X + rng.choice([0.0, 0.0, 10.0, 1e3, 1e4]), y, options


def attempt(X: np.ndarray, y: np.ndarray, options: dict[str, Any]) -> tuple[Any, bool]:
    """The path far beyond both ends, and whether there was a warning; None if it is refused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            prepared = {k: v for k, v in options.items() if k != "penalty"}
            known = nvsd.prepare(X, y=y, **prepared)
            top = nvsd.nvsd_path(known, y, penalty=options["penalty"], n_taus=1)
            caught.clear()
            taus = float(top.tau[0]) * FRACTIONS
            path = nvsd.nvsd_path(
                known, y, penalty=options["penalty"], taus=taus, tol=TOL, max_iter=500
            )
        except ValueError:
            return None, False
    return path, bool(caught)


def wrong(path: xr.Dataset, X: np.ndarray, y: np.ndarray, warned: bool) -> list[str]:
    """What the path says that is not so."""
    scale, found = path.attrs["scale"], []
    for i in range(path.sizes["tau"]):
        row = path.isel(tau=i)
        said, gap = truth(row, X, y), float(row.gap)
        certified = bool(is_certified(row.status.values))
        name = f"tau {i}: "
        if not np.isfinite(
            [gap, float(row.objective), float(row.loss), float(row.rkhs_norm)]
        ).all():
            found.append(f"{name}not finite")
        if certified != (gap <= TOL * scale) or (not certified and not warned):
            found.append(f"{name}gap {gap / scale:.1e} without a warning")
        off = abs(float(said.objective) - float(row.objective))
        # Far from the origin, landmarks span a little less in floating-point numbers.
        if off > 1.01 * gap + ROUNDING * scale * (10 if "value_points" in row else 1):
            found.append(f"{name}objective is off by {off / scale:.1e}, gap {gap / scale:.1e}")
        if not certified:
            continue
        slack = 2e-5 * np.sqrt(scale)
        if "fitted" in row and np.abs(said.f - row.fitted.values).max() > slack:
            found.append(f"{name}fitted values")
        steepest = float(path.derivative_norm.max()) or 1.0
        if np.abs(said.derivative_norm - row.derivative_norm.values).max() > 1e-6 * steepest:
            found.append(f"{name}derivative norms")
        parts = {"loss": 1.0, "penalty": float(row.tau), "rkhs_norm": float(row.nu)}
        for part, weight in parts.items():
            if weight * abs(float(getattr(said, part)) - float(row[part])) > 1e-6 * scale:
                found.append(f"{name}{part}")
    return found


@pytest.mark.parametrize("first", range(0, CASES, BATCH))
def test_a_path_says_the_truth(first: int, record_property: Callable) -> None:
    record, bad = recorder(record_property, "what a path says"), []
    for seed in range(first, min(first + BATCH, CASES)):
        X, y, options = problem(seed)
        path, warned = attempt(X, y, options)
        record(refused=path is None, warned=warned, certified=path is not None and not warned)
        if path is not None:
            bad += [f"{seed}, {options}: {each}" for each in wrong(path, X, y, warned)]
    assert not bad, "\n".join(bad)


# Rounding once spoiled these: coefficients that cancel, far from the origin or far above τ_max.
FOUND = (26, 42, 89, 131, 167, 418, 488, 519, 667, 684, 798, 828, 938, 991)
FOUND += (2392, 2412, 2759, 2955, 3236)


@pytest.mark.parametrize("seed", FOUND)
def test_what_the_attack_once_found(seed: int) -> None:
    X, y, options = problem(seed)
    path, warned = attempt(X, y, options)
    assert path is None or not wrong(path, X, y, warned)


@pytest.mark.parametrize("kind", ["derivative", "factor", "matrix-free"])
def test_far_above_tau_max_a_large_gap_is_told(kind: str) -> None:
    """τ multiplies the rounding errors of derivatives that should be zero."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    options = {"kernel": Gaussian(1.0), "representation": kind}
    top = float(nvsd.nvsd_path(X, y, n_taus=1, **options).tau[0])
    with pytest.warns(nvsd.ConvergenceWarning, match="above tol"):
        path = nvsd.nvsd_path(X, y, taus=[1e14 * top], **options)
    said = truth(path.isel(tau=0), X, y)
    least = nvsd.nvsd_path(X, y, taus=[top], **options)
    excess = float(said.objective) - float(least.objective[0])
    assert 1e-6 * path.attrs["scale"] < excess <= 1.01 * float(path.gap[0])


@pytest.mark.parametrize("kind", ["derivative", "factor"])
def test_coefficients_that_lost_digits_are_told_of(kind: str) -> None:
    """Sums of kernels on data near 1000, where the linear part cannot be centred."""
    rng = np.random.default_rng(1)
    X = 1000 + rng.standard_normal((15, 2))
    y = X[:, 0] - 1000 + np.sin(X[:, 1])
    path, warned = attempt(
        X,
        y,
        {
            "kernel": Gaussian(2.0) + Linear(),
            "penalty": Lasso(),
            "nu": 1e-5,
            "representation": kind,
            "loss": None,
        },
    )
    assert not wrong(path, X, y, warned)
