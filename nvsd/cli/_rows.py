"""Columns that hold the weights of the rows, or labels of rows that belong together."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from nvsd.cli._usage import UsageError
from nvsd.files import refuse_unknown
from nvsd.files._columns import floats
from nvsd.files._words import quoted

# Options that name such columns, and the arguments that they become.
ARGUMENTS = {"weights": "sample_weight", "cv_groups": "cv_groups"}


def side_columns(options: Namespace) -> dict[str, str]:
    """The columns that are given, by argument."""
    named = {argument: getattr(options, name, None) for name, argument in ARGUMENTS.items()}
    given = {argument: name for argument, name in named.items() if name is not None}
    for option, argument in ARGUMENTS.items():
        if given.get(argument) == options.target:
            raise UsageError(
                f"--{option.replace('_', '-')} {quoted(options.target)} is the target; give "
                "another column."
            )
    return given


def complete_rows(frame: Any, options: Namespace) -> Any:
    """The table without rows that lack a weight or a label, if such rows are to be dropped."""
    for argument, name in side_columns(options).items():
        refuse_unknown(frame, name, "which was to hold " + WHAT[argument])
        missing = frame[name].isna().to_numpy()
        if missing.any() and options.missing in ("error", "refuse"):
            raise ValueError(
                f"column {quoted(name)} has no value in row {int(missing.argmax()) + 1}; leave "
                "such rows out with --missing drop."
            )
        frame = frame[~missing]
    return frame


WHAT = {"sample_weight": "weights", "cv_groups": "labels of rows"}


def of_rows(frame: Any, rows: Any, options: Namespace) -> dict[str, Any]:
    """The arguments of the rows that are used; `rows` are their numbers, from 1 on."""
    found = {}
    for argument, name in side_columns(options).items():
        column = frame[name].iloc[rows - 1]
        found[argument] = column.to_numpy()
        if argument == "sample_weight":
            found[argument] = floats(column)
            if found[argument] is None:
                raise ValueError(f"column {quoted(name)} holds text; give numbers as weights.")
    return found
