"""What `select` returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from nvsd.kernels import Kernel
from nvsd.results import library_version
from nvsd.ridge import RidgeFit
from nvsd.selection.candidates import Judged
from nvsd.selection.inputs import Inputs
from nvsd.selection.task import Array, Mask, Task

if TYPE_CHECKING:
    import pandas as pd

VARIABLES: dict[str, tuple[tuple[str, ...], str]] = {
    "support": (("step", "feature"), "whether the input is in the candidate"),
    "derivative_norm": (("step", "feature"), "norm of the refit's derivative over the samples"),
    "strength": (("step", "feature"), "what the method ranked the input by"),
    "n_selected": (("step",), "number of inputs in the candidate"),
    "error": (("step",), "mean squared error on held-out data"),
    "error_se": (("step",), "standard error of the mean squared error"),
    "clearness": (("step",), "norm of the weakest input inside over the strongest outside"),
    "ridge_nu": (("step",), "weight of the squared norm in the refit"),
    "kernel": (("step",), "kernel of the refit on all inputs, as JSON"),
    "method": (("step",), "method that proposed the candidate"),
    "origin": (("step",), "sequence of the method that the candidate belongs to"),
    "tau": (("step",), "weight of the penalty, where there is one"),
}


@dataclass(frozen=True, eq=False)
class Refit:
    """Kernel ridge on the selected inputs; it ignores all others.

    Attributes
    ----------
    fit : RidgeFit
        On the selected inputs, as the kernel sees them.
    inputs : Inputs
        Names of all inputs and how the kernel sees them.
    """

    fit: RidgeFit
    inputs: Inputs

    @property
    def features(self) -> tuple[str, ...]:
        """Names of all inputs."""
        return self.inputs.features

    @property
    def x_mean(self) -> Array:
        """The kernel sees (X − x_mean) / x_scale."""
        return self.inputs.mean

    @property
    def x_scale(self) -> Array:
        """The kernel sees (X − x_mean) / x_scale."""
        return self.inputs.scale

    @property
    def kernel(self) -> Kernel:
        """The kernel on the selected inputs."""
        return self.fit.kernel

    @property
    def nu(self) -> float:
        """The weight of the squared norm."""
        return float(self.fit.nus[0])

    def predict(self, X_new: ArrayLike) -> Array:
        """f at new points, (m,).

        X_new has all columns, or is a DataFrame that has at least those selected; what the others
        hold does not matter.
        """
        return np.asarray(self.fit.predict(self._points(X_new))[0])

    def gradient(self, X_new: ArrayLike) -> Array:
        """∂_a f at new points, (d, m), in the units of the samples as given; 0 if dropped."""
        gradient = self.fit.gradient(self._points(X_new))[0]
        return np.asarray(gradient / self.inputs.scale[:, None])

    def _points(self, X_new: ArrayLike) -> Array:
        return self.inputs.points(X_new, self.fit.features, "X_new")


@dataclass(frozen=True, eq=False)
class Selection:
    """Which inputs were selected, how, and the refit on them.

    Attributes
    ----------
    support : (d,) bool array
    features : tuple of str
        Names of all inputs.
    groups : tuple of str or None
        The group of each input, if groups were given.
    method : str
    history : Dataset
        Every candidate (dimension step): `support(step, feature)`, `derivative_norm(step, feature)`
        of its refit, `strength(step, feature)` by which the method ranked the inputs, `n_selected`,
        `error`, `error_se`, `clearness`, `ridge_nu`, `kernel`, `method` and `origin` (which
        sequence of which method it belongs to), `tau`; attrs `method`, `chosen` (the step that
        won), `rule`.
    refit : Refit
    score : float
        Mean squared error of the chosen candidate on the data that judged it. As the least of
        many it is optimistic. With folds, a width for each input changes the refit and not the
        score: folds judge the way to a set, before its refit is given other widths.
    """

    support: Mask
    features: tuple[str, ...]
    groups: tuple[str, ...] | None
    method: str
    history: xr.Dataset
    refit: Refit
    score: float

    @property
    def selected(self) -> list[str]:
        """Names of the selected inputs."""
        return [name for name, used in zip(self.features, self.support, strict=True) if used]

    def table(self) -> pd.DataFrame:
        """One row per input: feature, group if any, selected, derivative_norm and rank.

        The rank of an input is the number of inputs in the smallest set that has it, in the
        sequence of sets that the chosen one belongs to: the inputs that were dropped last have the
        smallest ranks. An input that is in none of them has no rank.
        """
        import pandas as pd

        chosen = self.history.isel(step=self.history.attrs["chosen"])
        same = (self.history["method"] == chosen["method"]) & (
            self.history["origin"] == chosen["origin"]
        )
        sequence = self.history.isel(step=np.flatnonzero(same))
        rank = sequence["n_selected"].where(sequence["support"]).min("step")
        columns = {
            "feature": list(self.features),
            "group": self.groups,
            "selected": self.support,
            "derivative_norm": chosen["derivative_norm"].values,
            "rank": pd.array(rank.values, dtype="Int64"),
        }
        return pd.DataFrame({name: c for name, c in columns.items() if c is not None})


def history(task: Task, judged: Judged, method: str, chosen: int) -> xr.Dataset:
    """Every candidate with what it was judged by."""
    rows = judged.candidates
    support = np.array([row.support for row in rows])

    @cache
    def norms(key: bytes, kernel: int, nu: float) -> Array:
        return task.norms(np.frombuffer(key, dtype=bool), task.kernels[kernel], nu)

    models = zip(support, judged.kernel, judged.nu, strict=True)
    data: dict[str, Any] = {
        "support": support,
        "derivative_norm": np.array([norms(row.tobytes(), *model) for row, *model in models]),
        "strength": np.array([row.strength for row in rows]),
        "n_selected": support.sum(axis=1),
        "error": judged.error,
        "error_se": judged.error_se,
        "clearness": np.array([row.clearness for row in rows]),
        "ridge_nu": judged.nu,
        "kernel": _text(task.kernels[i].to_json() for i in judged.kernel),
        "method": _text(row.method for row in rows),
        "origin": _text(row.origin for row in rows),
        "tau": np.array([row.tau for row in rows]),
    }
    variables = {
        name: (VARIABLES[name][0], values, {"long_name": VARIABLES[name][1]})
        for name, values in data.items()
    }
    coords = {"step": np.arange(len(rows)), "feature": _text(task.features)}
    attrs = {
        "title": "candidates of a selection of inputs",
        "method": method,
        "chosen": chosen,
        "rule": task.rule,
        "nvsd_version": library_version(),
    }
    return xr.Dataset(variables, coords=coords, attrs=attrs)


def _text(values: Any) -> Any:
    return np.array(list(values), dtype=object)
