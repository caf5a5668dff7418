"""What `nvsd replicate` and `nvsd benchmark` share: refusals, the lock, the run, lists of names."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from nvsd.cli._screen import say
from nvsd.cli._usage import UsageError
from nvsd.experiments import run as run_tasks
from nvsd.machine import locked


def check(options: Namespace) -> None:
    """Refuse what no run can do."""
    if options.replications < 1:
        raise UsageError(f"--replications {options.replications} is not allowed; give at least 1.")
    if options.jobs == 0:
        raise UsageError("--jobs 0 is not allowed; give at least 1, or -1 for all cores.")
    if Path(options.out).exists() and not Path(options.out).is_dir():
        raise UsageError(f"--out {options.out} is a file; name a folder.")


def one_writer(options: Namespace) -> AbstractContextManager[None]:
    """Refuse a second run with the same folder."""
    folder = Path(options.out).absolute()
    beside = folder.parent.is_dir() and os.access(folder.parent, os.W_OK)
    return locked(folder, "the results folder") if beside else nullcontext()


def take_known(options: Namespace, restore: Callable[[str, str], int], example: str) -> None:
    """Count the fits of compact results as done."""
    if options.known is None:
        return
    if not any(Path(options.known).glob("*.nc")):
        raise UsageError(
            f"--known {options.known} has no results; give a folder with files such as {example}."
        )
    count = restore(options.known, options.out)
    say(f"{count} fits were taken from {options.known}.")


def run_missing(
    tasks: Sequence[Any], options: Namespace, is_good: Callable[[Any], bool], what: str
) -> None:
    """Run what is not done yet, and name what has failed."""
    if options.show:
        return
    try:
        Path(options.out).mkdir(parents=True, exist_ok=True)
    except PermissionError as error:
        raise ValueError(f"the folder {options.out!r} cannot be written; give another.") from error
    shared = {"jobs": options.jobs, "cluster": options.cluster, "what": what}
    count = run_tasks(tasks, options.out, progress=True, **shared)
    say(f"{count} of {len(tasks)} fits were run; the others were already done.")
    failed = [task for task in tasks if not is_good(task)]
    if failed:
        say(f"note: {len(failed)} fits failed; for the reason of one see {failed[0].place}.")


def nothing_to_show(options: Namespace, what: str) -> UsageError:
    """The refusal of --show before the first run."""
    return UsageError(
        f"--out {options.out} has no results of {what}; leave out --show to make them."
    )


def listed(text: str | None, known: Collection[str], what: str) -> list[str]:
    """Comma-separated names, or all."""
    names = list(known) if text is None else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UsageError(f"there is no {what} {name!r}; give some of {', '.join(known)}.")
    return names


def numbers(text: str, known: Sequence[int]) -> list[int]:
    """Comma-separated sizes."""
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--sizes {text!r} are not numbers; give them as in 30,50.") from error
    for size in sizes:
        if size not in known:
            raise UsageError(f"there is no size {size}; give some of {', '.join(map(str, known))}.")
    return sizes
