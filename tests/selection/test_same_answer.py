"""What must not matter to a selection does not: order, units, and the kind of table."""

from __future__ import annotations

import os
import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nvsd
from nvsd.kernels import Gaussian, Matern52

N = 45
FOLDS = [
    (np.flatnonzero(np.arange(N) % 3 != k), np.flatnonzero(np.arange(N) % 3 == k)) for k in range(3)
]
QUICK = settings(
    derandomize=True, deadline=None, max_examples=3, suppress_health_check=list(HealthCheck)
)
MANY = settings(QUICK, max_examples=int(os.environ.get("ATTACK_CASES", "0")) or 25)


def frame(seed: int, gaps: bool) -> tuple[pd.DataFrame, pd.Series]:
    """Numbers, whole numbers, a boolean, a category, an ordered one; with gaps or not."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((N, 3)), columns=["a", "b b", "ç"])
    X["whole"] = rng.integers(0, 5, N)
    X["yes"] = rng.random(N) < 0.5
    X["colour"] = rng.choice(["u", "v", "w"], N)
    X["grade"] = pd.Categorical(
        rng.choice(["low", "mid", "high"], N), ["low", "mid", "high"], ordered=True
    )
    X.index = rng.permutation(1000)[:N]
    y = (
        np.sin(2 * X["a"])
        + X["whole"] / 2
        + 1.5 * (X["colour"] == "u")
        + 0.2 * rng.standard_normal(N)
    )
    if gaps:
        X.loc[rng.random(N) < 0.1, "a"] = np.nan
        X.loc[rng.random(N) < 0.1, "colour"] = None
    return X, y


@cache
def plain(seed: int, gaps: bool) -> nvsd.Selection:
    return select(*frame(seed, gaps), FOLDS, gaps)


def select(X: Any, y: Any, folds: Any, gaps: bool = False) -> nvsd.Selection:
    with warnings.catch_warnings():
        # With so few rows the models of the tests may be poor, and columns may repeat each other.
        warnings.simplefilter("ignore")
        return nvsd.select(X, y, cv=folds, missing="impute" if gaps else "error", p_values=True)


def changed(what: str, seed: int, X: pd.DataFrame, y: pd.Series) -> tuple[Any, Any, Any, float]:
    """The same problem told otherwise: X, y, the folds, and the unit of y."""
    rng = np.random.default_rng(seed + 1)
    if what == "columns":
        return X[rng.permutation(X.columns)], y, FOLDS, 1.0
    if what == "y":
        return X, 1e6 * y, FOLDS, 1e6
    if what == "rows":
        order = rng.permutation(N)
        place = np.argsort(order)
        folds = [(np.sort(place[a]), np.sort(place[b])) for a, b in FOLDS]
        return X.iloc[order], y.iloc[order], folds, 1.0
    return X.assign(**{what: 1e6 * X[what]}), y, FOLDS, 1.0


def agree(what: str, seed: int, gaps: bool) -> None:
    X, y = frame(seed, gaps)
    *problem, unit = changed(what, seed, X, y)
    one, other = plain(seed, gaps), select(*problem, gaps)
    assert set(other.selected) == set(one.selected)
    # Sums in another order, and iterations that stop at a relative change of a millionth.
    strength = one.ranking
    bound = 1e-4 * strength.max()
    np.testing.assert_allclose(other.ranking[strength.index] / unit, strength, rtol=0, atol=bound)
    assert other.score / unit**2 == pytest.approx(one.score, rel=1e-4)
    p = one.p_values
    np.testing.assert_allclose(other.p_values[p.index], p, rtol=1e-2, atol=1e-4)
    np.testing.assert_allclose(
        other.predict(X if what in ("columns", "y", "rows") else problem[0]) / unit,
        one.predict(X),
        atol=1e-3 * float(y.std()),
    )


WHAT = st.sampled_from(["columns", "y", "rows", "a", "whole"])


@QUICK
@given(WHAT, st.integers(0, 3), st.booleans())
def test_order_and_units_do_not_matter(what: str, seed: int, gaps: bool) -> None:
    agree(what, seed, gaps)


@pytest.mark.slow
@MANY
@given(WHAT, st.integers(0, 500), st.booleans())
def test_order_and_units_never_matter(what: str, seed: int, gaps: bool) -> None:
    agree(what, seed, gaps)


@pytest.mark.parametrize("what", ["columns", "y", "rows", "ç"])
def test_significance_is_the_same(what: str) -> None:
    X, y = frame(7, False)
    X_other, y_other, folds, _ = changed(what, 7, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nvsd.selection.evidence.CopyWarning)
        one = nvsd.significance(X, y, cv=FOLDS)
        other = nvsd.significance(X_other, y_other, cv=folds).sel(feature=one.feature)
    for name in ("importance", "p_value", "q_value"):
        np.testing.assert_allclose(other[name], one[name], rtol=1e-2, atol=1e-4)


def test_groups_in_another_order_have_the_same_tests() -> None:
    X, y = frame(3, False)
    groups = {"one": ["a", "whole"], "two": ["b b", "colour", "yes"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nvsd.selection.evidence.CopyWarning)
        one = nvsd.significance(X, y, cv=FOLDS, groups=groups)
        other = nvsd.significance(X[X.columns[::-1]], y, cv=FOLDS, groups=groups)
    other = other.sel(group=one.group)
    np.testing.assert_allclose(other["p_value"], one["p_value"], rtol=1e-2, atol=1e-4)


@QUICK
@given(st.integers(0, 99), st.sampled_from([Gaussian(), Matern52(1.5)]), st.integers(0, 2))
def test_units_do_not_matter_to_standardised_paths(seed: int, kernel: Any, a: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((25, 3))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(25)
    other = X.copy()
    other[:, a] *= 1e6
    given = {"kernel": kernel, "standardize": True, "n_taus": 6, "tol": 1e-8}
    one, two = (nvsd.nvsd_path(each, y, **given) for each in (X, other))
    np.testing.assert_allclose(two.tau, one.tau, rtol=1e-6)
    np.testing.assert_array_equal(two.support, one.support)
    scale = float(one.derivative_norm.max())
    np.testing.assert_allclose(two.derivative_norm, one.derivative_norm, atol=1e-3 * scale)


# --- kinds of tables -----------------------------------------------------------------------------


def numbers() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.standard_normal((N, 4)), columns=["x0", "x1", "x2", "x3"])
    X["x4"] = rng.integers(0, 4, N)
    return X, (np.sin(2 * X["x0"]) + X["x4"] + 0.2 * rng.standard_normal(N)).to_numpy()


def same(one: nvsd.Selection, other: nvsd.Selection) -> None:
    assert other.features == one.features
    assert other.selected == one.selected
    pd.testing.assert_series_equal(other.ranking, one.ranking)
    pd.testing.assert_series_equal(other.p_values, one.p_values)
    assert other.history.drop_attrs().identical(one.history.drop_attrs())


def test_numpy_pandas_polars_and_pyarrow_give_identical_selections() -> None:
    X, y = numbers()
    one = nvsd.select(X, y, cv=3)
    kinds = {
        "numpy": X.to_numpy(),
        "polars": pl.from_pandas(X),
        "pyarrow": pa.Table.from_pandas(X),
        "pandas on pyarrow": X.convert_dtypes(dtype_backend="pyarrow"),
        "nullable pandas": X.convert_dtypes(),
        "in another layout": pd.DataFrame(np.asfortranarray(X), columns=X.columns),
    }
    for kind, table in kinds.items():
        other = nvsd.select(table, y, cv=3)
        same(one, other)
        np.testing.assert_array_equal(other.predict(table), one.predict(X), err_msg=kind)
    for target in (pl.Series(y), pa.array(y), pd.Series(y, index=X.index), list(y)):
        same(one, nvsd.select(X, target, cv=3))


def test_tables_with_categories_give_identical_selections() -> None:
    X, y = frame(2, True)
    X, y = X.drop(columns="grade").reset_index(drop=True), y.to_numpy()
    X["colour"] = X["colour"].astype("category")
    given = {"cv": 3, "missing": "impute"}
    one = nvsd.select(X, y, **given)
    for table in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        other = nvsd.select(table, y, **given)
        same(one, other)
        assert other.columns == one.columns
        np.testing.assert_array_equal(other.predict(table), one.predict(X))
        # A model of one kind of table predicts for the others.
        np.testing.assert_array_equal(one.predict(table), one.predict(X))
    given = {"cv": 3, "missing": "drop"}
    one = nvsd.select(X, y, **given)
    for table in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        same(one, nvsd.select(table, y, **given))


# --- things that were found by trying ------------------------------------------------------------


def test_labels_of_rows_follow_rows_that_are_dropped() -> None:
    X, y = numbers()
    gaps = X.copy()
    gaps.loc[::7, "x1"] = np.nan
    labels = np.repeat(np.arange(9), 5)
    kept = gaps.notna().all(axis=1)
    for method in ("anova", "eliminate"):
        given = {"cv": 3, "method": method}
        one = nvsd.select(gaps, y, cv_groups=labels, missing="drop", **given)
        other = nvsd.select(X[kept], y[kept], cv_groups=labels[kept], **given)
        assert one.history.drop_attrs().identical(other.history.drop_attrs())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[[]], y), "X has no columns; give at least one input."),
        (lambda X, y: (X.iloc[:0], y[:0]), "X has shape (0, 5); give at least one row and"),
        (lambda X, y: (X, y.astype(str)), "y holds a different label in each of 45 rows"),
    ],
)
def test_empty_tables_and_numbers_as_text(change: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the wording is checked next
        nvsd.select(*change(*numbers()))
    assert str(error.value).startswith(message)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize("method", ["eliminate", "support", "rank", "pool", "stability"])
def test_only_the_default_method_imputes(method: str) -> None:
    X, y = numbers()
    gaps = X.mask(X.abs() < 0.05)
    message = f"^method = '{method}' cannot impute inside the folds; give method='anova', or .*\\.$"
    with pytest.raises(ValueError, match=message):
        nvsd.select(gaps, y, method=method, missing="impute")
    with pytest.raises(ValueError, match=message):
        nvsd.SelectiveRegressor(method=method, missing="impute").fit(gaps, y)
