"""`nvsd show`: the content of a file."""

from __future__ import annotations

from argparse import Namespace

from nvsd.cli._describe import is_refit, print_path, print_refit
from nvsd.cli._model import check_outputs, save_figure
from nvsd.cli._screen import say
from nvsd.files import read_path


def run(options: Namespace) -> None:
    """Print what a file holds, and draw it."""
    check_outputs(options, netcdf=(), figures=("plot", "plot_support"))
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
