"""The options of `nvsd replicate` and `nvsd benchmark`; nothing heavy is imported here."""

from __future__ import annotations

import argparse

WHAT = ("table1", "table3", "table4", "figure1", "pilot")
SUITES = ("public", "unseen", "classes", "noise", "planted", "prediction")


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `nvsd replicate`."""
    parser.add_argument(
        "what", choices=WHAT, metavar="WHAT",
        help="table1, table3, table4, figure1, or pilot (how settings were chosen); tables 3 and 4 "
        "read their data from the folder in the environment variable NVSD_DATA",
    )  # fmt: skip
    parser.add_argument(
        "--experiments", metavar="E,E,...", help="only these, such as E1,E3-tuned or BH"
    )
    _run(parser, 50, "krls,pool", "results", "docs/replication")


def declare_benchmark(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `nvsd benchmark`."""
    parser.add_argument(
        "suite", choices=SUITES, metavar="SUITE",
        help=f"{', '.join(SUITES[:-1])} or {SUITES[-1]}; the last two read the paper's tables from "
        "the folder in the environment variable NVSD_DATA",
    )  # fmt: skip
    parser.add_argument("--problems", metavar="P,P,...", help="only these, such as ring,xor")
    _run(parser, 10, "ours,rf,lgbm", "benchmark", "docs/benchmarks")


def _run(
    parser: argparse.ArgumentParser, replications: int, methods: str, out: str, known: str
) -> None:
    """What every long run has; texts are examples and defaults."""
    parser.add_argument(
        "--replications", type=int, default=replications, metavar="R",
        help=f"number of replications ({replications})",
    )  # fmt: skip
    parser.add_argument("--sizes", metavar="N,N,...", help="only these numbers of training rows")
    parser.add_argument("--methods", metavar="M,M,...", help=f"only these, such as {methods}")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="processes (1); -1 takes all cores, one thread each"
    )
    parser.add_argument("--cluster", metavar="ADDRESS", help="Dask scheduler to run the fits on")
    parser.add_argument(
        "--out", default=out, metavar="FOLDER",
        help="folder with one small file per finished fit; the same command continues from there "
        f"({out})",
    )  # fmt: skip
    parser.add_argument(
        "--known", metavar="FOLDER",
        help=f"compact results of an earlier run, such as {known}; they count as done",
    )  # fmt: skip
    parser.add_argument(
        "--show", action="store_true", help="only show the table of finished fits; run nothing"
    )
