"""The paper's Figure 1: predictions on the test data of E3, methods side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from nvsd.experiments.methods import METHODS, OURS_GROUPS
from nvsd.experiments.protocol import EXPERIMENTS
from nvsd.experiments.store import read
from nvsd.experiments.tasks import Task
from nvsd.results.runs import FIGURE
from nvsd.results.schema import text

N, REPLICATION = 110, 16  # the paper shows "the 17th replication"
SHOWN = ("krls", "spam", "hsic", "denovas", "xrfm", "nvsd-l", "nvsd-gl", "nvsd-en", OURS_GROUPS)
ACROSS = 5  # panels in a row
ROWS = {"E3": "width 4", "E3-tuned": "width chosen"}
AXES = ("x1", "x7")  # the first measurement of each of the two variables that matter


def figure_tasks(methods: Sequence[str] = SHOWN, n: int = N) -> list[Task]:
    """The fits behind the figure."""
    return [Task(name, n, REPLICATION, key, True) for name in ROWS for key in methods]


def figure_data(out: str | Path, tasks: Sequence[Task]) -> xr.Dataset:
    """Predictions and target on the test data, (experiment, method, sample)."""
    names, keys = (
        list(dict.fromkeys(getattr(t, f) for t in tasks)) for f in ("experiment", "method")
    )
    split = EXPERIMENTS[names[0]].split(tasks[0].n, REPLICATION)
    predictions = np.full((len(names), len(keys), len(split.y_test)), np.nan, np.float32)
    for task in tasks:
        record = read(Path(out) / task.place)
        if record is not None and "predictions" in record:
            where = names.index(task.experiment), keys.index(task.method)
            predictions[where] = record["predictions"]
    inputs = split.X_test[:, [split.names.index(name) for name in AXES]].astype(np.float32)
    return FIGURE.make(
        {
            "prediction": predictions,
            "y": split.y_test.astype(np.float32),
            "X": inputs,
        },
        {"experiment": text(names), "method": text(keys), "input": text(AXES)},
        {"n": tasks[0].n, "replication": REPLICATION},
    )


def plot_figure1(data: xr.Dataset) -> Any:
    """Predictions against the two variables that matter: colour is f, one panel for each method.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    names = [str(name) for name in data["experiment"].values]
    keys = ["y", *(str(key) for key in data["method"].values)]
    y, X = data["y"].values, data["X"].values
    limits = {"vmin": float(np.quantile(y, 0.01)), "vmax": float(np.quantile(y, 0.99))}
    across = min(ACROSS, len(keys))
    down = -(-len(keys) // across)  # rows of panels for each experiment
    figure, axes = plt.subplots(
        down * len(names), across, figsize=(1.8 * across, 2.0 * down * len(names)), sharex=True,
        sharey=True, squeeze=False, layout="constrained",
    )  # fmt: skip
    for i, name in enumerate(names):
        panels = axes[down * i : down * (i + 1)].ravel()
        for ax in panels[len(keys) :]:
            ax.set_axis_off()
        for j, (ax, key) in enumerate(zip(panels, keys, strict=False)):
            f = y if key == "y" else data["prediction"].values[i, j - 1]
            points = ax.scatter(*X.T, c=f, s=3, cmap="viridis", rasterized=True, **limits)
            ax.set_aspect("equal")
            error = "" if key == "y" else f"\nRMSE {np.sqrt(np.mean((f - y) ** 2)):.2f}"
            ax.set_title(("test data" if key == "y" else METHODS[key].label) + error, fontsize=8)
            ax.tick_params(labelsize=6)
        for ax in panels[::across]:
            ax.set_ylabel(f"{ROWS.get(name, name)}\n{AXES[1]}", fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel(AXES[0], fontsize=8)
    figure.colorbar(points, ax=axes, shrink=0.5, label="f")
    return figure
