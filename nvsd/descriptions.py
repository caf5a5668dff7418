"""Finding kernels, penalties, losses, representations and solvers by name; nothing lists them.

A new class only has to be defined: `concrete` finds it, `short_names` offers it to the estimators
and the command line if it has a ``short_name``, and its JSON text can be read back.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


def concrete(kind: type[T]) -> Iterator[type[T]]:
    """All subclasses of this class that can have instances."""
    for child in kind.__subclasses__():
        if not inspect.isabstract(child):
            yield child
        yield from concrete(child)


def class_names(kind: type[T]) -> dict[str, type[T]]:
    """The concrete classes by their names; of two with the same name, the later one."""
    return {child.__name__: child for child in concrete(kind)}


def short_names(kind: type[T], attribute: str = "short_name") -> dict[str, type[T]]:
    """The classes that have a short name, sorted by it."""
    named: dict[str, type[T]] = {}
    for child in concrete(kind):
        name = vars(child).get(attribute)
        if name:
            named[name] = child
    return dict(sorted(named.items()))


def by_name(what: str, given: object, known: Mapping[str, T], own: str = "") -> T:
    """The entry with this short name."""
    if not isinstance(given, str) or given not in known:
        names = ", ".join(map(repr, known))
        raise ValueError(f"{what} = {given!r} is unknown; give {own}one of {names}.")
    return known[given]


def encoded(value: Any, kind: type[Any]) -> Any:
    """A dataclass of this kind, and those inside it, as {class name: fields}, ready for JSON."""
    if isinstance(value, kind):
        content = {each.name: encoded(getattr(value, each.name), kind) for each in fields(value)}
        return {type(value).__name__: content}
    return [encoded(item, kind) for item in value] if isinstance(value, tuple) else value


def decoded(value: Any, kind: type[Any], what: str) -> Any:
    """What `encoded` wrote."""
    if isinstance(value, list):
        return tuple(decoded(item, kind, what) for item in value)
    if not isinstance(value, dict):
        return value
    known = class_names(kind)
    name, content = next(iter(value.items()), ("", None))
    if len(value) != 1 or name not in known or not isinstance(content, dict):
        raise ValueError(
            f"{value!r} does not describe a {what}; give {{name: fields}} with a name among "
            f"{', '.join(sorted(known))}."
        )
    try:
        return known[name](**{each: decoded(item, kind, what) for each, item in content.items()})
    except TypeError as error:
        raise ValueError(
            f"{name} cannot be made from {content}; give {inspect.signature(known[name])}."
        ) from error
