"""The paper's penalties as lists of weighted norms.

Only the descriptions of the penalties (their fields) come from ``nvsd``; groups and default weights
are resolved here again.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import singledispatch
from itertools import chain
from typing import NamedTuple

from nvsd.penalties import ElasticNet, GroupLasso, Lasso, Penalty, SparseGroupLasso

Weights = Sequence[float] | Mapping[str, float] | None
Groups = Sequence[Hashable] | Mapping[str, Sequence[str | int]]


class Terms(NamedTuple):
    """J(φ) = Σ_t w_t ‖φ_t‖/√n + c ‖φ‖²/n, where φ_t stacks the derivatives of some features.

    ``norms`` holds the pairs (w_t, the features of φ_t); single features come before groups.
    """

    norms: list[tuple[float, list[int]]]
    ridge: float = 0.0


@singledispatch
def terms(penalty: Penalty, features: list[str]) -> Terms:
    """The norms that make up a penalty on these features."""
    raise ValueError(
        f"the reference has no statement of the penalty {type(penalty).__name__}; "
        "register one with reference.penalties.terms"
    )


@terms.register
def _(penalty: Lasso, features: list[str]) -> Terms:
    return Terms(_singles(1.0, penalty.weights, features))


@terms.register
def _(penalty: GroupLasso, features: list[str]) -> Terms:
    return Terms(_groups(1.0, penalty.weights, penalty.groups, features))


@terms.register
def _(penalty: ElasticNet, features: list[str]) -> Terms:
    if not isinstance(penalty.mu, float | int):
        raise ValueError(f"mu must be one number here, got {penalty.mu}; solve for each mu in turn")
    return Terms(_singles(penalty.mu, penalty.weights, features), ridge=1 - penalty.mu)


@terms.register
def _(penalty: SparseGroupLasso, features: list[str]) -> Terms:
    singles = _singles(penalty.rho, None, features)
    groups = _groups(1 - penalty.rho, penalty.weights, penalty.groups, features)
    return Terms(singles + groups)


def members(groups: Groups, features: list[str]) -> dict[str, list[int]]:
    """Index lists of the groups, by name; together they must hold each feature exactly once."""
    if isinstance(groups, Mapping):
        position: dict[str | int, int] = {name: a for a, name in enumerate(features)}
        position |= {a: a for a in range(len(features))}
        resolved = {name: [position.get(f, -1) for f in given] for name, given in groups.items()}
    else:
        resolved = {str(label): [] for label in groups}
        for a, label in enumerate(groups):
            resolved[str(label)].append(a)
    listed = list(chain.from_iterable(resolved.values()))
    if len(listed) != len(features) or set(listed) != set(range(len(features))):
        raise ValueError(f"groups is {groups}; it must hold each of {features} exactly once")
    return resolved


def _singles(factor: float, weights: Weights, features: list[str]) -> list[tuple[float, list[int]]]:
    w = _weights(weights, features, [1.0] * len(features))
    return [(factor * w[a], [a]) for a in range(len(features))]


def _groups(
    factor: float, weights: Weights, groups: Groups, features: list[str]
) -> list[tuple[float, list[int]]]:
    resolved = members(groups, features)
    sizes = [float(len(index)) for index in resolved.values()]
    w = _weights(weights, list(resolved), sizes)
    return [(factor * w_g, index) for w_g, index in zip(w, resolved.values(), strict=True)]


def _weights(weights: Weights, names: list[str], default: list[float]) -> list[float]:
    if weights is None:
        return default
    if isinstance(weights, Mapping) and set(weights) <= set(names):
        return [weights.get(name, w) for name, w in zip(names, default, strict=True)]
    if isinstance(weights, Mapping) or len(weights) != len(names):
        raise ValueError(
            f"weights is {weights}; give one for each of {names}, or name some of them"
        )
    return list(weights)
