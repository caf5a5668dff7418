"""Other programs on the same problem in the same run, as ratios: below 1 nvsd is faster."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from unittest import mock

import numpy as np

import nvsd
from nvsd.kernels import Linear
from nvsd.penalties import Lasso

from . import common

TOL = 1e-6  # of the mean square of y: nvsd's default, and the gap that the linear peers reach
# Seconds after which Clarabel is stopped, with all else at CVXPY's defaults: at n = 110 it takes a
# quarter of an hour, and a bound on the ratio says enough.
LIMITS = {"CLARABEL": {"time_limit": 150.0}}
FRACTION = 0.3  # τ over the closed-form bound of τ_max, frozen with the ratios' denominator


# --- the paper's problem --------------------------------------------------------------------


def tau_max_bound(o: Any) -> float:
    """max_a √n‖u_a‖ for the u of least norm with Hu = h, from the reference's matrices alone."""
    n = o.n
    P = np.linalg.inv(o.K + n * o.nu * np.eye(n))
    H, h = (o.L - o.D @ P @ o.D.T) / (2 * o.nu), o.D @ (P @ o.y)
    eigenvalues, V = np.linalg.eigh(H)
    kept = eigenvalues > len(H) * np.finfo(float).eps * eigenvalues[-1]
    u = V[:, kept] @ ((V[:, kept].T @ h) / eigenvalues[kept])
    return float(np.sqrt(n) * np.linalg.norm(u.reshape(o.d, n), axis=1).max())


@lru_cache(maxsize=2)  # a few hundred megabytes each at n = 110
def stated(name: str, solver: str, n: int) -> Any:
    """The problem in ω, as stated in `reference`, its matrices built in plain loops."""
    import reference

    p = common.problem(name, n)
    return reference.Problem(
        p.X,
        p.y,
        kernel=p.kernel,
        penalty=Lasso(),
        nu=common.NU,
        form="omega",
        variable="omega",
        solver=solver,
        tol=None,
    )


def by_cvxpy(name: str, solver: str, n: int) -> dict[str, float]:
    """CVXPY and the solver behind it at their default tolerances, compilation included."""
    problem = stated(name, solver, n)
    tau = FRACTION * tau_max_bound(problem.objective)
    problem.tau.value = tau
    seconds, solved = common.stopwatch(lambda: solve(problem.problem, solver))
    if not solved:
        return {"tau": tau, "peer": seconds, "solver": seconds, "objective": np.nan}
    stats = problem.problem.solver_stats
    omega = problem.unit * problem.omega.value
    return {
        "tau": tau,
        "peer": seconds,
        "solver": (stats.solve_time or 0.0) + (stats.setup_time or 0.0),
        "objective": value(problem.objective, omega, tau),
    }


def solve(problem: Any, solver: str) -> bool:
    """Whether CVXPY has solved the problem within the limit."""
    import cvxpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=solver, **LIMITS.get(solver, {}))
        except cvxpy.error.SolverError:
            return False
    return problem.status in ("optimal", "optimal_inaccurate")


def by_paper_admm(name: str, n: int, **settings: Any) -> dict[str, float]:
    """The paper's algorithm to its own tolerance; the kernel matrices are built before."""
    import reference

    o = stated(name, "SCS", n).objective
    _ = o.root  # computed once and kept: not part of the algorithm's time
    tau = FRACTION * tau_max_bound(o)
    p = common.problem(name, n)
    module = sys.modules["reference.paper_admm"]
    with mock.patch.object(module, "objective", return_value=o), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the literal algorithm is stopped before its tolerance
        seconds, solution = common.stopwatch(
            lambda: reference.paper_admm(
                p.X, p.y, kernel=p.kernel, penalty=Lasso(), tau=tau, nu=common.NU, **settings
            )
        )
    return {
        "tau": tau,
        "peer": seconds,
        "solver": seconds,
        "objective": solution.objective,
    }


def value(o: Any, omega: np.ndarray, tau: float) -> float:
    """The objective at ω."""
    loss = np.sum((o.y - o.values(omega)) ** 2) / o.n
    return float(loss + tau * o.penalty(o.derivatives(omega)) + o.nu * omega @ o.G @ omega)


ONE_TAU: dict[str, Callable[[str, int], dict[str, float]]] = {
    "SCS": lambda name, n: by_cvxpy(name, "SCS", n),
    "Clarabel": lambda name, n: by_cvxpy(name, "CLARABEL", n),
    "paper_admm, exact S1": lambda name, n: by_paper_admm(name, n, exact_s1=True, max_iter=20_000),
    # Iteration k takes k steepest descent steps: a thousand iterations would take an hour.
    "paper_admm, 100 iterations": lambda name, n: by_paper_admm(name, n, max_iter=100),
}


class OneTauTracks:
    """Our whole 50-point path over one τ of a peer."""

    param_names = ("peer", "problem", "n")

    def fill(self) -> common.Table:
        common.warm_up()
        return common.table(self.params, self.measure)

    def measure(self, peer: str, name: str, n: int) -> dict[str, float]:
        p = common.problem(name, n)
        row = ONE_TAU[peer](name, n)
        ours = common.best(p.path, 3)
        best = p.path(taus=[row["tau"]], tol=1e-10)
        return row | {
            "ours": ours,
            "ratio": ours / row["peer"],
            "solver_ratio": ours / row["solver"],
            "error": (row["objective"] - float(best.objective[0])) / best.attrs["scale"],
        }

    def ratio(self, rows: common.Table, *params: Any) -> float:
        """Seconds of our 50 τ over the peer's seconds for one τ."""
        return common.entry(rows, "ratio", *params)

    def solver_ratio(self, rows: common.Table, *params: Any) -> float:
        """The same without the time CVXPY takes to compile: the solver's own clock."""
        return common.entry(rows, "solver_ratio", *params)

    def error(self, rows: common.Table, *params: Any) -> float:
        """The peer's objective minus the minimum, in units of the mean square of y."""
        return common.entry(rows, "error", *params)

    def seconds(self, rows: common.Table, *params: Any) -> float:
        """The peer's seconds for one τ."""
        return common.entry(rows, "peer", *params)


class OneTau(OneTauTracks):
    params = (["SCS", "Clarabel", "paper_admm, exact S1"], ["E1", "E3"], [30])
    tiny = (["SCS", "paper_admm, exact S1"], ["E3"], [8])

    def setup_cache(self) -> common.Table:
        return self.fill()

    def track_ratio(self, rows: common.Table, *params: Any) -> float:
        return self.ratio(rows, *params)

    def track_solver_ratio(self, rows: common.Table, *params: Any) -> float:
        return self.solver_ratio(rows, *params)

    def track_peer_error(self, rows: common.Table, *params: Any) -> float:
        return self.error(rows, *params)

    def track_peer_seconds(self, rows: common.Table, *params: Any) -> float:
        return self.seconds(rows, *params)

    setup_cache.timeout = 1200.0
    track_ratio.unit = "50 of ours over one of theirs"
    track_solver_ratio.unit = "50 of ours over one of theirs"
    track_peer_error.unit = "mean squares of y"
    track_peer_seconds.unit = "seconds"


# --- the linear kernel: the lasso with a ridge ----------------------------------------------


class LinearProblem:
    """(1/n)|y − Xw|² + τ|w|₁ + ν|w|², with rows √(nν)·I that turn the ridge into data.

    Then every solver of the lasso solves it: theirs is half of ours over n + d rows.
    """

    def __init__(self, n: int, d: int) -> None:
        rng = np.random.default_rng(common.SEED)
        X = rng.standard_normal((n, d))
        y = X[:, :5] @ [3.0, -2.0, 1.0, 0.5, 0.25] + rng.standard_normal(n)
        self.X, self.y, self.n = X, y - y.mean(), n
        self.rows = np.asfortranarray(np.vstack([X, np.sqrt(n * common.NU) * np.eye(d)]))
        self.target = np.append(self.y, np.zeros(d))
        self.scale = float(self.y @ self.y) / n
        self.taus = 2 / n * np.abs(X.T @ self.y).max() * np.geomspace(1.0, 1e-3, 50)
        self.alphas = self.taus / 2 * n / len(self.rows)

    def gap(self, w: np.ndarray, tau: float) -> float:
        """Duality gap, from the residual scaled into the dual ball."""
        residual = self.target - self.rows @ w
        u = 2 / self.n * residual
        u *= min(1.0, tau / max(np.abs(self.rows.T @ u).max(), 1e-300))
        primal = residual @ residual / self.n + tau * np.abs(w).sum()
        return float(primal - (u @ self.target - self.n / 4 * u @ u))

    def worst_gap(self, W: np.ndarray) -> float:
        """Over the path, in units of the mean square of y; W is (d, 50)."""
        gaps = [self.gap(w, tau) for w, tau in zip(W.T, self.taus, strict=True)]
        return max(gaps) / self.scale


def by_sklearn(p: LinearProblem, tol: float) -> np.ndarray:
    from sklearn.linear_model import enet_path

    return enet_path(p.rows, p.target, l1_ratio=1.0, alphas=p.alphas, tol=tol, max_iter=10**6)[1]


def by_celer(p: LinearProblem, tol: float) -> np.ndarray:
    from celer import celer_path

    return celer_path(p.rows, p.target, "lasso", alphas=p.alphas, tol=tol, max_iter=1000)[1]


def by_skglm(p: LinearProblem, tol: float) -> np.ndarray:
    from skglm.datafits import Quadratic
    from skglm.penalties import L1
    from skglm.solvers import AndersonCD

    solver = AndersonCD(tol=tol, fit_intercept=False, max_iter=1000)
    return solver.path(p.rows, p.target, Quadratic(), L1(1.0), alphas=p.alphas)[1]


LINEAR: dict[str, Callable[[LinearProblem, float], np.ndarray]] = {
    "enet_path": by_sklearn,
    "celer": by_celer,
    "skglm": by_skglm,
}


class LinearKernel:
    """Our path over theirs: the same 50 τ, all to a gap of 1e-6 of the mean square of y."""

    params = (list(LINEAR), [18, 100], [110, 1000])
    param_names = ("peer", "d", "n")
    tiny = (["enet_path", "celer"], [6], [20])

    def setup_cache(self) -> common.Table:
        common.warm_up()
        return common.table(self.params, self.measure)

    setup_cache.timeout = 600.0

    def measure(self, peer: str, d: int, n: int) -> dict[str, float]:
        p, solve = LinearProblem(n, d), LINEAR[peer]
        tol, gap = 1e-2, np.inf
        # Each has its own idea of a tolerance: take the loosest that gives the gap.
        while gap > TOL:
            tol /= 10
            if tol < 1e-14:
                raise RuntimeError(f"{peer} does not reach a gap of {TOL}, only {gap:.1e}")
            gap = p.worst_gap(solve(p, tol))
        ours = common.best(
            lambda: nvsd.nvsd_path(
                p.X, p.y, kernel=Linear(), penalty=Lasso(), nu=common.NU, taus=p.taus, tol=TOL
            ),
            5,
        )
        theirs = common.best(lambda: solve(p, tol), 5)
        return {"ratio": ours / theirs, "seconds": theirs, "gap": gap}

    def track_ratio(self, rows: common.Table, *params: Any) -> float:
        """Seconds of ours over seconds of theirs."""
        return common.entry(rows, "ratio", *params)

    def track_peer_seconds(self, rows: common.Table, *params: Any) -> float:
        return common.entry(rows, "seconds", *params)

    def track_peer_gap(self, rows: common.Table, *params: Any) -> float:
        return common.entry(rows, "gap", *params)

    track_ratio.unit = "ours over theirs"
    track_peer_seconds.unit = "seconds"
    track_peer_gap.unit = "mean squares of y"
