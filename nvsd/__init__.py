"""Nonlinear variable selection based on derivatives.

Which inputs does y depend on, and how? For general nonlinear functions, with a certificate.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

# The command has no other place to catch Ctrl-C while the library is still being imported.
if os.path.basename((getattr(sys, "argv", None) or [""])[0]) in ("nvsd", "nvsd.exe", "-m"):
    _usual = sys.excepthook

    def _interrupted(kind: Any, error: Any, trace: Any) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            _usual(kind, error, trace)
            return
        if sys.stderr is not None:
            sys.stderr.write("nvsd: error: interrupted; no further file was written.\n")
            sys.stderr.flush()
        os._exit(1)

    sys.excepthook = _interrupted

from nvsd import datasets, kernels, losses, penalties
from nvsd.accessor import PathAccessor
from nvsd.machine import show_versions
from nvsd.path import ConvergenceWarning, nvsd_path
from nvsd.prepared import Prepared, prepare
from nvsd.results.schema import library_version

if TYPE_CHECKING:
    from nvsd import plots
    from nvsd.estimators import (
        DerivativeElimination,
        NVSDClassifier,
        NVSDClassifierCV,
        NVSDRegressor,
        NVSDRegressorCV,
        SelectiveClassifier,
        SelectiveRegressor,
    )
    from nvsd.report import write_report
    from nvsd.selection import Selection, load_selection, select
    from nvsd.selection.significance import significance

__version__ = library_version()

__all__ = [
    "ConvergenceWarning",
    "DerivativeElimination",
    "NVSDClassifier",
    "NVSDClassifierCV",
    "NVSDRegressor",
    "NVSDRegressorCV",
    "PathAccessor",
    "Prepared",
    "Selection",
    "SelectiveClassifier",
    "SelectiveRegressor",
    "__version__",
    "datasets",
    "kernels",
    "load_selection",
    "losses",
    "nvsd_path",
    "penalties",
    "plots",
    "prepare",
    "select",
    "show_versions",
    "significance",
    "write_report",
]

# Names that need scikit-learn or matplotlib are imported when they are first used.
_LAZY = {
    "DerivativeElimination": "nvsd.estimators",
    "NVSDClassifier": "nvsd.estimators",
    "NVSDClassifierCV": "nvsd.estimators",
    "NVSDRegressor": "nvsd.estimators",
    "NVSDRegressorCV": "nvsd.estimators",
    "Selection": "nvsd.selection",
    "SelectiveClassifier": "nvsd.estimators",
    "SelectiveRegressor": "nvsd.estimators",
    "load_selection": "nvsd.selection",
    "select": "nvsd.selection",
    "significance": "nvsd.selection.significance",
    "plots": "nvsd.plots",
    "write_report": "nvsd.report",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'nvsd' has no attribute {name!r}")
    module = import_module(_LAZY[name])
    return module if name == "plots" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
