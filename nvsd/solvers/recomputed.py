"""The gap of returned coefficients, computed again from nothing but products with the kernel.

    f = Σ_j α_j k(x_j, ·) + Σ_aj β_aj ∂_a k(x_j, ·)

No factorisation and no matrix of the solver goes in; bounds on the errors of the products come out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvsd.kernels import Kernel, blocks
from nvsd.kernels.blocks import CHUNK
from nvsd.linalg import cholesky, cholesky_solve
from nvsd.penalties import BoundPenalty, block_norms
from nvsd.representations.base import Problem
from nvsd.solvers.points import Points
from nvsd.tolerances import EPS, TINY

Array = NDArray[np.float64]

LARGEST_SUMS = 64 * CHUNK  # entries of |G| that are summed for a bound; above, its diagonal is used


class Sections(NamedTuple):
    """Functions with kernel sections at the samples X: α (k, n) and β (k, d, n)."""

    kernel: Kernel
    X: Array
    alpha: Array
    beta: Array

    def evaluate(self) -> tuple[Array, Array, Array]:
        """f at the samples (k, n), its derivatives over √n (k, d, n) and ‖f‖² (k,)."""
        f, z = blocks.rows_first(self.kernel, self.X, self.X, self.alpha, self.beta)
        norm = np.einsum("ki,ki->k", self.alpha, f) + np.einsum("kai,kai->k", self.beta, z)
        return f, z / np.sqrt(len(self.X)), np.maximum(norm, 0.0)

    def values(self) -> Array:
        """f at the samples (k, n)."""
        values, _ = blocks.rows_first(
            self.kernel, self.X, self.X, self.alpha, self.beta, gradient=False
        )
        return values

    def at(self, rows: NDArray[np.intp]) -> Sections:
        """Some of the functions."""
        return self._replace(alpha=self.alpha[rows], beta=self.beta[rows])

    def with_others(self, others: Sections) -> Sections:
        """These functions, and others after them."""
        alpha, beta = (np.concatenate(pair) for pair in zip(self[2:], others[2:], strict=True))
        return self._replace(alpha=alpha, beta=beta)

    def rounding(self, independent: bool = False) -> tuple[Array, Array]:
        """Errors of f (k, n) and its derivatives (k, d, n), from sums of all |terms|.

        The sums are those of squares if the errors of the terms are taken to be independent.
        """
        if self.X.size**2 > LARGEST_SUMS:
            return self.rough_rounding(independent)
        X, kernel, (n, d) = self.X, self.kernel, self.X.shape
        size = np.square if independent else np.abs
        alpha, beta = size(self.alpha), size(self.beta).reshape(len(self.alpha), -1)
        f, z = np.empty_like(alpha), np.empty((len(alpha), d, n))
        step = max(1, CHUNK // (n * (d + 1) ** 2))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            some = X[rows]
            D, across = size(blocks.D(kernel, some, X)), size(blocks.D(kernel, X, some))
            f[:, rows] = alpha @ size(blocks.K(kernel, X, some)) + beta @ across
            slopes = D @ alpha.T + size(blocks.L(kernel, some, X)) @ beta.T
            z[:, :, rows] = np.moveaxis(slopes.reshape(d, len(some), -1), -1, 0)
        return self._errors(f, independent), self._errors(z, independent)

    def rough_rounding(self, independent: bool = False) -> tuple[Array, Array]:
        """The same for any sample, (k, 1) and (k, d, 1): no entry of G exceeds its diagonal."""
        size = np.square if independent else np.abs
        value, slopes = (size(each) for each in blocks.largest_diagonal(self.kernel, self.X))
        reach = value * size(self.alpha).sum(axis=1) + size(self.beta).sum(axis=2) @ slopes
        f, z = (reach * value)[:, None], (reach[:, None] * slopes)[:, :, None]
        return self._errors(f, independent), self._errors(z, independent)

    def _errors(self, sums: Array, independent: bool) -> Array:
        """EPS times sums of |terms|, or the root of sums of squares times the roundings of each.

        Sums of |terms| are far above what happens; the roots are not.
        """
        each = self.kernel.roundings * np.sqrt(sums) if independent else sums
        return np.asarray(EPS * each)


def gap_rounding(
    points: Points, problem: Problem, penalty: BoundPenalty, f_error: Array, z_error: Array
) -> Array:
    """What such errors of f and of its derivatives can change a gap by."""
    error = fenchel_rounding(points, problem, penalty, z_error)
    if not problem.quadratic:
        return np.asarray(error + 2.0 * (np.abs(points.u[:, 0]) * f_error).sum(axis=1))
    # The gradient's coefficients are off by c/n times the error of f: in the norm of A⁻¹ at most
    # √(c/2) times its root mean square.
    off = np.sqrt(0.5 * problem.representation.loss.curvature * np.mean(f_error**2, axis=1))
    return np.asarray(error + off * (off + 2.0 * np.sqrt(points.gap)))


def objective_rounding(
    points: Points,
    problem: Problem,
    penalty: BoundPenalty,
    sections: Sections,
    fitted: Array,
    f_error: Array,
    z_error: Array,
) -> Array:
    """What such errors of f and of its derivatives can change the parts of its objective by.

    With loss c/2 r² the slope of the mean loss is √(2c) times its root. The slope at f = 0 is taken
    for all f: where the loss is small, values of f may still not lose more digits. Nor may
    derivatives, beside the largest of kernel ridge.
    """
    of_norm = (np.abs(sections.alpha) * f_error).sum(axis=1)
    of_norm = of_norm + (np.abs(sections.beta) * z_error).sum(axis=(1, 2))
    error = fenchel_rounding(points, problem, penalty, z_error)
    largest = block_norms(problem.inputs(problem.ridge()[1])).max()
    digits = np.sqrt(np.mean(z_error**2, axis=2)).max(axis=1) / (largest + TINY)
    error = error + problem.representation.nu * of_norm + problem.scale * digits
    if problem.term is not None:
        return np.asarray(error + problem.term.rounding(fitted, f_error))
    off = np.sqrt(0.5 * problem.representation.loss.curvature * np.mean(f_error**2, axis=1))
    return np.asarray(error + off * (off + 2.0 * np.sqrt(problem.scale)))


def fenchel_rounding(
    points: Points, problem: Problem, penalty: BoundPenalty, z_error: Array
) -> Array:
    """What errors of z, in the scale of derivatives, change the terms with the penalty by."""
    d, n = problem.representation.shape
    sizes = block_norms(problem.inputs(points.u))
    steepness = points.tau[:, None] * penalty.value(np.eye(d)) + sizes
    errors = block_norms(np.broadcast_to(z_error, (*z_error.shape[:2], n))) / np.sqrt(n)
    return np.asarray(np.einsum("ka,ka->k", steepness, errors))


def quadratic_gap(
    points: Points, problem: Problem, penalty: BoundPenalty, sections: Sections, f: Array, z: Array
) -> tuple[Array, Array]:
    """The gap of the coefficients of f with derivatives z, and a bound on its error.

    Let g be the gradient of E(f) + uᵀz at f, a function of the same kind. The gap is

        τJ(z) + (τJ)*(u) − uᵀz  +  ½‖g‖² in the norm of A⁻¹,

    and 2ν‖g‖² in that norm equals ‖g − Σ_i a_i k(x_i, ·)‖² + nν‖a‖² for the best a and is below it
    for any other a. No term is a difference of large, nearly equal numbers.
    """
    y, rep, u = problem.y, problem.representation, points.u
    assert y is not None
    n, nu, c, shift = rep.n, rep.nu, rep.loss.curvature, rep.loss.shift(rep.n, rep.nu)
    fenchel = problem.fenchel_gap(penalty, points.tau, z, u)
    values = -c / n * (y - f - shift * sections.alpha)
    slopes = 2.0 * nu * sections.beta + u / np.sqrt(n)
    gradient = sections._replace(alpha=values, beta=slopes)
    distance, rest = _distance(gradient, shift)
    (f_error, z_error), more = _roundings(sections, rest)
    more_f = np.sqrt(0.5 * c * np.mean(f_error**2, axis=1))
    distance = (np.sqrt(distance / (4.0 * nu)) + more_f) ** 2
    error = fenchel_rounding(points, problem, penalty, z_error)
    return fenchel + distance, error + more / (4.0 * nu)


def _distance(g: Sections, shift: float) -> tuple[Array, Sections]:
    """min over a of ‖r‖² + shift ‖a‖² with r = g − Σ_i a_i k(x_i, ·), and r at the best a."""
    K = blocks.K(g.kernel, g.X)
    K[np.diag_indices(len(K))] += shift
    a = cholesky_solve(cholesky(K), g.values())
    rest = g._replace(alpha=g.alpha - a)
    return rest.evaluate()[2] + shift * np.einsum("ki,ki->k", a, a), rest


def _roundings(f: Sections, g: Sections) -> tuple[tuple[Array, Array], Array]:
    """Errors of each f and its derivatives, and of ‖g‖², with every |entry of G| computed once."""
    k, of_both = len(f.alpha), f.with_others(g).rounding()
    f_error, z_error = (each[k:] for each in of_both)
    of_beta = (np.abs(g.beta) * z_error).sum(axis=(1, 2))
    of_norm = (np.abs(g.alpha) * f_error).sum(axis=1) + of_beta
    return (of_both[0][:k], of_both[1][:k]), np.asarray(of_norm)


def split_gap(
    points: Points, problem: Problem, penalty: BoundPenalty, sections: Sections, Z: Array
) -> Array:
    """The gap of the coefficients where S2 takes the loss; Z holds f and its derivatives."""
    terms = problem.fenchel_gap(penalty, points.tau, Z, points.u)
    return terms + problem.representation.nu * _off(points, problem, sections).evaluate()[2]


def split_rounding(
    points: Points, problem: Problem, penalty: BoundPenalty, sections: Sections
) -> Array:
    """A bound on the error of that gap.

    Each value of f, and each derivative, changes the first two terms by at most twice its slope.
    """
    errors, of_norm = _roundings(sections, _off(points, problem, sections))
    rounding = gap_rounding(points, problem, penalty, *errors)
    return rounding + problem.representation.nu * of_norm


def _off(points: Points, problem: Problem, sections: Sections) -> Sections:
    """f minus that of the dual points."""
    nu, root_n, u = problem.representation.nu, np.sqrt(len(sections.X)), points.u
    return sections._replace(
        alpha=sections.alpha + u[:, 0] / (2.0 * nu),
        beta=sections.beta + problem.inputs(u) / (2.0 * nu * root_n),
    )
