"""The reference with ω itself as the solver's variable: the same problem, stated plainly."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from nvsd.kernels import Gaussian, Kernel, Polynomial
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty, SparseGroupLasso

GROUPS = ["a", "b", "a"]
PENALTIES = [Lasso(), GroupLasso(GROUPS), ElasticNet(mu=0.4), SparseGroupLasso(GROUPS, rho=0.3)]
# In units of |y|²/n: what Clarabel is asked for is 1e-9, SCS by default stops at 1e-4 or so.
SAME = 1e-7
ROUGHLY = 1e-3


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((9, 3))
    return X, 2 + X[:, 0] + X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(9)


@pytest.mark.parametrize("tau", [0.03, 0.3])
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: type(penalty).__name__)
@pytest.mark.parametrize("kernel", [Gaussian(width=1.5), Polynomial(degree=2)], ids=str)
def test_both_variables_give_the_same_objective(
    data: tuple[np.ndarray, np.ndarray], kernel: Kernel, penalty: Penalty, tau: float
) -> None:
    X, y = data
    problem = {"kernel": kernel, "penalty": penalty, "tau": tau, "nu": 1e-2}
    theta = reference.solve(X, y, **problem)
    for form in reference.FORMS:
        omega = reference.solve(X, y, form=form, variable="omega", **problem)
        assert omega.objective == pytest.approx(theta.objective, abs=SAME * y.var())
        # The bound knows the minimum too, though the solver was not asked for a multiplier.
        assert omega.accuracy < ROUGHLY * y.var()
        assert omega.objective - omega.accuracy <= theta.objective + SAME * y.var()


@pytest.mark.parametrize("solver", ["SCS", "CLARABEL"])
def test_the_solvers_own_tolerances(data: tuple[np.ndarray, np.ndarray], solver: str) -> None:
    X, y = data
    problem = {"kernel": Gaussian(width=1.5), "penalty": Lasso(), "tau": 0.1, "nu": 1e-2}
    default = reference.Problem(
        X, y, kernel=problem["kernel"], penalty=Lasso(), nu=1e-2, solver=solver, tol=None
    )
    assert default.options == {}
    exact = reference.solve(X, y, **problem)
    assert default.solve(0.1).objective == pytest.approx(exact.objective, abs=ROUGHLY * y.var())


def test_the_statement_in_omega_has_no_other_variables(
    data: tuple[np.ndarray, np.ndarray],
) -> None:
    X, y = data
    plain = reference.Problem(
        X, y, kernel=Gaussian(4.0), penalty=Lasso(), nu=1e-3, form="omega", variable="omega"
    )
    assert [variable.shape for variable in plain.problem.variables()] == [(9 * 4,)]
    assert not plain.problem.constraints
    assert plain.problem.is_dcp(dpp=True)


def test_an_unknown_variable_is_refused(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    with pytest.raises(ValueError, match="variable is 'z'; it must be one of theta, omega"):
        reference.solve(X, y, kernel=Gaussian(4.0), penalty=Lasso(), tau=1, nu=1, variable="z")
