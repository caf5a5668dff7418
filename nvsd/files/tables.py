"""CSV and Parquet files as tables of numbers."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nvsd.data.cells import Cells, Fault, faults_of, read_cells, sentence
from nvsd.data.columns import check_missing
from nvsd.files._columns import are_labels, label_codes
from nvsd.files._words import count, existing_file, file_name, how_to_drop, listed, quoted

Array = NDArray[np.float64]

PARQUET = (".parquet", ".pq")
UNNAMED = "unnamed column "
NO_TARGET = "take rows without a target out, or give --missing drop, as only inputs are imputed"
OLD_WORDS = {"refuse": "error", "drop-rows": "drop"}  # of earlier versions


class Table(NamedTuple):
    """Inputs X, the target y (n,) and the number of rows left out for missing values."""

    X: Any
    y: NDArray[Any]
    n_dropped: int


def read_table(path: Any, separator: str = ",", decimal: str = ".") -> Any:
    """Read a CSV file (.gz too) with a header line, or a Parquet file.

    Parameters
    ----------
    path : path
    separator, decimal : str
        The character between columns, and the decimal point, of CSV files.

    Returns
    -------
    DataFrame
        Its columns are distinct strings; it has at least one row.
    """
    place = existing_file(path)
    frame = _parquet(place) if place.suffix.lower() in PARQUET else _csv(place, separator, decimal)
    frame.columns = [str(name) for name in frame.columns]
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise ValueError(
            f"{file_name(place)} has several columns called {quoted(repeated[0])}; "
            "give each column its own name."
        )
    if frame.empty:
        raise ValueError(f"{file_name(place)} holds no rows of data; give a header line and rows.")
    return frame


def _csv(path: Path, separator: str, decimal: str) -> Any:
    if len(separator) != 1 or separator in '"\n\r':
        raise ValueError(f"the separator is {separator!r}; give one character, as in ',' or ';'.")
    if decimal not in (".", ",") or decimal == separator:
        raise ValueError(
            f"the decimal point is {decimal!r}; give '.' or ',', and a different separator."
        )
    options: dict[str, Any] = {"sep": separator, "encoding": "utf-8-sig", "low_memory": False}
    try:
        with warnings.catch_warnings():
            # pandas only warns when it drops fields beyond the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            first = pd.read_csv(
                path.absolute(), header=None, nrows=1, dtype=str, keep_default_na=False, **options
            )
            # pandas would rename repeated columns, so they have numbers until they are checked.
            names = list(range(first.shape[1]))
            frame = pd.read_csv(
                path.absolute(), header=0, names=names, index_col=False, decimal=decimal, **options
            )
    except UnicodeDecodeError as error:
        raise ValueError(f"{file_name(path)} is not UTF-8 text; save it as UTF-8.") from error
    except pd.errors.ParserWarning as error:
        _header(path, first.iloc[0].tolist(), separator)  # may give a better reason
        raise ValueError(
            f"the rows of {file_name(path)} have more fields than its header; "
            "give every column a name."
        ) from error
    except (ValueError, OverflowError, EOFError, zlib.error) as error:
        why = " ".join(str(error).removeprefix("Error tokenizing data. C error: ").split())
        raise ValueError(
            f"{file_name(path)} is not a table ({why.rstrip('.')}); "
            "give a CSV file with a header line."
        ) from error
    frame.columns = _header(path, first.iloc[0].tolist(), separator)
    return frame


def _header(path: Path, names: list[str], separator: str) -> list[str]:
    others = [other for other in ";\t|," if other != separator and other in names[0]]
    if len(names) == 1 and others:
        raise ValueError(
            f"{file_name(path)} has one column, {quoted(names[0])}; if {others[0]!r} separates its "
            f"columns, give --separator {'tab' if others[0] == chr(9) else repr(others[0])}."
        )
    return [name if name.strip() else f"{UNNAMED}{i}" for i, name in enumerate(names, 1)]


def _parquet(path: Path) -> Any:
    try:
        return pd.read_parquet(path.absolute(), engine="pyarrow")
    except ImportError as error:
        raise ValueError(
            f"{file_name(path)} is a Parquet file, but pyarrow is not installed; run: "
            "pip install pyarrow, or give a CSV file."
        ) from error
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        raise ValueError(
            f"{file_name(path)} cannot be read as Parquet; give another file."
        ) from error


def training_table(
    frame: Any,
    target: str,
    *,
    drop: Iterable[str] = (),
    missing: str = "error",
    constant: bool = False,
    labels: bool | None = False,
    categories: bool = False,
) -> Table:
    """Split a table into inputs and target, all of them numbers, or categories, that vary.

    Parameters
    ----------
    frame : DataFrame
        From `read_table`.
    target : str
        The column to explain; all others that are not dropped are inputs.
    drop : names of columns
        Columns to leave out.
    missing : {"error", "drop", "impute"}
        What to do about missing values; "impute" leaves those of inputs as they are.
    constant : bool
        Whether columns may be constant; allowed in validation rows, which are not fitted.
    labels : bool, optional
        Whether the target holds labels of classes, and may be text; None: if it is text without a
        single number, or true and false.
    categories : bool
        Whether inputs may be text, as categories.
    """
    dropped = list(dict.fromkeys(drop))
    for name in (target, *dropped):
        refuse_unknown(frame, name, "the target" if name == target else "which was to be dropped")
    if target in dropped:
        raise ValueError(f"{quoted(target)} is the target; drop other columns only.")
    inputs = [name for name in frame.columns if name != target and name not in dropped]
    if not inputs:
        raise ValueError(f"the target {quoted(target)} is the only column; give inputs too.")
    labelled = are_labels(frame[target]) if labels is None else labels
    codes, classes = label_codes(frame[target]) if labelled else (frame[target], None)
    y = pd.DataFrame({target: codes}, index=frame.index)
    kept = _kept(frame[inputs], y, missing, categories, constant)
    n_dropped = len(frame) - len(kept)
    if len(kept) < 2:
        raise ValueError(f"the table has {count(len(kept), 'complete row')}; give at least 2.")
    if not constant:
        _refuse_constant(kept[inputs] if labelled else kept, target)
    found = kept[target].to_numpy(dtype=float)
    return Table(kept[inputs], found if classes is None else classes[found.astype(int)], n_dropped)


def input_table(
    frame: Any, features: Sequence[str], *, missing: str = "error", categories: bool = False
) -> Any:
    """The columns that a model needs, in its order; the index is the row number."""
    refuse_absent(frame, features)
    kept = _kept(frame[list(features)], None, missing, categories)
    if kept.empty:
        raise ValueError("every row of the table has missing values; give complete rows.")
    return kept


def refuse_absent(frame: Any, features: Sequence[str]) -> None:
    """Refuse a table without some inputs of a model."""
    absent = [name for name in features if name not in frame.columns]
    if absent:
        raise ValueError(
            f"the table lacks the model's {'input' if len(absent) == 1 else 'inputs'} "
            f"{listed(absent)}; give a table with all of them."
        )


def _kept(inputs: Any, target: Any, missing: str, categories: bool, constant: bool = True) -> Any:
    """Inputs and target side by side, without missing values unless they are imputed.

    Numbers are float64; the index is the row number, from 1.
    """
    missing = check_missing(OLD_WORDS.get(missing, missing))
    cells, own = read_cells(inputs), [] if target is None else read_cells(target)
    how = "give --missing drop"
    how += " or --missing impute" if categories and target is not None else ""
    code = None if categories else "code text as numbers"
    found = faults_of(cells, how if missing == "error" else None, code, 1)
    also = ""
    if target is not None:
        found = _faults_of_inputs(cells, found, how, constant)
        names = _not_only_missing(found, how)
        also = f", or {how_to_drop(names)}" if names else ""
        how = how if missing == "error" else NO_TARGET
        found += faults_of(own, None if missing == "drop" else how, "give numbers", 1)
    if found:
        raise ValueError(sentence("the table", found, also))
    both = inputs if target is None else inputs.assign(**{own[0].name: target.iloc[:, 0]})
    columns = {each.name: _column(both[each.name], each) for each in (*cells, *own)}
    table = pd.DataFrame(columns, index=pd.RangeIndex(1, len(inputs) + 1))
    absent = np.array([np.isnan(each.values) for each in (*cells, *own)]).any(axis=0)
    return table[~absent] if missing == "drop" else table


def _faults_of_inputs(
    cells: list[Cells], found: list[Fault], how: str, constant: bool
) -> list[Fault]:
    """The faults, and those that would be told of only after these are mended."""
    # A saved row index has no name; it must not become an input unnoticed.
    unnamed = [
        Fault(each.name, "has no name in the header", "give every column a name")
        for each in cells
        if each.name.startswith(UNNAMED)
    ]
    if constant or not (unnamed or found):
        return [*unnamed, *found]  # alone, columns that never vary have a message of their own
    same = [
        Fault(each.name, "is the same in every row", "nothing can be learnt from what never varies")
        for each in cells
        if not each.fault and np.ptp(each.values) == 0
    ]
    return [*unnamed, *found, *same]


def _not_only_missing(found: list[Fault], how: str) -> list[str]:
    """The columns to leave out: if some have other faults than missing values, only those."""
    worse = [fault.column for fault in found if fault.advice != how]
    return list(dict.fromkeys(worse or [fault.column for fault in found]))


def _column(column: Any, cells: Cells) -> Any:
    """Numbers, or the text of a category."""
    if not cells.levels:
        return cells.values
    return column.astype(object).where(~np.isnan(cells.values), None).to_numpy()


def _refuse_constant(numbers: Any, target: str) -> None:
    values = numbers.to_numpy()
    constant = [str(name) for name in numbers.columns[(values == values[0]).all(axis=0)]]
    if target in constant:
        raise ValueError(
            f"the target {quoted(target)} is {numbers[target].iloc[0]:g} in every row, so there is "
            "nothing to explain; give a target that varies."
        )
    if constant:
        verb, noun = ("is", "column") if len(constant) == 1 else ("are", "columns")
        raise ValueError(
            f"the {noun} {listed(constant)} {verb} the same in every row, so nothing can be "
            f"learnt about {'it' if len(constant) == 1 else 'them'}; {how_to_drop(constant)}."
        )


def refuse_unknown(frame: Any, name: str, what: str) -> None:
    """Refuse a column that the table does not have."""
    if name in frame.columns:
        return
    by_case = [other for other in frame.columns if other.lower() == name.lower()]
    close = by_case or get_close_matches(name, list(frame.columns), 1)
    hint = f"did you mean {quoted(close[0])}?" if close else f"there are {listed(frame.columns)}."
    raise ValueError(f"there is no column {quoted(name)}, {what}; {hint}")
