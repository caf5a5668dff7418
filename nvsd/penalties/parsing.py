"""Groups, weights and shares as the user writes them, checked and resolved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from nvsd.data.checks import is_number
from nvsd.data.names import find_column

Array = NDArray[np.float64]
Features = int | Iterable[object]
Groups = Sequence[str | int] | Mapping[str, Sequence[str | int]] | Mapping[str, str | int]
Weights = Sequence[float] | Mapping[str, float]


class FrozenDict(dict[str, Any]):
    """A dict that is never changed and so can be hashed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def resolve_names(features: Features) -> list[str]:
    """The names of the features; x0, x1, ... if only their number is given."""
    if isinstance(features, Integral | int):
        features = [f"x{a}" for a in range(int(features))]
    names = [str(name) for name in features]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    refuse(repeated, "features must have distinct names, but there are several called")
    return names


def assign_groups(groups: Any, names: list[str]) -> list[str]:
    """The group of each feature; one that a mapping does not name is a group of its own."""
    if not isinstance(groups, Mapping):
        _match(groups, names, "group labels", "feature")
        return [str(label) for label in groups]
    owners: dict[str | int, list[str]] = {name: [] for name in names}
    for group, members in groups.items():
        for member in members:
            place = find_column(member, names)
            owners.setdefault(member if place is None else names[place], []).append(group)
    known = set(names)
    unknown = [feature for feature in owners if feature not in known]
    refuse(unknown, f"name features as X does, {_listing(names)}; the groups also name", names)
    shared = [feature for feature, of in owners.items() if len(of) > 1]
    refuse(shared, "each feature must be in one group only, but the groups overlap in")
    alone = [name for name in names if not owners[name] and name in groups]
    refuse(
        alone, "features that are in no group are groups of their own, but other groups are called"
    )
    return [owners[name][0] if owners[name] else name for name in names]


def resolve_weights(weights: Weights | None, names: list[str], default: Array, what: str) -> Array:
    """One weight per name."""
    if weights is None:
        return default
    if not isinstance(weights, Mapping):
        _match(weights, names, "weights", what)
        return np.array(weights)
    unknown = [name for name in weights if name not in names]
    refuse(unknown, f"the {what}s are {_listing(names)}, but there are also weights for")
    return np.array([weights.get(name, w) for name, w in zip(names, default, strict=True)])


def checked_weights(weights: Any) -> Weights | None:
    """Weights as a tuple, or a dict by name."""
    if weights is None:
        return None
    weights = _by_name(weights)
    if isinstance(weights, Mapping):
        return FrozenDict({str(key): _weight(w) for key, w in weights.items()})
    return tuple(_weight(w) for w in listed(weights, "weights"))


def checked_groups(groups: Any) -> Groups:
    """Groups as a tuple of labels, or a dict {group: features}."""
    labels = _by_name(groups)
    if labels is not groups or _of_features(groups):  # {feature: group}
        groups = {
            str(_key(group)): [
                _key(f) if labels is groups else str(f) for f in labels if labels[f] == group
            ]
            for group in labels.values()
        }
    if not isinstance(groups, Mapping):
        return tuple(map(_key, listed(groups, "groups")))
    members = {str(_key(name)): listed(given, f"group {name}") for name, given in groups.items()}
    return FrozenDict({name: tuple(map(_key, given)) for name, given in members.items()})


def checked_share(value: Any, what: str) -> float:
    """A number between 0 and 1."""
    if isinstance(value, Real) and is_number(value) and 0 <= float(value) <= 1:
        return float(value)
    raise ValueError(f"{what} is {value!r}; give a number between 0 and 1.")


def plain(values: Any) -> Any:
    """A DataArray as a Series, an array without dimensions as a number; the rest unchanged."""
    if isinstance(values, xr.DataArray):
        values = values.to_series() if values.ndim == 1 else values.values
    return values.item() if isinstance(values, np.ndarray) and values.ndim == 0 else values


def listed(values: Any, what: str) -> list[Any]:
    """The elements as a list; refuse what is not a list, and an empty one."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{what} is {values!r}; give a list.")
    if not (result := list(values)):
        raise ValueError(f"{what} is empty; give at least one element.")
    return result


def refuse(items: Sequence[object], reason: str, names: Sequence[str] = ()) -> None:
    """Raise with the items, if there are any; `names` are what they should have been among."""
    if items:
        raise ValueError(f"{reason} {_listing(items)}{_lost(items, names)}.")


def _lost(items: Sequence[object], names: Sequence[str]) -> str:
    """What to do if a step of a Pipeline has taken the names away, or changed them."""
    if not all(isinstance(item, str) for item in items):
        return ""
    if len(names) and list(names) == [f"x{a}" for a in range(len(names))]:
        return "; a step that drops names keeps them after set_output(transform='pandas')"
    if any(name.endswith(f"__{item}") for name in names for item in items):
        return "; give the ColumnTransformer verbose_feature_names_out=False to keep names"
    return ""


def _of_features(groups: Any) -> bool:
    """Whether a mapping is {feature: group}: every value is one name, not a list of them."""
    mapping = isinstance(groups, Mapping) and len(groups) > 0
    return mapping and all(isinstance(value, str | Real) for value in groups.values())


def _by_name(values: Any) -> Any:
    """A pandas Series as a dict, unless its index is 0, 1, ...; the rest unchanged."""
    index = getattr(values, "index", None)
    if isinstance(values, Sequence | Mapping) or index is None or callable(index):
        return values
    if np.ndim(values) != 1:
        raise ValueError(f"a {type(values).__name__} was given; give a list, dict or Series.")
    names = list(index)
    return values if names == list(range(len(names))) else dict(zip(names, values, strict=True))


def _key(name: object) -> str | int:
    if not isinstance(name, Real | str) or name != name:
        raise ValueError(f"{name!r} cannot name a group or a feature; give a string or a number.")
    return int(name) if isinstance(name, Integral) else str(name)


def _weight(value: object) -> float:
    if isinstance(value, Real) and is_number(value) and 0 <= float(value) <= np.finfo(float).max:
        return float(value)
    raise ValueError(f"a weight is {value!r}; give a number that is finite and not negative.")


def _match(values: Sequence[object], names: list[str], what: str, whose: str) -> None:
    if (given := len(values)) != (n := len(names)):
        raise ValueError(f"{given} {what} were given for {n} {whose}s; give one per {whose}.")


def _listing(items: Sequence[object]) -> str:
    return ", ".join(map(repr, items[:8])) + (", ..." if len(items) > 8 else "")
