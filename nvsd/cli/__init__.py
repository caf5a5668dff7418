"""The command `nvsd`: paths, selections and predictions from files.

Exit codes: 0 done, 1 failed, 2 wrong usage. Every error is one sentence on stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

from nvsd.cli._screen import say
from nvsd.cli._usage import UsageError, add_commands

__all__ = ["main"]

# Options that name files: to read, and to write.
READ = ("data", "model", "path", "validation", "groups")
WRITTEN = ("out", "history", "save", "report", "plot", "plot_support")


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where to find help."""
        raise UsageError(f"{message.rstrip('.')}; see {self.prog} --help.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--traceback" in arguments:
        return _run([argument for argument in arguments if argument != "--traceback"])
    try:
        return _run(arguments)
    except UsageError as error:
        say(f"error: {error}")
        return 2
    except BrokenPipeError:
        # The reader of the pipe has closed it, so nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        say("error: interrupted; no further file was written.")
    except Exception as error:
        say(f"error: {_sentence(error)}")
    return 1


def _run(arguments: list[str]) -> int:
    parser = Parser(prog="nvsd", description="Which inputs does y depend on, and how?")
    add_commands(parser)
    try:
        options = parser.parse_args(arguments)
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    _refuse_overwriting(options)
    with _warnings_as_notes():
        import_module(f"nvsd.cli.{options.command}").run(options)
    if sys.stdout is not None:
        sys.stdout.flush()
    return 0


def _refuse_overwriting(options: argparse.Namespace) -> None:
    """Refuse to write a file that is also read, or written twice."""
    taken: dict[str, str] = {}
    for name in (*READ, *WRITTEN):
        file = getattr(options, name, None)
        if file is None:
            continue
        place = os.path.realpath(file)
        option = "a file to read" if name in READ else f"--{name.replace('_', '-')}"
        if name in WRITTEN and place in taken:
            raise UsageError(f"{option} {file} is also {taken[place]}; give it another name.")
        taken[place] = option


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Show only warnings meant for users, one line each."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"note: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        # Names may be in any script; the figure is drawn with the available glyphs.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.showwarning = show
        yield


def _sentence(error: Exception) -> str:
    """The message of an exception, on one line."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        name = "" if error.filename is None else f" {str(error.filename)!r}"
        return f"the file{name} cannot be used: {error.strerror}."
    if isinstance(error, (ValueError, ImportError)) and text:
        return text
    if isinstance(error, MemoryError):
        return text or "there is not enough memory; give fewer rows or inputs."
    return (
        f"something unexpected happened ({type(error).__name__}: {text[:200]}); "
        "run again with --traceback to see where."
    )
