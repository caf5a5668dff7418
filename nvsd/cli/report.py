"""`nvsd report`: a path as one HTML page."""

from __future__ import annotations

from argparse import Namespace

from nvsd.cli._model import separator
from nvsd.cli._screen import say
from nvsd.files import check_output, read_path, read_table, training_table
from nvsd.report import write_report


def run(options: Namespace) -> None:
    """Write the report, with the data it is given to judge by."""
    check_output(options.out)
    path = read_path(options.path)
    if "tau" not in path.dims or "gap" not in path:
        raise ValueError("the file holds the refit of a selection; give what nvsd path wrote.")
    X = y = None
    if options.data is not None:
        if options.target is None:
            raise ValueError("--data needs --target COLUMN, the column to explain.")
        table = read_table(options.data, separator(options))
        features = {str(name) for name in path["feature"].values}
        drop = [name for name in table.columns if name not in features | {options.target}]
        X, y, _ = training_table(table, options.target, drop=drop, missing=options.missing)
    write_report(path, options.out, X=X, y=y, title=options.title)
    say(f"wrote {options.out}")
