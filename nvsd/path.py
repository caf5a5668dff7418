"""`nvsd_path`: from X and y to the Dataset of a whole regularisation path."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from nvsd._checks import check_flag, is_number
from nvsd.admm import Points, Settings, Status
from nvsd.choice import refuse_long_path
from nvsd.continuation import FlatPoint, flat_point, solve_path, tau_grid, tighten
from nvsd.features import FactorSpace
from nvsd.kernels import Kernel
from nvsd.matrix_free import MatrixFreeProblem, solve_dual
from nvsd.penalties import BoundPenalty, ElasticNet, Lasso, Penalty
from nvsd.prepare import Prepared, check_non_negative, prepare
from nvsd.progress import progress_bar
from nvsd.representation import DerivativeSpace, Problem
from nvsd.results import path_dataset, stack_mu
from nvsd.verification import verified

Array = NDArray[np.float64]


class ConvergenceWarning(UserWarning):
    """Some τ of a path have a duality gap above the tolerance."""


def nvsd_path(
    X: Any,
    y: Any = None,
    *,
    kernel: Kernel | None = None,
    penalty: Penalty | None = None,
    nu: float | None = None,
    taus: ArrayLike | None = None,
    n_taus: int = 50,
    tau_ratio: float = 1e-3,
    tol: float = 1e-6,
    max_iter: int = 5000,
    center: bool = True,
    quadratic: str = "S2",
    progress: bool | None = None,
    **preparation: Any,
) -> xr.Dataset:
    """Regularisation path of nonlinear variable selection based on derivatives.

    For every τ of a grid, find the f in the RKHS of the kernel that minimises

        (1/n) Σ_i (y_i − f(x_i))² + τ J(f) + ν ‖f‖²

    where the penalty J acts on the norms ‖∂_a f‖ = ((1/n) Σ_i ∂_a f(x_i)²)^½ of the partial
    derivatives, so that inputs on which f does not depend are switched off.

    Parameters
    ----------
    X : (n, d) array, memory map, DataFrame, Dask array, iterable of blocks (X, y), or Prepared
        The samples, or the result of `prepare`.
    y : (n,) array, memory map or Dask array
        The target; left out where it comes in the blocks.
    kernel : Kernel, optional
        By default Gaussian, its width the median distance to the 20 nearest neighbours.
    penalty : Penalty, optional
        One of `nvsd.penalties`; `Lasso()` by default. `ElasticNet(mu=[...])` gives the result a
        dimension mu.
    nu : float, optional
        Weight of the squared RKHS norm; 1e-3 by default.
    taus : sequence of float, optional
        The grid, in any order; it comes back descending. By default n_taus values evenly spaced
        in the logarithm, from τ_max, where all derivatives vanish, to tau_ratio times that. For
        several μ one grid serves all: it runs from the largest τ_max(μ) = τ_max/μ to tau_ratio
        times the smallest.
    n_taus : int
        Length of the automatic grid.
    tau_ratio : float
        Smallest over largest τ of the automatic grid, in (0, 1).
    tol : float
        Stop when the duality gap is at most tol times the mean square of the centred y.
    max_iter : int
        Largest number of iterations for each τ.
    center : bool
        Whether to subtract the mean of y first; predictions add it back.
    quadratic : {"S2", "S1"}
        Which step of ADMM takes the elastic net's squared term.
    progress : bool, optional
        Show a progress bar; by default only in an interactive session on a terminal.
    **preparation
        Further arguments of `prepare`: standardize, representation, value_points,
        derivative_points, random_state, s1, max_memory, checkpoint.

    Returns
    -------
    xarray.Dataset
        Dimensions tau (descending), feature, sample. `derivative_norm` and `support` say which
        inputs f depends on **at the samples**: a zero means that f is flat there in that
        direction, not that f ignores the input; see `path.nvsd.derivative_norm` for other points
        and `path.nvsd.debias` for a refit that does ignore it. `gap` bounds how far `objective`
        is from its minimum, for the very function that is returned.

    Warns
    -----
    ConvergenceWarning
        Once, when some τ ran out of iterations.

    Examples
    --------
    >>> import nvsd
    >>> from nvsd.kernels import Polynomial
    >>> data = nvsd.datasets.make_e1(60, seed=0)
    >>> path = nvsd.nvsd_path(data.X, data.y, kernel=Polynomial(3), n_taus=10)
    >>> bool((path.gap <= 1e-6 * data.y.var()).all())
    True
    """
    if isinstance(X, Prepared):
        fixed = {"kernel": kernel, "nu": nu} | preparation
        given = ", ".join(name for name, value in fixed.items() if value is not None)
        if given:
            raise ValueError(f"{given} was fixed by prepare; give it there, not to nvsd_path.")
        prepared = X
    else:
        if nu is not None:
            preparation["nu"] = nu
        prepared, y = prepare(X, y=y, kernel=kernel, progress=progress, **preparation), None
    penalty = Lasso() if penalty is None else penalty
    if not isinstance(penalty, Penalty):
        raise ValueError(f"penalty = {penalty!r} is no penalty; give one of nvsd.penalties.")
    settings, center = _settings(tol, max_iter, quadratic), check_flag("center", center)
    max_memory = preparation.get("max_memory")
    problem, y_mean = prepared.problem(y, center)
    _check_scale(problem.scale)
    penalties = penalty.split() if isinstance(penalty, ElasticNet) else (penalty,)
    bounds = [each.bind(prepared.features) for each in penalties]
    flats = [_flat(problem, bound, settings, taus is None) for bound in bounds]
    grid = _grid(taus, n_taus, tau_ratio, flats)
    refuse_long_path(len(grid) * len(bounds), int(np.prod(problem.shape)), max_memory)
    with progress_bar(progress, len(grid) * len(bounds), "path", "tau") as tick:
        solved = [
            _solve(prepared, problem, bound, grid, flat, settings, tick)
            for bound, flat in zip(bounds, flats, strict=True)
        ]
    _warn_if_unfinished(solved, problem, settings)
    datasets = [
        path_dataset(prepared, problem, points, each, bound, y_mean, tol)
        for points, each, bound in zip(solved, penalties, bounds, strict=True)
    ]
    if not isinstance(penalty, ElasticNet):
        return datasets[0]
    mu = tuple(float(each.mu) for each in penalties)  # type: ignore[attr-defined]
    if isinstance(penalty.mu, (int, float)):
        return stack_mu(datasets, mu, penalty).isel(mu=0)
    return stack_mu(datasets, mu, penalty)


def _settings(tol: float, max_iter: int, quadratic: str) -> Settings:
    if not is_number(tol) or not 0 < tol < 1:
        raise ValueError(f"tol = {tol!r} is not allowed; give a number between 0 and 1.")
    if not is_number(max_iter) or max_iter % 1 != 0 or max_iter < 1:
        raise ValueError(f"max_iter = {max_iter!r} is not allowed; give a positive integer.")
    if quadratic not in ("S1", "S2"):
        raise ValueError(f"quadratic = {quadratic!r} is unknown; give 'S1' or 'S2'.")
    return Settings(tol=float(tol), max_iter=int(max_iter), quadratic=quadratic)


def _check_scale(scale: float) -> None:
    """Refuse a y whose squares, or those of its rounding errors, leave the range of numbers."""
    if scale and not 1e-150 < scale < 1e150:
        raise ValueError(
            f"the mean square of y is {scale:.0e}, near the ends of the range of floating-point "
            "numbers; give y in other units."
        )


def _flat(problem: Problem, bound: BoundPenalty, settings: Settings, automatic: bool) -> FlatPoint:
    flat = flat_point(problem, bound)
    return tighten(problem, bound, flat, settings) if automatic else flat


def _grid(taus: ArrayLike | None, n_taus: int, tau_ratio: float, flats: list[FlatPoint]) -> Array:
    """The τ of the path, descending and distinct."""
    if taus is not None:
        try:
            values = np.atleast_1d(np.asarray(taus, dtype=float))
        except (TypeError, ValueError) as error:
            raise ValueError("taus holds something other than numbers; give numbers.") from error
        if values.ndim != 1 or not values.size:
            raise ValueError(f"taus has shape {values.shape}; give at least one number in a row.")
        for value in values:
            check_non_negative("tau", float(value))
        return np.unique(values)[::-1]
    if not is_number(n_taus) or n_taus % 1 != 0 or n_taus < 1:
        raise ValueError(f"n_taus = {n_taus!r} is not allowed; give a positive integer.")
    if not is_number(tau_ratio) or not 0 < tau_ratio < 1:
        raise ValueError(f"tau_ratio = {tau_ratio!r} is not allowed; give a number in (0, 1).")
    tops = [flat.tau_max for flat in flats]
    if not np.all(np.isfinite(tops)):
        raise ValueError(
            "no tau switches off an input of weight 0 (or mu = 0), so there is no automatic grid; "
            "give the tau, or positive weights and mu."
        )
    return tau_grid(max(tops), min(tops) * tau_ratio, int(n_taus))


def _solve(
    prepared: Prepared,
    problem: Problem,
    bound: BoundPenalty,
    grid: Array,
    flat: FlatPoint,
    settings: Settings,
    tick: Callable[[int], object],
) -> Points:
    solver = solve_dual if isinstance(problem, MatrixFreeProblem) else solve_path
    points = solver(problem, bound, grid, flat, settings, tick)  # type: ignore[arg-type]
    on_samples = isinstance(problem.representation, (DerivativeSpace, FactorSpace))
    X = prepared.X if on_samples else None
    return verified(points, problem, bound, prepared.kernel, X, settings.tol, flat.tau_max)


def _warn_if_unfinished(solved: list[Points], problem: Problem, settings: Settings) -> None:
    taus = np.concatenate([p.tau[p.status == Status.MAX_ITER] for p in solved])
    if not len(taus):
        return
    worst = max(float(p.gap.max()) for p in solved) / problem.scale
    listed = ", ".join(f"{tau:.4g}" for tau in taus[:5]) + (", ..." if len(taus) > 5 else "")
    warnings.warn(
        f"{len(taus)} tau ({listed}) ended after at most {settings.max_iter} iterations with a gap "
        f"up to {worst:.1e} of the mean square of y, above tol = {settings.tol:g}; "
        "raise max_iter, tol or nu, or standardize X.",
        ConvergenceWarning,
        stacklevel=3,
    )
