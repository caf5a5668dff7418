from __future__ import annotations

import argparse
import csv
import io
import json
import math
import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from cli_problems import NAMES, fill, quick, run
from hypothesis import given
from hypothesis import strategies as st

import nvsd
from nvsd.cli import _usage, main
from nvsd.cli._screen import as_csv, as_json, table, write
from nvsd.datasets import make_e1
from nvsd.kernels.named import kernel_names
from nvsd.penalties.named import penalty_names
from nvsd.selection import METHODS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("cli"))


# --- path and show -------------------------------------------------------------------------------


def test_a_path_is_computed_written_drawn_and_printed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, figure = tmp_path / "path.nc", tmp_path / "path.png"
    code, text, err = run(
        capsys, *quick(folder, "--groups", str(folder / "groups.json")),
        "--out", str(out), "--plot", str(figure),
    )  # fmt: skip
    assert code == 0
    assert "GroupLasso" in text
    assert "30 rows, 4 inputs in 2 groups" in text
    assert err.splitlines() == [f"nvsd: wrote {out}", f"nvsd: wrote {figure}"]
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert sorted(os.listdir(tmp_path)) == ["path.nc", "path.png"]
    path = xr.load_dataset(out, engine="h5netcdf")
    assert path.feature.values.tolist() == NAMES
    assert path.group.values.tolist() == ["g", "h", "h", "g"]


def test_the_path_is_that_of_the_library(folder: Path) -> None:
    frame = pd.read_csv(folder / "data.csv")
    X = frame[NAMES]
    Z = (X - X.mean()) / X.std(ddof=0)
    kernel = nvsd.kernels.Gaussian(nvsd.kernels.neighbour_width(Z))
    direct = nvsd.nvsd_path(X, frame["y"], kernel=kernel, n_taus=5, tol=1e-3, standardize=True)
    written = xr.load_dataset(folder / "path.nc", engine="h5netcdf")
    xr.testing.assert_allclose(written, direct, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--kernel", "polynomial", "--degree", "2"], "Polynomial(degree=2, offset=1.0)"),
        (["--kernel", "linear", "--penalty", "elastic-net", "--mu", "0.3"], "ElasticNet"),
        (["--kernel", "matern", "--width", "2"], "Matern52(width=2.0)"),
        (["--taus", "1,0.1", "--no-standardize"], "Path over 2 tau from 1 to 0.1"),
        (["--drop", "x 2", "--drop", "x4"], "30 rows, 2 inputs"),
        (["--penalty", "sparse-group", "--rho", ".3", "--groups", "G"], "SparseGroupLasso"),
    ],
)
def test_options_reach_the_library(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    options = [str(folder / "groups.json") if option == "G" else option for option in options]
    code, out, _ = run(capsys, *quick(folder, *options))
    assert code == 0
    assert expected in out


def test_show_repeats_what_path_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, printed, _ = run(capsys, *quick(folder))
    code, shown, _ = run(capsys, "show", str(folder / "path.nc"))
    assert code == 0
    assert shown == printed


def test_show_in_every_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = xr.load_dataset(folder / "path.nc", engine="h5netcdf")
    tau = float(path.tau[2])
    options = ["show", str(folder / "path.nc"), "--tau", str(tau * 1.001)]
    _, text, _ = run(capsys, *options)
    assert f"norms at tau = {tau:.4g}" in text
    _, text, _ = run(capsys, *options, "--format", "csv")
    rows = {row["input"]: row for row in csv.DictReader(io.StringIO(text))}
    assert set(rows) == set(NAMES)
    _, text, _ = run(capsys, *options, "--format", "json")
    content = json.loads(text)
    assert [row["n_selected"] for row in content["taus"]] == path.n_selected.values.tolist()
    for row in content["inputs"]:
        norm = float(path.derivative_norm.isel(tau=2).sel(feature=row["input"]))
        assert row["derivative_norm"] == norm == float(rows[row["input"]]["derivative_norm"])
        assert row["selected"] == (norm > 0)


def test_show_leaves_out_what_the_file_does_not_know(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = xr.load_dataset(folder / "path.nc", engine="h5netcdf")
    path.drop_vars("loss").to_netcdf(tmp_path / "less.nc", engine="h5netcdf")
    _, whole, _ = run(capsys, "show", str(folder / "path.nc"))
    code, less, _ = run(capsys, "show", str(tmp_path / "less.nc"))
    assert code == 0
    assert "training R2" in whole
    assert "training R2" not in less
    _, text, _ = run(capsys, "show", str(tmp_path / "less.nc"), "--format", "json")
    assert [row["tau"] for row in json.loads(text)["taus"]] == path.tau.values.tolist()


def test_show_lists_the_inputs_of_a_refit_with_their_groups(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, groups = tmp_path / "path.nc", str(folder / "groups.json")
    assert main(quick(folder, "--groups", groups, "--out", str(place))) == 0
    frame = pd.read_csv(folder / "data.csv")
    path = xr.load_dataset(place, engine="h5netcdf")
    refit = path.nvsd.debias(frame[NAMES], frame["y"]).isel(tau=-1)
    refit.to_netcdf(tmp_path / "refit.nc", engine="h5netcdf")
    code, out, _ = run(capsys, "show", str(tmp_path / "refit.nc"), "--format", "csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    expected = zip(NAMES, ["g", "h", "h", "g"], strict=True)
    assert rows == [{"input": name, "group": group} for name, group in expected]


def test_show_draws(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "a.svg", tmp_path / "b.pdf"
    path = str(folder / "path.nc")
    code, _, _ = run(capsys, "show", path, "--plot", str(one), "--plot-support", str(two))
    assert code == 0
    assert one.read_text().startswith("<?xml")
    assert two.read_bytes().startswith(b"%PDF")


# --- select and predict --------------------------------------------------------------------------


def test_select_writes_a_model_that_predicts(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = str(folder / "data.csv"), str(tmp_path / "model.nc")
    history, figure = str(tmp_path / "history.nc"), str(tmp_path / "curve.png")
    options = ["select", data, "--target", "y", "--method", "eliminate", "--cv", "3"]
    code, out, _ = run(
        capsys, *options, "--format", "json", "--out", model, "--history", history,
        "--plot", figure,
    )  # fmt: skip
    assert code == 0
    content = json.loads(out)
    assert {"x1", "x4"} <= set(content["selected"])
    assert sorted(os.listdir(tmp_path)) == ["curve.png", "history.nc", "model.nc"]

    frame = pd.read_csv(folder / "data.csv")
    direct = nvsd.select(frame[NAMES], frame["y"], method="eliminate", cv=3)
    assert content["selected"] == direct.selected
    needed = tmp_path / "needed.csv"
    frame[direct.selected].to_csv(needed, index=False)
    code, out, _ = run(capsys, "predict", model, str(needed), "--gradient")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    predicted = [float(row["prediction"]) for row in rows]
    np.testing.assert_allclose(predicted, direct.refit.predict(frame[NAMES]), rtol=1e-8)
    slopes = [[float(row[f"d/d {name}"]) for row in rows] for name in direct.selected]
    gradient = direct.refit.gradient(frame[NAMES])[direct.support]
    np.testing.assert_allclose(slopes, gradient, rtol=1e-6, atol=1e-9)

    code, out, _ = run(capsys, "show", model)
    assert code == 0
    assert "Kernel ridge on selected inputs" in out
    _, out, _ = run(capsys, "show", model, "--format", "csv")
    assert {row["input"] for row in csv.DictReader(io.StringIO(out))} == set(direct.selected)
    _, out, _ = run(capsys, "show", model, "--format", "json")
    assert json.loads(out)["score"] == direct.score


def test_select_prints_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(folder / "data.csv")
    options = [
        "select", data, "--target", "y", "--method", "eliminate", "--widths", "1,2",
        "--width-per-input", "--validation", str(folder / "validation.csv"),
        "--groups", str(folder / "groups.json"),
    ]  # fmt: skip
    code, out, _ = run(capsys, *options)
    assert code == 0
    assert out.startswith("Selected 2 of 4 inputs by eliminate")
    code, out, _ = run(capsys, *options, "--format", "csv")
    rows = {row["input"]: row for row in csv.DictReader(io.StringIO(out))}
    assert {name for name in NAMES if rows[name]["selected"] == "true"} == {"x1", "x4"}
    assert rows["x1"]["group"] == "g"


def test_an_input_in_none_of_the_sets_has_no_rank(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(
        capsys, "select", str(folder / "data.csv"), "--target", "y", "--method", "stability",
        "--validation", str(folder / "validation.csv"), "--format", "json",
    )  # fmt: skip
    assert code == 0
    rows = json.loads(out)["inputs"]
    selected = [row for row in rows if row["selected"]]
    assert {"x1", "x4"} <= {row["input"] for row in selected} < set(NAMES)
    assert {row["rank"] for row in selected} == {len(selected)}
    assert {row["rank"] for row in rows if not row["selected"]} == {None}


def test_predict_from_a_path(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = xr.load_dataset(folder / "path.nc", engine="h5netcdf")
    frame = pd.read_csv(folder / "data.csv")
    out = tmp_path / "predictions.json"
    tau = float(path.tau[3])
    code, printed, err = run(
        capsys, "predict", str(folder / "path.nc"), str(folder / "data.csv"),
        "--tau", f"{tau}", "--format", "json", "--out", str(out),
    )  # fmt: skip
    assert (code, printed) == (0, "")
    assert f"{tau:.6g}" in err
    predicted = [row["prediction"] for row in json.loads(out.read_text())]
    expected = path.nvsd.predict(frame[NAMES]).isel(tau=3).values
    np.testing.assert_allclose(predicted, expected, rtol=1e-10)


def test_a_path_of_one_tau_needs_no_choice(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "path.nc"
    assert main(quick(folder, "--taus", "0.1", "--out", str(place))) == 0
    code, out, err = run(capsys, "predict", str(place), str(folder / "data.csv"))
    assert (code, err) == (0, "")
    predicted = [float(row["prediction"]) for row in csv.DictReader(io.StringIO(out))]
    path = xr.load_dataset(place, engine="h5netcdf")
    expected = path.nvsd.predict(pd.read_csv(folder / "data.csv")[NAMES]).isel(tau=0)
    np.testing.assert_allclose(predicted, expected, rtol=1e-10)


def test_predictions_name_their_rows(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv(folder / "data.csv").iloc[:4].drop(columns="y")
    frame.iloc[1, 2] = np.nan
    frame.to_csv(tmp_path / "new.csv", index=False)
    options = ["predict", str(folder / "path.nc"), str(tmp_path / "new.csv"), "--tau", "0.1"]
    assert "row 2" in complaint_after_note(capsys, *options)
    code, out, _ = run(capsys, *options, "--missing", "drop-rows", "--format", "table")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["1", "3", "4"]


def complaint_after_note(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code, _, err = run(capsys, *arguments)
    assert code == 1
    return err.splitlines()[-1]


def test_the_names_are_those_of_the_library() -> None:
    assert set(_usage.METHODS) == {*METHODS, "auto", "anova"}
    parser = argparse.ArgumentParser()
    _usage._model(parser)
    choices = {action.dest: action.choices for action in parser._actions}
    assert set(choices["kernel"]) == {"gaussian", "matern", "polynomial", "linear"}
    assert set(choices["penalty"]) == {"lasso", "group", "elastic-net", "sparse-group"}
    assert set(choices["kernel"]) == set(kernel_names())
    assert set(choices["penalty"]) == set(penalty_names())


# --- tables on the screen ------------------------------------------------------------------------


def test_tables_are_aligned() -> None:
    rows = [
        {"input": "a", "norm": 1.0, "on": True, "n": 3},
        {"input": "中文 long", "norm": None, "on": False, "n": 12},
        {"input": "e\u0301", "norm": 0.012345, "on": True, "n": 7},
    ]
    assert table(rows).splitlines() == [
        "input         norm  on    n",
        "---------  -------  ---  --",
        "a                1  yes   3",
        "中文 long        -  -    12",
        "e\u0301          0.01235  yes   7",
    ]
    assert table(rows, most=1).splitlines()[-1] == "... and 2 more; --all lists them"
    assert table([]) == "(nothing)\n"


def test_csv_has_empty_cells_for_what_is_not_known() -> None:
    rows = [{"input": "a", "tau": None, "norm": math.nan, "on": False}]
    assert as_csv(rows) == "input,tau,norm,on\na,,,false\n"
    assert as_csv([]) == ""


@given(st.lists(st.text(max_size=80), min_size=1, max_size=3), st.floats())
def test_any_name_fits_into_every_format(names: list[str], number: float) -> None:
    rows = [{"input": name, "norm": number, "on": True} for name in names]
    lines = table(rows).split("\n")
    assert len(lines) == len(rows) + 3
    assert all(line.isprintable() and len(line) < 100 for line in lines)
    back = list(csv.DictReader(io.StringIO(as_csv(rows), newline="")))
    assert [row["input"] for row in back] == names
    assert [row["input"] for row in json.loads(as_json(rows))] == names
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    write(table(rows), screen)


def test_report_is_a_page_about_the_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, path, page = tmp_path / "data.csv", tmp_path / "path.nc", tmp_path / "report.html"
    sample = make_e1(40, seed=0)
    frame = pd.DataFrame(sample.X, columns=[f"<{name}>" for name in sample.names])
    frame.assign(y=sample.y, label="a").to_csv(data, index=False)
    common = ["path", str(data), "--target", "y", "--drop", "label", "--n-taus", "5"]
    assert main([*common, "--out", str(path)]) == 0
    given = ["--data", str(data), "--target", "y", "--title", "Forty <rows>"]
    assert main(["report", str(path), "--out", str(page), *given]) == 0
    text = page.read_text()
    assert "Forty &lt;rows&gt;" in text
    assert "<x1>" not in text
    assert main(["report", str(path), "--out", str(page), "--data", str(data)]) == 1
    assert "--target" in capsys.readouterr().err
    assert page.read_text() == text


def test_a_report_judges_by_rows_that_were_not_fitted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("data.csv", "other.csv", "path.nc", "report.html")
    data, other, path, page = (tmp_path / name for name in names)
    for file, n, seed in ((data, 40, 0), (other, 25, 1)):
        sample = make_e1(n, seed=seed)
        pd.DataFrame(sample.X, columns=sample.names).assign(y=sample.y).to_csv(file, index=False)
    assert main(["path", str(data), "--target", "y", "--n-taus", "5", "--out", str(path)]) == 0
    report = ["report", str(path), "--out", str(page), "--target", "y"]
    assert main([*report, "--data", str(other)]) == 1
    assert "25 rows but the path was fitted to 40; give those rows, or" in capsys.readouterr().err
    assert main([*report, "--data", str(data), "--validation", str(other)]) == 0
    assert "25 held-out samples" in page.read_text()


def test_gradients_of_a_path_whose_inputs_are_in_another_order(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = xr.load_dataset(folder / "path.nc", engine="h5netcdf")
    turned = tmp_path / "turned.nc"
    path.sortby("feature", ascending=False).to_netcdf(turned, engine="h5netcdf")
    tables = []
    for model in (folder / "path.nc", turned):
        code, out, _ = run(
            capsys, "predict", str(model), str(folder / "data.csv"), "--tau", "0.01", "--gradient"
        )
        assert code == 0
        tables.append(pd.read_csv(io.StringIO(out)))
    one, other = tables
    assert list(one.columns) != list(other.columns)
    pd.testing.assert_frame_equal(one, other[list(one.columns)])
