"""Finding kernels, penalties, losses, representations and solvers by name; nothing lists them.

A new class only has to be defined: `concrete` finds it, `short_names` offers it to the estimators
and the command line if it has a ``short_name``, and its JSON text can be read back.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields
from html import escape
from numbers import Real
from typing import Any, TypeVar

T = TypeVar("T")


LONGEST = 40  # characters of a field's text
FIRST = 3  # entries of a long sequence that are shown


class Brief:
    """A dataclass whose text leaves out fields that are None, and shortens long ones."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "__repr__" not in vars(cls):  # otherwise the decorator would write one
            cls.__repr__ = Brief.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        shown = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        texts = [f"{name}={brief(value)}" for name, value in shown.items() if value is not None]
        return f"{type(self).__name__}({', '.join(texts)})"

    def _repr_html_(self) -> str:
        """What notebooks show: the name, what it is, and the fields."""
        shown = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        known = {name: brief(value) for name, value in shown.items() if value is not None}
        return html(type(self).__name__, (inspect.getdoc(type(self)) or "").split("\n")[0], known)


def html(title: str, about: str, values: Mapping[str, str]) -> str:
    """A title, a line about it, and named values, in the notebook's own style."""
    rows = "".join(
        f'<tr><td style="text-align:left">{escape(name)}</td>'
        f'<td style="text-align:left"><code>{escape(value)}</code></td></tr>'
        for name, value in values.items()
    )
    return (
        f'<div><strong>{escape(title)}</strong> <span style="opacity:.65">{escape(about)}</span>'
        f"{f'<table>{rows}</table>' if rows else ''}</div>"
    )


def brief(value: Any) -> str:
    """A value as text: that of Python, unless it is a long list or mapping."""
    text = repr(value)
    if len(text) <= LONGEST or not isinstance(value, list | tuple | dict):
        return text
    some = list(value)[:FIRST]
    texts = [f"{v:.4g}" if isinstance(v, Real) else repr(v) for v in some]
    more = f", … {len(value)} in all" if len(value) > FIRST else ""
    marks = "{}" if isinstance(value, dict) else "[]" if isinstance(value, list) else "()"
    return f"{marks[0]}{', '.join(texts)}{more}{marks[1]}"


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
