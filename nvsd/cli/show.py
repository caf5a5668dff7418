"""`nvsd show`: the content of a file."""

from __future__ import annotations

from argparse import Namespace

from nvsd.cli._describe import is_refit, print_path, print_refit
from nvsd.cli._model import check_outputs, save_figure
from nvsd.cli._screen import as_csv, as_json, say, write
from nvsd.cli._usage import UsageError
from nvsd.files import holds_selection, read_path
from nvsd.results.facts import facts_of
from nvsd.selection import load_selection


def run(options: Namespace) -> None:
    """Print what a file holds, and draw it."""
    check_outputs(options, netcdf=(), figures=("plot", "plot_support"))
    if holds_selection(options.path):
        _of_selection(options)
        return
    dataset = read_path(options.path)
    if "mu" in dataset.dims:
        raise ValueError("the file holds paths for several mu; write one of them with nvsd path.")
    refit = is_refit(dataset) or "tau" not in dataset.dims
    if refit and (options.plot or options.plot_support):
        raise ValueError("the file holds the refit of a selection, not a path to draw.")
    if refit:
        print_refit(dataset, options)
        return
    from nvsd.plots import plot_path, plot_support

    for path, draw in ((options.plot, plot_path), (options.plot_support, plot_support)):
        if path is not None:
            save_figure(path, draw(dataset, chosen=options.tau))
            say(f"wrote {path}")
    print_path(dataset, options, options.tau)


def _of_selection(options: Namespace) -> None:
    """The summary of a whole selection, or its inputs as rows."""
    if options.plot or options.plot_support or options.tau is not None:
        raise UsageError("--plot, --plot-support and --tau are for paths; leave them out.")
    selection = load_selection(options.path)
    rows = facts_of(selection).inputs
    if options.format == "csv":
        write(as_csv(rows))
    elif options.format == "json":
        write(as_json({"method": selection.method, "selected": selection.selected, "inputs": rows}))
    else:
        write(f"{selection.summary()}\n")
