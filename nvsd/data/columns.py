"""How the columns of a table become the inputs that fits see, and back.

A number or a boolean is one input. An ordered category is one input too, the place of its level. A
category has an input for each of its levels, or one input if it has two levels. Where values are
imputed, a column with missing ones has one more input, which says where they are missing. All
inputs of a column form one unit: it is selected, ranked and tested as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nvsd.data.cells import (
    BOOLEAN,
    CATEGORY,
    DROP_OR_IMPUTE,
    NUMBER,
    ORDERED,
    Cells,
    complaint,
    raw_cells,
    read_cells,
    series_of,
)
from nvsd.data.names import column_names, is_table, oriented, take_columns
from nvsd.data.words import listed, quoted

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

MISSING = ("error", "drop", "impute")
SAY_IMPUTE = "leave such rows out, or give missing='impute' to the fit"


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "ordered", "category"}
    levels : tuple of str
        Of a category, as text.
    indicator : bool
        Whether one more input says where values are missing.
    """

    name: str
    kind: str = NUMBER
    levels: tuple[str, ...] = ()
    indicator: bool = False

    @property
    def coded(self) -> tuple[str, ...]:
        """The levels that have an input; the first of two levels needs none."""
        if self.kind != CATEGORY:
            return ()
        return self.levels if len(self.levels) > 2 else self.levels[-1:]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of its inputs."""
        values = [f"{self.name} = {level}" for level in self.coded] or [self.name]
        return (*values, *([f"{self.name} is missing"] if self.indicator else []))

    def __str__(self) -> str:
        text = self.kind
        if self.kind == ORDERED:
            text = f"ordered category, as numbers from 0 to {len(self.levels) - 1}"
        text += f", with levels {listed(self.levels, 12)}" if self.levels else ""
        return text + (", missing values imputed" if self.indicator else "")

    def encoded(self, values: Array) -> Array:
        """The inputs, (n, inputs), from numbers or places in the levels; NaN where missing."""
        absent = np.isnan(values)
        parts = [values]
        if self.kind == CATEGORY:
            places = range(len(self.levels) - len(self.coded), len(self.levels))
            parts = [(values == place).astype(float) for place in places]
        return np.column_stack([*parts, absent] if self.indicator else parts)

    def read(self, series: Any, name: str) -> Array:
        """Numbers, or places in the levels, of the same column in a new table."""
        if not self.levels:
            (known,) = read_cells(series.to_frame().to_native())
            if known.levels:
                raise ValueError(
                    f"column {quoted(self.name)} of {name} holds text, but the fit saw numbers; "
                    "give numbers."
                )
            if found := complaint([known], name):
                raise ValueError(found)
            return known.values
        cells, absent = raw_cells(series)
        place = {level: float(code) for code, level in enumerate(self.levels)}
        texts = [str(cell) for cell in cells[~absent].tolist()]
        unknown = [text for text in texts if text not in place]
        if unknown:
            raise ValueError(
                f"column {quoted(self.name)} of {name} holds the level {quoted(unknown[0])}, which "
                f"the fit has not seen; give rows with the known levels, {listed(self.levels, 12)}."
            )
        values = np.full(len(cells), np.nan)
        values[~absent] = [place[text] for text in texts]
        return values


@dataclass(frozen=True)
class Columns:
    """All columns of a table, as they were in the fit.

    Attributes
    ----------
    columns : tuple of Column
    missing : {"error", "drop", "impute"}
        What is done about missing values.
    """

    columns: tuple[Column, ...]
    missing: str = "error"

    @classmethod
    def of_numbers(cls, names: Sequence[str]) -> Columns:
        """Columns that are all numbers."""
        return cls(tuple(Column(name) for name in names))

    @classmethod
    def learn(cls, cells: Sequence[Cells], missing: str) -> Columns:
        """How these columns become inputs."""
        impute = missing == "impute"
        return cls(
            tuple(
                Column(
                    each.name, each.kind, each.levels, impute and bool(np.isnan(each.values).any())
                )
                for each in cells
            ),
            missing,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(name for column in self.columns for name in column.inputs)

    @cached_property
    def owner(self) -> Index:
        """The column of each input."""
        widths = [len(column.inputs) for column in self.columns]
        return np.repeat(np.arange(len(widths)), widths)

    @property
    def one_to_one(self) -> bool:
        """Whether each column is one input."""
        return len(self.owner) == len(self.columns)

    @property
    def plain(self) -> bool:
        """Whether all are numbers, and none may be missing."""
        return self == Columns.of_numbers(self.names)

    @property
    def simple(self) -> bool:
        """Whether new values need no translation: all are numbers, and none may be missing."""
        return self.missing != "impute" and not any(column.levels for column in self.columns)

    @cached_property
    def treatment(self) -> dict[str, str]:
        """What was made of each column, in words."""
        return {column.name: str(column) for column in self.columns}

    @property
    def single(self) -> Index:
        """The inputs that are alone in their column."""
        return np.flatnonzero(np.bincount(self.owner)[self.owner] == 1)

    @property
    def drawn_together(self) -> list[tuple[Index, bool]]:
        """Inputs of a column that copies of it must not separate, and whether they are levels."""
        several = np.flatnonzero(np.bincount(self.owner) > 1)
        return [(self.inputs_of(a), self.columns[a].kind == CATEGORY) for a in several]

    def inputs_of(self, column: int | np.intp) -> Index:
        """The places of the inputs of a column."""
        return np.flatnonzero(self.owner == column)

    def of_columns(self, mask: Any) -> Any:
        """One value per column, where all inputs of a column have the same; last axis."""
        return np.asarray(mask)[..., np.unique(self.owner, return_index=True)[1]]

    def joined(self, sizes: Array) -> Array:
        """One size per column: the root of the sum of squares over its inputs; last axis."""
        if self.one_to_one:
            return sizes
        first = np.unique(self.owner, return_index=True)[1]
        return np.asarray(np.sqrt(np.add.reduceat(np.square(sizes), first, axis=-1)))

    def slopes(self, gradient: Array, used: Mask) -> Array:
        """Derivatives in the columns, (columns, m), from those in the inputs; NaN for categories.

        They stay 0 in a category that is not used.
        """
        if all(column.kind != CATEGORY for column in self.columns) and self.one_to_one:
            return gradient
        found = np.array(self.of_columns(gradient.T).T)
        for a, column in enumerate(self.columns):
            if column.kind == CATEGORY and used[self.inputs_of(a)].any():
                found[a] = np.nan
        return found

    def labels(self, of_columns: Sequence[str]) -> tuple[str, ...]:
        """The label of each input, from one per column."""
        return tuple(of_columns[a] for a in self.owner)

    def used(self, inputs: Mask) -> Columns:
        """The columns of these inputs; all if there are none."""
        which = np.unique(self.owner[inputs]) if inputs.any() else range(len(self.columns))
        return Columns(tuple(self.columns[a] for a in which), self.missing)

    def matrix(self, cells: Sequence[Cells]) -> Array:
        """All inputs, (n, inputs); NaN where values are missing."""
        parts = [c.encoded(each.values) for c, each in zip(self.columns, cells, strict=True)]
        return np.ascontiguousarray(np.column_stack(parts), dtype=float)

    def encode(self, X: Any, name: str = "X", used: Mask | None = None) -> Array:
        """The inputs of a new table, (m, inputs); zeros for those that are not used.

        An array has all columns in the order of the fit; the columns of a table go by name.
        """
        needed = range(len(self.columns)) if used is None else np.unique(self.owner[used])
        names = [self.names[a] for a in needed]
        table = self._table(X, names, name)
        found = np.zeros((len(table), len(self.inputs)))
        cells = []
        for a, series in zip(needed, series_of(table, names), strict=True):
            column = self.columns[a]
            cells.append(Cells(column.name, column.kind, column.read(series, name)))
            found[:, self.inputs_of(a)] = column.encoded(cells[-1].values)
        if wrong := complaint(cells, name, None if self.missing == "impute" else SAY_IMPUTE):
            raise ValueError(wrong)
        return found

    def _table(self, X: Any, names: list[str], name: str) -> Any:
        """A table with these columns only."""
        if is_table(X):
            return take_columns(X, names, name)
        values, given = np.asarray(oriented(X)), list(column_names(X) or self.names)
        if values.ndim != 2 or values.shape[1] != len(given):
            raise ValueError(f"{name} has shape {values.shape}; give rows of {len(given)} columns.")
        return take_columns(pd.DataFrame(values, columns=given).infer_objects(), names, name)

    def to_json(self) -> str:
        """The columns as text, for `from_json`."""
        return json.dumps(
            {"missing": self.missing, "columns": [asdict(column) for column in self.columns]}
        )

    @classmethod
    def from_json(cls, text: str) -> Columns:
        """The columns that `to_json` wrote."""
        try:
            content = json.loads(text)
            return cls(
                tuple(Column(**{**c, "levels": tuple(c["levels"])}) for c in content["columns"]),
                str(content["missing"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{quoted(text)} does not describe columns; make it again.") from error


def check_missing(value: object) -> str:
    """Return what to do about missing values."""
    if value not in MISSING:
        allowed = " or ".join(map(repr, MISSING))
        raise ValueError(f"missing = {value!r} is not allowed; give {allowed}.")
    return str(value)


__all__ = [
    "BOOLEAN", "CATEGORY", "DROP_OR_IMPUTE", "MISSING", "NUMBER", "ORDERED", "Column", "Columns",
    "check_missing",
]  # fmt: skip
