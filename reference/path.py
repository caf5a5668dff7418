"""The regularisation path of the reference, as a Dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from nvsd.kernels import Kernel
from nvsd.penalties import ElasticNet, Penalty
from reference.objective import Array, Objective, Solution, check_not_negative, real_array
from reference.penalties import members
from reference.problems import Problem

# Variables that are fields of a Solution: (field, dims after tau, long_name).
VARIABLES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "derivative_norm": ("derivative_norm", ("feature",), "norm of the derivative over the sample"),
    "objective": ("objective", (), "loss + tau * penalty + nu * rkhs_norm"),
    "loss": ("loss", (), "mean squared residual"),
    "penalty": ("penalty", (), "penalty on the derivatives"),
    "rkhs_norm": ("rkhs_norm", (), "squared norm of f in the kernel's function space"),
    "gap": ("accuracy", (), "bound on objective minus minimum"),
    "n_iter": ("n_iter", (), "iterations of the solver"),
    "status": ("status", (), "status of the solver"),
    "alpha": ("alpha", ("sample",), "coefficients of the kernel sections"),
    "beta": ("beta", ("feature", "sample"), "coefficients of the kernel's derivatives"),
    "fitted": ("fitted", ("sample",), "f at the sample plus the mean of y"),
}
# What another loss has in place of the mean.
CONSTANT: dict[str, tuple[str, tuple[str, ...], str]] = {
    "loss": ("loss", (), "mean loss"),
    "fitted": ("fitted", ("sample",), "f at the sample plus the constant"),
    "intercept": ("intercept", (), "constant beside f"),
}


def path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    kernel: Kernel,
    penalty: Penalty,
    nu: float,
    taus: ArrayLike,
    threshold: float = 1e-4,
    **settings: Any,
) -> xr.Dataset:
    """Minimise (1/n)‖y − f(X)‖² + τ·J(f) + ν·‖f‖² for each τ; the problem is compiled once.

    Parameters
    ----------
    X, y, kernel, penalty, nu
        As for `reference.solve`. An `ElasticNet` with several mu adds the dimension ``mu``.
    taus : sequence of float
        In any order; the Dataset has them in descending order.
    threshold : float
        An input is in the support if its derivative norm is above this fraction of the largest norm
        of the ridge solution (τ = 0): an interior point method never returns exact zeros.
    **settings
        As for `reference.Problem`: loss, sample_weight, form, ...
    """
    if isinstance(penalty, ElasticNet) and isinstance(penalty.mu, Sequence):
        common = {"kernel": kernel, "nu": nu, "taus": taus, "threshold": threshold} | settings
        return xr.concat([path(X, y, penalty=one, **common) for one in penalty.split()], dim="mu")
    taus = np.sort(real_array(taus, "taus", ndim=1))[::-1]
    check_not_negative(taus[-1], "the smallest tau")
    problem = Problem(X, y, kernel=kernel, penalty=penalty, nu=nu, **settings)
    solutions = [problem.solve(float(tau)) for tau in taus]
    ridge = _ridge_norm(problem)
    return _dataset(problem.objective, penalty, taus, solutions, threshold * ridge)


def _dataset(
    o: Objective, penalty: Penalty, taus: Array, solutions: list[Solution], smallest: float
) -> xr.Dataset:
    """The schema shared with ``nvsd``: dims tau, feature and sample, a long_name on everything."""
    data: dict[str, Any] = {}
    for name, (field, dims, text) in (VARIABLES | (CONSTANT if o.loss.free else {})).items():
        values = np.array([getattr(s, field) for s in solutions])
        data[name] = ("tau", *dims), values, {"long_name": text}
    support = data["derivative_norm"][1] > smallest
    data["support"] = ("tau", "feature"), support, {"long_name": "input is selected"}
    data["n_selected"] = "tau", support.sum(axis=1), {"long_name": "number of selected inputs"}
    coords: dict[str, Any] = {
        "tau": ("tau", taus, {"long_name": "weight of the penalty"}),
        "feature": ("feature", o.features, {"long_name": "input"}),
        "sample": ("sample", np.arange(o.n), {"long_name": "sample"}),
        "group": ("feature", _groups(penalty, o.features), {"long_name": "group of the input"}),
        "nu": ((), o.nu, {"long_name": "weight of the function's norm"}),
    }
    if isinstance(penalty, ElasticNet):
        coords["mu"] = ((), penalty.mu, {"long_name": "share of the norms in the elastic net"})
    return xr.Dataset(data, coords)


def _ridge_norm(problem: Problem) -> float:
    """The largest derivative norm at τ = 0; for squares α solves (K + nνI)α = y, and β = 0."""
    o = problem.objective
    if not problem.squared or (o.weights != 1).any():
        return float(problem.solve(0.0).derivative_norm.max())
    alpha = np.linalg.lstsq(o.K + o.n * o.nu * np.eye(o.n), o.y)[0]
    norms = np.linalg.norm((o.D @ alpha).reshape(o.d, o.n), axis=1)
    return float(norms.max() / np.sqrt(o.n))


def _groups(penalty: Penalty, features: list[str]) -> list[str]:
    groups = getattr(penalty, "groups", features)
    label = {a: name for name, index in members(groups, features).items() for a in index}
    return [label[a] for a in range(len(features))]
