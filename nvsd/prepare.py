"""Everything about a problem that does not depend on y, computed once."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvsd._checks import check_points, is_number
from nvsd.features import FactorSpace, MonomialSpace
from nvsd.kernels import Gaussian, Kernel, neighbour_width
from nvsd.monomials import Monomials, degree_and_offset, n_monomials
from nvsd.representation import DerivativeSpace, Representation

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Samples, kernel and ν with their factorisations: what every y, penalty and τ can share.

    Attributes
    ----------
    X : (n, d) array
        The samples, standardised if that was asked for.
    features : tuple of str
    x_mean, x_scale : (d,) arrays
        X = (given − x_mean) / x_scale.
    """

    X: Array
    features: tuple[str, ...]
    x_mean: Array
    x_scale: Array
    kernel: Kernel
    nu: float
    representation: Representation


def prepare(
    X: ArrayLike,
    *,
    kernel: Kernel | None = None,
    nu: float = 1e-3,
    standardize: bool = False,
    representation: str = "auto",
    s1: str = "auto",
    max_memory: float | None = None,
) -> Prepared:
    """Factorise once for ``nvsd_path(prepared, y, penalty=...)`` with several y and penalties.

    Parameters
    ----------
    X : (n, d) array or DataFrame
        Samples; the columns of a DataFrame give the names of the inputs.
    kernel : Kernel, optional
        By default Gaussian, its width the median distance to the 20 nearest neighbours.
    nu : float
        Weight ν ≥ 0 of the squared RKHS norm. Zero needs a polynomial kernel and more samples than
        monomials.
    standardize : bool
        Whether to centre the inputs and scale them to unit variance; constant inputs are only
        centred.
    representation : {"auto", "derivative", "monomial", "factor"}
        "derivative" works with the nd derivatives and any kernel, "monomial" with the explicit
        features of a polynomial kernel, "factor" with a pivoted Cholesky factor of the joint Gram
        matrix. "auto" takes the cheapest.
    s1 : {"auto", "cholesky", "diagonal"}
        How the linear system of S1 is solved for many κ.
    max_memory : float, optional
        Bytes that may be used; by default what the machine has free.

    Returns
    -------
    Prepared
    """
    points, features = check_samples(X)
    nu = check_non_negative("nu", nu)
    x_mean, x_scale = np.zeros(points.shape[1]), np.ones(points.shape[1])
    if standardize:
        x_mean = points.mean(axis=0)
        spread = points.std(axis=0)
        # A constant column keeps scale 1: its rounding error must not be blown up.
        x_scale = np.where(spread > 1e-12 * np.abs(points).max(axis=0), spread, 1.0)
        points = (points - x_mean) / x_scale
    if kernel is None:
        kernel = Gaussian(neighbour_width(points))
    if not isinstance(kernel, Kernel):
        raise ValueError(f"kernel = {kernel!r} is no kernel; give one of nvsd.kernels.")
    made = represent(points, kernel, nu, representation, s1, max_memory)
    return Prepared(points, features, x_mean, x_scale, kernel, nu, made)


def check_samples(X: ArrayLike) -> tuple[Array, tuple[str, ...]]:
    """Return the samples as an array and the names of the inputs."""
    names: Sequence[Any] | None = getattr(X, "columns", None)
    points = check_points(X)
    if len(points) < 2:
        raise ValueError(f"X has {len(points)} row; give at least 2 samples.")
    features = tuple(str(name) for name in (range(points.shape[1]) if names is None else names))
    if names is None:
        features = tuple(f"x{a}" for a in features)
    if len(set(features)) < len(features):
        repeated = next(name for name in features if features.count(name) > 1)
        raise ValueError(f"several inputs are called {repeated!r}; give each column its own name.")
    return np.ascontiguousarray(points), features


def check_target(y: ArrayLike, n: int) -> Array:
    """Return y as n finite numbers."""
    try:
        target = np.asarray(y, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError("y holds something other than numbers; give numbers.") from error
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.shape != (n,):
        raise ValueError(f"y has shape {target.shape} for {n} rows of X; give one number per row.")
    if not np.isfinite(target).all():
        raise ValueError("y holds NaN or infinite values; give finite numbers.")
    return target


def check_non_negative(name: str, value: object) -> float:
    """Return a finite number that is not negative."""
    if not is_number(value) or not 0 <= value < math.inf:  # type: ignore[operator]
        raise ValueError(f"{name} = {value!r} is not allowed; give a finite number >= 0.")
    return float(value)  # type: ignore[arg-type]


def represent(
    X: Array, kernel: Kernel, nu: float, kind: str, s1: str, max_memory: float | None
) -> Representation:
    """Build the representation asked for, or the cheapest; refuse what would not fit in memory."""
    n, d = X.shape
    polynomial = degree_and_offset(kernel)
    costs = _costs(n, d, polynomial)
    if nu == 0:
        costs.pop("derivative")
    if kind == "auto":
        costs.pop("factor")
        if not costs:
            raise ValueError(
                f"nu = 0 is not possible with {kernel!r}, whose functions are not determined by "
                f"{n} samples; give nu > 0."
            )
        kind = min(costs, key=lambda name: costs[name][0])
    if kind not in costs:
        raise ValueError(_why_not(kind, kernel, nu))
    _check_memory(kind, costs[kind][1], max_memory, polynomial is not None)
    if kind == "derivative":
        return DerivativeSpace(X, kernel, nu, s1)
    if kind == "factor":
        return FactorSpace(X, kernel, nu, s1)
    assert polynomial is not None
    return MonomialSpace(X, Monomials(d, *polynomial), nu, s1)


def _costs(n: int, d: int, polynomial: tuple[int, float] | None) -> dict[str, tuple[float, float]]:
    """Flops and bytes of each representation that is possible: set-up and a few factorisations."""
    p, N = float(n * d), float(n * (d + 1))
    costs = {
        "derivative": (n * p**2 + 2 * p**3, 8 * (3 * p**2 + 3 * n * p)),
        "factor": (N**3 + 2 * N**3, 8 * 4 * N**2),
    }
    if polynomial:
        r = float(n_monomials(d, *polynomial))
        kept = 2.0 * min(n * r, MonomialSpace.KEEP)
        costs["monomial"] = (n * r**2 + 2 * r**3, 8 * (kept + 6 * r**2))
    return costs


def _why_not(kind: str, kernel: Kernel, nu: float) -> str:
    if kind == "derivative":
        return f"representation 'derivative' needs nu > 0, not {nu:g}; give nu > 0."
    if kind == "monomial":
        return (
            f"representation 'monomial' needs a Linear or Polynomial kernel, not {kernel!r}; "
            "give 'auto', 'derivative' or 'factor'."
        )
    return (
        f"representation = {kind!r} is unknown; give 'auto', 'derivative', 'monomial' or 'factor'."
    )


def _check_memory(kind: str, needed: float, limit: float | None, polynomial: bool) -> None:
    limit = available_memory() if limit is None else limit
    if needed > limit:
        other = "" if polynomial else "a Polynomial kernel (its cost does not grow with n), "
        raise ValueError(
            f"the {kind!r} representation would need {needed / 2**30:.1f} GiB and "
            f"{limit / 2**30:.1f} GiB are allowed; use {other}fewer samples or fewer inputs."
        )


def available_memory() -> float:
    """Bytes that can be allocated without swapping."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return float(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError, AttributeError):
        return math.inf
