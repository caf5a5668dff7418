"""Tests of all units, from the fits of all folds: what `significance` and p-values are made of."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from nvsd.data.checks import Index
from nvsd.data.columns import Columns
from nvsd.data.near_copies import near_copies
from nvsd.data.scaling import filled
from nvsd.inference.hypotheses import Testable, Tested, tested
from nvsd.inference.multiplicity import CORRECTIONS
from nvsd.progress import progress_bar
from nvsd.results.schema import GROUP_SIGNIFICANCE, SIGNIFICANCE, library_version, text
from nvsd.selection.task import Array

N_COPIES = 10
POOR = 3.0  # check of the model of an input, in normal scores above chance, beyond which it is poor
INTERVAL = 1.96  # standard errors on either side of an importance


class CopyWarning(UserWarning):
    """The model of an input given the others is poor, so its p-value may be too small.

    Examples
    --------
    >>> from nvsd.selection.significance import CopyWarning
    >>> issubclass(CopyWarning, UserWarning)  # warnings.simplefilter can ignore it, or raise it
    True
    """


@dataclass(frozen=True, eq=False)
class Evidence:
    """What tests need: samples, the fits of all folds, and the units.

    Attributes
    ----------
    X : (n, inputs) array
        Missing values are NaN.
    columns : Columns
        Which inputs belong to which column.
    groups : tuple of str or None
        The group of each column: the units are then groups.
    repeats : sequence of sequences of Testable
    inputs : int array
        The columns to test; with groups, the groups of these columns are tested.
    weights : (n,) array or None
        Of the rows, if they differ.
    progress : bool, optional
        Whether to show a progress bar; by default at a terminal and in notebooks.
    """

    X: Array
    columns: Columns
    groups: tuple[str, ...] | None
    repeats: Sequence[Sequence[Testable]]
    inputs: Index
    seed: int
    weights: Array | None = None
    progress: bool | None = None

    def dataset(self, correction: str = "bh", n_copies: int = N_COPIES) -> xr.Dataset:
        """Test all units."""
        names, units = self._units()
        # Copies depend on X alone, so all rows may say where missing values are put.
        X = filled(self.X)
        together = [] if self.groups is not None else self._together(X)
        sets = [np.flatnonzero(np.isin(self.columns.owner, each)) for each in (*units, *together)]
        drawn = self.columns.drawn_together
        with progress_bar(self.progress, len(sets), "tests", "test") as tick, threadpool_limits(1):
            found = tested(X, self.repeats, sets, n_copies, self.seed, tick, self.weights, drawn)
        data = _columns(found, len(units))
        if self.groups is None:
            data |= _joined(data["p_value"], found.p_value[len(units) :], self.inputs, together)
            label = [", ".join(self.columns.names[a] for a in each) for each in together]
            place = {int(a): i for i, each in enumerate(together) for a in each}
            data["near_copies"] = text(label[place[a]] if a in place else "" for a in self.inputs)
        else:
            data["p_value_together"] = data["p_value"]
            data["_number"] = np.arange(len(units))
        data["q_value"] = _q_values(data["p_value_together"], data.pop("_number"), correction)
        _warn(names, data)
        attrs = {
            "correction": correction,
            "n_copies": n_copies,
            "n_folds": len(self.repeats[0]),
            "repeats": len(self.repeats),
            "n_rows": int(sum(len(model.rows) for model in self.repeats[0])),
            "nvsd_version": library_version(),
        }
        if self.groups is None:
            return SIGNIFICANCE.make(data, {"feature": text(names)}, attrs)
        del data["p_value_together"]
        return GROUP_SIGNIFICANCE.make(data, {"group": text(names)}, attrs)

    def _units(self) -> tuple[list[str], list[Index]]:
        """Names and columns of the units to test."""
        if self.groups is None:
            own = [np.array([a]) for a in self.inputs]
            return [self.columns.names[a] for a in self.inputs], own
        labels = np.array(self.groups, dtype=object)
        names = list(dict.fromkeys(labels[self.inputs]))
        return names, [np.flatnonzero(labels == name) for name in names]

    def _together(self, X: Array) -> list[Index]:
        """Sets of columns that are near copies, if a fit uses one of them.

        Only columns of one input can be.
        """
        place = self.columns.single  # of the only input of each of these columns
        single = self.columns.owner[place]
        asked = np.flatnonzero(np.isin(single, self.inputs))
        sets = near_copies(X if len(place) == X.shape[1] else X[:, place], asked)
        models = [model for folds in self.repeats for model in folds]
        used = [each for each in sets if any(len(model.uses(place[each])) for model in models)]
        return [single[each] for each in used]


def _columns(found: Tested, units: int) -> dict[str, Any]:
    rise, se = found.rise[:units], found.rise_se[:units]
    return {
        "importance": rise,
        "importance_se": se,
        "importance_lower": rise - INTERVAL * se,
        "importance_upper": rise + INTERVAL * se,
        "statistic": found.statistic[:units],
        "p_value": found.p_value[:units],
        "explained": found.explained[:units],
        "copy_check": found.check[:units],
    }


def _joined(p: Array, of_sets: Array, inputs: Index, together: list[Index]) -> dict[str, Any]:
    """The p-value of the set of near copies that an input is in, and the number of that set."""
    joined, number = p.copy(), np.arange(len(p))
    for value, each in zip(of_sets, together, strict=True):
        members = np.flatnonzero(np.isin(inputs, each))
        joined[members], number[members] = value, members[0]
    return {"p_value_together": joined, "_number": number}


def _q_values(p: Array, number: Array, correction: str) -> Array:
    """The q-values, where each set of near copies is one hypothesis."""
    first, back = np.unique(number, return_inverse=True)
    return np.asarray(CORRECTIONS[correction](p[first])[back])


def _warn(names: list[str], data: dict[str, Any]) -> None:
    poor = [
        name
        for name, check, p in zip(names, data["copy_check"], data["p_value"], strict=True)
        if check > POOR and p < 0.1
    ]
    if poor:
        warnings.warn(
            f"the model of {', '.join(poor)} given the other inputs misses a dependence, so these "
            "p-values may be too small; look at copy_check, or test these inputs as a group.",
            CopyWarning,
            stacklevel=4,
        )
