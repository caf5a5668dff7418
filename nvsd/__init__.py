"""Nonlinear variable selection based on derivatives.

Which inputs does y depend on, and how? For general nonlinear functions, with a certificate.
"""

from __future__ import annotations

from nvsd import datasets, kernels, penalties
from nvsd.accessor import PathAccessor
from nvsd.path import ConvergenceWarning, nvsd_path
from nvsd.prepare import Prepared, prepare
from nvsd.results import library_version

__version__ = library_version()

__all__ = [
    "ConvergenceWarning",
    "PathAccessor",
    "Prepared",
    "__version__",
    "datasets",
    "kernels",
    "nvsd_path",
    "penalties",
    "prepare",
]
