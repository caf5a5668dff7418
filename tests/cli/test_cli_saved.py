"""`nvsd select --save --report`, and what the other commands do with such a file."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report_problems import content

import nvsd
from nvsd.cli import main


@pytest.fixture(scope="module", params=["numbers", "classes"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, new rows, a saved selection and its page."""
    folder = tmp_path_factory.mktemp("saved")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((90, 4)), columns=list("abcd"))
    y = table["a"] + table["b"] * table["c"] + 0.1 * rng.standard_normal(90)
    table["outcome"] = y if request.param == "numbers" else np.where(y > 0, "up", "down")
    table.iloc[:70].to_csv(folder / "data.csv", index=False)
    table.iloc[70:].to_csv(folder / "new.csv", index=False)
    found = main(
        [
            *("select", str(folder / "data.csv"), "--target", "outcome"),
            *("--save", str(folder / "s.nc"), "--report", str(folder / "s.html")),
        ]
    )
    assert found == 0
    return folder


def test_the_file_is_what_python_reads(files: Path) -> None:
    selection = nvsd.load_selection(files / "s.nc")
    assert selection.tests is not None
    assert {"a", "b", "c"} >= set(selection.selected) >= {"a"}
    page = content((files / "s.html").read_text(encoding="utf-8"))
    assert page["target"] == "outcome"
    assert page["tests"]["p"]


def test_report_makes_the_same_page(files: Path) -> None:
    again = files / "again.html"
    assert main(["report", str(files / "s.nc"), "--out", str(again), "--target", "outcome"]) == 0
    assert again.read_text() == (files / "s.html").read_text()


def test_show_prints_the_summary(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(files / "s.nc")]) == 0
    selection = nvsd.load_selection(files / "s.nc")
    assert capsys.readouterr().out == f"{selection.summary()}\n"
    assert main(["show", str(files / "s.nc"), "--format", "csv"]) == 0
    rows = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert rows["input"][rows["selected"]].tolist() == [
        name for name in selection.ranking.index if name in selection.selected
    ]


def test_predict_uses_the_fit_of_least_error(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(files / "s.nc"), str(files / "new.csv")]) == 0
    rows = pd.read_csv(io.StringIO(capsys.readouterr().out))
    selection = nvsd.load_selection(files / "s.nc")
    new = pd.read_csv(files / "new.csv")
    expected = selection.predict(new)
    if expected.dtype.kind == "U":
        assert rows["prediction"].tolist() == expected.tolist()
        P = selection.predict_proba(new)
        np.testing.assert_allclose(rows["probability of up"], P[:, 1])
    else:
        np.testing.assert_allclose(rows["prediction"], expected)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["report", "s.nc", "--out", "r.html", "--data", "data.csv"],
            "--data and --validation",
        ),
        (["predict", "s.nc", "new.csv", "--gradient"], "--tau and --gradient are not for a whole"),
        (["show", "s.nc", "--tau", "1"], "--plot, --plot-support and --tau are for paths"),
        (["report", "data.csv", "--out", "r.html"], "cannot be read as netCDF"),
        (["select", "data.csv", "--target", "outcome", "--save", "s.csv"], "must end in"),
        (["select", "data.csv", "--target", "outcome", "--report", "s.txt"], "must end in"),
    ],
)
def test_refusals_are_one_sentence(
    arguments: list[str],
    sentence: str,
    files: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(files)
    assert main(arguments) != 0
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.splitlines()) == 1
