"""`nvsd path`: a regularisation path from a table."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from nvsd.cli._describe import print_path
from nvsd.cli._model import (
    check_outputs,
    holds_labels,
    load,
    make_kernel,
    make_penalty,
    numbers,
    on_terminal,
    save_figure,
)
from nvsd.cli._screen import say
from nvsd.cli._usage import UsageError
from nvsd.data.classes import labels_of
from nvsd.files import write_dataset
from nvsd.losses import Logistic, Loss
from nvsd.losses.named import loss_by_name
from nvsd.path import nvsd_path
from nvsd.selection.targets import are_labels


def run(options: Namespace) -> None:
    """Compute the path, write the requested files, print the result."""
    taus = numbers(options, "taus")
    check_outputs(options, netcdf=("out",), figures=("plot",))
    X, y, groups, of_rows = load(options, holds_labels(options.loss))
    loss = _loss(options.loss, y)
    penalty = make_penalty(options, groups)
    path = nvsd_path(
        X,
        y,
        kernel=make_kernel(options, X),
        penalty=penalty,
        loss=loss,
        nu=options.nu,
        taus=taus,
        n_taus=options.n_taus,
        tau_ratio=options.tau_ratio,
        tol=options.tol,
        max_iter=options.max_iter,
        standardize=options.standardize,
        progress=on_terminal(),
        **of_rows,
    )
    if options.out is not None:
        write_dataset(options.out, path)
        say(f"wrote {options.out}")
    if options.plot is not None:
        from nvsd.plots import plot_path

        save_figure(options.plot, plot_path(path))
        say(f"wrote {options.plot}")
    print_path(path, options)


def _loss(name: str | None, y: Any) -> Loss | None:
    """The loss that was asked for, or that of classes if y holds labels; of two classes."""
    loss = Logistic() if name is None and are_labels(y) else loss_by_name(name)
    if loss is not None and loss.of_classes:
        classes = labels_of(y).classes
        if len(classes) > 2:
            raise UsageError(
                f"the target has {len(classes)} classes, and nvsd path takes two; use nvsd select."
            )
        say(f"note: two classes; f is the log-odds of {classes[1]!s} against {classes[0]!s}.")
    return loss
