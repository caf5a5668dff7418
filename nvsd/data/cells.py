"""What the columns of a table hold: numbers, true and false, categories, or something else.

pandas, polars and pyarrow are read alike, by narwhals. One message names all columns that cannot be
used, with the reason for each.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nvsd.data.names import feature_names, is_table, refuse_repeated
from nvsd.data.words import count, quoted

Array = NDArray[np.float64]

NUMBER, BOOLEAN, ORDERED, CATEGORY, FAULTY = "number", "boolean", "ordered", "category", "faulty"
MOST_LEVELS = 100  # a category with more is a name of each row, or a number
FEW_LEVELS = 10  # text with more levels, and fewer than two rows for each, is no category
MOST_NAMED = 20  # columns that one message names
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
DATE_TEXT = re.compile(r"\d{4}-\d{2}-\d{2}([T ]|$)")
SIGNED_NUMBER = re.compile(r"[^\w\s]?\s?-?\d[\d.,' ]*\s?[^\w\s]?")  # $1,200 or 12%
NO_NUMBER = re.compile(r"has \d+ (missing|infinite) value")
DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64, pd.Period)
DATE_ADVICE = "give dates as numbers, such as days since a first day"
DECIMAL_ADVICE = (
    "if its decimal points are commas, give --decimal , or in Python read_csv decimal=','"
)
TEXT_ADVICE = "leave columns of free text out"
SIGNS_ADVICE = "write numbers without currency signs, percent signs and thousands separators"
CODE_ADVICE = "code categories as numbers, or use nvsd.select with a table in memory"
DROP_OR_IMPUTE = "give missing='drop' or missing='impute'"
NUMBERS_ONLY = (
    "fill or drop missing values, or use nvsd.select with a table in memory and missing='impute'"
)


class Fault(NamedTuple):
    """What is wrong with a column, or with y, and what to do about it."""

    column: str
    what: str
    advice: str
    of_y: bool = False


class Cells(NamedTuple):
    """One column of a table.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "ordered", "category", "faulty"}
    values : (n,) array
        Numbers, or places in the levels; NaN where they are missing.
    levels : tuple of str
    fault : str
        Why the column cannot be used.
    advice : str
        What to do about it.
    row : int
        The row of the cell that the fault names; -1 if it names none.
    """

    name: str
    kind: str
    values: Array
    levels: tuple[str, ...] = ()
    fault: str = ""
    advice: str = ""
    row: int = -1

    def faults(
        self, missing: str | None, categories: str | None, first_row: int = 0
    ) -> list[tuple[str, str]]:
        """What is wrong, and what to do about it.

        Parameters
        ----------
        missing : str or None
            What to do about missing values; None if they are allowed.
        categories : str or None
            The same for categories.
        first_row : int
            The number of the first row.
        """
        absent, infinite = np.isnan(self.values), np.isinf(self.values)
        odd = f" in row {self.row + first_row}, which is not a number" if self.row >= 0 else ""
        found = [(self.fault + odd, self.advice)] if self.fault else []
        if self.levels and categories is not None and not absent.all():
            row = int(np.argmin(absent))
            cell = quoted(self.levels[int(self.values[row])], 40)
            what = f"holds {cell} in row {row + first_row}, which is not a number"
            found.append((what, categories))
        if missing is not None and absent.any() and not self.fault:
            found.append((_how_many(absent, "missing value", first_row), missing))
        if infinite.any():
            what = _how_many(infinite, "infinite value", first_row)
            found.append((what, "correct infinite values"))
        return found


def read_cells(X: Any) -> list[Cells]:
    """The columns of a table, or of a two-dimensional array of numbers or objects."""
    if not is_table(X):
        values = np.ma.filled(np.ma.asarray(X, dtype=float), np.nan) if np.ma.isMA(X) else X
        values = np.asarray(values)
        names = feature_names(X, values.shape[1])
        if values.dtype.kind in "biuf":
            numeric = zip(names, values.T.astype(float), strict=True)
            return [Cells(name, NUMBER, column) for name, column in numeric]
        columns = zip(names, values.T, strict=True)
        return [_of_objects(name, np.asarray(v, dtype=object)) for name, v in columns]
    names = feature_names(X, 0)
    refuse_repeated(names, names)
    return [_cells(name, each) for name, each in zip(names, series_of(X, names), strict=True)]


def series_of(X: Any, names: Sequence[str]) -> list[Any]:
    """The columns of a table as narwhals Series."""
    import narwhals as nw  # numpy arrays never need it, so it is not imported with the library

    if hasattr(X, "set_axis"):  # in pandas 0 and False are the same name
        X = X.set_axis(list(names), axis=1)
    return list(nw.from_native(X, eager_only=True).iter_columns())


def _how_many(which: NDArray[np.bool_], noun: str, first_row: int) -> str:
    first = int(np.argmax(which)) + first_row
    number = int(which.sum())
    return f"has {count(number, noun)} ({'first in ' if number > 1 else ''}row {first})"


def complaint(
    cells: Sequence[Cells],
    name: str = "X",
    missing: str | None = None,
    categories: str | None = None,
) -> str:
    """One sentence on all columns that cannot be used; empty if all can. See `Cells.faults`."""
    return sentence(name, faults_of(cells, missing, categories))


def faults_of(
    cells: Sequence[Cells], missing: str | None, categories: str | None, first_row: int = 0
) -> list[Fault]:
    """What is wrong with these columns, in their order."""
    given = (missing, categories, first_row)
    return [Fault(each.name, *fault) for each in cells for fault in each.faults(*given)]


def faults_of_target(y: Any, advice: str) -> list[Fault]:
    """That y has missing values, if it has."""
    absent = np.ravel(pd.isna(np.asarray(y, dtype=object)))
    if y is None or not absent.any():
        return []
    return [Fault("y", _how_many(absent, "missing value", 0), advice, of_y=True)]


def sentence(name: str, found: Sequence[Fault], also: str = "") -> str:
    """One sentence on all faults, with what to do about them; empty if there are none."""
    if not found:
        return ""
    named = ["y" if each.of_y else f"column {quoted(each.column)}" for each in found[:MOST_NAMED]]
    what = ", ".join(f"{who} {each.what}" for who, each in zip(named, found, strict=False))
    what += f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    advice = "; ".join(dict.fromkeys(each.advice for each in found))
    if found[0].of_y:
        return f"{what}; {advice}{also}."
    numbers_only = all(NO_NUMBER.match(each.what) for each in found)
    why = "holds NaN or infinite values" if numbers_only else "cannot be used as it is"
    return f"{name} {why}: {what}; {advice}{also}."


def raw_cells(series: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The cells of a narwhals Series as objects, and which of them are missing."""
    cells = np.fromiter(series.to_list(), dtype=object, count=len(series))
    return cells, np.asarray(pd.isna(cells))


def numbers(series: Any) -> Array:
    """The numbers of a narwhals Series of numbers or booleans."""
    import narwhals as nw

    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=float)


def _cells(name: str, series: Any) -> Cells:
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Cells(name, BOOLEAN if dtype == nw.Boolean else NUMBER, numbers(series))
    cells, absent = raw_cells(series)
    if dtype.is_temporal():
        return _faulty(name, absent, "holds dates or durations", DATE_ADVICE)
    native = series.to_native()
    declared = getattr(getattr(native, "dtype", None), "categories", None)
    if getattr(getattr(native, "dtype", getattr(native, "type", None)), "ordered", False):
        # A chunked array of pyarrow does not say its levels without reading them.
        levels = (
            declared if declared is not None else native.combine_chunks().dictionary.to_pylist()
        )
        return _coded(name, cells, absent, tuple(map(str, levels)), ORDERED)
    if dtype in (nw.Categorical, nw.Enum):
        return _of_levels(name, cells, absent, len(cells))
    return _of_objects(name, cells)


def _of_objects(name: str, cells: NDArray[Any]) -> Cells:
    """A column of text or of any objects, judged by its cells."""
    absent = np.asarray(pd.isna(cells))
    here = cells[~absent].tolist()
    if here and all(isinstance(cell, bool | np.bool_) for cell in here):
        return Cells(name, BOOLEAN, _floats(cells, absent))
    if any(isinstance(cell, DATES) for cell in here):
        return _faulty(name, absent, "holds dates or durations", DATE_ADVICE)
    texts = [cell for cell in here if isinstance(cell, str)]
    odd = [cell for cell in here if not isinstance(cell, str | Real | Decimal)]
    if odd:
        what = f"holds {quoted(type(odd[0]).__name__)} objects"
        return _faulty(name, absent, what, "give numbers or text in each cell")
    if sum(map(_is_number, texts)) == len(texts):
        return Cells(name, NUMBER, _floats(cells, absent))
    strange = next(cell for cell in texts if not _is_number(cell))
    if len(texts) < len(here) or any(map(_is_number, texts)):
        row = int(np.flatnonzero([each is strange for each in cells])[0])
        advice = "give numbers, or only text, in each column"
        return _faulty(name, absent, f"holds {quoted(strange, 40)}", advice, row)
    if all(map(DATE_TEXT.match, texts)):
        return _faulty(name, absent, "holds dates or durations", DATE_ADVICE)
    if DECIMAL_COMMA.fullmatch(strange):
        row = int(np.flatnonzero([each is strange for each in cells])[0])
        advice = DECIMAL_ADVICE
        return _faulty(name, absent, f"holds {quoted(strange, 40)}", advice, row)
    return _of_levels(name, cells, absent, max(FEW_LEVELS, len(here) // 2))


def _of_levels(name: str, cells: NDArray[Any], absent: NDArray[np.bool_], most: int) -> Cells:
    """A category; its levels are those that it has, sorted."""
    here = cells[~absent].tolist()
    levels = sorted({str(cell) for cell in here})
    if len({(type(cell), cell) for cell in here}) > len(levels):
        what = "mixes levels that read the same"
        return _faulty(name, absent, what, "rename levels that read the same")
    if len(levels) > min(MOST_LEVELS, most):
        what = f"holds {len(levels)} different texts in {count(len(here), 'row')}"
        what += f", such as {quoted(levels[0], 30)}"
        signs = all(map(SIGNED_NUMBER.fullmatch, levels))
        return _faulty(name, absent, what, SIGNS_ADVICE if signs else TEXT_ADVICE)
    return _coded(name, cells, absent, tuple(levels), CATEGORY)


def _coded(
    name: str, cells: NDArray[Any], absent: NDArray[np.bool_], levels: tuple[str, ...], kind: str
) -> Cells:
    place = {level: code for code, level in enumerate(levels)}
    values = np.full(len(cells), np.nan)
    values[~absent] = [place[str(cell)] for cell in cells[~absent].tolist()]
    return Cells(name, kind, values, levels)


def _faulty(name: str, absent: NDArray[np.bool_], fault: str, advice: str, row: int = -1) -> Cells:
    return Cells(name, FAULTY, np.where(absent, np.nan, 0.0), (), fault, advice, row)


def _floats(cells: NDArray[Any], absent: NDArray[np.bool_]) -> Array:
    values = np.full(len(cells), np.nan)
    values[~absent] = [float(cell) for cell in cells[~absent].tolist()]
    return values


def _is_number(text: str) -> bool:
    """Whether text is a finite number; "nan" and "inf" may be names."""
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
