"""Progress bars for people: at a terminal, or in a notebook."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

DELAY = 0.5  # seconds before a bar appears
USUAL = (80, 24)  # columns and rows of a terminal
KNOWN = "{desc}: {n_fmt} of {total_fmt} {unit}s |{bar}| {remaining} left"
UNKNOWN = "{desc}: {n_fmt} {unit}s, {elapsed}"


@contextmanager
def progress_bar(
    progress: bool | None, total: int | None, what: str, unit: str
) -> Iterator[Callable[[int], object]]:
    """Give a function to call with the progress; the bar appears only if the work takes long.

    It shows what is done, how much of how much, and the time left.

    Parameters
    ----------
    progress : bool, optional
        By default a bar is shown if stderr is a terminal, and in notebooks.
    total : int, optional
        Total amount of work, if it is known.
    what, unit : str
        Name of the whole, and of one step.
    """
    if progress is None:
        progress = sys.stderr.isatty() or in_notebook()
    if not progress:
        yield _ignore
        return
    form = UNKNOWN if total is None else KNOWN
    with _tqdm()(total=total, desc=what, unit=unit, delay=DELAY, bar_format=form, **_size()) as bar:
        yield bar.update


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    return found is not None and "IPKernelApp" in found.config


def _size() -> dict[str, Any]:
    """The size of the terminal; some do not know theirs, and would show empty lines."""
    try:
        unknown = os.get_terminal_size(sys.stderr.fileno()).columns == 0
    except (AttributeError, OSError, ValueError):  # no terminal
        unknown = False
    return {"ncols": USUAL[0], "nrows": USUAL[1]} if unknown else {"dynamic_ncols": True}


def _tqdm() -> Any:
    """The bar that suits the place: a widget in a notebook that has widgets, text elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about widgets that are not installed
        from tqdm.auto import tqdm
    return tqdm


def _ignore(step: int) -> None:
    """Nothing to show."""
