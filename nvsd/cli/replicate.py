"""`nvsd replicate`: the paper's tables and its figure."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from nvsd.cli._model import quiet_backend
from nvsd.cli._runs import (
    check,
    listed,
    nothing_to_show,
    numbers,
    one_writer,
    run_missing,
    take_known,
)
from nvsd.cli._screen import say, table, write
from nvsd.cli._usage import UsageError
from nvsd.experiments import EXPERIMENTS, METHODS, TABLES, Task, collect, report, save_results
from nvsd.experiments.rendering import to_markdown
from nvsd.experiments.tasks import records_in, restore, tasks_of
from nvsd.files import write_figure, write_text


def run(options: Namespace) -> None:
    """Run the fits that are not done yet, then write and print the results."""
    check(options)
    if options.what == "pilot":
        _pilot(options)
        return
    with one_writer(options):
        _figure(options) if options.what == "figure1" else _table(options)


def _table(options: Namespace) -> None:
    """The fits, the results as netCDF, the table as Markdown."""
    tasks = _tasks(options)
    if tasks is None:
        return
    take_known(options, restore, "E1.nc")
    _run(tasks, options)
    names = list(dict.fromkeys(task.experiment for task in tasks))
    results = {}
    for name in names:
        records = records_in(options.out, name)
        if records:
            results[name] = collect(records, name)
    if options.show and not results:
        raise nothing_to_show(options, options.what)
    save_results(results, options.out)
    text = to_markdown(report(options.what, results))
    write_text(Path(options.out) / f"{options.what}.md", text)
    write(text)


def _tasks(options: Namespace) -> list[Task] | None:
    """The fits behind the table, or None if its data are missing."""
    wanted = listed(options.methods, METHODS, "method")
    chosen = listed(options.experiments, EXPERIMENTS, "experiment")
    known = sorted({n for block in TABLES[options.what] for _, n in block.columns.values()})
    sizes = known if options.sizes is None else numbers(options.sizes, known)
    tasks: dict[Task, None] = {}
    missing: dict[str, tuple[str, ...]] = {}
    for block in TABLES[options.what]:
        methods = [m for m in block.methods() if m.key in wanted]
        missing |= {m.label: m.missing for m in methods if m.missing}
        cells = [(name, n) for name, n in block.columns.values() if name in chosen and n in sizes]
        keys = [m.key for m in methods if not m.missing]
        tasks |= dict.fromkeys(tasks_of(cells, keys, range(options.replications)))
    for label, packages in missing.items():
        say(f"note: {label} is left out because it needs {' and '.join(packages)}.")
    if not tasks:
        raise UsageError("these options leave nothing to do; give other options.")
    real = any(not EXPERIMENTS[task.experiment].synthetic for task in tasks)
    if real and not os.environ.get("NVSD_DATA"):
        say(
            f"{options.what} is skipped because its data are missing; give their folder in the "
            "environment variable NVSD_DATA."
        )
        return None
    return sorted(tasks, key=lambda task: task.replication)


def _run(tasks: list[Task], options: Namespace) -> None:
    """Run what is not done yet."""
    run_missing(tasks, options, lambda task: _is_good(task, options), "replicate")


def _is_good(task: Task, options: Namespace) -> bool:
    return task.known(Path(options.out)) is not None


def _figure(options: Namespace) -> None:
    """The fits, the predictions as netCDF, the figure."""
    from nvsd.experiments.figure1 import SHOWN, figure_data, figure_tasks, plot_figure1

    quiet_backend()
    wanted = listed(options.methods, METHODS, "method")
    keys = [key for key in SHOWN if key in wanted and not METHODS[key].missing]
    known = EXPERIMENTS["E3"].sizes
    sizes = [] if options.sizes is None else numbers(options.sizes, known)
    tasks = figure_tasks(keys, *sizes[:1])
    if not tasks:
        raise UsageError("these options leave nothing to draw; give other options.")
    _run(tasks, options)
    if options.show and not any(_is_good(task, options) for task in tasks):
        raise nothing_to_show(options, options.what)
    data = figure_data(options.out, tasks)
    save_results({"figure1": data}, options.out)
    figure = plot_figure1(data)
    write_figure(Path(options.out) / "figure1.png", figure, dpi=150)
    say(f"wrote {Path(options.out) / 'figure1.png'}")


def _pilot(options: Namespace) -> None:
    """How ν, c and the groups of Table 4 come out on replications that are not reported."""
    from nvsd.experiments.pilot import compare_settings, frequency_groups

    real = bool(os.environ.get("NVSD_DATA"))
    names = [
        name
        for name in listed(options.experiments, EXPERIMENTS, "experiment")
        if (real or EXPERIMENTS[name].synthetic) and len(EXPERIMENTS[name].widths) == 1
    ]
    methods = listed(options.methods, METHODS, "method") if options.methods else ["nvsd-l", "krls"]
    rows = compare_settings(names, options.replications, options.jobs, tuple(methods))
    write(table([row._asdict() for row in rows]))
    if real:
        groups = frequency_groups(options.replications, options.jobs)
        for code, labels in groups.items():
            write(f"\n{code}: {' '.join(labels)}\n")
