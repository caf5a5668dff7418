"""The commands and their options; nothing heavy is imported here, so that --help is quick."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from nvsd.cli import _run_options
from nvsd.kernels.named import kernel_names
from nvsd.penalties.named import penalty_names

METHODS = (
    "auto",
    "anova",
    "pool",
    "eliminate",
    "reweight",
    "rank",
    "adaptive",
    "support",
    "stability",
)
FORMATS = ("table", "csv", "json")
MISSING = ("error", "drop", "impute")
LOSSES = ("squared", "huber", "quantile", "logistic")


class UsageError(Exception):
    """Options that are missing, unknown or do not fit together."""


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Declare all commands and options of `nvsd`."""
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.add_argument(
        "--traceback", action="store_true", help="show where an error came from (for reports)"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (summary, arguments, declare) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            usage=f"%(prog)s {arguments} [options]",
        )
        declare(command)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        from nvsd.cli._screen import write
        from nvsd.results.schema import library_version

        write(f"nvsd {library_version()}\n")
        parser.exit()


def _path(parser: argparse.ArgumentParser) -> None:
    _data(parser)
    _model(parser)
    grid = parser.add_argument_group("the path")
    grid.add_argument("--n-taus", type=int, default=50, metavar="N", help="length of the grid (50)")
    grid.add_argument(
        "--tau-ratio", type=float, default=1e-3, metavar="R", help="smallest / largest tau (0.001)"
    )
    grid.add_argument("--taus", metavar="T,T,...", help="the grid itself, instead of these two")
    grid.add_argument(
        "--loss", choices=LOSSES,
        help="logistic for two classes, which a target of text, or of true and false, has by "
        "itself; huber or quantile (the median) if y has outliers",
    )  # fmt: skip
    grid.add_argument("--tol", type=float, default=1e-6, help="largest relative gap (1e-6)")
    grid.add_argument(
        "--max-iter", type=int, default=5000, metavar="N", help="iterations for each tau (5000)"
    )
    output = _output(parser)
    output.add_argument("--out", metavar="FILE.nc", help="write the path as netCDF")
    _plot(output, "the path")


def _select(parser: argparse.ArgumentParser) -> None:
    _data(parser)
    how = parser.add_argument_group("how to select")
    how.add_argument(
        "--method", choices=METHODS, default="auto",
        help="source of candidate sets; auto is anova, or pool if options describe the model",
    )  # fmt: skip
    how.add_argument(
        "--loss", choices=LOSSES,
        help="what sets are judged by: logistic for classes, which a target of text, or of true "
        "and false, has by itself; huber or quantile (the median) if far values should not decide",
    )  # fmt: skip
    _held_out(how)
    how.add_argument(
        "--rule", choices=("smallest", "min", "clear", "1se"),
        help="anova: the smallest set whose error is not clearly above the best, or the best "
        "(min); other methods: the clearest, the best, or the smallest within a standard error",
    )  # fmt: skip
    how.add_argument(
        "--keep", action="append", default=[], metavar="COLUMN",
        help="an input that is always selected; may be repeated",
    )  # fmt: skip
    how.add_argument("--number", type=int, metavar="K", help="select exactly K inputs or groups")
    how.add_argument(
        "--fdr", type=float, metavar="Q",
        help="select what tests call relevant at false discovery rate Q, such as 0.1",
    )  # fmt: skip
    how.add_argument(
        "--no-tests", dest="tests", action="store_false",
        help="do not test the inputs: faster, and without p-values",
    )  # fmt: skip
    _fits(how)
    _model(parser, kernel=None)
    _files(_output(parser))


def _files(output: Any) -> None:
    """What is written of a selection."""
    output.add_argument("--out", metavar="FILE.nc", help="write the model, for nvsd predict")
    output.add_argument("--history", metavar="FILE.nc", help="write all candidates as netCDF")
    output.add_argument(
        "--save", metavar="FILE.nc", help="write the whole selection, for nvsd report and Python"
    )
    output.add_argument("--report", metavar="FILE.html", help="write the selection as one page")
    _plot(output, "error against number of inputs")


def _held_out(how: argparse._ArgumentGroup) -> None:
    """Which rows judge."""
    how.add_argument("--validation", metavar="FILE", help="held-out rows instead of folds")
    how.add_argument("--cv", type=int, metavar="K", help="number of folds (5)")
    how.add_argument(
        "--cv-groups", metavar="COLUMN",
        help="rows with the same label are held out together; this column is no input",
    )  # fmt: skip


def _fits(how: argparse._ArgumentGroup) -> None:
    """How candidates are fitted."""
    how.add_argument(
        "--widths", metavar="W,W,...", help="multiples of the width to choose from (none)"
    )
    how.add_argument(
        "--width-per-input", action="store_true",
        help="give each selected input its own width, from the derivatives",
    )  # fmt: skip
    how.add_argument(
        "--value-points", type=int, metavar="M",
        help="for many rows: number of kernel sections of a fit, at rows drawn at random",
    )  # fmt: skip
    how.add_argument("--seed", type=int, default=0, help="seed of folds, subsamples, points (0)")
    how.add_argument("--jobs", type=int, metavar="N", help="fits to run at once; -1 uses all cores")


def _predict(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL.nc", help="file from nvsd select or nvsd path")
    _table(parser)
    parser.add_argument("--tau", type=float, help="tau of a path; the nearest one is used")
    parser.add_argument("--gradient", action="store_true", help="print derivatives too")
    parser.add_argument("--format", choices=FORMATS, default="csv", help="output format (csv)")
    parser.add_argument("--out", metavar="FILE", help="write to this file, not to the screen")


def _show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE.nc", help="file from nvsd path or nvsd select")
    parser.add_argument("--tau", type=float, help="show this tau; by default the smallest")
    output = _output(parser)
    _plot(output, "the path")
    output.add_argument("--plot-support", metavar="FILE", help="draw the support over tau")


def _report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE.nc", help="file from nvsd path or nvsd select --save")
    parser.add_argument("--out", required=True, metavar="FILE.html", help="the page to write")
    parser.add_argument("--data", metavar="DATA", help="table of the samples, to show the fit")
    parser.add_argument(
        "--validation", metavar="DATA", help="table of other rows: error curve and 1-SE point"
    )
    parser.add_argument(
        "--target", metavar="COLUMN", help="the column of the tables to explain; the name of y"
    )
    parser.add_argument("--title", help="shown above the report")
    _reading(parser)


# Purpose, arguments and options of each command.
COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "path": (
        "how strongly y depends on each input, for a whole range of penalties",
        "DATA --target COLUMN",
        _path,
    ),
    "select": ("which inputs y depends on", "DATA --target COLUMN", _select),
    "predict": ("predictions for a new table", "MODEL.nc DATA", _predict),
    "show": ("what is in a file that nvsd wrote", "FILE.nc", _show),
    "report": ("a path or a selection as one HTML page", "FILE.nc --out FILE.html", _report),
    "replicate": ("the paper's tables and its figure", "WHAT", _run_options.declare),
    "benchmark": ("nvsd.select beside other methods", "SUITE", _run_options.declare_benchmark),
}


def _table(parser: Any) -> None:
    parser.add_argument("data", metavar="DATA", help="table: CSV with a header line, or Parquet")
    _reading(parser)


def _reading(parser: Any) -> None:
    parser.add_argument(
        "--separator", default=",", metavar="C", help="character between columns of a CSV file (,)"
    )
    parser.add_argument(
        "--decimal", default=".", metavar="C", help="the decimal point of a CSV file (.)"
    )
    parser.add_argument(
        "--missing", choices=MISSING, default="error", type=_missing,
        help="rows with missing values: refuse them, leave them out, or (select) impute (error)",
    )  # fmt: skip


def _missing(word: str) -> str:
    """The word, or what it was called earlier."""
    return {"refuse": "error", "drop-rows": "drop"}.get(word, word)


def _data(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    _table(group)
    group.add_argument("--target", required=True, metavar="COLUMN", help="the column to explain")
    group.add_argument(
        "--drop", action="append", default=[], metavar="COLUMN",
        help="leave a column out; may be repeated",
    )  # fmt: skip
    group.add_argument(
        "--groups", metavar="FILE.json",
        help='groups of inputs: {"group": ["column", ...]} or {"column": "group"}',
    )  # fmt: skip
    group.add_argument(
        "--weights", metavar="COLUMN", help="the weights of the rows; this column is no input"
    )
    group.add_argument(
        "--no-standardize", dest="standardize", action="store_false",
        help="use the inputs unchanged; by default they get mean 0 and variance 1",
    )  # fmt: skip


def _model(parser: argparse.ArgumentParser, kernel: str | None = "gaussian") -> None:
    group = parser.add_argument_group("the model")
    kernels, penalties = list(kernel_names()), list(penalty_names())
    group.add_argument("--kernel", choices=kernels, default=kernel, help="kernel of f (gaussian)")
    group.add_argument(
        "--width", type=float, metavar="W",
        help="for gaussian and matern; by default the median distance to the nearest neighbours",
    )  # fmt: skip
    group.add_argument("--degree", type=int, metavar="P", help="degree of polynomial (3)")
    group.add_argument("--offset", type=float, metavar="C", help="offset of polynomial (1)")
    group.add_argument("--penalty", choices=penalties, help="(lasso; group with --groups)")
    group.add_argument("--mu", type=float, help="for elastic-net: share of the lasso (0.5)")
    group.add_argument("--rho", type=float, help="for sparse-group: share of the lasso (0.5)")
    group.add_argument("--nu", type=float, default=1e-3, help="weight of the squared norm (0.001)")


def _output(parser: argparse.ArgumentParser) -> Any:
    group = parser.add_argument_group("output")
    group.add_argument("--format", choices=FORMATS, default="table", help="output format (table)")
    group.add_argument("--all", action="store_true", help="list all inputs in the table")
    return group


def _plot(group: Any, what: str) -> None:
    group.add_argument("--plot", metavar="FILE", help=f"draw {what}: .png, .pdf, .svg or .jpg")
