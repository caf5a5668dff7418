"""Candidates from regularisation paths."""

from __future__ import annotations

from itertools import chain

from nvsd.data.checks import check_count
from nvsd.penalties import Penalty
from nvsd.prepared import Prepared, prepare
from nvsd.results.paths import split_norms
from nvsd.selection.candidates import Candidate, nested
from nvsd.selection.task import Array, Task
from nvsd.solved import Grid, solve
from nvsd.solvers import Settings

Path = list[tuple[float, Array]]  # τ and the norms ‖φ_a‖ there: zeros are exact

EPSILON = 0.01  # share of the largest norm: no weight is more than about 100 times another


def support(
    task: Task, *, n_taus: int = 50, tau_ratio: float = 1e-3, tol: float = 1e-6
) -> list[Candidate]:
    """The inputs with φ_a ≠ 0 at each τ of the path, as in the paper.

    A group is in if one of its inputs is.
    """
    path = _path(_prepare(task), task, task.penalty, n_taus, tau_ratio, tol)
    sets = [(tau, norms, task.strongest(norms, max(task.sizes()))) for tau, norms in path]
    return [
        Candidate(chosen, "support", "path", norms, tau, task.clearness(norms, chosen))
        for tau, norms, chosen in sets
    ]


def rank(
    task: Task, *, n_taus: int = 8, tau_ratio: float = 1e-3, tol: float = 1e-3
) -> list[Candidate]:
    """Nested sets by derivative norm at each τ of the path.

    Few τ and a loose tolerance are enough: only the order of the norms matters.
    """
    path = _path(_prepare(task), task, task.penalty, n_taus, tau_ratio, tol)
    return list(chain.from_iterable(_ranked(task, path, "rank", "")))


def adaptive(
    task: Task,
    *,
    stages: int = 2,
    n_taus: int = 8,
    tau_ratio: float = 1e-3,
    tol: float = 1e-3,
) -> list[Candidate]:
    """Nested sets from paths in stages, where weights come from the norms of the previous stage.

    Input a has weight 1 / (‖∂_a f‖ + ε) and group g has weight p_g / (‖∂_g f‖ + ε), where ε is a
    hundredth of the largest norm. They replace the penalty's own weights. It is not known which τ
    gives the best norms, so there are three chains of stages: from a quarter, a half and three
    quarters of the grid. All share one factorisation. A third stage takes as long as the first two
    together, and rarely finds a better set.
    """
    prepared = _prepare(task)
    first = _path(prepared, task, task.penalty, n_taus, tau_ratio, tol)
    found = _ranked(task, first, "adaptive", "stage 1, ")
    for position in dict.fromkeys(len(first) * quarter // 4 for quarter in (1, 2, 3)):
        path = first
        for stage in range(2, check_count("stages", stages) + 1):
            penalty = _reweighted(task, path[position][1])
            path = _path(prepared, task, penalty, n_taus, tau_ratio, tol)
            found += _ranked(task, path, "adaptive", f"stage {stage} from tau {position + 1}, ")
    return list(chain.from_iterable(found))


def _ranked(task: Task, path: Path, method: str, origin: str) -> list[list[Candidate]]:
    return [nested(task, norms, method, f"{origin}tau={tau:.3g}", tau) for tau, norms in path]


def _prepare(task: Task) -> Prepared:
    return prepare(task.rows_with_names, kernel=task.kernel, nu=task.nu, loss=task.loss)


def _path(
    prepared: Prepared, task: Task, penalty: Penalty, n_taus: int, tau_ratio: float, tol: float
) -> Path:
    """τ and the derivative norms along the path, for one μ after another; no Dataset is made."""
    solved = solve(prepared, task.y, penalty, Grid(None, n_taus, tau_ratio), Settings(tol))
    return [
        (float(tau), norms)
        for points in solved.points
        for tau, norms in zip(points.tau, split_norms(solved.problem, points), strict=True)
    ]


def _reweighted(task: Task, norms: Array) -> Penalty:
    """The task's penalty with adaptive weights."""
    return task.penalty.reweighted(norms, task.features, EPSILON)
