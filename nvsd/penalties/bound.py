"""The mathematics of the penalties: value, prox, gauge, conjugate, feasible dual points.

Arrays have the points first: derivatives z and dual points u are (k, d, rows), one row per τ, and
their block norms R are (k, d). A single point may leave out the first axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nvsd.tolerances import DUAL_BALL, SUBNORMAL_SQUARES

Array = NDArray[np.float64]


def block_norms(Z: Array) -> Array:
    """Euclidean norms over the last axis: (k, d, rows) -> (k, d), or (d, rows) -> (d,).

    Does not overflow or underflow: blocks whose sum of squares would do so are scaled first.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.penalties import block_norms
    >>> block_norms(np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([5., 1.])
    """
    squares = np.einsum("...m,...m->...", Z, Z)
    norms: Array = np.sqrt(squares)
    unsafe = ~((squares > SUBNORMAL_SQUARES) & (squares < np.inf))
    if unsafe.any():
        blocks = Z[unsafe]
        scale = np.abs(blocks).max(axis=-1, initial=0.0)
        unit = _ratio(blocks, np.broadcast_to(scale[:, None], blocks.shape))
        norms[unsafe] = scale * np.sqrt(np.einsum("am,am->a", unit, unit))
    return norms


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Divide with 0/0 = 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=numerator != 0)


def _column(number: float | Array) -> Array:
    """One number per point, shaped to go with one column per feature or group."""
    array = np.asarray(number, dtype=float)
    return array[:, None] if array.ndim == 1 else array


@dataclass(frozen=True, eq=False)
class BoundPenalty:
    """J(z) = sum_a v_a |z_a| + sum_g w_g |z_g| + c |z|^2, with the groups g a partition of 1..d.

    The fields are v (d,), w (G,), the group 0..G-1 of each feature (no group is empty), c, and
    the names of the groups; v, w, c >= 0. `value`, `shrinkage`, `gauge` and `conjugate` take block
    norms R of shape (k, d), or (d,) for a single point; `prox` and `feasible` take the blocks
    themselves. `step` and `tau` are one number, or one per point; `step` may also be (k, d), one
    number per feature which is the same within each of the `parts`.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.penalties import Lasso
    >>> bound = Lasso().bind(2)
    >>> Z = np.array([[3.0, 4.0], [0.3, 0.4]])  # one row for each input
    >>> bound.prox(Z, 1.0)
    array([[2.4, 3.2],
           [0. , 0. ]])
    """

    feature_weights: Array
    group_weights: Array
    labels: NDArray[np.intp]
    ridge: float
    group_names: tuple[str, ...]

    def value(self, R: Array) -> Array:
        """J, one number per point."""
        with np.errstate(over="ignore"):
            squares = (self.ridge * R * R).sum(axis=-1) if self.ridge else 0.0
            norms = R @ self.feature_weights
            if self._has_groups:
                norms = norms + self._group_norms(R) @ self.group_weights
            return np.asarray(norms + squares)

    def shrinkage(self, R: Array, step: float | Array) -> Array:
        """Factors s, shaped like R, with prox_{step J}(z)_a = s_a z_a.

        Notes
        -----
        Soft-threshold each feature, then each group, then divide by 1 + 2 step c: the paper's
        Proposition 4 for the lasso, the group lasso and the elastic net, and their composition for
        the sparse group lasso. A norm below its threshold gives exactly 0.
        """
        v, w, step = self.feature_weights, self.group_weights, _column(step)
        of_groups = self._reduce(np.maximum.reduceat, step) if step.shape[1:] > (1,) else step
        with np.errstate(over="ignore"):
            kept = np.maximum(R - v * step, 0) if self._has_features else R
            factors = _ratio(kept, R)
            if self._has_groups:
                norms = self._group_norms(kept)
                factors *= _ratio(np.maximum(norms - w * of_groups, 0), norms)[..., self.labels]
            return factors / (1 + 2 * self.ridge * step)

    def prox(self, Z: Array, step: float | Array) -> Array:
        """argmin_x step J(x) + 1/2 |x - z|^2 for each point of Z, (k, d, rows) or (d, rows)."""
        return self.shrinkage(block_norms(Z), step)[..., None] * Z

    def conjugate(self, R: Array, tau: float | Array) -> Array:
        """(tau J)*(u) = sup_z <u, z> - tau J(z), where R are the block norms of u.

        Notes
        -----
        c = 0: 0 where gauge(u) <= tau, up to 1e-12 of tau for rounding, and inf elsewhere.
        c > 0: |u - ball|^2 / (4 tau c), where |u - ball| is the distance to the dual ball of tau N
        and N is J without c. It does not use `shrinkage`, because certificates check that too.
        """
        if self.ridge == 0:
            return np.where(self.gauge(R, tau) <= tau * (1 + DUAL_BALL), 0.0, np.inf)
        v, w, tau = self.feature_weights, self.group_weights, _column(tau)
        with np.errstate(divide="ignore", over="ignore"):
            norms = self._group_norms(np.maximum(R - v * tau, 0))
            excess = np.maximum(norms - w * tau, 0)
            scaled = _ratio(excess, np.broadcast_to(2 * np.sqrt(self.ridge * tau), excess.shape))
            return np.asarray((scaled * scaled).sum(axis=-1))

    def gauge(self, R: Array, least: float | Array = 0.0) -> Array:
        """Smallest t >= least with u in t times the dual unit ball of J without c; R = norms of u.

        Notes
        -----
        In each group t is the root of |(R_a - v_a t)_+| = w_g t. The difference is convex and
        decreasing, so Newton's method climbs to the root from any t below it, here from
        max_a R_a / (v_a + w_g), or from `least`: where u is inside that ball, one look is enough.
        With w = 0 or v = 0 the root is known. A nonzero block without weight gives inf.
        """
        v, w = self.feature_weights, self.group_weights
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if not self._has_groups:
                found = _ratio(R, np.broadcast_to(v, R.shape)).max(axis=-1)
                return np.asarray(np.maximum(found, least))
            if not self._has_features:
                norms = self._group_norms(R)
                found = _ratio(norms, np.broadcast_to(w, norms.shape)).max(axis=-1)
                return np.asarray(np.maximum(found, least))
            both = np.broadcast_to(v + w[self.labels], R.shape)
            t = np.maximum(self._reduce(np.maximum.reduceat, _ratio(R, both)), _column(least))
            while True:
                excess = np.maximum(R - v * t[..., self.labels], 0)
                norms = self._group_norms(excess)
                shares = v * _ratio(excess, norms[..., self.labels])
                slope = w + self._reduce(np.add.reduceat, shares)
                residual = norms - w * t
                higher = np.where(residual > 0, t + residual / slope, t)
                if not (higher > t).any():
                    return np.asarray(t.max(axis=-1))
                t = higher

    def slack(self, R: Array, tau: float | Array) -> Array:
        """s, shaped like R, with tau J(z) + (tau J)*(u) - <u, z> >= s_a |z_a| for every z.

        Notes
        -----
        s_a = (v_a tau - R_a)_+ + (w_g tau - |(R_b - v_b tau)_+|_{b in g})_+: by how much u_a is
        inside the ball of its feature, and its group inside that of the group. All blocks of the
        sum are non-negative, so one of them is at most the whole.
        """
        v, w, tau = self.feature_weights, self.group_weights, _column(tau)
        of_groups = w * tau - self._group_norms(np.maximum(R - v * tau, 0))
        slack = np.maximum(v * tau - R, 0) + np.maximum(of_groups, 0)[..., self.labels]
        return np.asarray(np.maximum(slack - DUAL_BALL * tau * self.total_weights, 0))

    def inside(self, R: Array, tau: float | Array) -> NDArray[np.bool_]:
        """Where R_a, or the excess of its group, is surely less than tau times its weight.

        If R are the norms of a subgradient u of tau J at z, or more than these, then z_a = 0 there.
        """
        return np.asarray(self.slack(R, tau) > 0)

    def feasible(self, U: Array, tau: Array) -> Array:
        """Scale u by a factor just below 1 if rounding has moved it out of the domain of (tau J)*.

        U is (k, d, rows) and tau (k,). With c > 0 every u is in the domain.
        """
        if self.ridge > 0:
            return U
        unpenalised = self.total_weights == 0
        if unpenalised.any():
            U = np.where(unpenalised[:, None], 0.0, U)
        gauge = self.gauge(block_norms(U), tau)
        # At τ = 0 only u = 0 is in the domain.
        ratio = np.divide(tau, gauge, out=np.zeros_like(gauge), where=gauge > 0)
        return np.asarray(U * ratio[:, None, None])

    @property
    def parts(self) -> NDArray[np.intp]:
        """The part of each feature: S2 acts on every part alone, with a step of its own.

        A subclass with another `shrinkage` is one part, unless it says more.
        """
        if type(self).shrinkage is not BoundPenalty.shrinkage:
            return np.zeros_like(self.labels)
        return self.labels if self._has_groups else np.arange(len(self.labels))

    @property
    def weights_alone(self) -> Array | None:
        """The weight of each input, if no group of several inputs has one; else None."""
        alone = not self._has_groups or len(self.group_weights) == len(self.feature_weights)
        return self.total_weights if alone else None

    @cached_property
    def total_weights(self) -> Array:
        """v_a + w_g of each feature."""
        return self.feature_weights + self.group_weights[self.labels]

    @cached_property
    def _has_features(self) -> bool:
        """Whether some v_a is not 0."""
        return bool(self.feature_weights.any())

    @cached_property
    def _has_groups(self) -> bool:
        """Whether some w_g is not 0."""
        return bool(self.group_weights.any())

    def without_ridge(self) -> BoundPenalty:
        """The same penalty with c = 0."""
        return replace(self, ridge=0.0)

    def _group_norms(self, R: Array) -> Array:
        """Norms over each group, scaled by its largest entry so that the squares stay in range."""
        largest = self._reduce(np.maximum.reduceat, R)
        unit = _ratio(R, largest[..., self.labels])
        return largest * np.sqrt(self._reduce(np.add.reduceat, unit * unit))

    def _reduce(self, reduceat: Callable[..., Array], R: Array) -> Array:
        """One column per group from one column per feature."""
        order, starts = self._layout
        return reduceat(R if order is None else R[..., order], starts, axis=-1)

    @cached_property
    def _layout(self) -> tuple[NDArray[np.intp] | None, NDArray[np.intp]]:
        """The features sorted by group, None if they are already, and where each group starts."""
        order = np.argsort(self.labels, kind="stable")
        starts = np.searchsorted(self.labels[order], np.arange(self.group_weights.size))
        return (order if (np.diff(order) < 0).any() else None), starts
