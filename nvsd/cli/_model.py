"""From options to data, kernel and penalty."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from nvsd.cli._rows import complete_rows, of_rows, side_columns
from nvsd.cli._screen import say
from nvsd.cli._usage import UsageError
from nvsd.data.scaling import standardized
from nvsd.data.sources import read_source
from nvsd.files import check_output, read_groups, read_table, training_table
from nvsd.kernels import Kernel
from nvsd.kernels.named import kernel_for, kernel_names
from nvsd.penalties import Penalty
from nvsd.penalties.named import penalty_by_name, penalty_names

PAGES = (".html", ".htm")
FIGURES = (".png", ".pdf", ".svg", ".jpg")
# Fields of kernels and penalties that are also options.
KERNEL_OPTIONS, PENALTY_OPTIONS = ("width", "degree", "offset"), ("mu", "rho")


class Data(NamedTuple):
    """Inputs, target, the group of each input, and arguments that are columns of the table."""

    X: Any
    y: Any
    groups: list[str] | None
    of_rows: dict[str, Any]


def holds_labels(loss: str | None) -> bool | None:
    """Whether the target holds labels of classes; None: if it looks like it."""
    return {None: None, "logistic": True}.get(loss, False)


def load(options: Namespace, labels: bool | None = False, categories: bool = False) -> Data:
    """The table and the groups that the options name."""
    frame = complete_rows(read(options, options.data), options)
    X, y = training_rows(options, frame, labels=labels, categories=categories)
    groups = None
    if options.groups is not None:
        ignored = [*options.drop, options.target, *side_columns(options).values()]
        groups = read_groups(options.groups, list(X.columns), ignored)
    return Data(X, y, groups, of_rows(frame, X.index, options))


def load_table(
    options: Namespace,
    path: str,
    constant: bool = False,
    labels: bool | None = False,
    categories: bool = False,
) -> tuple[Any, Any]:
    """Inputs and target from one file; validation rows may have constant columns."""
    return training_rows(options, read(options, path), constant, labels, categories)


def training_rows(
    options: Namespace,
    frame: Any,
    constant: bool = False,
    labels: bool | None = False,
    categories: bool = False,
) -> tuple[Any, Any]:
    """Inputs and target from one table; columns with weights or row labels are left out."""
    if options.missing == "impute" and not categories:
        raise UsageError("--missing impute belongs to nvsd select; give --missing drop.")
    aside = [name for name in side_columns(options).values() if name in frame.columns]
    X, y, dropped = training_table(
        frame,
        options.target,
        drop=[*options.drop, *aside],
        missing=options.missing,
        constant=constant,
        labels=labels,
        categories=categories,
    )
    if dropped:
        say(f"note: {dropped} of {len(X) + dropped} rows have missing values and are left out.")
    return X, y


def read(options: Namespace, path: str) -> Any:
    """A table, read as the options say."""
    # A tab is hard to type.
    separator = "\t" if options.separator in ("tab", r"\t") else str(options.separator)
    return read_table(path, separator, options.decimal)


def make_kernel(options: Namespace, X: Any) -> Kernel:
    """The kernel that the options describe."""
    given = _given(options, "kernel", options.kernel, kernel_names(), KERNEL_OPTIONS)
    points = read_source(X, None).X.points()
    seen = standardized(points) if options.standardize else points
    return kernel_for(seen, options.kernel, **given)


def make_penalty(options: Namespace, groups: list[str] | None) -> Penalty:
    """The penalty that the options describe; with groups it is the group lasso by default."""
    name = options.penalty or ("lasso" if groups is None else "group")
    given = _given(options, "penalty", name, penalty_names(), PENALTY_OPTIONS)
    takes_groups = "groups" in _fields(penalty_names()[name])
    if takes_groups and groups is None:
        raise UsageError(f"--penalty {name} needs groups; give them with --groups FILE.json.")
    if groups is not None and not takes_groups:
        raise UsageError(
            f"--penalty {name} does not use --groups; "
            "leave one out, or give --penalty group or sparse-group."
        )
    return penalty_by_name(name, groups, next(iter(given.values()), None))


def _fields(kind: type[Any]) -> set[str]:
    return {field.name for field in fields(kind)}


def _given(
    options: Namespace, what: str, name: str, kinds: Mapping[str, type[Any]], known: Sequence[str]
) -> dict[str, Any]:
    """The options that were given; refuse those that do not belong to the choice."""
    given = {option: getattr(options, option) for option in known}
    for option, value in given.items():
        if value is not None and option not in _fields(kinds[name]):
            owner = next(each for each, kind in kinds.items() if option in _fields(kind))
            raise UsageError(
                f"--{option} does not belong to --{what} {name}; "
                f"leave it out, or give --{what} {owner}."
            )
    return {option: value for option, value in given.items() if value is not None}


def numbers(options: Namespace, name: str) -> Any:
    """The comma-separated numbers of an option, if it was given."""
    text = getattr(options, name)
    if text is None:
        return None
    try:
        return np.array([float(part) for part in text.split(",")])
    except ValueError as error:
        raise UsageError(f"--{name} {text!r} are not numbers; give them as in 2,1,0.5.") from error


def check_outputs(options: Namespace, netcdf: tuple[str, ...], figures: tuple[str, ...]) -> None:
    """Refuse before the work files that could not be written after it."""
    for name in (*netcdf, *figures):
        path = getattr(options, name)
        if path is not None:
            check_output(path, FIGURES if name in figures else (".nc",))
    if any(getattr(options, name) is not None for name in figures):
        quiet_backend()


def quiet_backend() -> None:
    """Draw only into files, even if there is a display."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed; run: pip install 'nvsd[plot]'."
        ) from error
    matplotlib.use("Agg")


def save_figure(path: str, ax: Any) -> None:
    """Write the figure of an Axes, completely or not at all."""
    import matplotlib.pyplot as plt

    from nvsd.files import write_figure

    write_figure(path, ax.figure, dpi=150)
    plt.close(ax.figure)


def on_terminal() -> bool:
    """Whether stderr is a terminal, where progress bars make sense."""
    return sys.stderr.isatty()
