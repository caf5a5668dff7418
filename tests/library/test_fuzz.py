"""Input from outside: any file gives a result or a sentence, and nothing in it is executed."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from cli_problems import fill, quick, run
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from reliability_record import recorder
from report_problems import HOSTILE, Parsed, content

from nvsd.files import read_path
from nvsd.report import report_html

EXAMPLES = 40
many = settings(
    max_examples=EXAMPLES,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("cli"))


class Attempts:
    """Runs commands in a folder whose outputs were there before, and counts how they end."""

    def __init__(self, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.place, self.capsys = place, capsys
        self.done = self.refused = 0

    def __call__(self, *arguments: str, out: str | None = None) -> tuple[int, str]:
        """Exit code, and what was printed; a refusal leaves every file as it was."""
        if out is not None:
            (self.place / out).write_text("old")
            arguments = (*arguments, "--out", str(self.place / out))
        before = {name: (self.place / name).read_bytes() for name in os.listdir(self.place)}
        code, printed, said = run(self.capsys, *arguments)
        after = {name: (self.place / name).read_bytes() for name in os.listdir(self.place)}
        if code == 0:
            assert out is None or after[out] != b"old"
            assert before.keys() == after.keys()
            self.done += 1
        else:
            assert code in (1, 2)
            assert after == before
            assert printed == ""
            last = said.splitlines()[-1]
            assert last.startswith("nvsd: error: ")
            assert "unexpected" not in last, last
            self.refused += 1
        return code, printed


@pytest.fixture
def attempts(tmp_path, capsys, record_property: Callable):
    tried = Attempts(tmp_path, capsys)
    yield tried
    total = tried.done + tried.refused
    recorder(record_property, "hostile files")(
        cases=total, certified=tried.done, refused=tried.refused
    )


# --- tables and groups ---------------------------------------------------------------------------

cells = st.one_of(
    st.floats(-1e3, 1e3).map(str),
    st.text(max_size=8),
    st.sampled_from(["", "nan", "inf", "1e400", "0x10", '"', "'", "1,5", "=1+1", "\0", "\ufeff"]),
)
rows = st.lists(st.lists(cells, min_size=2, max_size=4), min_size=0, max_size=6)


def as_csv(table: list[list[str]], quote: bool) -> bytes:
    text = io.StringIO()
    rule = csv.QUOTE_ALL if quote else csv.QUOTE_NONE
    writer = csv.writer(text, quoting=rule, escapechar="\\")
    writer.writerows([["x1", "x 2", 'say "x3"', "x4", "y"][: len(row)] for row in table[:1]])
    writer.writerows(table)
    return text.getvalue().encode("utf-8", "surrogatepass")


tables = st.one_of(st.binary(max_size=100), st.builds(as_csv, rows, st.booleans()))


def test_any_table_can_be_predicted_for_or_is_refused(
    folder: Path, attempts, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = str(folder / "path.nc")
    known = read_path(model)
    monkeypatch.setattr("nvsd.cli.predict.read_path", lambda _: known)  # only tables are tried

    @many
    @given(tables)
    def every(table: bytes) -> None:
        (attempts.place / "new.csv").write_bytes(table)
        attempts("predict", model, str(attempts.place / "new.csv"), "--tau", "0", out="p.csv")

    every()


def test_a_good_table_with_one_bad_cell(folder: Path, attempts) -> None:
    """Almost good is the hardest: one cell of a table is replaced by something."""
    good = pd.read_csv(folder / "data.csv").astype(object)

    @settings(many, max_examples=15)
    @given(st.integers(0, len(good) - 1), st.integers(0, 4), cells)
    def every(row: int, column: int, cell: str) -> None:
        bad = good.copy()
        bad.iloc[row, column] = cell
        text = bad.to_csv(index=False).encode("utf-8", "surrogatepass")
        (attempts.place / "data.csv").write_bytes(text)
        attempts(*quick(attempts.place), out="path.nc")

    every()


values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)
jsons = st.one_of(
    st.binary(max_size=40),
    values.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(
        st.sampled_from(["x1", "x 2", 'say "x3"', "x4", "other"]), st.sampled_from("gh")
    ).map(lambda value: json.dumps(value).encode()),
    st.just(b"[" * 100_000),
    st.just(b'{"g": ' + b"9" * 5000 + b"}"),
)


def test_any_groups_are_groups_or_refused(folder: Path, attempts) -> None:
    @many
    @given(jsons)
    def every(groups: bytes) -> None:
        place = attempts.place / "groups.json"
        place.write_bytes(groups)
        options = ["--penalty", "group", "--groups", str(place), "--max-iter", "5"]
        attempts(*quick(folder, *options), out="path.nc")

    every()


# --- paths ---------------------------------------------------------------------------------------


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Bytes overwritten, cut out, repeated or put in, anywhere."""
    kind = draw(st.sampled_from(["overwrite", "cut", "repeat", "insert"]))
    where, length = draw(st.floats(0, 1)), draw(st.integers(1, 300))
    junk = draw(st.binary(min_size=1, max_size=16))

    def damage(content: bytes) -> bytes:
        start = int(where * (len(content) - 1))
        end = min(start + length, len(content))
        parts = {
            "overwrite": (junk * 300)[: end - start],
            "cut": b"",
            "repeat": content[start:end] * 2,
            "insert": junk + content[start:end],
        }
        return content[:start] + parts[kind] + content[end:]

    return damage


def test_any_damage_to_a_path_is_seen_or_does_no_harm(folder: Path, attempts) -> None:
    """There are no check sums: what is read is finite and of the right form, or refused."""
    original, place = (folder / "path.nc").read_bytes(), attempts.place / "bad.nc"

    @settings(many, max_examples=150)
    @given(damages())
    def every(damage: Callable[[bytes], bytes]) -> None:
        content = damage(original)
        place.write_bytes(content)
        code, _ = attempts("show", str(place))
        # Both read in the same way, so that of what is refused some is enough.
        if code == 0 or sum(content) % 5 == 0:
            attempts("predict", str(place), str(folder / "data.csv"), "--tau", "0", out="p.csv")

    every()


def test_any_damage_gives_a_report_or_a_sentence(folder: Path, attempts) -> None:
    original, place = (folder / "path.nc").read_bytes(), attempts.place / "bad.nc"

    @settings(many, max_examples=50)
    @given(damages())
    def every(damage: Callable[[bytes], bytes]) -> None:
        place.write_bytes(damage(original))
        attempts("report", str(place), out="report.html")

    every()


class Trap:
    """Whoever unpickles this leaves a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.trace),)


def trapped(original: Path, place: Path, trace: Path, where: str) -> None:
    """A copy of a path with a pickle, or the name of a function, where text or numbers belong."""
    place.write_bytes(original.read_bytes())
    pickled = pickle.dumps(Trap(trace))
    call = json.dumps({"kernel": "os.mkdir", "name": str(trace), "path": str(trace)})
    with h5py.File(place, "r+") as file:
        if where == "attribute":
            file.attrs["penalty"] = np.void(pickled)
        elif where == "attribute of a variable":
            file["alpha"].attrs["long_name"] = np.void(pickled)
        elif where == "variable":
            del file["alpha"]
            file["alpha"] = np.void(pickled)
        elif where == "extra variable":
            file["more"] = np.void(pickled)
        else:
            text = {"kernel": call, "kernel as code": f"__import__('os').mkdir({str(trace)!r})"}
            del file["kernel"]
            file["kernel"] = text[where]


@pytest.mark.parametrize(
    "where",
    ["attribute", "attribute of a variable", "variable", "extra variable", "kernel",
     "kernel as code"],
)  # fmt: skip
def test_reading_a_path_executes_nothing(folder: Path, attempts, where: str) -> None:
    place, trace = attempts.place / "trap.nc", attempts.place / "trace"
    with pytest.raises(FileExistsError):  # the trap works
        pickle.loads(pickle.dumps(Trap(attempts.place)))
    trapped(folder / "path.nc", place, trace, where)
    attempts("show", str(place))
    attempts("predict", str(place), str(folder / "data.csv"), "--tau", "0", out="p.csv")
    attempts("report", str(place), out="report.html")
    assert not trace.exists()


def test_a_checkpoint_with_a_pickle_is_refused(tmp_path: Path) -> None:
    import nvsd

    place, trace = tmp_path / "sums.npz", tmp_path / "trace"
    np.savez(place, problem=np.array([Trap(trace)], dtype=object))
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        nvsd.prepare(np.eye(3), kernel=nvsd.kernels.Linear(), checkpoint=place)
    assert not trace.exists()


# --- full disks and folders that cannot be written -----------------------------------------------


def outputs(folder: Path) -> dict[str, list[str]]:
    path, data = str(folder / "path.nc"), str(folder / "data.csv")
    return {
        "path.nc": quick(folder, "--out"),
        "path.png": ["show", path, "--plot"],
        "report.html": ["report", path, "--out"],
        "predictions.csv": ["predict", path, data, "--tau", "0", "--out"],
    }


@pytest.mark.parametrize("name", ["path.nc", "path.png", "report.html", "predictions.csv"])
def test_a_full_disk_leaves_the_old_file(
    folder: Path, tmp_path: Path, name: str, record_property: Callable
) -> None:
    """Files may grow to 500 bytes, so that the real writer fails half-way."""
    (tmp_path / name).write_text("old")

    def small_files_only() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))

    done = subprocess.run(
        [sys.executable, "-m", "nvsd", *outputs(folder)[name], str(tmp_path / name)],
        preexec_fn=small_files_only, capture_output=True, text=True, check=False,
        env=os.environ | {"MPLBACKEND": "Agg"},
    )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("nvsd: error: ")
    assert (tmp_path / name).read_text() == "old"
    assert os.listdir(tmp_path) == [name]
    recorder(record_property, "hostile files")(refused=1)


@pytest.mark.parametrize("name", ["path.nc", "path.png", "report.html", "predictions.csv"])
@pytest.mark.parametrize("step", ["os.fsync", "os.replace"])
def test_whatever_step_fails_the_old_file_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch, attempts, name: str, step: str
) -> None:
    place = attempts.place / name
    place.write_text("old")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(step, refuse)
    code, _ = attempts(*outputs(folder)[name], str(place))
    assert code == 1
    assert place.read_text() == "old"


# --- names ---------------------------------------------------------------------------------------

# What a CSV file in UTF-8 can hold: no lone surrogates, no NUL.
NAMES = [name for name in HOSTILE if "\ud800" not in name and "\0" not in name]
NAMES += ["a,b", 'quo"te', "'single'", "=HYPERLINK(1)", " lead and trail ", "größe 中文 🙂", "100%"]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with odd names, and its path."""
    place = tmp_path_factory.mktemp("odd")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((20, len(NAMES))), columns=NAMES)
    frame["y"] = frame.iloc[:, 0] ** 2 + frame.iloc[:, 1]
    frame.to_csv(place / "data.csv", index=False)
    return place


def test_odd_names_come_through_every_output(odd: Path, capsys, record_property: Callable) -> None:
    nc, png, html = (str(odd / name) for name in ("path.nc", "path.png", "report.html"))
    code, out, _ = run(capsys, *quick(odd, "--all", "--out", nc, "--plot", png))
    assert code == 0
    assert "\r" not in out
    assert max(map(len, out.splitlines())) < 500
    assert list(read_path(nc).feature.values) == NAMES
    for form in ("csv", "json"):
        code, out, _ = run(capsys, "show", nc, "--format", form)
        assert code == 0
        assert names_in(out, form) == sorted(NAMES)
    assert run(capsys, "show", nc, "--plot-support", str(odd / "support.svg"))[0] == 0
    assert "<script" not in (odd / "support.svg").read_text()
    assert run(capsys, "report", nc, "--out", html, "--title", NAMES[0])[0] == 0
    check_report(Path(html).read_text("utf-8"), read_path(nc))
    predict = ["predict", nc, str(odd / "data.csv"), "--tau", "0", "--gradient"]
    code, out, _ = run(capsys, *predict)
    assert code == 0
    header = next(csv.reader(io.StringIO(out, newline="")))
    assert header == ["row", "prediction", *(f"d/d {name}" for name in NAMES)]
    recorder(record_property, "hostile files")(cases=7, certified=7)


def names_in(text: str, form: str) -> list[str]:
    if form == "csv":
        table = list(csv.DictReader(io.StringIO(text, newline="")))
        key = next(key for key in ("feature", "input", "name") if key in table[0])
        return sorted(row[key] for row in table)
    found: list[str] = []

    def visit(value: Any) -> None:
        if isinstance(value, dict):
            visit(list(value) + list(value.values()))
        elif isinstance(value, list):
            for item in value:
                visit(item)
        elif isinstance(value, str) and value in NAMES:
            found.append(value)

    visit(json.loads(text))
    return sorted(set(found))


def check_report(text: str, path: xr.Dataset) -> None:
    """The names are data: no tag is there that is not there with plain names."""
    plain = path.assign_coords(
        feature=[f"x{a}" for a in range(len(NAMES))],
        group=("feature", [f"x{a}" for a in range(len(NAMES))]),
    )
    assert content(text)["features"] == NAMES
    assert Parsed(text).tags == Parsed(report_html(plain, title="title")).tags
