"""A selection as a tree of Datasets, which one netCDF file holds, and back.

    /              what was selected from what, and how, as attributes
    /inputs        support, strength and place in the ranking of every input
    /history       every candidate with its errors
    /refit         the fit on the selected inputs
    /predictor     the fit that predicts, if it is another one
    /significance  the tests, if they were made
    /held_out      of classes: the probabilities of rows that were held out

Kernels, losses and labels are JSON text, so that reading a file runs nothing that is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from nvsd.data.classes import classes_from_json, classes_to_json
from nvsd.results.classes import class_dataset, several_of
from nvsd.results.refits import refit_dataset, refit_of
from nvsd.results.schema import features_of, library_version, text
from nvsd.results.variables import Schema, Variable
from nvsd.ridge.dense import RidgeFit
from nvsd.ridge.newton import SeveralFits

Array = NDArray[np.float64]

TITLE = "selection of inputs"

INPUTS = Schema(
    "inputs of a selection",
    {
        "support": Variable(("feature",), "whether the input is selected"),
        "strength": Variable(("feature",), "what the method ranked the input by"),
        "order": Variable(("place",), "number of the input at each place of the ranking"),
    },
    {"feature": "input", "group": "group of the input"},
)
HELD_OUT = Schema(
    "probabilities of held-out rows",
    {
        "probability": Variable(("row", "class"), "probability of each class"),
        "code": Variable(("row",), "number of the row's class"),
    },
    {"class": "class"},
)
ALL_INPUTS = Schema(
    "how a fit sees the inputs",
    {
        "all_mean": Variable(("input",), "subtracted from each input before the kernel"),
        "all_scale": Variable(("input",), "each input is divided by this before the kernel"),
    },
    {"input": "input, selected or not"},
)


@dataclass(frozen=True, eq=False)
class StoredFit:
    """A fit on some inputs, and how it sees all of them: (X − mean) / scale.

    Attributes
    ----------
    origin : (c,) array or None
        Of classes: the log-odds of their shares.
    n : int
        Of classes: number of rows that were fitted.
    """

    fit: RidgeFit
    features: tuple[str, ...]
    mean: Array
    scale: Array
    origin: Array | None = None
    n: int = 0


@dataclass(frozen=True, eq=False)
class StoredSelection:
    """All that a selection consists of; the names are those of `nvsd.Selection`.

    Attributes
    ----------
    tests : Dataset or None
        Of `nvsd.significance`, if they were made.
    classes : array or None
        The labels, if y are classes; then also the probabilities and codes of held-out rows.
    """

    support: NDArray[np.bool_]
    features: tuple[str, ...]
    groups: tuple[str, ...] | None
    method: str
    history: xr.Dataset
    refit: StoredFit
    score: float
    strength: Array
    order: NDArray[np.intp]
    predictor: StoredFit
    predicts_with: str
    measure: str
    tests: xr.Dataset | None = None
    classes: NDArray[Any] | None = None
    probabilities: Array | None = None
    codes: NDArray[np.intp] | None = None

    def tree(self) -> xr.DataTree:
        """As Datasets."""
        nodes = {
            "/": xr.Dataset(attrs=self._attributes()),
            "/inputs": self._inputs(),
            "/history": self.history,
            "/refit": _fit_dataset(self.refit, self.classes),
        }
        if self.predictor is not self.refit:
            nodes["/predictor"] = _fit_dataset(self.predictor, self.classes)
        if self.tests is not None:
            nodes["/significance"] = self.tests
        if self.probabilities is not None and self.classes is not None:
            data = {"probability": self.probabilities, "code": self.codes}
            nodes["/held_out"] = HELD_OUT.make(data, {"class": _labels(self.classes)}, {})
        return xr.DataTree.from_dict(nodes)

    def _attributes(self) -> dict[str, Any]:
        found = {
            "title": TITLE,
            "method": str(self.method),
            "score": float(self.score),
            "measure": self.measure,
            "predicts_with": self.predicts_with,
            "nvsd_version": library_version(),
        }
        return found | ({} if self.classes is None else {"classes": classes_to_json(self.classes)})

    def _inputs(self) -> xr.Dataset:
        data = {"support": self.support, "strength": self.strength, "order": self.order}
        coords: dict[str, Any] = {"feature": text(self.features)}
        if self.groups is not None:
            coords["group"] = ("feature", text(self.groups))
        return INPUTS.make(data, coords, {})


def is_selection(attrs: Any) -> bool:
    """Whether these are the attributes of a file that holds a selection."""
    return bool(attrs.get("title") == TITLE)


def stored_selection(tree: xr.DataTree) -> StoredSelection:
    """The parts of a selection that `StoredSelection.tree` wrote; KeyError if one is absent."""
    attrs = tree.attrs
    inputs = tree["inputs"].to_dataset()
    held = tree["held_out"].to_dataset() if "held_out" in tree else None
    classes = classes_from_json(str(attrs["classes"])) if "classes" in attrs else None
    refit = _stored_fit(tree["refit"].to_dataset(), classes)
    groups = tuple(map(str, inputs["group"].values)) if "group" in inputs.coords else None
    return StoredSelection(
        support=inputs["support"].values.astype(bool),
        features=features_of(inputs),
        groups=groups,
        method=str(attrs["method"]),
        history=tree["history"].to_dataset(),
        refit=refit,
        score=float(attrs["score"]),
        strength=inputs["strength"].values.astype(float),
        order=inputs["order"].values.astype(np.intp),
        predictor=_stored_fit(tree["predictor"].to_dataset(), classes)
        if "predictor" in tree
        else refit,
        predicts_with=str(attrs["predicts_with"]),
        measure=str(attrs["measure"]),
        tests=tree["significance"].to_dataset() if "significance" in tree else None,
        classes=classes,
        probabilities=None if held is None else held["probability"].values.astype(float),
        codes=None if held is None else held["code"].values.astype(np.intp),
    )


def _fit_dataset(stored: StoredFit, classes: NDArray[Any] | None) -> xr.Dataset:
    fit, names = stored.fit, stored.features
    shared = (names, None, stored.mean, stored.scale, None)
    if isinstance(fit, SeveralFits):
        assert classes is not None
        assert stored.origin is not None
        found = class_dataset(fit, *shared, classes, stored.origin, {"n_fitted": stored.n})
    else:
        found = refit_dataset(fit, *shared, {})
    data = {"all_mean": stored.mean, "all_scale": stored.scale}
    return found.merge(ALL_INPUTS.make(data, {"input": text(names)}, {}), combine_attrs="override")


def _stored_fit(dataset: xr.Dataset, classes: NDArray[Any] | None) -> StoredFit:
    names = tuple(str(name) for name in dataset["input"].values)
    mean, scale = (dataset[name].values.astype(float) for name in ("all_mean", "all_scale"))
    if classes is None:
        return StoredFit(refit_of(dataset, names), names, mean, scale)
    fit, origin = several_of(dataset, names)
    return StoredFit(fit, names, mean, scale, origin, int(dataset.attrs["n_fitted"]))


def _labels(classes: Sequence[Any] | NDArray[Any]) -> Any:
    return text(str(label) for label in np.asarray(classes).tolist())
