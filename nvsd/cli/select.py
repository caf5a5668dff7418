"""`nvsd select`: which inputs a target depends on."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np
from pandas import isna

from nvsd.cli._answer import Answer
from nvsd.cli._model import (
    PAGES,
    check_outputs,
    holds_labels,
    load,
    load_table,
    make_kernel,
    make_penalty,
    numbers,
    on_terminal,
    save_figure,
)
from nvsd.cli._screen import MOST, Row, as_csv, as_json, cell, say, table, write
from nvsd.cli._usage import UsageError
from nvsd.files import check_output, refuse_absent, write_dataset
from nvsd.selection import Selection, select
from nvsd.selection.classes import ClassSelection
from nvsd.selection.targets import are_labels

# Options that describe the model of all methods except anova, which has its own model.
MODEL = (
    "kernel", "width", "degree", "offset", "penalty", "mu", "rho", "widths", "value_points"
)  # fmt: skip


def run(options: Namespace) -> None:
    """Select, write the requested files, print the result."""
    widths = numbers(options, "widths")
    check_outputs(options, netcdf=("out", "history", "save"), figures=("plot",))
    if options.report is not None:
        check_output(options.report, PAGES)
    X, y, groups, of_rows = load(options, holds_labels(options.loss), categories=True)
    classes = options.loss == "logistic" or are_labels(y)
    loss = _loss(options, y, classes)
    validation = None
    if options.validation is not None:
        if options.cv is not None:
            raise UsageError("--validation replaces --cv; leave one of them out.")
        held_out, target = load_table(
            options, options.validation, constant=True, labels=classes, categories=True
        )
        refuse_absent(held_out, list(X.columns))
        validation = (held_out[list(X.columns)], target)
    model = _model(options, X, groups, widths)
    selection = select(
        X,
        y,
        groups=groups,
        loss=loss,
        validation=validation,
        cv=5 if options.cv is None else options.cv,
        rule=options.rule,
        keep=options.keep,
        k=options.number,
        fdr=options.fdr,
        p_values=options.tests and model["method"] == "anova",
        missing=options.missing,
        random_state=options.seed,
        n_jobs=options.jobs,
        progress=on_terminal(),
        **of_rows,
        **model,
    )
    _write_files(selection.named(str(options.target)), options)
    judged = (y, of_rows.get("sample_weight")) if validation is None else (validation[1], None)
    n = int(selection.history.attrs.get("n_samples", len(X)))
    _print(Answer.of(selection, cell(options.target), n, *judged), options)


def _loss(options: Namespace, y: Any, classes: bool) -> str | None:
    """The loss that was asked for; of numbers that look like classes, squares, with a note."""
    if options.loss is None and not classes and set(np.unique(y)) == {0, 1}:
        say(
            f"note: {cell(options.target)} is 0 or 1 and taken as a number; --loss logistic is for "
            "classes."
        )
        return "squared"
    return None if options.loss is None else str(options.loss)


def _model(options: Namespace, X: Any, groups: Any, widths: Any) -> dict[str, Any]:
    """The method, and the model if one is described."""
    described = [getattr(options, name) for name in MODEL if getattr(options, name) is not None]
    if options.method == "auto":
        options.method = "pool" if described or options.width_per_input else "anova"
    if options.method == "anova" and not described:
        return {"method": "anova"}
    options.kernel = options.kernel or "gaussian"
    return {
        "method": options.method,
        "kernel": make_kernel(options, X),
        "penalty": make_penalty(options, groups),
        "nu": options.nu,
        "widths": widths,
        "width_per_input": options.width_per_input,
        "standardize": options.standardize,
        "value_points": options.value_points,
    }


def _write_files(selection: Selection, options: Namespace) -> None:
    if options.out is not None:
        write_dataset(options.out, selection.dataset())
        say(f"wrote {options.out}")
    if options.history is not None:
        write_dataset(options.history, selection.history)
        say(f"wrote {options.history}")
    if options.save is not None:
        selection.save(options.save)
        say(f"wrote {options.save}")
    if options.report is not None:
        selection.report(options.report, p_values=options.tests, target=str(options.target))
        say(f"wrote {options.report}")
    if options.plot is not None:
        from nvsd.plots import plot_elimination

        save_figure(options.plot, plot_elimination(selection))
        say(f"wrote {options.plot}")


def _print(answer: Answer, options: Namespace) -> None:
    rows = _rows(answer.selection)
    if options.format == "csv":
        write(as_csv(rows))
    elif options.format == "json":
        write(as_json(_content(answer) | {"inputs": rows}))
    else:
        n = int(answer.selection.support.sum())
        shown = ["input", "group", "selected", "strength", "p_value"]
        shown += ["rank"] if answer.ranks else []
        brief = [{name: row[name] for name in shown if name in row} for row in rows]
        write(f"{answer.text()}\n{table(brief, most=None if options.all else max(MOST, n))}")


def _content(answer: Answer) -> dict[str, Any]:
    selection = answer.selection
    score, explained = float(selection.score), answer.explained
    scores: dict[str, Any] = {"mean_squared_error": score, "explained_variance": explained}
    if "loss" in selection.history.attrs:
        scores = {"measure": selection.measure, "score": score, "explained": explained}
    if isinstance(selection, ClassSelection):
        scores |= {"classes": selection.classes.tolist(), **selection.held_out}
    return {
        "method": selection.method,
        "selected": selection.selected,
        "reason": answer.reason,
        **scores,
        "predicts_with": selection.predicts_with,
        "ridge_nu": float(selection.refit.nu),
        "kernel": repr(selection.refit.kernel),
    }


def _rows(selection: Selection) -> list[Row]:
    """One row for each input: selected inputs first, then by strength, then by rank."""
    tests = "p_value" in selection.history
    frame = selection.table(p_values=tests).rename(columns={"feature": "input"})
    rows = [
        {str(name): _native(value) for name, value in row.items()}
        for row in frame.to_dict("records")
    ]
    last = len(rows) + 1
    return sorted(
        rows, key=lambda row: (not row["selected"], -row["strength"], row["rank"] or last)
    )


def _native(value: Any) -> Any:
    """A plain number, text or None."""
    if isna(value):
        return None
    return value.item() if hasattr(value, "item") else value
