"""The paper's learning problem in CVXPY, as in Proposition 2 and again as in Proposition 3.

With the squared loss it is the paper's own; other losses take the place of the squares.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike

from nvsd.kernels import Kernel
from nvsd.losses import Loss
from nvsd.penalties import Penalty
from reference.losses import SquaredFormula
from reference.objective import (
    Array,
    Objective,
    Solution,
    check_not_negative,
    eigen_root,
    objective,
)

Statement = tuple[cp.Expression, list[cp.Expression], cp.Expression]

# The options that set the accuracy of each solver.
TOLERANCES: dict[str, tuple[str, ...]] = {
    "CLARABEL": ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
    "SCS": ("eps_abs", "eps_rel"),
}


def solve(
    X: ArrayLike,
    y: ArrayLike,
    *,
    kernel: Kernel,
    penalty: Penalty,
    tau: float,
    nu: float,
    **settings: Any,
) -> Solution:
    """Minimise (1/n)‖y − f(X)‖² + τ·J(f) + ν·‖f‖² over the kernel's function space with CVXPY.

    With another loss the first term is (1/n) Σ_i w_i ℓ(y_i, f(x_i) + c), with a free constant c.

    Parameters
    ----------
    X : (n, d) array or data frame
    y : (n,) array
        Two labels, if the loss is of classes.
    kernel, penalty : descriptions from ``nvsd.kernels`` and ``nvsd.penalties``
    tau, nu : float
        Not negative.
    **settings
        As for `Problem`: loss, sample_weight, form, variable, solver, tol, center, and the solver's
        own options.

    Returns
    -------
    Solution
        With the squared loss the objective is the one on the centred y. The fitted values have the
        mean, or the constant c, added back.
    """
    return Problem(X, y, kernel=kernel, penalty=penalty, nu=nu, **settings).solve(tau)


class Problem:
    """(1/n)‖y − f(X)‖² + τ·J(f) + ν·‖f‖² for fixed data and ν, compiled once for every τ.

    Parameters
    ----------
    X, y, kernel, penalty, nu
        As for `solve`.
    loss : description from ``nvsd.losses``, optional
        `Squared()` by default.
    sample_weight : (n,) array, optional
        Positive weights w of the samples in the loss; they are scaled to a mean of 1.
    form : {"alpha_beta", "omega"}
        State the problem as in Proposition 2 or as in Proposition 3.
    variable : {"theta", "omega"}
        The solver's variables: θ and φ, see the notes, or just ω, as in a direct copy of the
        paper's formula into CVXPY. The latter is slower and less accurate.
    solver : {"CLARABEL", "SCS"}
    tol : float, optional
        The solver's tolerance, in units of ‖y‖²/n; None keeps the default of CVXPY.
    center : bool
        Subtract the mean of y first. With other losses than the squared one: add a free constant.
    **options
        Passed on to the solver.

    Notes
    -----
    Three things help the solver without changing the problem. Its variable is θ, with
    ω = R(RᵀR)⁻¹θ: every f of the paper's form has such an ω, and in terms of ω itself Clarabel can
    report a gap of 1e-9 when the error is 1e-4 (Gaussian kernel, width 4, ν = 1e-6). y is divided
    by its root mean square. And φ stands for the derivatives, as in the paper's section 4.2: the
    multiplier of φ = Zω is the witness for the accuracy. Losses other than the squared one get a
    variable s for f + c too: its multiplier is the second witness.
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        kernel: Kernel,
        penalty: Penalty,
        nu: float,
        loss: Loss | None = None,
        sample_weight: ArrayLike | None = None,
        form: str = "alpha_beta",
        variable: str = "theta",
        solver: str = "CLARABEL",
        tol: float | None = 1e-9,
        center: bool = True,
        **options: Any,
    ) -> None:
        for name, value, allowed in (
            ("form", form, FORMS),
            ("variable", variable, VARIABLES),
            ("solver", solver, TOLERANCES),
        ):
            if value not in allowed:
                raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")
        self.objective = objective(X, y, kernel, penalty, nu, center, loss, sample_weight)
        self.solver, self.tol = solver, tol
        self.options = ({} if tol is None else dict.fromkeys(TOLERANCES[solver], tol)) | options
        self.unit = float(np.sqrt(np.mean(self.objective.y**2))) or 1.0
        self.tau = cp.Parameter(nonneg=True)
        self.omega, phi = VARIABLES[variable](self.objective)
        f, derivatives, coordinates = FORMS[form](self.objective, self.omega)
        self.link = None if phi is None else cp.vstack(derivatives) == phi
        self.constant = cp.Variable() if self.objective.free else None
        f = f if self.constant is None else f + self.constant
        self.value_link = None
        if phi is not None and not self.squared:
            s = cp.Variable(self.objective.n)
            self.value_link, f = f == s, s
        norms = self._norms(derivatives if phi is None else list(phi))
        self.problem = self._minimise(f, norms, derivatives, coordinates)

    @property
    def squared(self) -> bool:
        """Whether the loss is the squared one, of which no v is needed."""
        return isinstance(self.objective.loss, SquaredFormula)

    def _norms(self, phi: list[cp.Expression]) -> cp.Expression:
        """Σ_t w_t ‖φ_t‖/√n, from the derivatives of each input."""
        o = self.objective
        each = [w * cp.norm(cp.hstack([phi[a] for a in index])) for w, index in o.terms.norms]
        return sum(each) / np.sqrt(o.n)

    def _minimise(
        self,
        f: cp.Expression,
        norms: cp.Expression,
        derivatives: list[cp.Expression],
        coordinates: cp.Expression,
    ) -> cp.Problem:
        # With f in units, the objective is divided by unit^degree: for squares J3 stays as it is.
        o, bend = self.objective, self.unit ** (2 - self.objective.loss.degree)
        J1 = o.loss.in_units(self.unit).total(o.y / self.unit, f, o.weights) / o.n
        squares = sum(map(cp.sum_squares, derivatives)) / o.n
        J2 = bend / self.unit * norms + bend * o.terms.ridge * squares
        J3 = bend * cp.sum_squares(coordinates)
        constraints = [link for link in (self.link, self.value_link) if link is not None]
        return cp.Problem(cp.Minimize(J1 + self.tau * J2 + o.nu * J3), constraints)

    def solve(self, tau: float) -> Solution:
        """The minimiser at this τ; warns if its accuracy is far from the tolerance."""
        check_not_negative(tau, "tau")
        self.tau.value = tau
        with warnings.catch_warnings():
            # Clarabel calls some solutions inaccurate that are exact to 1e-14; the gap decides.
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            self.problem.solve(solver=self.solver, **self.options)
        if self.omega.value is None:
            raise RuntimeError(
                f"{self.solver} ended with the status {self.problem.status} at tau = {tau}; "
                "standardise X, or choose a larger tol"
            )
        omega = self.unit * self.omega.value
        constant = 0.0 if self.constant is None else self.unit * float(self.constant.value)
        u, v = self._witness(omega, constant, tau)
        solution = self.objective.solution(
            omega,
            u,
            tau,
            status=self.problem.status,
            solver=self.solver,
            n_iter=self.problem.solver_stats.num_iters,
            constant=constant,
            v=v,
        )
        asked = 1e4 * self.tol * self.unit**self.objective.loss.degree if self.tol else np.inf
        if asked < solution.accuracy < np.inf:
            warnings.warn(
                f"the solution at tau = {tau} is only accurate to {solution.accuracy:.1e}; "
                "standardise X, or choose another tol",
                stacklevel=2,
            )
        return solution

    def _witness(self, omega: Array, constant: float, tau: float) -> tuple[Array, Array | None]:
        """The multiplier of φ = Zω, (d, n): the solver's own, if φ is one of its variables.

        Otherwise the better of two guesses is taken: the slope of the norms in τ·J2, correct if no
        derivative vanishes, and the multiplier that stationarity gives for β, correct if G is
        regular. Likewise for the multiplier v of s, which the squared loss does not need.
        """
        o = self.objective
        if self.link is not None:
            to_y = self.unit ** (o.loss.degree - 1)
            v = None if self.value_link is None else to_y * self.value_link.dual_value
            return to_y * self.link.dual_value, v
        phi = o.derivatives(omega)
        slope = np.zeros_like(phi)
        for w, index in o.terms.norms:
            norm = np.linalg.norm(phi[index]) or 1.0
            slope[index] += tau * w / (np.sqrt(o.n) * norm) * phi[index]
        squares = 2 * tau * o.terms.ridge / o.n * phi
        from_beta = -2 * o.nu * omega[o.n :].reshape(phi.shape) - squares
        of_loss = o.weights / o.n * o.loss.slopes(o.y, o.values(omega) + constant)
        of_values = [None] if self.squared else [of_loss, -2 * o.nu * omega[: o.n]]
        guesses = product((slope, from_beta), of_values)
        return max(guesses, key=lambda uv: o.lower_bound(uv[0], tau, uv[1]))


def _theta(o: Objective) -> tuple[cp.Expression, cp.Variable]:
    """ω = R(RᵀR)⁻¹θ, and φ."""
    theta = cp.Variable(o.root.shape[1])
    return (o.root / np.sum(o.root**2, axis=0)) @ theta, cp.Variable((o.d, o.n))


def _plain_omega(o: Objective) -> tuple[cp.Variable, None]:
    """ω alone."""
    return cp.Variable(len(o.G)), None


VARIABLES: dict[str, Callable[[Objective], tuple[cp.Expression, cp.Variable | None]]] = {
    "theta": _theta,
    "omega": _plain_omega,
}


def _alpha_beta(o: Objective, omega: cp.Expression) -> Statement:
    """Proposition 2: f and its derivatives at the sample, and Rᵀω, from α and β."""
    n, K, D, L, R = o.n, o.K, o.D, o.L, o.root
    alpha, beta = omega[:n], omega[n:]
    rows = [slice(a * n, (a + 1) * n) for a in range(o.d)]
    derivatives = [D[row] @ alpha + L[row] @ beta for row in rows]
    return K @ alpha + D.T @ beta, derivatives, R[:n].T @ alpha + R[n:].T @ beta


def _omega(o: Objective, omega: cp.Expression) -> Statement:
    """Proposition 3: the same from ω, with the paper's F, Z^a and Q (only Q + Qᵀ matters)."""
    F, Z = np.hstack([o.K, o.D.T]), np.hstack([o.D, o.L])
    Q = np.block([[o.K, np.zeros_like(o.D.T)], [2 * o.D, o.L]])
    derivatives = [Z_a @ omega for Z_a in np.split(Z, o.d)]
    return F @ omega, derivatives, eigen_root((Q + Q.T) / 2).T @ omega


FORMS: dict[str, Callable[[Objective, cp.Expression], Statement]] = {
    "alpha_beta": _alpha_beta,
    "omega": _omega,
}
