"""`nvsd path`: a regularisation path from a table."""

from __future__ import annotations

from argparse import Namespace

from nvsd.cli._describe import print_path
from nvsd.cli._model import (
    check_outputs,
    load,
    make_kernel,
    make_penalty,
    numbers,
    on_terminal,
    save_figure,
)
from nvsd.cli._screen import say
from nvsd.files import write_dataset
from nvsd.path import nvsd_path


def run(options: Namespace) -> None:
    """Compute the path, write the requested files, print the result."""
    taus = numbers(options, "taus")
    check_outputs(options, netcdf=("out",), figures=("plot",))
    X, y, groups = load(options)
    penalty = make_penalty(options, groups)
    path = nvsd_path(
        X,
        y,
        kernel=make_kernel(options, X),
        penalty=penalty,
        nu=options.nu,
        taus=taus,
        n_taus=options.n_taus,
        tau_ratio=options.tau_ratio,
        tol=options.tol,
        max_iter=options.max_iter,
        standardize=options.standardize,
        progress=on_terminal(),
    )
    if options.out is not None:
        write_dataset(options.out, path)
        say(f"wrote {options.out}")
    if options.plot is not None:
        from nvsd.plots import plot_path

        save_figure(options.plot, plot_path(path))
        say(f"wrote {options.plot}")
    print_path(path, options)
