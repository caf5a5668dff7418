"""The paper's objective: its matrices, its value, and a proof of a solution's accuracy."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvsd.kernels import Kernel
from nvsd.losses import Loss, Squared
from nvsd.penalties import Penalty
from reference.kernels import gram
from reference.losses import Formula, formula
from reference.penalties import Terms, terms

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Solution:
    """A minimiser of J1 + τ·J2 + ν·J3, and its accuracy.

    Attributes
    ----------
    objective, loss, penalty, rkhs_norm : float
        The objective J1 + τ·J2 + ν·J3 and its parts J1, J2 and J3, all at (alpha, beta).
    alpha : (n,) array
    beta : (d, n) array
        Coefficients of k(x_i, ·) and of ∂_a k(x_i, ·); not unique if G is singular.
    derivative_norm : (d,) array
        ‖∂_a f‖ over the sample, including 1/√n.
    fitted : (n,) array
        f at the sample, with the constant or the mean of y added back if y was centred.
    accuracy : float
        The duality gap of the solver's own primal and dual variables: up to rounding, no f has an
        objective below ``objective - accuracy`` (see `Objective.lower_bound`).
    status, solver : str
    n_iter : int
    intercept : float
        What was added to f: the constant, or the mean of y.
    """

    objective: float
    loss: float
    penalty: float
    rkhs_norm: float
    alpha: Array = field(repr=False)
    beta: Array = field(repr=False)
    derivative_norm: Array
    fitted: Array = field(repr=False)
    accuracy: float
    status: str
    solver: str
    n_iter: int
    intercept: float = 0.0


@dataclass(frozen=True, eq=False)
class Objective:
    """(1/n)‖y − Kα − Dᵀβ‖² + τ·J2(Dα + Lβ) + ν·(αᵀKα + 2αᵀDᵀβ + βᵀLβ), Proposition 2.

    With another loss J1 is (1/n) Σ_i w_i ℓ(y_i, f_i + c), with a constant c if it is ``free``.
    ``y`` is the fitted target, with ``mean`` already subtracted; ω = (α, β) throughout.
    """

    y: Array
    mean: float
    features: list[str]
    terms: Terms
    nu: float
    K: Array
    D: Array
    L: Array
    loss: Formula
    weights: Array
    free: bool

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.y)

    @property
    def d(self) -> int:
        """Number of inputs."""
        return len(self.features)

    @cached_property
    def G(self) -> Array:
        """The joint Gram matrix of the n(d + 1) functions k(x_i, ·) and ∂_a k(x_i, ·)."""
        return np.block([[self.K, self.D.T], [self.D, self.L]])

    @cached_property
    def root(self) -> Array:
        """R with G = R Rᵀ, so that J3 = ‖Rᵀω‖² and θ = Rᵀω are orthonormal coordinates of f."""
        return eigen_root(self.G)

    def values(self, omega: Array) -> Array:
        """Values of f at the sample, (n,)."""
        return self.K @ omega[: self.n] + self.D.T @ omega[self.n :]

    def derivatives(self, omega: Array) -> Array:
        """Derivatives ∂_a f at the sample, (d, n)."""
        phi = self.D @ omega[: self.n] + self.L @ omega[self.n :]
        return phi.reshape(self.d, self.n)

    def penalty(self, phi: Array) -> float:
        """J2 of derivatives φ (d, n)."""
        norms = sum(w * np.linalg.norm(phi[index]) for w, index in self.terms.norms)
        return float(norms / np.sqrt(self.n) + self.terms.ridge * np.sum(phi**2) / self.n)

    def threshold(self, v: Array, step: float) -> Array:
        """The prox of step·Σ_t w_t ‖·‖/√n, the norms of J2, at v (d, n).

        One soft-thresholding (1 − step·w/(√n ‖v_t‖))_+ per term, features before groups.
        """
        v = v.copy()
        for w, index in self.terms.norms:
            norm, cut = np.linalg.norm(v[index]), step * w / np.sqrt(self.n)
            v[index] *= 1 - cut / norm if norm > cut else 0.0
        return v

    def mean_loss(self, f: Array) -> float:
        """J1 of values f (n,), the constant included."""
        return float(np.sum(self.weights * self.loss.values(self.y, f)) / self.n)

    def lower_bound(self, u: Array, tau: float, v: Array | None = None) -> float:
        """A lower bound on the minimum, from any multiplier u (d, n) of φ = Zω.

        With E = J1 + ν·J3 + τ·(the squares in J2), a quadratic ½θᵀAθ − bᵀθ + (1/n)‖y‖² in θ, and
        u in the dual ball of the norms in τ·J2, the bound is min_θ E(θ) + uᵀZθ. Any u can be used
        once it is projected into the ball (by Moreau: u minus its prox), so the bound does not
        trust the solver. With ν = 0 there is no bound of this kind.

        Other losses also need a multiplier v (n,) of s = Φθ + c. Once each v_i is in the domain of
        its conjugate and, if c is free, Σ_i v_i = 0, the bound is −J1*(v) plus the minimum of
        ν·J3 + τ·(the squares in J2) + vᵀΦθ + uᵀZθ. This does not trust the solver either.
        """
        if self.nu == 0:
            return -np.inf
        n, R, weights = self.n, self.root, self.weights
        Phi, Z = R[:n], R[n:]
        force = Z.T @ (u - self.threshold(u, tau)).ravel()
        squares = 2 * tau * self.terms.ridge / n * Z.T @ Z
        A = 2 * self.nu * np.eye(R.shape[1])
        if v is None:
            root = np.sqrt(weights)[:, None] * Phi
            A += 2 / n * root.T @ root
            slope = 2 / n * Phi.T @ (weights * self.y) - force
            constant = weights * self.y @ self.y / n
        else:
            v = self.admissible(v)
            slope = -Phi.T @ v - force
            constant = -np.sum(weights * self.loss.conjugates(self.y, n * v / weights)) / n
        return float(constant - slope @ np.linalg.solve(A + squares, slope) / 2)

    def admissible(self, v: Array) -> Array:
        """A v near this one where J1* is finite: 0 is, so that all v of one sign may shrink."""
        low, high = self.loss.domain(self.y)
        v = self.weights / self.n * np.clip(self.n * v / self.weights, low, high)
        if self.free:
            more, less = v[v > 0].sum(), -v[v < 0].sum()
            v = v * np.where(v > 0, min(1.0, less / (more or 1)), min(1.0, more / (less or 1)))
        # Rounding may have moved v out again.
        return np.clip(v, self.weights / self.n * low, self.weights / self.n * high)

    def solution(
        self,
        omega: Array,
        u: Array,
        tau: float,
        *,
        status: str,
        solver: str,
        n_iter: int,
        constant: float = 0.0,
        v: Array | None = None,
    ) -> Solution:
        """The `Solution` for ω and c, with the multipliers as witnesses of its accuracy."""
        phi = self.derivatives(omega)
        loss = self.mean_loss(self.values(omega) + constant)
        penalty = self.penalty(phi)
        rkhs_norm = float(np.sum((self.root.T @ omega) ** 2))
        objective = loss + tau * penalty + self.nu * rkhs_norm
        return Solution(
            objective=objective,
            loss=loss,
            penalty=penalty,
            rkhs_norm=rkhs_norm,
            alpha=omega[: self.n],
            beta=omega[self.n :].reshape(self.d, self.n),
            derivative_norm=np.linalg.norm(phi, axis=1) / np.sqrt(self.n),
            fitted=self.values(omega) + constant + self.mean,
            accuracy=max(objective - self.lower_bound(u, tau, v), 0.0),
            status=status,
            solver=solver,
            n_iter=n_iter,
            intercept=constant + self.mean,
        )


def objective(
    X: ArrayLike,
    y: ArrayLike,
    kernel: Kernel,
    penalty: Penalty,
    nu: float,
    center: bool,
    loss: Loss | None = None,
    sample_weight: ArrayLike | None = None,
) -> Objective:
    """Check the data and build the matrices of the objective."""
    names, stated = getattr(X, "columns", None), formula(Squared() if loss is None else loss)
    X = real_array(X, "X", ndim=2)
    y = signs(y) if stated.of_classes else real_array(y, "y", ndim=1)
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows and y has {len(y)} values; give one y for each row")
    if len(X) < 2:
        raise ValueError(f"X has {len(X)} row; at least 2 are needed")
    check_not_negative(nu, "nu")
    features = [f"x{a}" for a in range(X.shape[1])] if names is None else [str(c) for c in names]
    weights = unit_weights(sample_weight, len(y))
    free, mean = center and stated.free, 0.0
    if free and not stated.of_classes:
        mean = float(np.median(y))  # it changes c and nothing else
    elif center and not free:
        mean = float(np.average(y, weights=None if sample_weight is None else weights))
    return Objective(
        y - mean, mean, features, terms(penalty, features), nu, *gram(X, kernel),
        loss=stated, weights=weights, free=free,
    )  # fmt: skip


def signs(y: ArrayLike) -> Array:
    """−1 for the first of two labels, in their sorted order, and 1 for the second."""
    labels = np.asarray(y)
    classes = np.unique(labels)
    if labels.ndim != 1 or len(classes) != 2:
        raise ValueError(f"y has {len(classes)} labels; give a vector with exactly 2")
    return np.where(labels == classes[1], 1.0, -1.0)


def unit_weights(given: ArrayLike | None, n: int) -> Array:
    """Weights of mean 1."""
    if given is None:
        return np.ones(n)
    weights = real_array(given, "sample_weight", ndim=1)
    if len(weights) != n or not (weights > 0).all():
        raise ValueError(f"sample_weight must hold {n} positive numbers")
    return weights / weights.mean()


def eigen_root(G: Array) -> Array:
    """R with G = R Rᵀ from the eigenvectors of G, without eigenvalues that are rounding errors."""
    eigenvalues, U = np.linalg.eigh(G)
    kept = eigenvalues > len(G) * np.finfo(float).eps * eigenvalues[-1]
    return U[:, kept] * np.sqrt(eigenvalues[kept])


def real_array(values: ArrayLike, name: str, ndim: int) -> Array:
    """The values as floats; refused with one sentence if something is wrong."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} has type {array.dtype}; give real numbers only")
    if array.ndim != ndim or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}; give a non-empty {ndim}-D array")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has NaN or infinite values; remove or impute them first")
    return array.astype(float)


def check_not_negative(value: object, name: str) -> None:
    """Refuse anything but one finite number >= 0."""
    if not (isinstance(value, Real) and 0 <= value < np.inf):
        raise ValueError(f"{name} is {value!r}; it must be one finite number that is not negative")
