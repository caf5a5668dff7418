"""Categories and missing values on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_problems import complaint, run

import nvsd


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    n = 50
    frame = pd.DataFrame({"age": rng.normal(50, 10, n), "colour": rng.choice(["red", "blue"], n)})
    frame["y"] = 2.0 * (frame["colour"] == "red") + np.sin(frame["age"] / 6)
    place = tmp_path_factory.mktemp("tables")
    frame.to_csv(place / "data.csv", index=False)
    frame.loc[::9, "age"] = np.nan
    frame.loc[1, "colour"] = None
    frame.to_csv(place / "gaps.csv", index=False)
    frame.assign(when="2020-01-01", far=np.inf).to_csv(place / "odd.csv", index=False)
    return place


def test_categories_are_selected_and_predicted_with(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = str(folder / "data.csv"), str(folder / "model.nc")
    given = ["--target", "y", "--no-tests", "--cv", "3", "--out", model]
    code, out, _ = run(capsys, "select", data, *given)
    assert code == 0
    assert "Selected 2 of 2 inputs by anova" in out
    code, out, _ = run(capsys, "predict", model, data)
    assert code == 0
    frame = pd.read_csv(data)
    found = nvsd.select(frame[["age", "colour"]], frame["y"], cv=3)
    shown = [float(line.split(",")[1]) for line in out.splitlines()[1:]]
    np.testing.assert_allclose(shown, found.refit.predict(frame), rtol=1e-6)
    new = folder / "new.csv"
    frame.assign(colour="pink").to_csv(new, index=False)
    assert "holds the level 'pink'" in complaint(capsys, 1, "predict", model, str(new))


def test_missing_values_by_old_and_new_words(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = str(folder / "gaps.csv"), str(folder / "imputed.nc")
    given = ["select", data, "--target", "y", "--no-tests", "--cv", "3"]
    for word in ("drop", "drop-rows"):
        code, _, err = run(capsys, *given, "--missing", word)
        assert (code, "7 of 50 rows" in err) == (0, True)
    code, out, _ = run(capsys, *given, "--missing", "impute", "--out", model)
    assert code == 0
    code, out, _ = run(capsys, "predict", model, data)
    assert (code, len(out.splitlines())) == (0, 51)
    path = ["path", str(folder / "gaps.csv"), "--target", "y", "--drop", "colour"]
    assert "belongs to nvsd select" in complaint(capsys, 2, *path, "--missing", "impute")


def test_one_message_in_the_words_of_python(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = complaint(capsys, 1, "select", str(folder / "odd.csv"), "--target", "y")
    frame = pd.read_csv(folder / "odd.csv")
    with pytest.raises(ValueError, match="column") as error:
        nvsd.select(frame.drop(columns="y"), frame["y"])
    words = ["column 'age' has 6 missing values", "column 'colour' has 1 missing value"]
    words += ["column 'when' holds dates or durations", "column 'far' has 50 infinite values"]
    for word in words:
        assert word in said
        assert word in str(error.value)
