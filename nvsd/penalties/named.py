"""Penalties by their short names, for estimators and the command line."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from nvsd.descriptions import by_name, short_names
from nvsd.penalties.base import Penalty
from nvsd.penalties.parsing import Groups


def penalty_names() -> dict[str, type[Penalty]]:
    """The penalties that have a short name."""
    return short_names(Penalty)  # type: ignore[type-abstract]


def penalty_by_name(name: object, groups: Groups | None, share: float | None) -> Penalty:
    """The penalty of this name, with groups and the share of its norms if it takes them."""
    kind = by_name("penalty", name, penalty_names(), "a penalty of nvsd.penalties, or ")
    known = {field.name for field in fields(kind)}
    given: dict[str, Any] = {}
    if "groups" in known:
        if groups is None:
            raise ValueError(f"penalty = {name!r} needs groups; give them as groups=....")
        given["groups"] = groups
    for field in ("mu", "rho"):
        if field in known and share is not None:
            given[field] = share
    return kind(**given)
