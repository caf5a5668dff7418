from __future__ import annotations

from typing import Any

import matplotlib

matplotlib.use("Agg")

import pandas as pd
import xarray as xr

import nvsd
from nvsd.kernels import Gaussian
from nvsd.penalties import GroupLasso


def small_path(sample: nvsd.datasets.Sample) -> xr.Dataset:
    """A path in groups, with names."""
    X = pd.DataFrame(sample.X, columns=sample.names)
    penalty = GroupLasso(sample.groups)
    return nvsd.nvsd_path(X, sample.y, kernel=Gaussian(2.0), penalty=penalty, n_taus=8, tol=1e-3)


def draw(ax: Any) -> list[str]:
    """Render the figure, and return every text of the axes."""
    ax.figure.canvas.draw()
    found = [text for text in ax.findobj(matplotlib.text.Text) if text.get_visible()]
    return [text.get_text() for text in found if text.get_text()]
