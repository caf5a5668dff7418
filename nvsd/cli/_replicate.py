"""The options of `nvsd replicate`; nothing heavy is imported here, so that --help is quick."""

from __future__ import annotations

import argparse

WHAT = ("table1", "table3", "table4", "figure1", "pilot")


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `nvsd replicate`."""
    parser.add_argument(
        "what", choices=WHAT, metavar="WHAT",
        help="table1, table3, table4, figure1, or pilot (how settings were chosen); tables 3 and 4 "
        "read their data from the folder in the environment variable NVSD_DATA",
    )  # fmt: skip
    parser.add_argument(
        "--replications", type=int, default=50, metavar="R", help="number of replications (50)"
    )
    parser.add_argument(
        "--experiments", metavar="E,E,...", help="only these, such as E1,E3-tuned or BH"
    )
    parser.add_argument("--sizes", metavar="N,N,...", help="only these numbers of training rows")
    parser.add_argument("--methods", metavar="M,M,...", help="only these, such as krls,pool")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="processes (1); -1 takes all cores, one thread each"
    )
    parser.add_argument("--cluster", metavar="ADDRESS", help="Dask scheduler to run the fits on")
    parser.add_argument(
        "--out", default="results", metavar="FOLDER",
        help="folder with one small file per finished fit; the same command continues from there "
        "(results)",
    )  # fmt: skip
    parser.add_argument(
        "--known", metavar="FOLDER",
        help="compact results of an earlier run, such as docs/replication; they count as done",
    )  # fmt: skip
    parser.add_argument(
        "--show", action="store_true", help="only show the table of finished fits; run nothing"
    )
