"""Tables as inputs: what each column becomes, and what is said of those that cannot be used."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import nvsd
from nvsd.data.cells import complaint, read_cells
from nvsd.data.checks import check_points, check_target
from nvsd.data.columns import Column, Columns
from nvsd.data.names import column_names, refuse_misaligned
from nvsd.data.scaling import centred, filled
from nvsd.data.sources import read_source
from nvsd.losses import Logistic

FRAME = pd.DataFrame(
    {
        "age": [30.0, np.nan, 50.0, 40.0],
        "colour": ["red", "green", None, "red"],
        "size": pd.Categorical(["S", "L", "M", "S"], ["S", "M", "L"], ordered=True),
        "smoker": [True, False, True, False],
        "side": pd.Categorical(["left", "right", "left", "left"]),
        "text": ["1.5", "2", "3", "4"],
    }
)
TABLES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pytest.importorskip("polars").DataFrame(
        {
            name: frame[name].astype(object).where(frame[name].notna(), None).tolist()
            for name in frame
        }
    ),
    "pyarrow": lambda frame: pytest.importorskip("pyarrow").table(
        {
            name: frame[name].astype(object).where(frame[name].notna(), None).tolist()
            for name in frame
        }
    ),
}


def columns_of(frame: pd.DataFrame, missing: str = "error") -> Columns:
    return Columns.learn(read_cells(frame), missing)


def test_kinds_and_levels() -> None:
    found = {c.name: (c.kind, c.levels) for c in columns_of(FRAME).columns}
    assert found == {
        "age": ("number", ()),
        "colour": ("category", ("green", "red")),
        "size": ("ordered", ("S", "M", "L")),
        "smoker": ("boolean", ()),
        "side": ("category", ("left", "right")),
        "text": ("number", ()),
    }
    assert (
        columns_of(FRAME).treatment["size"].startswith("ordered category, as numbers from 0 to 2")
    )


@pytest.mark.parametrize("kind", TABLES)
def test_tables_are_read_alike(kind: str) -> None:
    frame = FRAME.assign(size=FRAME["size"].astype(str))
    table = TABLES[kind](frame)
    assert column_names(table) == tuple(frame.columns)
    own, given = read_cells(frame), read_cells(table)
    assert [each[:2] + each[3:] for each in own] == [each[:2] + each[3:] for each in given]
    for one, other in zip(own, given, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


def test_ordered_and_categorical_types_of_polars_and_pyarrow() -> None:
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    values = ["b", None, "a"]
    polars = pl.DataFrame(
        {"c": pl.Series(values, dtype=pl.Categorical), "e": pl.Series(values, dtype=pl.Enum("ba"))}
    )
    assert [(c.kind, c.levels) for c in read_cells(polars)] == [("category", ("a", "b"))] * 2
    levels = pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1]), pa.array(["b", "a"]), ordered=True
    )
    (cells,) = read_cells(pa.table({"o": levels}))
    assert (cells.kind, cells.levels) == ("ordered", ("b", "a"))
    np.testing.assert_array_equal(cells.values, [0, np.nan, 1])


def test_inputs_are_dummies_of_pandas() -> None:
    frame = pd.DataFrame({"c": list("abca"), "x": [1.0, 2, 3, 4]})
    columns = columns_of(frame)
    expected = pd.get_dummies(frame, columns=["c"], dtype=float)[["c_a", "c_b", "c_c", "x"]]
    np.testing.assert_array_equal(columns.encode(frame), expected)
    assert columns.inputs == ("c = a", "c = b", "c = c", "x")
    assert columns.owner.tolist() == [0, 0, 0, 1]


def test_imputed_columns_say_where_values_are_missing() -> None:
    columns = columns_of(FRAME, "impute")
    encoded = columns.encode(FRAME)
    places = dict(zip(columns.inputs, encoded.T, strict=True))
    np.testing.assert_array_equal(places["age"], [30, np.nan, 50, 40])
    np.testing.assert_array_equal(places["age is missing"], [0, 1, 0, 0])
    np.testing.assert_array_equal(places["colour = red"], [1, 0, 0, 1])
    np.testing.assert_array_equal(places["colour is missing"], [0, 0, 1, 0])
    np.testing.assert_array_equal(places["size"], [0, 2, 1, 0])


def test_columns_survive_json_and_go_by_name() -> None:
    columns = columns_of(FRAME, "impute")
    again = Columns.from_json(columns.to_json())
    assert again == columns
    shuffled = FRAME[FRAME.columns[::-1]]
    np.testing.assert_array_equal(again.encode(shuffled), columns.encode(FRAME))
    np.testing.assert_array_equal(again.encode(FRAME.to_numpy()), columns.encode(FRAME))
    with pytest.raises(ValueError, match="does not describe columns"):
        Columns.from_json('{"columns": 3}')


def test_unused_columns_need_not_be_there() -> None:
    columns = columns_of(FRAME)
    used = columns.owner == 1
    encoded = columns.encode(FRAME[["colour"]].dropna(), used=used)
    assert encoded.shape == (3, len(columns.inputs))
    assert not encoded[:, ~used].any()


def test_unknown_levels_are_named() -> None:
    columns = columns_of(FRAME)
    with pytest.raises(ValueError, match=r"column 'colour' of X_new holds the level 'pink'.*'red'"):
        columns.encode(FRAME.dropna().assign(colour="pink"), "X_new")
    with pytest.raises(ValueError, match="'age' of X_new holds text, but the fit saw numbers"):
        columns.encode(FRAME.dropna().assign(age="a"), "X_new")
    with pytest.raises(ValueError, match=r"column 'age' has 1 missing value.*missing='impute'"):
        columns.encode(FRAME.assign(colour="red"), "X_new")


def test_one_message_names_all_columns() -> None:
    n = 12
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2020", periods=n),
            "how_long": pd.to_timedelta(range(n), unit="D"),
            "day": [datetime.date(2020, 1, 1)] * n,
            "id": [f"row {i}" for i in range(n)],
            "mixed": [1, "x", *range(n - 2)],
            "comma": ["1,5"] * n,
            "odd": [[1]] * n,
            "complex": [1j] * n,
            "far": [np.inf, -np.inf, *range(n - 2)],
            "gaps": [np.nan, None, *range(n - 2)],
            "fine": range(n),
        }
    )
    message = complaint(read_cells(frame), missing="fill them")
    for name in frame.columns[:-1]:
        assert f"column {name!r}" in message
    assert "'fine'" not in message
    assert "'gaps' has 2 missing values" in message
    assert "'far' has 2 infinite values" in message
    assert message.count(".") == 1
    assert "\n" not in message
    with pytest.raises(ValueError, match=r"'when' holds dates or durations.*'gaps' has 2 missing"):
        read_source(frame, np.arange(n))


def test_dates_alone_do_not_become_numbers() -> None:
    frame = pd.DataFrame(
        {"a": pd.to_datetime(["2020", None]), "b": pd.to_datetime(["2021", "2022"])}
    )
    for X in (frame, frame.to_numpy()):
        with pytest.raises(ValueError, match="dates or durations"):
            check_points(X)


def test_dropping_keeps_what_belongs_to_the_rows() -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan, 3, 4, 5], "c": list("xyxzx")})
    source = read_source(frame, [1, 2, 3, None, 5], "drop", validation=(frame, np.arange(5.0)))
    assert source.kept.tolist() == [True, False, True, False, True]
    assert source.y == [1, 3, 5]
    assert source.rows(np.arange(5)).tolist() == [0, 2, 4]
    assert len(source.validation[0]) == 4
    assert source.X.columns.columns[1].levels == ("x",)
    with pytest.raises(ValueError, match="changes the row numbers that cv gives"):
        read_source(frame, np.arange(5.0), "drop", cv=[([0, 1], [2, 3])])


def test_arrays_of_numbers_are_not_touched() -> None:
    X = np.eye(3)
    assert read_source(X, [1, 2, 3]).X is X


def test_data_arrays_are_turned() -> None:
    values = np.arange(6.0).reshape(2, 3)
    X = xr.DataArray(values, dims=("feature", "sample"), coords={"feature": ["a", "b"]})
    np.testing.assert_array_equal(check_points(X), values.T)
    assert column_names(X) == ("a", "b")


@pytest.mark.parametrize(
    ("index", "what"), [([2, 1, 0], "in another order; align them"), ([0, 1, 7], "differs from")]
)
def test_labels_of_y_must_agree(index: list[int], what: str) -> None:
    X = pd.DataFrame({"a": [1, 2, 3]})
    refuse_misaligned(X, y=pd.Series([1, 2, 3]))
    refuse_misaligned(X, y=np.arange(3), sample_weight=None)
    for name in ("y", "sample_weight"):
        with pytest.raises(ValueError, match=f"index of {name} .*{what}"):
            refuse_misaligned(X, **{name: pd.Series([1, 2, 3], index=index)})


# What is given for each row must have the row labels of X, wherever it is given.
BY_ROW: dict[str, Callable[..., object]] = {
    "select": nvsd.select,
    "significance": nvsd.significance,
    "regressor": nvsd.SelectiveRegressor().fit,
    "imputing regressor": nvsd.SelectiveRegressor(missing="impute").fit,
    "path regressor": nvsd.NVSDRegressorCV().fit,
    "path": nvsd.nvsd_path,
}


GIVEN = [(call, given) for call in BY_ROW for given in ("y", "sample_weight", "cv_groups")]
GIVEN.remove(("path", "cv_groups"))  # a path has no folds


@pytest.mark.parametrize(("call", "given"), GIVEN)
def test_rows_are_never_taken_for_others(call: str, given: str) -> None:
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 2)), columns=["a", "b"])
    by_row = {"y": X["a"], given: X["a"].abs()[::-1]}
    with pytest.raises(ValueError, match=f"index of {given} has the labels of X in another order"):
        BY_ROW[call](X, **by_row)


@pytest.mark.parametrize("given", ["y", "sample_weight", "validation"])
def test_rows_of_refits_and_classes_are_never_taken_for_others(given: str) -> None:
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 2)), columns=["a", "b"])
    path = nvsd.nvsd_path(X, X["a"], n_taus=2)
    turned = X["a"].abs()[::-1]
    by_row = {"y": X["a"], given: (X, turned) if given == "validation" else turned}
    with pytest.raises(ValueError, match="has the labels of X in another order"):
        path.nvsd.debias(X, **by_row)
    if given == "validation":
        with pytest.raises(ValueError, match="index of y_val has the labels of X in another"):
            nvsd.select(X, X["a"], validation=(X, turned))
    if given == "y":
        with pytest.raises(ValueError, match="index of y has the labels of X in another order"):
            nvsd.nvsd_path(X, X["a"][::-1] > 0, loss=Logistic())


def test_missing_values_of_y_are_named_with_those_of_X() -> None:
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [1.0, 2.0, 4.0]})
    y = pd.Series([1.0, 2.0, np.nan])
    both = "X or y holds NaN.* 'a' has 1 missing value .row 1., y has 1 missing value .row 2.; give"
    with pytest.raises(ValueError, match=both):
        nvsd.select(X, y)
    with pytest.raises(ValueError, match=r"^y has 1 missing .* leave rows without y out, or give"):
        nvsd.select(X[["b"]], y)
    with pytest.raises(ValueError, match=r"^y has 1 missing value .*; leave rows without y out\.$"):
        nvsd.select(X, y, missing="impute")
    with pytest.raises(
        ValueError, match=r"y holds NaN or infinite values in 1 row .first in row 2"
    ):
        check_target(y.to_numpy(), 3)


def test_missing_values_are_at_the_centre() -> None:
    X = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan], [8.0, np.nan]])
    np.testing.assert_array_equal(filled(X), [[1, 0], [3, 0], [3, 0], [8, 0]])
    full = np.eye(2)
    assert filled(full) is full
    np.testing.assert_array_equal(centred(X[:2, :1], np.array([1.0]), np.array([2.0])), [[0], [0]])


def test_sizes_of_a_column_are_joined() -> None:
    columns = Columns((Column("x"), Column("c", "category", ("a", "b", "c"))))
    np.testing.assert_allclose(columns.joined(np.array([[2.0, 1, 2, 2]])), [[2, 3]])
    used = np.array([True, True, True, True])
    slopes = columns.slopes(np.ones((4, 2)), used)
    np.testing.assert_array_equal(slopes, [[1, 1], [np.nan, np.nan]])
    assert not columns.slopes(np.zeros((4, 2)), ~used).any()


@pytest.mark.parametrize("missing", ["error", "drop", "impute"])
@pytest.mark.parametrize("X", [[[1.0, 2.0], [3.0]], np.ones(3), np.ones((0, 2))], ids=str)
def test_what_is_no_table_is_left_to_later_checks(X: object, missing: str) -> None:
    assert read_source(X, None, missing).X is X


def test_a_dataset_of_xarray_is_pointed_to_its_table() -> None:
    X = xr.Dataset({"a": ("row", [1.0, 2.0, 3.0])})
    with pytest.raises(ValueError, match=r"X is a Dataset; .* such as X\.to_dataframe\(\)\.$"):
        nvsd.select(X, np.arange(3.0))
