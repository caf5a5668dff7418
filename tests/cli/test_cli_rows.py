"""`--weights` and `--cv-groups`: columns that are no inputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_problems import run
from sklearn.model_selection import GroupKFold

import nvsd


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((90, 3)), columns=["a", "b", "c"])
    y = X["a"] ** 2 + X["b"] + 0.2 * rng.standard_normal(90)
    day = [f"day {i // 6}" for i in range(90)]
    return X.assign(y=y, w=rng.uniform(0.2, 3, 90).round(2), day=day)


def select(capsys: pytest.CaptureFixture[str], file: Path, *more: str) -> dict:
    given = ["--target", "y", "--format", "json", "--no-tests", "--cv", "3", *more]
    code, out, err = run(capsys, "select", str(file), *given)
    assert code == 0, err
    return json.loads(out)


def test_weights_and_groups_are_those_of_select(
    table: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "data.csv"
    table.to_csv(file, index=False)
    found = select(capsys, file, "--weights", "w", "--cv-groups", "day")
    X, y, w = table[["a", "b", "c"]], table["y"], table["w"]
    direct = nvsd.select(X, y, cv=3, sample_weight=w, cv_groups=table["day"])
    assert found["selected"] == direct.selected
    assert found["mean_squared_error"] == pytest.approx(direct.score)
    # The set of no input was judged on the same rows, with the same weights.
    empty = float(direct.history["error"].sel(step=direct.history["n_selected"] == 0).min())
    assert empty == pytest.approx(np.average((y - np.average(y, weights=w)) ** 2, weights=w), 0.1)
    explained = 1 - direct.score / empty
    assert found["explained_variance"] == pytest.approx(explained)
    assert {row["input"] for row in found["inputs"]} == {"a", "b", "c"}
    # With folds that are given, the answer does not depend on the order of rows; so its inner
    # splits are others than with a number of folds, and a splitter is the twin of a list.
    splitter = GroupKFold(3, shuffle=True, random_state=0)
    listed = nvsd.select(X, y, cv=list(splitter.split(X, y, table["day"])), sample_weight=w)
    split = nvsd.select(X, y, cv=splitter, cv_groups=table["day"], sample_weight=w)
    assert listed.selected == direct.selected
    assert listed.score == pytest.approx(split.score)


def test_rows_without_a_weight(
    table: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "data.csv"
    gaps = table.copy()
    gaps.loc[4, "w"] = np.nan
    gaps.loc[7, "a"] = np.nan
    gaps.to_csv(file, index=False)
    code, _, err = run(capsys, "select", str(file), "--target", "y", "--weights", "w")
    assert code == 1
    assert "column 'w' has no value in row 5" in err
    given = ["--weights", "w", "--drop", "day", "--missing", "drop-rows"]
    found = select(capsys, file, *given)
    whole = gaps.dropna()
    direct = nvsd.select(whole[["a", "b", "c"]], whole["y"], cv=3, sample_weight=whole["w"])
    assert found["mean_squared_error"] == pytest.approx(direct.score)


def test_a_path_with_weights(
    table: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "data.csv", tmp_path / "path.nc"
    table[["a", "b", "y", "w"]][:30].to_csv(file, index=False)
    given = ["--target", "y", "--weights", "w", "--n-taus", "3", "--out", str(out)]
    assert run(capsys, "path", str(file), *given)[0] == 0
    few = table[:30]
    direct = nvsd.nvsd_path(
        few[["a", "b"]], few["y"], n_taus=3, standardize=True, sample_weight=few["w"]
    )
    from nvsd.files import read_path

    np.testing.assert_allclose(read_path(out).fitted, direct.fitted, rtol=1e-6)


WRONG = {
    "unknown": (["--weights", "W"], 1, "there is no column 'W', which was to hold weights"),
    "text": (["--weights", "day"], 1, "column 'day' holds text; give numbers as weights."),
    "target": (["--cv-groups", "y"], 2, "--cv-groups 'y' is the target; give another column."),
    "negative": (["--weights", "a", "--drop", "day"], 1, "give weights >= 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_columns_are_one_sentence(
    case: str, table: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "data.csv"
    table.to_csv(file, index=False)
    more, expected, words = WRONG[case]
    code, out, err = run(capsys, "select", str(file), "--target", "y", *more)
    assert (code, out) == (expected, "")
    assert words in err
    assert len(err.strip().splitlines()) == 1
