from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from cli_problems import NAMES, complaint, fill, made_up, quick, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nvsd
from nvsd.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("cli"))


# --- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], ["COMMAND"]),
        (["paths"], ["paths", "--help"]),
        (["path", "DATA"], ["--target"]),
        (["path", "DATA", "--target", "y", "--n-taus", "many"], ["many"]),
        (["path", "DATA", "--target", "y", "--kernel", "cosine"], ["cosine", "gaussian"]),
        (["path", "DATA", "--target", "y", "--penalty", "group"], ["--groups"]),
        (["path", "DATA", "--target", "y", "--mu", "0.5"], ["--mu", "lasso"]),
        (["path", "DATA", "--target", "y", "--degree", "2"], ["--degree", "gaussian"]),
        (["path", "DATA", "--target", "y", "--taus", "1;2"], ["--taus"]),
        (["path", "DATA", "--target", "y", "--groups", "GROUPS", "--penalty", "lasso"], ["lasso"]),
        (["predict", "PATH", "DATA"], ["5 tau", "--tau"]),
    ],
)
def test_wrong_usage_ends_with_two(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: list[str]
) -> None:
    sentence = complaint(capsys, 2, *(filled(folder, option) for option in options))
    assert all(word in sentence for word in words), sentence


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["path", "nothing.csv", "--target", "y"], ["nothing.csv"]),
        (["path", "DATA", "--target", "Y"], ["did you mean 'y'"]),
        (["path", "TEXT", "--target", "y"], ["'note'", "'text' in row 1", "--drop note"]),
        (["path", "DATA", "--target", "y", "--nu", "-1"], ["nu", "-1"]),
        (["path", "DATA", "--target", "y", "--out", "none/path.nc"], ["does not exist", "none"]),
        (["path", "DATA", "--target", "y", "--out", "path.csv"], ["'.nc'"]),
        (["path", "DATA", "--target", "y", "--plot", "path.docx"], ["'.png'"]),
        (["path", "DATA", "--target", "y", "--groups", "DATA"], ["not JSON"]),
        (["select", "DATA", "--target", "y", "--validation", "none.csv"], ["none.csv"]),
        (["show", "DATA"], ["netCDF"]),
        (["show", "PATH", "--tau", "nan"], ["tau"]),
        (["predict", "PATH", "GROUPS", "--tau", "1"], ["no rows"]),
    ],
)
def test_failures_end_with_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], options: list[str], words: list[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *(filled(folder, option) for option in options))
    assert (code, out) == (1, "")
    sentence = err.splitlines()[-1]
    assert all(word in sentence for word in words), sentence
    assert os.listdir(tmp_path) == []


def filled(folder: Path, option: str) -> str:
    names = {"DATA": "data.csv", "TEXT": "text.csv", "PATH": "path.nc", "GROUPS": "groups.json"}
    return str(folder / names[option]) if option in names else option


def test_missing_values_can_be_left_out(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv(folder / "data.csv")
    frame.iloc[4, 1] = np.nan
    data = str(tmp_path / "holes.csv")
    frame.to_csv(data, index=False)
    options = ["path", data, "--target", "y", "--n-taus", "2", "--tol", "1e-2"]
    assert "row 5" in complaint(capsys, 1, *options)
    code, out, err = run(capsys, *options, "--missing", "drop-rows")
    assert code == 0
    assert "29 rows" in out
    assert "1 of 30 rows" in err


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_a_failing_write_leaves_the_old_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], option: str,
) -> None:  # fmt: skip
    place = tmp_path / ("old.nc" if option == "--out" else "old.png")
    place.write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert "No space left" in complaint(capsys, 1, *quick(folder, option, str(place)))
    assert place.read_text() == "old"
    assert len(os.listdir(tmp_path)) == 1


def test_an_interruption_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nvsd.cli.path.nvsd_path", interrupt)
    assert "interrupted" in complaint(capsys, 1, *quick(folder))


def test_too_little_memory_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("nvsd.cli.path.nvsd_path", exhausted)
    assert "not enough memory; give fewer rows" in complaint(capsys, 1, *quick(folder))
    monkeypatch.setattr("nvsd.machine.available_memory", lambda: 1000.0)
    assert "GiB of memory" in complaint(capsys, 1, "show", str(folder / "path.nc"))


def test_surprises_are_told_and_can_be_traced(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def surprise(*_: object, **__: object) -> None:
        raise ZeroDivisionError("one\ntwo")

    monkeypatch.setattr("nvsd.cli.path.nvsd_path", surprise)
    sentence = complaint(capsys, 1, *quick(folder))
    assert "ZeroDivisionError: one two" in sentence
    assert "--traceback" in sentence
    with pytest.raises(ZeroDivisionError):
        main([*quick(folder), "--traceback"])


def test_warnings_become_notes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, *quick(folder, "--max-iter", "1", "--tol", "1e-9"))
    assert code == 0
    assert err.startswith("nvsd: note: ")
    assert "max_iter" in err
    assert err.count("\n") == 1


def test_no_matplotlib_no_plot(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install" in complaint(capsys, 1, *quick(folder, "--plot", "a.png"))


def test_files_that_do_not_hold_one_path(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = xr.load_dataset(folder / "path.nc", engine="h5netcdf")
    several = path.drop_vars("mu", errors="ignore").expand_dims(mu=[0.1, 0.9])
    constant = ["x_mean", "x_scale", "y_mean", "points"]
    several = several.drop_vars(constant).merge(path[constant])
    several.to_netcdf(tmp_path / "mu.nc", engine="h5netcdf")
    place = str(tmp_path / "mu.nc")
    assert "several mu" in complaint(capsys, 1, "show", place)
    assert "several mu" in complaint(capsys, 1, "predict", place, str(folder / "data.csv"))
    frame = pd.read_csv(folder / "data.csv")
    refits = path.nvsd.debias(frame[NAMES], frame["y"])
    refits.to_netcdf(tmp_path / "refits.nc", engine="h5netcdf")
    place = str(tmp_path / "refits.nc")
    assert "refit" in complaint(capsys, 1, "show", place, "--plot", str(tmp_path / "a.png"))
    page = tmp_path / "a.html"
    assert "one that nvsd path" in complaint(capsys, 1, "report", place, "--out", str(page))
    assert not page.exists()
    code, out, _ = run(capsys, "predict", place, str(folder / "data.csv"), "--tau", "0")
    assert code == 0
    assert len(out.splitlines()) == 31


def test_version_and_help_are_no_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"nvsd {nvsd.__version__}\n", "")
    for command in ("path", "select", "predict", "show"):
        code, out, err = run(capsys, command, "--help")
        assert (code, err) == (0, "")
        assert out.startswith(f"usage: nvsd {command} ")


# --- as a process --------------------------------------------------------------------------------


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nvsd", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_exit_codes_of_the_process(folder: Path) -> None:
    version = process("--version")
    assert (version.returncode, version.stdout) == (0, f"nvsd {nvsd.__version__}\n")
    failed = process("show", str(folder / "data.csv"))
    assert failed.returncode == 1
    assert failed.stderr.count("\n") == 1
    wrong = process("show")
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1


def test_few_characters_are_enough(folder: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(folder / "data.csv").rename(columns={"x1": "größe\n中"})
    frame.to_csv(tmp_path / "data.csv", index=False)
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    arguments = quick(tmp_path, "--plot", str(tmp_path / "a.png"))
    done = process(*arguments, env=environment)
    assert done.returncode == 0
    assert r"gr\xf6\xdfe\n\u4e2d" in done.stdout
    assert done.stderr == f"nvsd: wrote {tmp_path / 'a.png'}\n"


def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    command = f"{sys.executable} -m nvsd show '{folder / 'path.nc'}' | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_a_pipe_that_lost_its_reader_gets_nothing_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:  # closing it writes what is left in its buffer
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", pipe)
            code = main(["show", str(folder / "path.nc")])
        pipe.write("more")
    assert code == 1
    assert capsys.readouterr() == ("", "")


# --- hostile input -------------------------------------------------------------------------------

cells = st.one_of(
    st.integers(-9, 9).map(str), st.sampled_from(["", "x", "1e308", "-1e-308", '"', "nan", "inf"])
)
contents = st.one_of(
    st.binary(max_size=60),
    st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=5).map(
        lambda rows: ("a,b,y\n" + "\n".join(",".join(row) for row in rows)).encode()
    ),
    st.lists(st.tuples(*[st.floats(-1e3, 1e3)] * 3), min_size=2, max_size=5).map(
        lambda rows: ("a,b,y\n" + "\n".join(",".join(map(str, row)) for row in rows)).encode()
    ),
)
groups = st.one_of(st.none(), st.binary(max_size=20), st.just(b'{"a": "g", "b": "g"}'))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(contents, groups)
def test_any_table_gives_a_path_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str],
    content: bytes, group: bytes | None,
) -> None:  # fmt: skip
    place = tmp_path_factory.mktemp("fuzz")
    (place / "data.csv").write_bytes(content)
    out = place / "path.nc"
    arguments = [
        "path", str(place / "data.csv"), "--target", "y", "--n-taus", "2", "--tol", "1e-2",
        "--max-iter", "50", "--out", str(out),
    ]  # fmt: skip
    if group is not None:
        (place / "groups.json").write_bytes(group)
        arguments += ["--groups", str(place / "groups.json")]
    code, printed, err = run(capsys, *arguments)
    assert code in (0, 1)
    assert out.exists() == (code == 0)
    assert not [name for name in os.listdir(place) if name.startswith(".nvsd")]
    if code:
        assert printed == ""
        last = err.splitlines()[-1]
        assert last.startswith("nvsd: error: ")
        assert "unexpected" not in last


def test_no_file_is_written_over_one_that_is_read(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, data = tmp_path / "path.nc", tmp_path / "data.csv"
    path.write_bytes((folder / "path.nc").read_bytes())
    data.write_bytes((folder / "data.csv").read_bytes())
    link = tmp_path / "link.html"
    link.symlink_to(path)
    before = path.read_bytes(), data.read_bytes()
    select = ["select", str(data), "--target", "y", "--cv", "2", "--method", "eliminate"]
    new, figure = str(tmp_path / "new.nc"), str(tmp_path / "new.png")
    for command in (
        ["report", str(path), "--out", str(link)],
        ["predict", str(path), str(data), "--tau", "1", "--out", str(path)],
        ["predict", str(path), str(data), "--tau", "1", "--out", str(data)],
        ["report", str(path), "--data", str(data), "--target", "y", "--out", str(data)],
        [*select, "--out", new, "--history", new],
        ["show", str(path), "--plot", figure, "--plot-support", figure],
    ):
        assert "; give it another name." in complaint(capsys, 2, *command)
    assert (path.read_bytes(), data.read_bytes()) == before
    assert not Path(new).exists()
    assert not Path(figure).exists()
    wrong = ["report", str(path), "--out", str(tmp_path / "page.txt")]
    assert "must end in '.html', '.htm'" in complaint(capsys, 1, *wrong)


def test_rows_that_only_judge_may_have_constant_columns(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = tmp_path / "judge.csv"
    made_up(40, 1).assign(x1=0.3).to_csv(judge, index=False)
    select = ["select", str(folder / "data.csv"), "--target", "y", "--method", "eliminate"]
    assert run(capsys, *select, "--validation", str(judge))[0] == 0
    assert "leave one of them out" in complaint(
        capsys, 2, *select, "--validation", str(judge), "--cv", "3"
    )
    report = ["report", str(folder / "path.nc"), "--out", str(tmp_path / "r.html"), "--target", "y"]
    assert run(capsys, *report, "--validation", str(judge))[0] == 0
    other = tmp_path / "other.csv"
    pd.DataFrame({"y": [1.0, 2.0], "z": [3.0, 4.0]}).to_csv(other, index=False)
    for command in ([*report, "--data", str(other)], [*select, "--validation", str(other)]):
        assert "the table lacks the model's inputs 'x1'" in complaint(capsys, 1, *command)


def test_the_report_calls_the_target_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, path, page = (str(tmp_path / name) for name in ("xyz.csv", "xyz.nc", "xyz.html"))
    made_up(30, 0).rename(columns={"y": "height", "x4": "y"}).to_csv(data, index=False)
    target = ["--target", "height"]
    assert run(capsys, "path", data, *target, "--n-taus", "4", "--out", path)[0] == 0
    assert run(capsys, "report", path, "--out", page, "--data", data, *target)[0] == 0
    assert '"target":"height"' in Path(page).read_text().replace(": ", ":")


def test_decimal_commas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, other = str(tmp_path / "plain.csv"), str(tmp_path / "other.csv")
    frame = made_up(30, 0)
    frame.to_csv(plain, index=False)
    frame.to_csv(other, index=False, sep=";", decimal=",")
    command = ["--target", "y", "--method", "eliminate", "--cv", "2"]
    assert "give --separator ';'" in complaint(capsys, 1, "select", other, *command)
    said = complaint(capsys, 1, "select", other, *command, "--separator", ";")
    assert "if its decimal points are commas, give --decimal ," in said
    as_it_is = ["--separator", ";", "--decimal", ","]
    assert (
        run(capsys, "select", other, *command, *as_it_is)[:2]
        == run(capsys, "select", plain, *command)[:2]
    )
    for wrong in (["--decimal", ","], ["--decimal", "x"]):
        assert "give '.' or ','" in complaint(capsys, 1, "select", plain, *command, *wrong)


def test_candidates_are_no_path(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = str(tmp_path / "h.nc")
    select = ["select", str(folder / "data.csv"), "--target", "y", "--method", "eliminate"]
    assert run(capsys, *select, "--history", history)[0] == 0
    assert "it holds the candidates of a selection" in complaint(capsys, 1, "show", history)
