"""A path as one HTML file to look at: no network, no framework, nothing to install."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import xarray as xr
from numpy.typing import ArrayLike

from nvsd.files import write_text
from nvsd.report.content import report_content
from nvsd.report.page import page

__all__ = ["report_html", "write_report"]


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

    The file is complete or absent: it is written under a temporary name and then renamed, so that a
    failure leaves an older file as it was.

    Parameters
    ----------
    path : Dataset
        What `nvsd_path` returned, with several μ or one.
    out : path
        The file to write.
    X : (n, d) array or DataFrame, optional
        Samples, for the effects of the inputs; by default those inside the path, where they were
        kept.
    y : (n,) array, optional
        Their target, for predicted against observed. Its name, if it has one, is what the report
        calls y.
    validation : (X, y), Dataset or fitted NVSDRegressorCV, optional
        Held-out data, on which the functions of the path are judged; or errors over tau:
        `error` (or `mean_error`) and `error_se`.
    history : Selection or Dataset, optional
        What `nvsd.select` returned, or its history; the page then opens with what it selected.
    title : str, optional
        Shown above the report and as the title of the window.

    Returns
    -------
    Path
        The file.
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
