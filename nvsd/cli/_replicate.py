"""The options of `nvsd replicate`; nothing heavy is imported here, so that --help is quick."""

from __future__ import annotations

import argparse

WHAT = ("table1", "table3", "table4", "figure1", "pilot")


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare what can be written after `nvsd replicate`."""
    parser.add_argument(
        "what", choices=WHAT, metavar="WHAT",
        help="table1, table3, table4, figure1, or pilot: how settings were chosen. The data of "
        "tables 3 and 4 are in the folder that the environment variable NVSD_DATA names",
    )  # fmt: skip
    parser.add_argument(
        "--replications", type=int, default=50, metavar="R", help="how many, from the first (50)"
    )
    parser.add_argument(
        "--experiments", metavar="E,E,...", help="only these, such as E1,E3-tuned or BH"
    )
    parser.add_argument("--sizes", metavar="N,N,...", help="only these numbers of training rows")
    parser.add_argument("--methods", metavar="M,M,...", help="only these, such as krls,pool")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="processes (1); -1 takes all cores, one thread each"
    )
    parser.add_argument("--cluster", metavar="ADDRESS", help="of a Dask scheduler, for its workers")
    parser.add_argument(
        "--out", default="results", metavar="FOLDER",
        help="one small file for each fit that is done: the same command goes on from there "
        "(results)",
    )  # fmt: skip
    parser.add_argument(
        "--known", metavar="FOLDER",
        help="compact results of an earlier run, such as docs/replication: they count as done",
    )  # fmt: skip
    parser.add_argument(
        "--show", action="store_true", help="only the table of what is done; nothing is run"
    )
