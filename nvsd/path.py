"""`nvsd_path`: from X and y to the Dataset of a whole regularisation path."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from nvsd.data.checks import check_count, check_flag, is_number
from nvsd.data.classes import Labels
from nvsd.kernels import Kernel
from nvsd.losses import Loss
from nvsd.penalties import Penalty
from nvsd.prepared import Prepared, prepare
from nvsd.results.paths import path_dataset, stack_classes, stack_mu
from nvsd.solved import Grid, Solved, solve
from nvsd.solvers import Points, Settings, Status, is_certified, tau_grid, verified


class ConvergenceWarning(UserWarning):
    """Some τ of a path have a duality gap above the tolerance.

    Examples
    --------
    >>> import warnings, nvsd
    >>> data = nvsd.datasets.make_e1(30, seed=0)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     path = nvsd.nvsd_path(data.X, data.y, n_taus=3, max_iter=1)
    >>> caught[0].category.__name__
    'ConvergenceWarning'
    """


def nvsd_path(
    X: Any,
    y: Any = None,
    *,
    kernel: str | Kernel | None = None,
    penalty: str | Penalty | None = None,
    loss: Loss | None = None,
    nu: float | None = None,
    taus: ArrayLike | None = None,
    n_taus: int = 50,
    tau_ratio: float = 1e-3,
    tol: float = 1e-6,
    max_iter: int = 5000,
    center: bool = True,
    solver: str = "auto",
    quadratic: str = "S2",
    history: bool = False,
    progress: bool | None = None,
    **preparation: Any,
) -> xr.Dataset:
    """Regularisation path of nonlinear variable selection based on derivatives.

    For every τ of a grid, find the f in the RKHS of the kernel that minimises

        (1/n) Σ_i (y_i − f(x_i))² + τ J(f) + ν ‖f‖²

    or, with another loss or weights w of the samples, (1/Σw) Σ_i w_i ℓ(y_i, f(x_i) + c) in place of
    the squares, with a constant c that is not penalised,

    where the penalty J acts on the norms ‖∂_a f‖ = ((1/n) Σ_i ∂_a f(x_i)²)^½ of the partial
    derivatives, so that inputs on which f does not depend are switched off.

    Parameters
    ----------
    X : (n, d) array, memory map, DataFrame, Dask array, iterable of blocks (X, y), or Prepared
        The samples, or the result of `prepare`.
    y : (n,) array, memory map or Dask array
        The target; leave it out if it comes with the blocks. For a loss of classes labels: text,
        booleans or whole numbers.
    kernel : {"gaussian", "matern", "polynomial", "linear"} or Kernel, optional
        By default Gaussian. A width that is not given, as in `Gaussian()`, is the median distance
        to the 20 nearest neighbours; the result holds it, in ``path.kernel``.
    penalty : {"lasso", "elastic-net"} or Penalty, optional
        One of `nvsd.penalties`; `Lasso()` by default. `ElasticNet(mu=[...])` gives the result a
        dimension mu.
    loss : Loss, optional
        One of `nvsd.losses`: `Squared()` by default, `Huber()` and `Quantile(q)` for a y with
        outliers, `Logistic()` for classes. With more than two classes there is one path for each
        class against all others, and the result has a dimension ``class``.
    nu : float, optional
        Weight of the squared RKHS norm; 1e-3 by default.
    taus : sequence of float, optional
        The grid, in any order; the result has it descending. By default n_taus values evenly spaced
        in the logarithm, from τ_max, where all derivatives vanish, to tau_ratio times τ_max. With
        "preconditioned" they may start lower, where f is nearly flat.
        Several μ share one grid: it runs from the largest τ_max(μ) = τ_max/μ to tau_ratio times
        the smallest.
    n_taus : int
        Length of the automatic grid.
    tau_ratio : float
        Ratio of the smallest to the largest τ of the automatic grid, in (0, 1).
    tol : float
        Stop when the duality gap is at most tol times the mean square of the centred y, or with
        another loss, times the loss of the best constant.
    max_iter : int
        Largest number of iterations for each τ.
    center : bool
        Whether to subtract the mean of y first; predictions add it back. With a loss that is not
        quadratic: whether there is a constant c.
    solver : {"auto", "active-set", "admm", "dual-gradient"}
        "auto" takes the one that suits the representation, the kernel and the penalty.
    quadratic : {"S2", "S1"}
        Which step of ADMM takes the elastic net's squared term.
    history : bool
        Whether the result holds the gap, the residuals and κ of every iteration, as variables
        history_tau, history_gap, ... along the dimension ``step``. The solver then computes a gap
        in every iteration, and takes about twice as long.
    progress : bool, optional
        Show a progress bar; by default at a terminal and in notebooks.
    **preparation
        Further arguments of `prepare`: sample_weight, class_weight, standardize, representation,
        value_points, derivative_points, random_state, rng, s1, max_memory, checkpoint.

    Returns
    -------
    xarray.Dataset
        Dimensions tau (descending), feature, sample. `support` says which inputs are selected, and
        `derivative_norm` how steep f is, both **at the samples**: f is flat there in an input that
        is off, but may depend on it elsewhere; see `path.nvsd.derivative_norm` for other points
        and `path.nvsd.debias` for a refit that ignores it. `gap` bounds how far `objective` is
        from its minimum, for the function that is returned. So `derivative_norm_lower` and
        `derivative_norm_upper` bound the norm of the exact minimiser; `certified_on` and
        `certified_off` say where that norm is surely not zero, and surely zero.

    Warns
    -----
    ConvergenceWarning
        Once, when the gap of some τ is above tol.

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
        _refuse_fixed({"kernel": kernel, "loss": loss, "nu": nu} | preparation)
        prepared = X
    else:
        if nu is not None:
            preparation["nu"] = nu
        prepared = prepare(X, y=y, kernel=kernel, loss=loss, progress=progress, **preparation)
        y = None
    grid = Grid(taus, n_taus, tau_ratio)
    settings = _settings(tol, max_iter, quadratic)
    trace = check_flag("history", history)

    def path(prepared: Prepared, y: Any, grid: Grid) -> xr.Dataset:
        solved = solve(prepared, y, penalty, grid, settings, center, solver, trace, progress)
        return _dataset(prepared, solved)

    labels = prepared.several_classes(y)
    if labels is not None:
        return _against_rest(prepared, labels, grid, path)
    return path(prepared, y, grid)


def _dataset(prepared: Prepared, solved: Solved) -> xr.Dataset:
    """The path as a Dataset, with a dimension mu if there are several."""
    problem, tol = solved.problem, solved.settings.tol
    X = prepared.X if prepared.representation.on_samples else None
    found = [
        verified(points, problem, bound, prepared.kernel, X, tol)
        for points, bound in zip(solved.points, solved.bounds, strict=True)
    ]
    _warn_if_unfinished(solved, [each.points for each in found])
    described = zip(found, solved.penalties, solved.bounds, solved.traces, strict=True)
    datasets = [
        path_dataset(
            prepared, problem, each.points, each, penalty, bound, trace, solved.origin, tol
        )
        for each, penalty, bound, trace in described
    ]
    along = solved.penalty.along
    if not along:
        return datasets[0]
    shares = tuple(float(getattr(each, along)) for each in solved.penalties)
    joined = stack_mu(datasets, shares, solved.penalty)
    several = isinstance(getattr(solved.penalty, along), Sequence)
    return joined if several else joined.isel(mu=0)


def _against_rest(
    prepared: Prepared,
    labels: Labels,
    grid: Grid,
    path: Callable[[Prepared, Any, Grid], xr.Dataset],
) -> xr.Dataset:
    """A path for each class against all others, on one grid of τ."""
    prepared = prepared.weighing(labels)
    targets = [labels.codes == number for number in range(len(labels.classes))]
    taus = grid.taus
    if taus is None:
        tops = [float(path(prepared, y, replace(grid, n_taus=1)).tau[0]) for y in targets]
        taus = tau_grid(max(tops), min(tops) * grid.tau_ratio, grid.n_taus)
    paths = [path(prepared, y, replace(grid, taus=taus)) for y in targets]
    return stack_classes(paths, labels.classes)


def _refuse_fixed(fixed: dict[str, Any]) -> None:
    given = ", ".join(name for name, value in fixed.items() if value is not None)
    if given:
        raise ValueError(f"{given} was set by prepare; give it to prepare, not to nvsd_path.")


def _settings(tol: float, max_iter: int, quadratic: str) -> Settings:
    if not is_number(tol) or not 0 < tol < 1:
        raise ValueError(f"tol = {tol!r} is not allowed; give a number between 0 and 1.")
    if quadratic not in ("S1", "S2"):
        raise ValueError(f"quadratic = {quadratic!r} is unknown; give 'S1' or 'S2'.")
    return Settings(float(tol), check_count("max_iter", max_iter), quadratic)


def _warn_if_unfinished(solved: Solved, found: list[Points]) -> None:
    """One warning for all τ whose gap is above tol, in the words of their status."""
    status = np.concatenate([points.status for points in found])
    unfinished = ~is_certified(status)
    if not unfinished.any():
        return
    taus = np.concatenate([points.tau for points in found])[unfinished]
    worst = max(float(points.gap.max()) for points in found) / solved.problem.scale
    listed = ", ".join(f"{tau:.4g}" for tau in taus[:5]) + (", ..." if len(taus) > 5 else "")
    ended = [Status(value) for value in np.unique(status[unfinished])]
    scale = solved.loss.scale_name
    why = "; ".join(f"{each.meaning}: {each.remedy}" for each in ended)
    warnings.warn(
        f"{len(taus)} tau ({listed}) have a gap up to {worst:.1e} of the {scale}, above "
        f"tol = {solved.settings.tol:g}, after at most {solved.settings.max_iter} iterations; "
        f"{why}.",
        ConvergenceWarning,
        stacklevel=5,
    )
