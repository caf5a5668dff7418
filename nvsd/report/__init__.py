"""A path, or a selection, as one HTML file: no network, no framework, nothing to install."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import xarray as xr
from numpy.typing import ArrayLike

from nvsd.files import write_text
from nvsd.report.content import report_content
from nvsd.report.page import page
from nvsd.report.selection import selection_content

__all__ = ["report_html", "selection_html", "write_report", "write_selection_report"]


def write_report(
    path: xr.Dataset,
    out: str | os.PathLike[str],
    *,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    validation: Any = None,
    history: Any = None,
    title: str | None = None,
) -> Path:
    """Write the report of a path as one self-contained HTML file.

    The file is written under a temporary name and then renamed, so that it is always complete and a
    failure leaves an older file unchanged.

    Parameters
    ----------
    path : Dataset
        The result of `nvsd_path`, with one μ or several.
    out : path
        The file to write.
    X : (n, d) array or DataFrame, optional
        Samples, for the effects of the inputs; by default those stored in the path, if it has any.
    y : (n,) array, optional
        Their target, for predicted against observed. If it has a name, the report uses it for y.
    validation : (X, y), Dataset or fitted NVSDRegressorCV, optional
        Held-out data to judge the functions of the path; or errors over tau: `error` (or
        `mean_error`) and `error_se`.
    history : Selection or Dataset, optional
        The result of `nvsd.select`, or its history; the page then opens with the selected inputs.
    title : str, optional
        Shown above the report and as the title of the window.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import nvsd
    >>> data = nvsd.datasets.make_e1(30, seed=0)
    >>> path = nvsd.nvsd_path(data.X, data.y, n_taus=5)
    >>> nvsd.write_report(path, "report.html", X=data.X, y=data.y).name
    'report.html'
    """
    text = report_html(path, X=X, y=y, validation=validation, history=history, title=title)
    write_text(out, text)
    return Path(out)


def report_html(
    path: xr.Dataset,
    *,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    validation: Any = None,
    history: Any = None,
    title: str | None = None,
) -> str:
    """The report as text; the arguments are those of `write_report`."""
    content = report_content(path, X=X, y=y, validation=validation, history=history)
    return page(content, title)


def write_selection_report(
    selection: Any,
    out: str | os.PathLike[str],
    *,
    target: str | None = None,
    title: str | None = None,
) -> Path:
    """Write the report of a selection as one self-contained HTML file, completely or not at all.

    Parameters
    ----------
    selection : Selection
        The result of `nvsd.select` or `nvsd.load_selection`.
    out : path
        The file to write.
    target : str
        The name of y.
    title : str, optional
        Shown above the report and as the title of the window.

    Returns
    -------
    Path
        The file.
    """
    write_text(out, selection_html(selection, target=target, title=title))
    return Path(out)


def selection_html(selection: Any, *, target: str | None = None, title: str | None = None) -> str:
    """The report of a selection as text; the arguments are those of `write_selection_report`."""
    return page(selection_content(selection, target), title, "selection.html")
