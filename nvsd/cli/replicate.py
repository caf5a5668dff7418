"""`nvsd replicate`: the paper's tables and its figure."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path

from nvsd.cli._model import quiet_backend
from nvsd.cli._screen import Row, say, table, write
from nvsd.cli._usage import UsageError
from nvsd.experiments import EXPERIMENTS, METHODS, TABLES, Task, collect, report, save_results
from nvsd.experiments import run as run_tasks
from nvsd.experiments.rendering import to_markdown
from nvsd.experiments.tasks import records_in, restore, tasks_of
from nvsd.files import write_figure, write_text
from nvsd.machine import locked


def run(options: Namespace) -> None:
    """Run the fits that are not done yet, then write and print the results."""
    if options.replications < 1:
        raise UsageError(f"--replications {options.replications} is not allowed; give at least 1.")
    if options.jobs == 0:
        raise UsageError("--jobs 0 is not allowed; give at least 1, or -1 for all cores.")
    if Path(options.out).exists() and not Path(options.out).is_dir():
        raise UsageError(f"--out {options.out} is a file; name a folder.")
    if options.what == "pilot":
        _pilot(options)
        return
    folder = Path(options.out).absolute()
    beside = folder.parent.is_dir() and os.access(folder.parent, os.W_OK)
    with locked(folder, "the results folder") if beside else nullcontext():
        _figure(options) if options.what == "figure1" else _table(options)


def _table(options: Namespace) -> None:
    """The fits, the results as netCDF, the table as Markdown."""
    tasks = _tasks(options)
    if tasks is None:
        return
    if options.known is not None:
        _restore(options)
    _run(tasks, options)
    names = list(dict.fromkeys(task.experiment for task in tasks))
    results = {}
    for name in names:
        records = records_in(options.out, name)
        if records:
            results[name] = collect(records, name)
    if options.show and not results:
        raise _nothing_to_show(options)
    save_results(results, options.out)
    text = to_markdown(report(options.what, results))
    write_text(Path(options.out) / f"{options.what}.md", text)
    write(text)


def _tasks(options: Namespace) -> list[Task] | None:
    """The fits behind the table, or None if its data are missing."""
    wanted = _listed(options.methods, METHODS, "method")
    chosen = _listed(options.experiments, EXPERIMENTS, "experiment")
    known = sorted({n for block in TABLES[options.what] for _, n in block.columns.values()})
    sizes = known if options.sizes is None else _numbers(options.sizes, known)
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


def _restore(options: Namespace) -> None:
    if not any(Path(options.known).glob("*.nc")):
        raise UsageError(
            f"--known {options.known} has no results; give a folder with files such as E1.nc."
        )
    count = restore(options.known, options.out)
    say(f"{count} fits were taken from {options.known}.")


def _run(tasks: Sequence[Task], options: Namespace) -> None:
    if options.show:
        return
    try:
        Path(options.out).mkdir(parents=True, exist_ok=True)
    except PermissionError as error:
        raise ValueError(f"the folder {options.out!r} cannot be written; give another.") from error
    count = run_tasks(tasks, options.out, jobs=options.jobs, cluster=options.cluster, progress=True)
    say(f"{count} of {len(tasks)} fits were run; the others were already done.")
    done = {tuple(r[name] for name in Task._fields) for r in _records(tasks, options.out)}
    failed = [task for task in tasks if tuple(task) not in done]
    if failed:
        say(f"note: {len(failed)} fits failed; for the reason of one see {failed[0].place}.")


def _nothing_to_show(options: Namespace) -> UsageError:
    return UsageError(
        f"--out {options.out} has no results of {options.what}; leave out --show to make them."
    )


def _records(tasks: Iterable[Task], out: str) -> list[Row]:
    names = dict.fromkeys((task.experiment, task.keep_predictions) for task in tasks)
    return [record for name, kept in names for record in records_in(out, name, kept)]


def _figure(options: Namespace) -> None:
    """The fits, the predictions as netCDF, the figure."""
    from nvsd.experiments.figure1 import SHOWN, figure_data, figure_tasks, plot_figure1

    quiet_backend()
    wanted = _listed(options.methods, METHODS, "method")
    keys = [key for key in SHOWN if key in wanted and not METHODS[key].missing]
    known = EXPERIMENTS["E3"].sizes
    sizes = [] if options.sizes is None else _numbers(options.sizes, known)
    tasks = figure_tasks(keys, *sizes[:1])
    if not tasks:
        raise UsageError("these options leave nothing to draw; give other options.")
    _run(tasks, options)
    if options.show and not _records(tasks, options.out):
        raise _nothing_to_show(options)
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
        for name in _listed(options.experiments, EXPERIMENTS, "experiment")
        if (real or EXPERIMENTS[name].synthetic) and len(EXPERIMENTS[name].widths) == 1
    ]
    methods = _listed(options.methods, METHODS, "method") if options.methods else ["nvsd-l", "krls"]
    rows = compare_settings(names, options.replications, options.jobs, tuple(methods))
    write(table([row._asdict() for row in rows]))
    if real:
        groups = frequency_groups(options.replications, options.jobs)
        for code, labels in groups.items():
            write(f"\n{code}: {' '.join(labels)}\n")


def _listed(text: str | None, known: Iterable[str], what: str) -> list[str]:
    """Comma-separated names, or all."""
    names = list(known) if text is None else [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UsageError(f"there is no {what} {name!r}; give some of {', '.join(known)}.")
    return names


def _numbers(text: str, known: Sequence[int]) -> list[int]:
    """Comma-separated sizes."""
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--sizes {text!r} are not numbers; give them as in 30,50.") from error
    for size in sizes:
        if size not in known:
            raise UsageError(f"there is no size {size}; give some of {', '.join(map(str, known))}.")
    return sizes
