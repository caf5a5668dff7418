"""ANOVA kernels: sums of products of one kernel per unit.

    k(x, x') = Σ_{s=1..q} e_s(z_1, …, z_U),     z_u = η_u κ_u(x, x'),

with e_s the elementary symmetric polynomials: order q = 1 is additive, q = 2 has all pairs. With
S_m = 1 + e_1 + … + e_m and "−u" for "without unit u", for inputs a of u and b of v ≠ u

    ∂_a k = η_u ∂_aκ_u S_{q−1}(−u)         ∂_a∂'_b k = η_u η_v ∂_aκ_u ∂'_bκ_v S_{q−2}(−u, −v)

and ∂_a∂'_b k = η_u ∂_a∂'_bκ_u S_{q−1}(−u) for two inputs of one unit. Polynomials without a unit
follow from e_s(−u) = e_s − z_u e_{s−1}(−u), so everything takes O(n² d q).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nvsd.data.checks import check_points, is_number
from nvsd.kernels.anova_products import AnovaProducts
from nvsd.kernels.base import Kernel
from nvsd.kernels.blocks import Array, Block
from nvsd.kernels.isotropic import Gaussian
from nvsd.kernels.products import Products
from nvsd.kernels.symmetric import Polynomials, elementary, without, without_one
from nvsd.kernels.units import Parts, Unit

LARGEST_ORDER = 4
BASE = Gaussian(1.0)
Known = tuple[float, Unit, Parts]


@dataclass(frozen=True)
class Anova(Kernel):
    """k = Σ_{s=1..order} e_s(η_1 κ_1, …, η_U κ_U), one κ per unit, orthogonal to constants.

    It is made for standardised inputs: κ is orthogonal to constants, and has mean diagonal 1, under
    the standard normal law.

    Parameters
    ----------
    base : Kernel
        For one input: `Gaussian(1.0)`, `Matern52(1.0)`, ``Gaussian(1.0) + 0.5 * Linear()``, …. A
        width that is not given is 1, the standard deviation of standardised inputs.
    order : int
        Largest number of units that interact, 1 to 4.
    weights : sequence of float, optional
        η ≥ 0, one per unit; all 1 by default. A unit of weight 0 is not part of the kernel.
    units : sequence, optional
        One label per input; inputs with the same label form a unit. By default each input is one.
    levels : sequence of int, optional
        Number of levels of each input that is a category, coded 0, 1, …; 0 for other inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from nvsd.kernels import Anova, Gaussian
    >>> kernel = Anova(Gaussian(1.0), order=2)
    >>> kernel.K(np.array([[0.0, 0.0], [1.0, 0.0]])).round(2)
    array([[0.81, 0.11],
           [0.11, 1.99]])
    """

    base: Kernel = BASE
    order: int = 2
    weights: tuple[float, ...] | None = None
    units: tuple[str, ...] | None = None
    levels: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.base, Kernel):
            raise ValueError(f"base = {self.base!r} is not a kernel; give one of nvsd.kernels.")
        if np.ndim(getattr(self.base, "width", 1.0)):
            raise ValueError(f"base = {self.base!r} has several widths; give a single width.")
        object.__setattr__(self, "base", self.base.filled(1.0))
        if not is_number(self.order, Integral) or not 1 <= self.order <= LARGEST_ORDER:
            raise ValueError(f"order = {self.order!r} is not allowed; give 1 to {LARGEST_ORDER}.")
        object.__setattr__(self, "order", int(self.order))
        if self.weights is not None:
            object.__setattr__(self, "weights", _weights(self.weights))
        if self.units is not None:
            object.__setattr__(self, "units", tuple(str(label) for label in self.units))
        if self.levels is not None:
            object.__setattr__(self, "levels", _levels(self.levels, self.units))

    def _parts(self, d: int) -> list[tuple[float, Unit]]:
        """Weight and inputs of every unit with a positive weight."""
        labels = tuple(map(str, range(d))) if self.units is None else self.units
        if len(labels) != d or (self.levels is not None and len(self.levels) != d):
            raise ValueError(f"units or levels do not fit {d} inputs; give one for each input.")
        names = list(dict.fromkeys(labels))
        weights = (1.0,) * len(names) if self.weights is None else self.weights
        if len(weights) != len(names):
            raise ValueError(
                f"there are {len(weights)} weights for {len(names)} units; give one each."
            )
        levels = (0,) * d if self.levels is None else self.levels
        found = []
        for weight, name in zip(weights, names, strict=True):
            inputs = tuple(a for a, label in enumerate(labels) if label == name)
            if weight > 0:
                found.append((weight, Unit(inputs, levels[inputs[0]])))
        return found

    def _accumulate(self, c: float, X: Array, Y: Array, K: Block, D: Block, L: Block) -> None:
        q, terms, shape = self.order, self._parts(X.shape[1]), (len(X), len(Y))
        derivatives = D is not None or L is not None
        known = self._known(terms, X, Y) if derivatives else []
        if K is not None or derivatives:
            e = elementary(self._values(terms, known, X, Y), q, shape)
        if K is not None:
            K += c * sum(e[1:], np.zeros(shape))
        for i, (eta, unit, parts) in enumerate(known):
            rest = without(e, eta * parts.value)
            weight = c * eta * sum(rest[:q])
            if D is not None:
                for a, slope in zip(unit.inputs, parts.left, strict=True):
                    D[a] += weight * slope
            if L is not None:
                for a, row in zip(unit.inputs, parts.mixed, strict=True):
                    for b, bend in zip(unit.inputs, row, strict=True):
                        L[a, :, b] += weight * bend
                # With order 1 units do not interact, so L is block-diagonal.
                for other in known[i + 1 :] if q > 1 else ():
                    self._cross(c, (eta, unit, parts), other, rest, L)

    def _known(self, terms: list[tuple[float, Unit]], X: Array, Y: Array) -> list[Known]:
        return [(eta, unit, unit.parts(self.base, X, Y, True)) for eta, unit in terms]

    def _values(
        self, terms: list[tuple[float, Unit]], known: list[Known], X: Array, Y: Array
    ) -> Iterator[Array]:
        """z_u of every unit, computed one at a time if nothing else is needed."""
        if known:
            yield from (eta * parts.value for eta, _, parts in known)
        else:
            for eta, unit in terms:
                yield eta * unit.parts(self.base, X, Y, False).value

    def _cross(self, c: float, one: Known, other: Known, rest: Polynomials, L: Array) -> None:
        """The blocks of L between the inputs of two units, in both orders."""
        (eta_u, u, p), (eta_v, v, r) = one, other
        weight = c * eta_u * eta_v * sum(without(rest, eta_v * r.value)[: self.order - 1])
        for i, a in enumerate(u.inputs):
            for j, b in enumerate(v.inputs):
                L[a, :, b] += weight * (p.left[i] * r.right[j])
                L[b, :, a] += weight * (r.left[j] * p.right[i])

    def _evaluate(
        self, X_new: Array, X: Array, alpha: Array, beta: Block, gradient: bool
    ) -> tuple[Array, Array]:
        (m, d), k, q = X_new.shape, alpha.shape[1], self.order
        terms, shape = self._parts(d), (m, len(X))
        f, grad = np.zeros((m, k)), np.zeros((d if gradient else 0, m, k))
        derivatives = gradient or beta is not None
        known = self._known(terms, X_new, X) if derivatives else []
        e = elementary(self._values(terms, known, X_new, X), q, shape)
        f += sum(e[1:], np.zeros(shape)) @ alpha
        if not derivatives:
            return f, grad
        for column in range(k):
            b = None if beta is None else beta[:, :, column]
            along = [_along(eta, unit, parts, b) for eta, unit, parts in known]
            Q = self._directions(e, known, along, f[:, column]) if b is not None else None
            for (eta, unit, parts), B in zip(known, along, strict=True) if gradient else ():
                rest = without(e, eta * parts.value)
                inner = sum(rest[:q])
                W = inner * alpha[:, column]
                if Q is not None and B is not None:
                    W = W + sum(without_one(Q, B, rest, eta * parts.value)[: q - 1])
                for i, a in enumerate(unit.inputs):
                    slope = W * parts.left[i]
                    if b is not None:
                        for j, other in enumerate(unit.inputs):
                            slope = slope + inner * (parts.mixed[i][j] * b[other])
                    grad[a, :, column] += eta * slope.sum(axis=1)
        return f, grad

    def products(self, X: Array, factor: float = 1.0) -> Products:
        """By evaluation of f."""
        return AnovaProducts(self, X, factor, self.base, self.order, self._parts(X.shape[1]))

    def _directions(
        self, e: Polynomials, known: list[Known], along: list[Any], f: Array
    ) -> Polynomials:
        """Q_s = Σ_u B_u e_s(−u), with B_u the derivative of z_u along β; f gains Σ_s Q_s."""
        Q = [np.zeros_like(e[0]) for _ in range(self.order)]
        for (eta, _, parts), B in zip(known, along, strict=True):
            for s, part in enumerate(without(e, eta * parts.value)[: self.order]):
                Q[s] += B * part
        f += sum(Q).sum(axis=1)  # type: ignore[union-attr]
        return Q

    def components(
        self, X_new: ArrayLike, X: ArrayLike, alpha: ArrayLike, sets: Sequence[Sequence[int]]
    ) -> Array:
        """Main effects and interactions of f = Σ_j α_j k(x_j, ·), one row for each set of units.

        Parameters
        ----------
        X_new : (m, d) array
            Where to evaluate.
        X : (n, d) array
            The centres x_j.
        alpha : (n,) array
        sets : sequence of sequences of int
            Indices of units: (2,) is a main effect, (0, 3) an interaction of two units.

        Returns
        -------
        (sets, m) array
            They sum to f over all sets of 1 to `order` units, and each has mean zero in every one
            of its units, under the standard normal law.
        """
        X_new, X = check_points(X_new), check_points(X)
        units = self._all_units(X.shape[1])
        wanted = {u for one in sets for u in one}
        z = {u: units[u][0] * units[u][1].parts(self.base, X_new, X, False).value for u in wanted}
        rows = [np.prod([z[u] for u in one], axis=0) @ np.asarray(alpha, float) for one in sets]
        return np.array(rows).reshape(len(sets), len(X_new))

    def total_effects(self, X: Array, alpha: Array) -> Array:
        """f minus f without unit u at the samples, (U, n), for f = Σ_j α_j k(x_j, ·).

        X is not checked: it must be float64 and finite, and have the kernel's inputs.
        """
        units, q = self._all_units(X.shape[1]), self.order
        terms = [(eta, unit) for eta, unit in units if eta > 0]
        e = elementary(self._values(terms, [], X, X), q, (len(X), len(X)))
        effects = np.zeros((len(units), len(X)))
        for row, (eta, unit) in zip(effects, units, strict=True):
            if eta > 0:
                z = eta * unit.parts(self.base, X, X, False).value
                row[:] = (z * sum(without(e, z)[:q])) @ alpha
        return effects

    def factors(self, X: Array, Y: Array) -> tuple[list[Array], int] | None:
        """Z_a of each input and the order, unless a unit has several inputs."""
        units = self._all_units(X.shape[1])
        if len(units) < X.shape[1]:
            return None
        return [eta * u.parts(self.base, X, Y, False).value for eta, u in units], self.order

    def _all_units(self, d: int) -> list[tuple[float, Unit]]:
        """All units, including those of weight 0."""
        ones = None if self.weights is None else (1.0,) * len(self.weights)
        units = [unit for _, unit in replace(self, weights=ones)._parts(d)]
        weights = (1.0,) * len(units) if self.weights is None else self.weights
        return list(zip(weights, units, strict=True))

    def restrict(self, features: ArrayLike) -> Kernel:
        """Return the kernel on a subset of the inputs: indices, or a boolean mask."""
        if self.weights is None and self.units is None and self.levels is None:
            return self
        d = len(self.units or self.levels or self.weights or ())
        try:
            kept = np.arange(d)[np.atleast_1d(features)].tolist()
        except IndexError as error:
            raise ValueError(
                f"features = {features!r} do not fit {d} inputs; give indices, or a boolean mask."
            ) from error
        labels = tuple(map(str, range(d))) if self.units is None else self.units
        names = list(dict.fromkeys(labels))
        new = [labels[a] for a in kept]
        weights = self.weights and tuple(self.weights[names.index(u)] for u in dict.fromkeys(new))
        return replace(
            self,
            weights=weights,
            units=None if self.units is None else tuple(new),
            levels=self.levels and tuple(self.levels[a] for a in kept),
        )

    def widened(self, factor: float | Array) -> Kernel:
        """Return the kernel with the width of its base multiplied."""
        return replace(self, base=self.base.widened(factor))


def _along(eta: float, unit: Unit, parts: Parts, beta: Array | None) -> Array | None:
    """B_u: the derivative of z_u at x_j along β_j."""
    if beta is None:
        return None
    pairs = zip(parts.right, unit.inputs, strict=True)
    return np.asarray(eta * sum(slope * beta[a] for slope, a in pairs))


def _weights(weights: Any) -> tuple[float, ...]:
    values = tuple(np.asarray(weights, dtype=float).ravel().tolist())
    if not values or not all(0 <= value < np.inf for value in values):
        raise ValueError(f"weights = {weights!r} are not allowed; give finite numbers >= 0.")
    return values


def _levels(levels: Any, units: tuple[str, ...] | None) -> tuple[int, ...]:
    values = tuple(int(value) for value in levels)
    if any(value < 0 or value == 1 for value in values):
        raise ValueError(
            f"levels = {levels!r} are not allowed; give 0 for a number, at least 2 for a category."
        )
    if units and any(n and units.count(u) > 1 for n, u in zip(values, units, strict=True)):
        raise ValueError(
            "a category shares its unit with another input; give it a unit of its own."
        )
    return values
