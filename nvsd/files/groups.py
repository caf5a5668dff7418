"""Groups of inputs from a JSON file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from nvsd.files._words import existing_file, file_name, listed, quoted

FORM = 'give {"group": ["column", ...], ...} or {"column": "group", ...}'


def read_groups(path: Any, features: Sequence[str], ignored: Iterable[str] = ()) -> list[str]:
    """The group of each input, from a JSON file {group: [columns]} or {column: group}.

    Parameters
    ----------
    path : path
    features : names of all inputs
        One that the file does not name is a group of its own.
    ignored : names
        Columns that were dropped; the file may name them.
    """
    place = existing_file(path)
    try:
        # Numbers stay text: a group may be called 1, and a number of any length can be read.
        content = json.loads(
            place.read_text("utf-8-sig"), object_pairs_hook=_distinct, parse_int=str
        )
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise ValueError(f"{file_name(place)} is not JSON{where}; {FORM}.") from error
    group_of = _group_of(file_name(place), content)
    taken = [name for name in features if name not in group_of and name in group_of.values()]
    if taken:
        raise ValueError(
            f"{file_name(place)} has groups called {listed(taken)}, as inputs without a group are; "
            "give the groups other names, or these inputs a group."
        )
    known = {*features, *ignored}
    unknown = [name for name in group_of if name not in known]
    if unknown:
        raise ValueError(
            f"{file_name(place)} names {listed(unknown)}, which the table does not have as input; "
            "remove it from the file."
        )
    return [group_of.get(name, name) for name in features]


def _group_of(name: str, content: Any) -> dict[str, str]:
    if not isinstance(content, dict) or not content:
        raise ValueError(f"{name} does not describe groups; {FORM}.")
    if all(isinstance(value, str) for value in content.values()):
        return content
    group_of: dict[str, str] = {}
    for group, members in content.items():
        if not isinstance(members, list) or not all(isinstance(m, str) for m in members):
            raise ValueError(f"{name} has no list of names at {quoted(group)}; {FORM}.")
        for member in members:
            if member in group_of:
                raise ValueError(
                    f"{name} puts {quoted(member)} in the groups {quoted(group_of[member])} and "
                    f"{quoted(group)}; name each column once."
                )
            group_of[member] = group
    return group_of


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the JSON file names {quoted(repeated)} twice; name it once.")
    return content
