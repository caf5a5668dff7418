from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from file_problems import check_sentence, refusal, table
from hypothesis import given
from hypothesis import strategies as st

from nvsd.files import (
    input_table,
    read_groups,
    read_table,
    training_table,
)

GOOD = "a,b,y\n1,2,3\n4,5.5,6\n7,-8e1,9\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


# --- tables ------------------------------------------------------------------------------------


def test_a_table_becomes_numbers(tmp_path: Path) -> None:
    X, y, dropped = training_table(read_table(table(tmp_path, GOOD)), "y")
    assert list(X.columns) == ["a", "b"]
    assert X.to_numpy().tolist() == [[1, 2], [4, 5.5], [7, -80]]
    assert y.tolist() == [3, 6, 9]
    assert dropped == 0


def test_the_same_table_comes_compressed_with_bom_and_other_separators(tmp_path: Path) -> None:
    plain = read_table(table(tmp_path, GOOD))
    zipped = table(tmp_path, gzip.compress(GOOD.encode()), "data.csv.gz")
    marked = table(tmp_path, b"\xef\xbb\xbf" + GOOD.encode(), "bom.csv")
    tabs = table(tmp_path, GOOD.replace(",", "\t"), "data.tsv")
    for other in (read_table(zipped), read_table(marked), read_table(tabs, "\t")):
        pd.testing.assert_frame_equal(other, plain)


@given(
    st.lists(
        st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 3), min_size=1, max_size=8
    )
)
def test_numbers_agree_with_a_plain_reading(folder: Path, rows: list[tuple[float, ...]]) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([("a", "b", "y"), *rows])
    frame = input_table(read_table(table(folder, text.getvalue())), ["y", "a"])
    naive = list(csv.DictReader(io.StringIO(text.getvalue())))
    expected = [[float(row["y"]), float(row["a"])] for row in naive]
    np.testing.assert_allclose(frame.to_numpy(), expected, rtol=1e-15)


def test_odd_names_come_through(tmp_path: Path) -> None:
    names = ["a,b", 'say "hi"', "two\nlines", "<b>", "$x$", "z" * 10_000, "naïve 中", " "]
    text = io.StringIO()
    csv.writer(text).writerows([[*names[:-1], "y"], *np.arange(24).reshape(3, 8) ** 2])
    X, _, _ = training_table(read_table(table(tmp_path, text.getvalue())), "y")
    assert list(X.columns) == names[:-1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["data.csv", "header line"]),
        ("\n\n", ["data.csv"]),
        ("a,b,y\n", ["no rows"]),
        ("a,a,y\n1,2,3\n", ["'a'", "own name"]),
        ("a;b;y\n1;2;3\n", ["--separator ';'"]),
        ("a\tb\ty\n1\t2\t3\n", ["--separator tab"]),
        ("a,y\n1,2,3\n4,5,6\n", ["more fields than its header"]),
        ("a,y\n1,2\n4,5,6\n", ["line 3", "saw 3"]),
        ('"a,y\n1,2\n', ["data.csv", "not a table"]),
        (b"a,y\n1,\xff\xfe\n", ["UTF-8"]),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, text: str | bytes, words: list[str]) -> None:
    sentence = refusal(read_table, table(tmp_path, text))
    assert all(word in sentence for word in words), sentence


def test_a_damaged_gzip_file_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(GOOD.encode() * 50)
    for broken in (whole[:-20], whole[:10], b"no gzip at all"):
        refusal_or_os(table(tmp_path, broken, "data.csv.gz"))


def refusal_or_os(place: Path) -> None:
    with pytest.raises((ValueError, OSError)):
        read_table(place)


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    assert "does not exist" in refusal(read_table, tmp_path / "none.csv")
    assert "is not a file" in refusal(read_table, tmp_path)
    assert "one character" in refusal(read_table, table(tmp_path, GOOD), ", ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n3,4\n", ["'y'", "the target", "'a', 'b'"]),
        ("a,Y\n1,2\n3,4\n", ["did you mean 'Y'?"]),
        ("y\n1\n2\n", ["is the only column"]),
        ("a,c,y\n1,red,3\n4,5,6\n", ["'c'", "'red' in row 1", "--drop c"]),
        ("a,y\n1,3\n4,x\n", ["'y'", "'x' in row 2", "give numbers"]),
        (
            "a,b c,y\n1,,3\n4,5,6\n7,8,\n",
            ["'b c' has 1 missing value (row 1)", "'y' has 1", "--drop 'b c'"],
        ),
        ("a,y\n1,3\n4,inf\n", ["'y'", "infinite value (row 2)"]),
        ("a,y\n1e999,3\n4,1\n", ["'a'", "infinite value (row 1)", "--drop a"]),
        ("a,k,l,y\n1,5,6,3\n4,5,6,1\n", ["'k', 'l'", "--drop k --drop l"]),
        ("a,y\n1,3\n4,3\n", ["target 'y' is 3 in every row"]),
        ("a,y\n1,3\n", ["1 complete row", "at least 2"]),
        (",a,y\n0,1,3\n1,2,5\n", ["column 1", "no name", "--drop 'unnamed column 1'"]),
        ("a,y\n1,1+2j\n2,3j\n", ["'1+2j' in row 1"]),
    ],
)
def test_unusable_columns_are_named(tmp_path: Path, text: str, words: list[str]) -> None:
    sentence = refusal(training_table, read_table(table(tmp_path, text)), "y")
    assert all(word in sentence for word in words), sentence


AWKWARD = """,id,when,k,a,gap,y
0,P1,2024-01-02,7,1,1,3
1,P2,2024-02-03,7,2,,4
2,P3,2024-01-04,7,9,4,1
"""


def test_one_sentence_names_all_columns_to_mend(tmp_path: Path) -> None:
    """Otherwise a table with several faults is refused as often."""
    rows = "".join(f"{i},P{i},2024-01-02,7,{i * i},{i},{i}\n" for i in range(3, 20))
    frame = read_table(table(tmp_path, AWKWARD + rows))
    for missing in ("error", "drop"):
        said = refusal(training_table, frame, "y", missing=missing, categories=True)
        named = ["unnamed column 1", "such as 'P1'", "'when' holds dates"]
        assert all(word in said for word in [*named, "'k' is the same in every row"]), said
        assert "'a'" not in said
        # What can be filled is not among the columns to leave out.
        assert "--drop 'unnamed column 1' --drop id --drop when --drop k." in said
        assert ("'gap'" in said) == (missing == "error")
    mended = frame.drop(columns=["unnamed column 1", "id", "when", "k"])
    X, _, _ = training_table(mended, "y", missing="impute", categories=True)
    assert list(X.columns) == ["a", "gap"]
    held_out = frame.drop(columns=["unnamed column 1", "id"])
    assert "'k'" not in refusal(training_table, held_out, "y", constant=True, missing="drop")


def test_a_missing_target_is_not_to_be_imputed(tmp_path: Path) -> None:
    frame = read_table(table(tmp_path, "a,y\n1,3\n2,\n3,4\n"))
    said = refusal(training_table, frame, "y", missing="impute", categories=True)
    assert "'y' has 1 missing value (row 2)" in said
    assert "only inputs are imputed" in said
    assert "--missing impute" not in said


def test_numbers_with_signs_are_told_from_free_text(tmp_path: Path) -> None:
    rows = "".join(f'"${i},000",{i}\n' for i in range(1, 30))
    said = refusal(
        training_table, read_table(table(tmp_path, "a,y\n" + rows)), "y", categories=True
    )
    assert "such as '$1,000'" in said
    assert "without currency signs" in said


def test_what_the_sentences_advise_helps(tmp_path: Path) -> None:
    text = "id,a,k,when,y\n1,1,5,May,3\n2,,5,June,4\n3,7,5,July,4\n4,8,5,,9\n"
    frame = read_table(table(tmp_path, text))
    X, y, dropped = training_table(frame, "y", drop=["k", "when"], missing="drop-rows")
    assert list(X.columns) == ["id", "a"]
    assert X.index.tolist() == [1, 3, 4]
    assert y.tolist() == [3, 4, 9]
    assert dropped == 1
    assert "'z'" in refusal(training_table, frame, "y", drop=["z"])
    assert "target" in refusal(training_table, frame, "y", drop=["y"])
    assert "missing" in refusal(training_table, frame, "y", drop=["when"], missing="guess")


def test_true_and_false_are_numbers(tmp_path: Path) -> None:
    text = "a,b,y\nTrue,1,1\nFalse,2,2\n"
    X, _, _ = training_table(read_table(table(tmp_path, text)), "y")
    assert X.to_numpy().tolist() == [[1, 1], [0, 2]]


def test_numbers_that_are_kept_as_objects_or_text_are_numbers() -> None:
    columns = {"a": [Decimal("1.5"), None, Decimal(-3)], "b": ["1", "2e1", " 3"], "y": [1, 2, 4]}
    frame = pd.DataFrame(columns)
    X, _, dropped = training_table(frame, "y", missing="drop-rows")
    assert X.to_numpy().tolist() == [[1.5, 1.0], [-3.0, 3.0]]
    assert dropped == 1
    assert "'a' has 1 missing value (row 2)" in refusal(training_table, frame, "y")


def test_a_model_gets_the_columns_it_needs(tmp_path: Path) -> None:
    frame = read_table(table(tmp_path, "b,text,a\n1,x,2\n,y,4\n"))
    assert input_table(frame, ["a"]).to_numpy().tolist() == [[2], [4]]
    kept = input_table(frame, ["a", "b"], missing="drop-rows")
    assert kept.index.tolist() == [1]
    assert "'c', 'd'" in refusal(input_table, frame, ["a", "c", "d"])
    assert "row 2" in refusal(input_table, frame, ["b"])
    assert "'text'" in refusal(input_table, frame, ["text"])
    assert "every row" in refusal(input_table, frame.iloc[1:], ["b"], missing="drop-rows")


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = table(tmp_path, b"PAR1 no parquet", "data.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install pyarrow" in refusal(read_table, place)


def test_parquet_is_checked_like_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = table(tmp_path, b"", "data.parquet")
    columns = pd.array([1, None, 3], dtype="Int64"), pd.date_range("2020-01-01", periods=3)
    frame = pd.DataFrame({"a": columns[0], "when": columns[1], "y": [1.0, 2.0, 4.0]})
    frame["z"] = [1j, 2.0, 3.0]
    monkeypatch.setattr(pd, "read_parquet", lambda *_, **__: frame.copy())
    assert "'when'" in refusal(training_table, read_table(place), "y")
    assert "'z'" in refusal(training_table, read_table(place), "y", drop=["when"])
    assert "row 2" in refusal(training_table, read_table(place), "y", drop=["when", "z"])

    def damaged(*_: object, **__: object) -> None:
        raise OSError("magic bytes not found")

    monkeypatch.setattr(pd, "read_parquet", damaged)
    assert "Parquet" in refusal(read_table, place)


csv_text = st.text(alphabet=st.sampled_from('ab"0123456789.,;\n\r\t -e\x00'), max_size=60)
cells = st.one_of(
    st.floats().map(str), st.sampled_from(["", "NA", "x", "1", "-0", '"', "1e400", "True", "½"])
)
tables = st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=4).map(
    lambda rows: "a,b,y\n" + "\n".join(",".join(row) for row in rows)
)


@given(st.one_of(st.binary(max_size=80), csv_text.map(str.encode), tables.map(str.encode)))
def test_any_bytes_give_numbers_or_a_sentence(folder: Path, content: bytes) -> None:
    place = table(folder, content)
    try:
        X, y, _ = training_table(read_table(place), "y", missing="drop-rows")
    except ValueError as error:
        check_sentence(error)
    else:
        assert np.isfinite(X.to_numpy()).all()
        assert np.isfinite(y).all()
        assert len(X) == len(y) >= 2


# --- groups ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        {"g": ["a", "c"], "h": ["b"]},
        {"a": "g", "b": "h", "c": "g"},
        {"g": ["a", "gone", "c"], "h": ["b"]},
    ],
)
def test_groups_in_either_form(tmp_path: Path, content: object) -> None:
    place = table(tmp_path, json.dumps(content), "groups.json")
    assert read_groups(place, ["a", "b", "c"], ignored=["gone"]) == ["g", "h", "g"]


def test_inputs_without_a_group_are_alone(tmp_path: Path) -> None:
    for text in ('{"g": ["a", "c"]}', '{"a": "g", "c": "g"}'):
        assert read_groups(table(tmp_path, text, "g.json"), ["a", "b", "c"]) == ["g", "b", "g"]


def test_groups_may_be_numbers(tmp_path: Path) -> None:
    assert read_groups(table(tmp_path, '{"a": 1, "b": 2}', "g.json"), ["b", "a"]) == ["2", "1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["not JSON", "line 1"]),
        ("[1, 2]", ["does not describe groups"]),
        ("{}", ["does not describe groups"]),
        ('{"b": ["a"]}', ["groups called 'b'", "other names"]),
        ('{"g": ["a", "b", "z"]}', ["'z'", "the table does not have as input"]),
        ('{"g": ["a", "b"], "h": ["a"]}', ["'a'", "'g' and 'h'"]),
        ('{"g": ["a"], "g": ["b"]}', ["'g'", "twice"]),
        ('{"g": {"a": 1}}', ["no list of names at 'g'"]),
        ('{"g": ["a", ["b"]]}', ["no list of names at 'g'"]),
        ('{"g": ["a"], "b": "h"}', ["no list of names at 'b'"]),
        ('{"g": [' + "[" * 100_000, ["not JSON"]),
        (b'{"\xff": "g"}', ["not JSON"]),
    ],
)
def test_broken_groups_are_refused(tmp_path: Path, text: str | bytes, words: list[str]) -> None:
    sentence = refusal(read_groups, table(tmp_path, text, "groups.json"), ["a", "b"])
    assert all(word in sentence for word in words), sentence


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.sampled_from("abg")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abgh"), inner, max_size=3)
    ),
    max_leaves=8,
)
json_bytes = st.one_of(
    st.binary(max_size=40),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.text('{}[]":,abg0 ', max_size=30).map(str.encode),
)


@given(json_bytes)
def test_any_json_gives_groups_or_a_sentence(folder: Path, content: bytes) -> None:
    place = table(folder, content, "groups.json")
    try:
        groups = read_groups(place, ["a", "b"])
    except ValueError as error:
        check_sentence(error)
    else:
        assert len(groups) == 2
        assert all(isinstance(group, str) for group in groups)
