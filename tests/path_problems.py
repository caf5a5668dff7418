"""Small problems for the tests of the path, and the truth about them from `reference`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from math import factorial, prod

import numpy as np

import reference
from nvsd.kernels import (
    Anova,
    Gaussian,
    Kernel,
    Linear,
    Matern52,
    Polynomial,
    RationalQuadratic,
    Scaled,
    Sum,
    Warped,
)
from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty, SparseGroupLasso
from reference.objective import Objective, objective

EPS = np.finfo(float).eps

# More of some classes; one that is not here is tested with its defaults.
EXAMPLES: dict[type, list[Kernel]] = {
    Polynomial: [Polynomial(degree=3), Polynomial(degree=2, offset=0.0)],
    Gaussian: [Gaussian(width=1.5), Gaussian(width=4.0)],
    Matern52: [Matern52(width=2.0)],
    RationalQuadratic: [RationalQuadratic(alpha=1.5, width=2.0)],
    Sum: [Sum((Linear(), Gaussian(width=2.0)))],
    Anova: [Anova(order=1), Anova(Matern52(1.5), order=2)],
    Warped: [Warped(Gaussian(width=2.0))],
    Scaled: [Scaled(0.3, Gaussian(width=(4.0, 2.0, 3.0)))],
}


def concrete(base: type) -> Iterator[type]:
    for kind in base.__subclasses__():
        yield from concrete(kind)
        if not inspect.isabstract(kind) and kind.__module__.startswith("nvsd."):
            yield kind


def kernels(d: int) -> list[Kernel]:
    """At least one kernel of every class in nvsd, on d inputs."""
    found = [k for kind in concrete(Kernel) for k in EXAMPLES.get(kind) or [kind()]]
    return [kernel.restrict(np.arange(d)) for kernel in found]


def penalties(d: int) -> list[Penalty]:
    groups = ["a", "b", "a", "c", "b"][:d]
    weights = [1.0, 0.5, 2.0, 1.0, 3.0][:d]
    found = [
        Lasso(),
        Lasso(weights=weights),
        GroupLasso(groups),
        ElasticNet(mu=0.4),
        ElasticNet(mu=0.8, weights=weights),
        SparseGroupLasso(groups, rho=0.3),
    ]
    missing = set(concrete(Penalty)) - {type(penalty) for penalty in found}
    assert not missing, f"add an example of {missing} here"
    return found


def representations(kernel: Kernel) -> list[str]:
    polynomial = isinstance(kernel, Linear | Polynomial)
    return ["derivative", "factor"] + ["monomial"] * polynomial


def sample(seed: int, n: int, d: int, special: str = "plain") -> tuple[np.ndarray, np.ndarray]:
    """X and y; special says whether rows repeat ("rows") and the last column is constant."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if special in ("rows", "both"):
        X[1], X[3] = X[0], X[2]
    if special in ("column", "both"):
        X[:, -1] = 0.7
    return X, 3 + 2 * X[:, 0] + X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n)


@dataclass(frozen=True)
class Truth:
    """The minimum at one τ, from the reference.

    Attributes
    ----------
    minimum, accuracy : float
        CVXPY's objective, and its own duality gap plus what rounding can do to it.
    u : (d, n) array
        CVXPY's dual point, inside the dual ball of τJ without its squares.
    """

    minimum: float
    accuracy: float
    derivative_norm: np.ndarray
    fitted: np.ndarray
    u: np.ndarray
    objective: Objective
    tau: float

    def surely_off(self, margin: float = 0.02) -> np.ndarray:
        """Inputs whose dual point is inside its ball by a margin, so their derivative is zero."""
        # The constant tells an input whose group is inside from one with u = 0 in another group.
        outward = self.u * (1 + margin) + 1e-9 * self.tau
        return ~self.objective.threshold(outward, self.tau).any(axis=1)


class Case:
    """One problem (X, y, kernel, penalty, ν), with the truth at any τ."""

    def __init__(self, X, y, kernel: Kernel, penalty: Penalty, nu: float) -> None:
        self.X, self.y, self.kernel, self.penalty, self.nu = X, y, kernel, penalty, nu
        self.unit = float(np.var(y))

    @property
    def arguments(self) -> dict:
        return {"kernel": self.kernel, "penalty": self.penalty, "nu": self.nu}

    @cached_property
    def _reference(self) -> reference.Problem:
        return reference.Problem(self.X, self.y, **self.arguments)

    @cached_property
    def objective(self) -> Objective:
        return objective(self.X, self.y, self.kernel, self.penalty, self.nu, center=True)

    def truth(self, tau: float) -> Truth:
        s, o = self._reference.solve(tau), self.objective
        u = self._reference.unit * self._reference.link.dual_value
        u = u - o.threshold(u, tau)
        accuracy = s.accuracy + self._rounding(s, u, tau)
        return Truth(s.objective, accuracy, s.derivative_norm, s.fitted, u, o, tau)

    def _rounding(self, s: reference.Solution, u: np.ndarray, tau: float) -> float:
        """How much the minimum moves when G does: ν ωᵀ δG ω, with the ω of stationarity.

        δG is what the reference cuts off G (eigenvalues near rounding) and the rounding of G
        itself, of which no program can know better.
        """
        o = self.objective
        if o.nu == 0:
            return 0.0
        omega_s = np.append(s.alpha, s.beta)
        beta = -(u + 2 * tau * o.terms.ridge / o.n * o.derivatives(omega_s)) / (2 * o.nu)
        omega = np.append((o.y - s.fitted + o.mean) / (o.n * o.nu), beta)
        cut = o.nu * omega @ (o.G - o.root @ o.root.T) @ omega
        return 2 * abs(cut) + 2 * o.nu * EPS * np.linalg.norm(o.G, 2) * omega @ omega

    @cached_property
    def _ridge(self) -> np.ndarray:
        """The derivatives at τ = 0, where (K + nνI)α = y and β = 0."""
        o = self.objective
        alpha = np.linalg.solve(o.K + o.n * o.nu * np.eye(o.n), o.y)
        return (o.D @ alpha).reshape(o.d, o.n)

    @property
    def ridge_norm(self) -> float:
        """The largest derivative norm at τ = 0."""
        return float(np.linalg.norm(self._ridge, axis=1).max() / np.sqrt(self.objective.n))

    @property
    def tau_unit(self) -> float:
        """Where τJ at kernel ridge is as large as the objective at f = 0: shrinkage is strong."""
        return self.unit / self.objective.penalty(self._ridge)


class Twin:
    """The problem in dense matrices: Φ = R[:n], Z = R[n:]/√n, A = 2νI + (2/n)ΦᵀΦ, b = (2/n)Φᵀy."""

    def __init__(self, X, y, kernel: Kernel, nu: float) -> None:
        self.o = o = objective(X, y, kernel, Lasso(), nu, center=True)
        self.Phi, self.Z = o.root[: o.n], o.root[o.n :] / np.sqrt(o.n)
        self.A = 2 * nu * np.eye(o.root.shape[1]) + 2 / o.n * self.Phi.T @ self.Phi
        self.b = 2 / o.n * self.Phi.T @ o.y

    def s1(self, v: np.ndarray, kappa: float) -> np.ndarray:
        """argmin E(θ) + κ/2 |Zθ − v|²."""
        return np.linalg.solve(self.A + kappa * self.Z.T @ self.Z, self.b + kappa * self.Z.T @ v)

    def at(self, u: np.ndarray) -> np.ndarray:
        """θ(u) = A⁻¹(b − Zᵀu)."""
        return np.linalg.solve(self.A, self.b - self.Z.T @ u)


def dense_parts(case: Case, found: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Loss, penalty and squared norm of f, from the definition and dense matrices.

    f is given by alpha and beta or, where these are missing, by theta; ``rounding`` bounds what
    the evaluation of the objective can be off by.
    """
    o = case.objective
    if "alpha" in found:
        omega = np.append(found["alpha"], found["beta"])
        f, phi = o.values(omega), o.derivatives(omega)
        norm = float(omega @ o.G @ omega)
        size = float(np.abs(omega) @ np.abs(o.G) @ np.abs(omega))
        spread = (np.abs(o.G) @ np.abs(omega)).max()
    else:
        theta = np.asarray(found["theta"])
        f, phi = monomials_by_loops(case, theta)
        norm = size = float(theta @ theta)
        spread = np.abs(theta).sum()
    loss, J = float(np.mean((o.y - f) ** 2)), o.penalty(phi)
    error = EPS * len(o.G) * spread  # of each value and derivative
    rounding = 2 * error * (np.sqrt(loss) + error) + EPS * len(o.G) * o.nu * size
    return {"loss": loss, "penalty": J, "rkhs_norm": norm, "error": error, "rounding": rounding}


def monomials_by_loops(case: Case, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f (n,) and its derivatives (d, n) for θ on the monomials of (x·x' + c)^p.

    The monomials are in the order of their degree, and of the sorted lists of their inputs.
    """
    X, (n, d) = case.X, case.X.shape
    p, c = getattr(case.kernel, "degree", 1), getattr(case.kernel, "offset", 0.0)
    sizes = range(p + 1) if c else [p]
    lists = [m for k in sizes for m in combinations_with_replacement(range(d), k)]
    f, phi = np.zeros(n), np.zeros((d, n))
    for coefficient, inputs in zip(theta, lists, strict=True):
        k = [inputs.count(a) for a in range(d)]
        ways = factorial(p) / factorial(p - len(inputs)) / prod(map(factorial, k))
        weight = coefficient * np.sqrt(ways * c ** (p - len(inputs)))
        f += weight * np.prod(X**k, axis=1)
        for a in set(inputs):
            lower = [e - (b == a) for b, e in enumerate(k)]
            phi[a] += weight * k[a] * np.prod(X**lower, axis=1)
    return f, phi
