"""The parent of all descriptions of penalties."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nvsd.descriptions import Brief, class_names
from nvsd.penalties.bound import BoundPenalty
from nvsd.penalties.parsing import Features, plain, resolve_names

Check = Callable[[Any], Any]


@dataclass(frozen=True)
class Penalty(Brief, ABC):
    """Description of a penalty, to be bound to the features; the parent of all descriptions.

    Attributes
    ----------
    short_name : str
        Name of the class in estimators and on the command line; "" if it has none there.
    checks : mapping
        For each field a function that returns the value to keep, or refuses it. A field without a
        function is kept as given.
    along : str
        The field along which `split` divides; "" if there is none.

    Examples
    --------
    >>> from nvsd.penalties import ElasticNet, GroupLasso
    >>> GroupLasso({"lab": ["x0", "x1"]}).group_labels(3)
    ['lab', 'lab', 'x2']
    >>> [part.mu for part in ElasticNet(mu=[0.1, 0.9]).split()]
    [0.1, 0.9]
    """

    short_name: ClassVar[str] = ""
    checks: ClassVar[Mapping[str, Check]] = MappingProxyType({})
    along: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            check = self.checks.get(field.name)
            if check is not None:
                object.__setattr__(self, field.name, check(plain(getattr(self, field.name))))

    def bind(self, features: Features) -> BoundPenalty:
        """The penalty on these features, given by name or by their number (x0, x1, ...)."""
        return self._bind(resolve_names(features))

    def split(self) -> tuple[Penalty, ...]:
        """One penalty for each value of the field `along`; only this one if there is one value.

        Several values become a dimension of the result.
        """
        values = getattr(self, self.along) if self.along else None
        if not isinstance(values, tuple):
            return (self,)
        return tuple(replace(self, **{self.along: value}) for value in values)

    def group_labels(self, features: Features) -> list[str]:
        """The name of each feature's group: the feature's own name when there are no groups."""
        bound = self.split()[0].bind(features)
        return [bound.group_names[g] for g in bound.labels]

    def reweighted(self, norms: NDArray[np.float64], features: Features, floor: float) -> Penalty:
        """The penalty with adaptive weights 1 / (norm + floor), norms relative to the largest.

        A group g of p_g features has the weight p_g / (norm_g + floor). These weights replace the
        penalty's own weights.
        """
        bound = self.split()[0].bind(features)
        scaled = norms / (norms.max() or 1.0)
        sizes = np.bincount(bound.labels)
        strength = np.sqrt(np.bincount(bound.labels, scaled**2))
        weights = dict(zip(bound.group_names, (sizes / (strength + floor)).tolist(), strict=True))
        return replace(self, weights=weights)  # type: ignore[call-arg]

    def to_json(self) -> str:
        """The description as text, for `from_json`."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        return json.dumps({"penalty": type(self).__name__} | content)

    @staticmethod
    def from_json(text: str) -> Penalty:
        """The description that `to_json` wrote."""
        kinds = class_names(Penalty)  # type: ignore[type-abstract]
        try:
            content = json.loads(text)
            return kinds[content["penalty"]](**{k: v for k, v in content.items() if k != "penalty"})
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(
                f"{text} does not describe a penalty; give what to_json returned."
            ) from error

    @abstractmethod
    def _bind(self, names: list[str]) -> BoundPenalty: ...
