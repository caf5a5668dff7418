"""Progress bars, for people at a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

DELAY = 0.5  # seconds before a bar appears


@contextmanager
def progress_bar(
    progress: bool | None, total: int | None, what: str, unit: str
) -> Iterator[Callable[[int], object]]:
    """Give a function to call with the progress; the bar appears only if the work takes long.

    Parameters
    ----------
    progress : bool, optional
        By default a bar is shown in an interactive session on a terminal.
    total : int, optional
        Total amount of work, if it is known.
    what, unit : str
        Name of the whole, and of one step.
    """
    if progress is None:
        progress = hasattr(sys, "ps1") and sys.stderr.isatty()
    with tqdm(total=total, desc=what, unit=unit, disable=not progress, delay=DELAY) as bar:
        yield bar.update
