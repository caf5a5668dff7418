"""Structured-sparsity penalties on the derivatives of f.

Every penalty depends on the derivatives z = (z_1, ..., z_d), scaled by 1/sqrt(n), only through the
block norms r_a = |z_a| = ||d_a f||_{2,n}. The user writes a description (`Lasso`, `GroupLasso`,
`ElasticNet`, `SparseGroupLasso`); `Penalty.bind` checks it against the features and returns the
`BoundPenalty` that the solver works with.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from nvsd._checks import find_column, is_number

Array = NDArray[np.float64]
Features = int | Iterable[object]
Groups = Sequence[str | int] | Mapping[str, Sequence[str | int]]
Weights = Sequence[float] | Mapping[str, float]


def block_norms(Z: Array) -> Array:
    """Euclidean norms over the second axis: (d, m, k) -> (d, k), or (d, m) -> (d,).

    Neither overflows nor underflows: the blocks whose sum of squares does are scaled first.
    """
    squares = np.einsum("am...,am...->a...", Z, Z)
    norms: Array = np.sqrt(squares)
    # A smaller sum of squares has lost digits to subnormal terms.
    unsafe = ~((squares > 1e-280) & (squares < np.inf))
    if unsafe.any():
        unsafe &= Z.any(axis=1)
        blocks = np.moveaxis(Z, 1, -1)[unsafe]
        scale = np.abs(blocks).max(axis=1)
        unit = blocks / scale[:, None]
        norms[unsafe] = scale * np.sqrt(np.einsum("am,am->a", unit, unit))
    return norms


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Divide with 0/0 = 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=numerator != 0)


@dataclass(frozen=True, eq=False)
class BoundPenalty:
    """J(z) = sum_a v_a |z_a| + sum_g w_g |z_g| + c |z|^2, with the groups g a partition of 1..d.

    The fields are v (d,), w (G,), the group 0..G-1 of each feature (every group has one), c, and
    the names of the groups; v, w, c >= 0. All methods but `prox` take block norms R of shape
    (d, k), or (d,) for a single column; `step` and `tau` are one number, or one per column.
    """

    feature_weights: Array
    group_weights: Array
    labels: NDArray[np.intp]
    ridge: float
    group_names: tuple[str, ...]

    def value(self, R: Array) -> Array:
        """J, one number per column."""
        with np.errstate(over="ignore"):
            squares = (self.ridge * R * R).sum(axis=0)
            norms = self.feature_weights @ R + self.group_weights @ self._group_norms(R)
            return np.asarray(norms + squares)

    def shrinkage(self, R: Array, step: float | Array) -> Array:
        """Factors s, shaped like R, with prox_{step J}(z)_a = s_a z_a.

        Notes
        -----
        Soft-threshold each feature, then each group, then divide by 1 + 2 step c: the paper's
        Proposition 4 for the lasso, the group lasso and the elastic net, and their composition for
        the sparse group lasso. What is below its threshold gets exactly 0.
        """
        v, w = self._columns(R)
        with np.errstate(over="ignore"):
            kept = np.maximum(R - v * step, 0) if v.any() else R
            factors = _ratio(kept, R)
            if w.any():
                norms = self._group_norms(kept)
                factors *= _ratio(np.maximum(norms - w * step, 0), norms)[self.labels]
            return factors / (1 + 2 * self.ridge * step)

    def prox(self, Z: Array, step: float | Array) -> Array:
        """argmin_x step J(x) + 1/2 |x - z|^2 for each column of Z, (d, m, k) or (d, m)."""
        return self.shrinkage(block_norms(Z), step)[:, None] * Z

    def conjugate(self, R: Array, tau: float | Array) -> Array:
        """(tau J)*(u) = sup_z <u, z> - tau J(z), where R are the block norms of u.

        Notes
        -----
        c = 0: 0 where gauge(u) <= tau, up to 1e-12 of tau for rounding, and inf elsewhere.
        c > 0: |u - ball|^2 / (4 tau c), the distance being that to the dual ball of tau N, with N
        the part of J without c. It does not rely on `shrinkage`: certificates judge that too.
        """
        if self.ridge == 0:
            return np.where(self.gauge(R) <= tau * (1 + 1e-12), 0.0, np.inf)
        with np.errstate(divide="ignore", over="ignore"):
            v, w = self._columns(R)
            norms = self._group_norms(np.maximum(R - v * tau, 0))
            excess = np.maximum(norms - w * tau, 0)
            scaled = _ratio(excess, 2 * np.sqrt(self.ridge * tau))
            return np.asarray((scaled * scaled).sum(axis=0))

    def gauge(self, R: Array) -> Array:
        """Smallest t >= 0 with u in t times the dual unit ball of J without c; R = norms of u.

        Notes
        -----
        In each group t is the root of |(R_a - v_a t)_+| = w_g t. The difference is convex and
        decreasing, so Newton's method climbs to the root from any t below it, here from
        max_a R_a / (v_a + w_g); with v = 0 or w = 0 that is one step or none. A block that is not
        zero and has no weight gives inf.
        """
        v, w = self._columns(R)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            t = self._reduce(np.maximum.reduceat, _ratio(R, v + w[self.labels]))
            while True:
                excess = np.maximum(R - v * t[self.labels], 0)
                norms = self._group_norms(excess)
                slope = w + self._reduce(np.add.reduceat, v * _ratio(excess, norms[self.labels]))
                residual = norms - w * t
                higher = np.where(residual > 0, t + residual / slope, t)
                if not (higher > t).any():
                    return np.asarray(t.max(axis=0))
                t = higher

    def without_ridge(self) -> BoundPenalty:
        """The same penalty with c = 0."""
        return replace(self, ridge=0.0)

    def _columns(self, R: Array) -> tuple[Array, Array]:
        """The weights v and w, shaped to multiply what has one row per feature, or per group."""
        shape = (-1,) + (1,) * (R.ndim - 1)
        return self.feature_weights.reshape(shape), self.group_weights.reshape(shape)

    def _group_norms(self, R: Array) -> Array:
        """Norms over each group, scaled by its largest entry: the squares stay in range."""
        largest = self._reduce(np.maximum.reduceat, R)
        unit = _ratio(R, largest[self.labels])
        return largest * np.sqrt(self._reduce(np.add.reduceat, unit * unit))

    def _reduce(self, reduceat: Callable[..., Array], R: Array) -> Array:
        """One row per group from one row per feature."""
        order, starts = self._layout
        return reduceat(R[order], starts, axis=0)

    @cached_property
    def _layout(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The features sorted by group, and where each group starts."""
        order = np.argsort(self.labels, kind="stable")
        return order, np.searchsorted(self.labels[order], np.arange(self.group_weights.size))


@dataclass(frozen=True)
class Penalty(ABC):
    """Description of a penalty, to be bound to the features; the parent of all descriptions."""

    def __post_init__(self) -> None:
        for field in fields(self):
            given = _plain(getattr(self, field.name))
            object.__setattr__(self, field.name, _CHECKS[field.name](given))

    def bind(self, features: Features) -> BoundPenalty:
        """The penalty on these features: their names, or how many there are (x0, x1, ...)."""
        return self._bind(_names(features))

    def group_labels(self, features: Features) -> list[str]:
        """The name of each feature's group: the feature's own name when there are no groups."""
        bound = self.bind(features)
        return [bound.group_names[g] for g in bound.labels]

    def to_json(self) -> str:
        """The description as text, for `from_json`."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        return json.dumps({"penalty": type(self).__name__} | content)

    @staticmethod
    def from_json(text: str) -> Penalty:
        """The description that `to_json` wrote."""
        kinds = {kind.__name__: kind for kind in Penalty.__subclasses__()}
        try:
            content = json.loads(text)
            return kinds[content["penalty"]](**{k: v for k, v in content.items() if k != "penalty"})
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(f"{text} is no penalty: give what to_json returned.") from error

    @abstractmethod
    def _bind(self, names: list[str]) -> BoundPenalty: ...


@dataclass(frozen=True)
class Lasso(Penalty):
    """J = sum_a w_a r_a.

    Parameters
    ----------
    weights : sequence or mapping, optional
        w >= 0, one per feature, or {feature name: weight} for those that are not 1; a feature of
        weight 0 is not penalised.
    """

    weights: Weights | None = None

    def _bind(self, names: list[str]) -> BoundPenalty:
        return ElasticNet(1.0, self.weights)._bind(names)


@dataclass(frozen=True)
class GroupLasso(Penalty):
    """J = sum_g w_g (sum_{a in g} r_a^2)^(1/2).

    Parameters
    ----------
    groups : sequence or mapping
        One label per feature, or {group name: features}, the features by name or, as integers, by
        position. Each feature is in exactly one group; groups need not be consecutive.
    weights : sequence or mapping, optional
        w >= 0, one per group in the order in which the groups first appear, or {group name: weight}
        for some; the others have their size p_g, as in the paper.
    """

    groups: Groups
    weights: Weights | None = None

    def _bind(self, names: list[str]) -> BoundPenalty:
        return SparseGroupLasso(self.groups, 0.0, self.weights)._bind(names)


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """J = mu sum_a w_a r_a + (1 - mu) sum_a r_a^2.

    Parameters
    ----------
    mu : float or sequence of float
        In [0, 1]; 1 is the lasso. A sequence describes several penalties, see `split`.
    weights : sequence or mapping, optional
        As for `Lasso`.
    """

    mu: float | Sequence[float] = 0.5
    weights: Weights | None = None

    def split(self) -> tuple[ElasticNet, ...]:
        """One elastic net for each mu."""
        mus = self.mu if isinstance(self.mu, Sequence) else (self.mu,)
        return tuple(ElasticNet(mu, self.weights) for mu in mus)

    def group_labels(self, features: Features) -> list[str]:
        """The features' own names."""
        return _names(features)

    def _bind(self, names: list[str]) -> BoundPenalty:
        if isinstance(self.mu, Sequence):
            raise ValueError(f"mu is the sequence {self.mu}: bind each penalty of split() instead.")
        d = len(names)
        v = self.mu * _resolve(self.weights, names, np.ones(d), "feature")
        return BoundPenalty(v, np.zeros(d), np.arange(d), 1 - self.mu, tuple(names))


@dataclass(frozen=True)
class SparseGroupLasso(Penalty):
    """J = rho sum_a r_a + (1 - rho) sum_g w_g (sum_{a in g} r_a^2)^(1/2).

    Parameters
    ----------
    groups, weights
        As for `GroupLasso`.
    rho : float
        In [0, 1]; 0 is the group lasso and 1 the lasso.
    """

    groups: Groups
    rho: float = 0.5
    weights: Weights | None = None

    def _bind(self, names: list[str]) -> BoundPenalty:
        assigned = _assign(self.groups, names)
        groups = list(self.groups if isinstance(self.groups, Mapping) else dict.fromkeys(assigned))
        labels = np.array([groups.index(group) for group in assigned])
        sizes = np.bincount(labels).astype(float)
        w = (1 - self.rho) * _resolve(self.weights, groups, sizes, "group")
        return BoundPenalty(np.full(labels.size, self.rho), w, labels, 0.0, tuple(groups))


def _names(features: Features) -> list[str]:
    if isinstance(features, Integral | int):
        features = [f"x{a}" for a in range(int(features))]
    names = [str(name) for name in features]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    _refuse(repeated, "features must have distinct names, but there are several called")
    return names


def _assign(groups: Groups, names: list[str]) -> list[str]:
    """The group of each feature."""
    if not isinstance(groups, Mapping):
        _match(groups, names, "group labels", "feature")
        return [str(label) for label in groups]
    owners: dict[str | int, list[str]] = {name: [] for name in names}
    for group, members in groups.items():
        for member in members:
            place = find_column(member, names)
            owners.setdefault(member if place is None else names[place], []).append(group)
    unknown = [feature for feature in owners if feature not in names]
    _refuse(unknown, f"the features are {_listing(names)}, but the groups also name")
    shared = [feature for feature, of in owners.items() if len(of) > 1]
    _refuse(shared, "each feature must be in one group only, but the groups overlap in")
    missing = [feature for feature, of in owners.items() if not of]
    _refuse(missing, "each feature must be in a group, but the groups miss")
    return [owners[name][0] for name in names]


def _resolve(weights: Weights | None, names: list[str], default: Array, what: str) -> Array:
    """One weight per name."""
    if weights is None:
        return default
    if not isinstance(weights, Mapping):
        _match(weights, names, "weights", what)
        return np.array(weights)
    unknown = [name for name in weights if name not in names]
    _refuse(unknown, f"the {what}s are {_listing(names)}, but there are also weights for")
    return np.array([weights.get(name, w) for name, w in zip(names, default, strict=True)])


class _FrozenDict(dict[str, Any]):
    """A dict that is never changed and therefore may be hashed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def _checked_weights(weights: object) -> Weights | None:
    if weights is None:
        return None
    weights = _by_name(weights)
    if isinstance(weights, Mapping):
        return _FrozenDict({str(key): _number(w, "a weight") for key, w in weights.items()})
    return tuple(_number(w, "a weight") for w in _listed(weights, "weights"))


def _checked_groups(groups: object) -> Groups:
    labels = _by_name(groups)
    if labels is not groups:  # {feature: group}
        groups = {
            group: [str(f) for f in labels if labels[f] == group] for group in labels.values()
        }
    if not isinstance(groups, Mapping):
        return tuple(map(_key, _listed(groups, "groups")))
    members = {str(_key(name)): _listed(given, f"group {name}") for name, given in groups.items()}
    return _FrozenDict({name: tuple(map(_key, given)) for name, given in members.items()})


def _plain(values: Any) -> Any:
    """A DataArray as a Series, an array without dimensions as a number; all else as it is."""
    if isinstance(values, xr.DataArray):
        values = values.to_series() if values.ndim == 1 else values.values
    return values.item() if isinstance(values, np.ndarray) and values.ndim == 0 else values


def _by_name(values: Any) -> Any:
    """A pandas Series as a dict, unless its index only counts; all else as it is."""
    index = getattr(values, "index", None)
    if isinstance(values, Sequence | Mapping) or index is None or callable(index):
        return values
    if np.ndim(values) != 1:
        raise ValueError(f"a {type(values).__name__} was given: give a list, dict or Series.")
    names = list(index)
    return values if names == list(range(len(names))) else dict(zip(names, values, strict=True))


def _checked_mu(mu: object) -> float | tuple[float, ...]:
    if isinstance(mu, Real):
        return _number(mu, "mu", 1)
    values = tuple(_number(one, "mu", 1) for one in _listed(mu, "mu"))
    repeated = [value for i, value in enumerate(values) if value in values[:i]]
    _refuse(repeated, "the values of mu must be distinct, but there are several")
    return values


_CHECKS: dict[str, Callable[[object], object]] = {
    "groups": _checked_groups,
    "weights": _checked_weights,
    "mu": _checked_mu,
    "rho": lambda rho: _number(rho, "rho", 1),
}


def _key(name: object) -> str | int:
    if not isinstance(name, Real | str) or name != name:
        raise ValueError(f"{name!r} cannot name a group or a feature: give a string or a number.")
    return int(name) if isinstance(name, Integral) else str(name)


def _number(value: object, what: str, largest: float = np.finfo(float).max) -> float:
    if isinstance(value, Real) and is_number(value) and 0 <= float(value) <= largest:
        return float(value)
    allowed = "between 0 and 1" if largest == 1 else "finite and not negative"
    raise ValueError(f"{what} is {value!r}: it must be a number {allowed}.")


def _listed(values: object, what: str) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{what} is {values!r}: give a list.")
    if not (result := list(values)):
        raise ValueError(f"{what} is empty: give at least one element.")
    return result


def _match(values: Sequence[object], names: list[str], what: str, whose: str) -> None:
    if (given := len(values)) != (n := len(names)):
        raise ValueError(f"{given} {what} were given for {n} {whose}s: give one per {whose}.")


def _refuse(items: Sequence[object], reason: str) -> None:
    if items:
        raise ValueError(f"{reason} {_listing(items)}.")


def _listing(items: Sequence[object]) -> str:
    return ", ".join(map(repr, items[:8])) + (", ..." if len(items) > 8 else "")
