"""Selections from tables: categories, missing values, and every library of tables alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import nvsd
from nvsd.data.columns import Columns
from nvsd.inference.copies import Copier
from nvsd.selection import DataWarning, Selection

N = 60


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "noise": rng.standard_normal(N),
            "colour": rng.choice(["red", "green", "blue"], N),
            "age": rng.normal(50, 10, N),
            "smoker": rng.random(N) < 0.5,
        },
        index=[f"person {i}" for i in range(N)],
    )


@pytest.fixture(scope="module")
def y(frame: pd.DataFrame) -> pd.Series:
    return 2.0 * (frame["colour"] == "red") + np.sin(frame["age"] / 6)


@pytest.fixture(scope="module")
def found(frame: pd.DataFrame, y: pd.Series) -> Selection:
    return nvsd.select(frame, y, cv=3, p_values=True)


def test_a_column_is_one_unit(frame: pd.DataFrame, found: Selection) -> None:
    d = frame.shape[1]
    assert found.selected == ["colour", "age"]
    assert found.features == tuple(frame.columns)
    assert found.groups is None
    assert found.support.shape == found.strength.shape == found.order.shape == (d,)
    assert sorted(found.ranking.index) == sorted(found.p_values.index) == sorted(frame.columns)
    assert found.history["feature"].values.tolist() == list(frame.columns)
    assert found.history["n_selected"].max() <= d
    assert found.table()["feature"].tolist() == list(frame.columns)
    assert found.p_values["colour"] < 0.01 < found.p_values["noise"]
    assert found.columns.treatment["colour"] == "category, with levels 'blue', 'green', 'red'"
    assert Columns.from_json(found.history.attrs["columns"]) == found.columns


def test_predictions_go_by_name_and_level(frame: pd.DataFrame, found: Selection) -> None:
    expected = found.predict(frame)
    np.testing.assert_array_equal(found.predict(frame[frame.columns[::-1]]), expected)
    np.testing.assert_array_equal(found.refit.predict(frame[["age", "colour"]]), expected)
    by_type = frame.assign(colour=frame["colour"].astype("category"))
    np.testing.assert_array_equal(found.predict(by_type), expected)
    slopes = found.refit.gradient(frame)
    assert np.isnan(slopes[1]).all()
    assert not slopes[[0, 3]].any()
    step = 1e-5
    up, down = (found.refit.predict(frame.assign(age=frame["age"] + s)) for s in (step, -step))
    np.testing.assert_allclose(slopes[2], (up - down) / (2 * step), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match=r"'pink'.*'blue', 'green', 'red'"):
        found.predict(frame.assign(colour="pink"))


def test_the_dataset_predicts_from_tables(frame: pd.DataFrame, found: Selection) -> None:
    dataset = found.dataset()
    predicted = dataset.nvsd.predict(frame)
    np.testing.assert_allclose(predicted.values, found.refit.predict(frame), rtol=1e-9)
    assert predicted["sample"].values.tolist() == list(frame.index)
    again = xr.load_dataset(dataset.to_netcdf(engine="h5netcdf"), engine="h5netcdf")
    np.testing.assert_array_equal(again.nvsd.predict(frame), predicted)


@pytest.mark.parametrize("library", ["polars", "pyarrow", "numpy", "category", "data_array"])
def test_all_tables_give_the_same(
    library: str, frame: pd.DataFrame, y: pd.Series, found: Selection
) -> None:
    content = {name: frame[name].tolist() for name in frame}
    tables: dict[str, Any] = {
        "polars": lambda: pytest.importorskip("polars").DataFrame(content),
        "pyarrow": lambda: pytest.importorskip("pyarrow").table(content),
        "numpy": lambda: frame.to_numpy(),
        "category": lambda: frame.astype({"colour": "category"}),
        "data_array": lambda: xr.DataArray(
            frame.to_numpy().T, dims=("feature", "sample"), coords={"feature": list(frame)}
        ),
    }
    table = tables[library]()
    other = nvsd.select(table, y.to_numpy(), cv=3)
    np.testing.assert_array_equal(other.support, found.support)
    np.testing.assert_array_equal(other.strength, found.strength)
    np.testing.assert_array_equal(other.predict(table), found.predict(frame))
    if library != "numpy":
        assert other.selected == found.selected


def test_permuted_columns_and_other_units_of_y(
    frame: pd.DataFrame, y: pd.Series, found: Selection
) -> None:
    other = nvsd.select(frame[frame.columns[::-1]], 1e6 * y, cv=3)
    assert set(other.selected) == set(found.selected)
    assert other.score == pytest.approx(1e12 * found.score, rel=0.05)


def test_groups_may_hold_categories(frame: pd.DataFrame, y: pd.Series) -> None:
    groups = {"who": ["age", "colour"], "rest": ["noise", "smoker"]}
    found = nvsd.select(frame, y, groups=groups, cv=3, k=1)
    assert found.selected == ["colour", "age"]
    assert found.groups == ("rest", "who", "who", "rest")
    assert found.table()["group"].tolist() == list(found.groups)
    tests = nvsd.significance(frame, y, groups=groups, cv=3)
    assert tests["group"].values.tolist() == ["rest", "who"]
    assert tests["p_value"].sel(group="who") < 0.01


def test_other_methods_keep_columns_whole(frame: pd.DataFrame, y: pd.Series) -> None:
    found = nvsd.select(frame, y, method="eliminate", cv=2)
    assert found.features == tuple(frame.columns)
    assert found.groups is None
    assert found.history["support"].shape[1] == frame.shape[1]
    assert np.isfinite(found.predict(frame)).all()
    with pytest.raises(ValueError, match="'eliminate' cannot impute inside the folds"):
        nvsd.select(frame, y, method="eliminate", missing="impute")


def test_tests_of_single_columns(frame: pd.DataFrame, y: pd.Series) -> None:
    tests = nvsd.significance(frame, y, inputs=["colour", "noise"], cv=3)
    assert tests["feature"].values.tolist() == ["noise", "colour"]
    assert tests["p_value"].sel(feature="colour") < 0.01


def test_copies_of_a_category_have_one_level() -> None:
    rng = np.random.default_rng(0)
    code = rng.integers(3, size=80)
    X = np.column_stack([np.eye(3)[code], rng.standard_normal(80) + code])
    copies = Copier(X, 0, [(np.arange(3), True)]).draw(np.arange(3), 4).copies
    np.testing.assert_array_equal(copies.sum(axis=2), 1)
    assert set(np.unique(copies)) == {0, 1}
    # Drawn given the others: the share of the level depends on them.
    high = X[:, 3] > np.quantile(X[:, 3], 0.7)
    assert copies[:, high, 2].mean() > 2 * copies[:, ~high, 2].mean()


def test_copies_of_missing_values_are_missing_ones() -> None:
    rng = np.random.default_rng(0)
    absent = rng.random(60) < 0.3
    X = np.column_stack([np.where(absent, 0.5, rng.standard_normal(60)), absent, rng.random(60)])
    copies = Copier(X, 0, [(np.arange(2), False)]).draw(np.arange(2), 4).copies
    assert (copies[:, :, 0][copies[:, :, 1] == 1] == 0.5).all()


def test_missing_values_are_imputed(frame: pd.DataFrame, y: pd.Series) -> None:
    gaps = frame.copy()
    gaps.loc[gaps.index[::6], "age"] = np.nan
    gaps.loc[gaps.index[1::7], "colour"] = None
    found = nvsd.select(gaps, y, missing="impute", cv=3)
    assert found.selected == ["colour", "age"]
    assert "imputed" in found.columns.treatment["age"]
    assert np.isfinite(found.predict(gaps)).all()
    np.testing.assert_array_equal(found.predict(gaps), found.predict(gaps.copy()))
    # A value that is missing only in new rows is at the centre too.
    assert np.isfinite(found.predict(gaps.assign(noise=np.nan, smoker=None))).all()
    tests = nvsd.significance(gaps, y, missing="impute", cv=3)
    assert tests["feature"].values.tolist() == list(frame.columns)
    assert tests["p_value"].sel(feature="colour") < 0.05


def test_the_gap_itself_can_matter() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, 3))
    absent = rng.random(N) < 0.4
    X[absent, 1] = np.nan
    found = nvsd.select(X, 2.0 * absent + 0.1 * rng.standard_normal(N), missing="impute", k=1)
    assert found.selected == ["x1"]
    np.testing.assert_allclose(found.predict(X), 2.0 * absent, atol=0.5)


def test_imputing_sees_only_the_rows_of_a_fold() -> None:
    """Changing the held-out rows of a column with gaps changes no ranking of the fold."""
    from nvsd.engine.judging import rank_in_folds

    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(40)
    X[::5, 0] = np.nan
    train, test = np.arange(30), np.arange(30, 40)
    other = X.copy()
    other[test] += 100.0
    folds = [rank_in_folds(each, y / y.std(), [(train, test)])[0] for each in (X, other)]
    np.testing.assert_array_equal(folds[0].ranking.score, folds[1].ranking.score)


def test_without_missing_values_imputing_changes_nothing(
    frame: pd.DataFrame, y: pd.Series, found: Selection
) -> None:
    other = nvsd.select(frame, y, missing="impute", cv=3)
    np.testing.assert_array_equal(other.strength, found.strength)
    np.testing.assert_array_equal(other.predict(frame), found.predict(frame))


def test_rows_with_gaps_are_dropped(frame: pd.DataFrame, y: pd.Series) -> None:
    gaps, target = frame.copy(), y.copy()
    gaps.iloc[::6, 2] = np.nan
    target.iloc[1] = np.nan
    full = gaps["age"].notna() & target.notna()
    one = nvsd.select(gaps, target, missing="drop", cv=3)
    other = nvsd.select(frame[full], y[full], cv=3)
    np.testing.assert_array_equal(one.strength, other.strength)
    assert one.history.attrs["n_samples"] == int(full.sum())


@pytest.mark.parametrize("kind", [nvsd.SelectiveRegressor, nvsd.SelectiveClassifier])
def test_estimators_take_tables(kind: type[Any], frame: pd.DataFrame, y: pd.Series) -> None:
    target = y if kind is nvsd.SelectiveRegressor else pd.Series(y > 1, index=y.index)
    gaps = frame.copy()
    gaps.iloc[::8, 2] = np.nan
    model = kind(cv=3, missing="impute").fit(gaps, target)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.support_[1]
    assert model.score(gaps, target) > 0.8
    assert model.transform(gaps).shape == (N, model.support_.sum())
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(gaps.rename(columns={"age": "years"}))
    with pytest.raises(
        ValueError, match=r"'age' has 8 missing values \(first in row 0\); give missing='drop'"
    ):
        kind(cv=3).fit(gaps, target)


def test_labels_of_y(frame: pd.DataFrame, y: pd.Series) -> None:
    model = nvsd.SelectiveRegressor(cv=3)
    numbers = frame[["age", "noise"]]
    for fit in (nvsd.select, nvsd.nvsd_path, nvsd.significance, model.fit):
        with pytest.raises(ValueError, match="labels of X in another order; align them first"):
            fit(numbers, y.iloc[::-1])
        with pytest.raises(ValueError, match="index of y differs"):
            fit(numbers, y.reset_index(drop=True))


def test_a_path_takes_numbers_only(frame: pd.DataFrame, y: pd.Series) -> None:
    with pytest.raises(
        ValueError, match=r"'colour' holds .* in row 0, which is not a number; code"
    ):
        nvsd.nvsd_path(frame, y)
    path = nvsd.nvsd_path(frame[["age", "noise"]], y, n_taus=2)
    predicted = path.nvsd.predict(frame[["noise", "age"]].iloc[:4])
    assert predicted["sample"].values.tolist() == list(frame.index[:4])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": np.full(30, 2.5)}, "y is 2.5 in every row"),
        ({"y": np.arange(30) % 3}, "y has 3 different values, all whole numbers"),
        ({"a": 1.0}, "'a' has the same value in every row, .* about it; leave it out"),
        ({"c": "one level"}, "'c' has the same value in every row"),
        ({"twin": "a"}, "'twin' repeats 'a', so the data cannot tell them apart"),
        ({"rows": 8}, "X has 8 rows"),
    ],
)
def test_odd_data_are_warned_of_once(change: dict[str, Any], words: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((30, 2)), columns=["a", "b"])
    y = change.pop("y", frame["b"].to_numpy())
    if change.pop("twin", None):
        frame["twin"] = frame["a"]
    n = change.pop("rows", 30)
    frame = frame.assign(**change)[:n]
    with pytest.warns(nvsd.selection.DataWarning, match=words) as caught:
        nvsd.select(frame, y[:n], cv=2)
    assert len(caught) == 1


def test_kernels_and_penalties_by_name(frame: pd.DataFrame, y: pd.Series) -> None:
    numbers = frame[["age", "noise"]]
    one = nvsd.nvsd_path(numbers, y, kernel="gaussian", penalty="lasso", n_taus=3)
    xr.testing.assert_identical(one, nvsd.nvsd_path(numbers, y, n_taus=3))
    named = nvsd.select(numbers, y, kernel="gaussian", penalty="lasso", method="rank", cv=2)
    plain = nvsd.select(numbers, y, method="rank", cv=2)
    np.testing.assert_array_equal(named.strength, plain.strength)


def test_a_column_without_any_value_is_named() -> None:
    X, y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40.0)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(b=np.nan)
    with pytest.warns(DataWarning, match="'b' has no value in any row"):
        nvsd.select(table, y, missing="impute", cv=2)
    with pytest.raises(ValueError, match="because 'b' has no value at all; give at least 2"):
        nvsd.select(table, y, missing="drop")


def test_y_with_the_name_of_an_input_is_called_y() -> None:
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((40, 2)), columns=["a", "b"])
    assert "in units of y." in " ".join(nvsd.select(X, 2 * X["a"]).summary().split())


def test_selected_inputs_without_an_effect_are_called_doubtful() -> None:
    X = np.random.default_rng(0).standard_normal((60, 6))
    found = nvsd.select(X, X[:, 0], k=3)
    assert (found.strength[found.support] == 0).sum() == 2
    doubtful = [name for name in found.selected if found.ranking[name] == 0]
    words = f"{', '.join(doubtful)} have no effect in the fit to all rows, so they are doubtful."
    assert words in " ".join(found.summary().split())
    assert words[:-1] in found._repr_html_()
